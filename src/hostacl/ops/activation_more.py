"""Further activations: CELU, the softplus of Caffe, scaled and thresholded ReLU."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from hostacl.ops.axis_cuts import broadcast_cuts
from hostacl.ops.call import Call
from hostacl.ops.declare import unary, with_attributes
from hostacl.ops.dims import Shape
from hostacl.ops.registry import kernel
from hostacl.ops.shapes import same_as

Array = NDArray[Any]


def bnll(x: Array) -> Array:
    """log(1 + e^x), as max(x, 0) + log(1 + e^-|x|)."""
    wide = x.astype(np.float64)
    return np.maximum(wide, 0) + np.log1p(np.exp(-np.abs(wide)))


unary("BNLL", bnll)


def celu_shape(call: Call) -> Shape:
    """The shape of x; what divides is not 0."""
    name = "alpha" if call.attrs.get("alpha") is not None else "alpha2"
    if call.attrs.get(name) == 0:
        raise call.refuse("HA508", f"{name} = 0; allowed: any other number.")
    return call.shape("x")


@kernel("Celu", cuts=broadcast_cuts(), shape=celu_shape)
def celu(x: Array, alpha: float | None, alpha1: float | None, alpha2: float | None, alpha3: float | None) -> Array:
    """alpha3·max(x, 0) + min(alpha1·(e^(x/alpha2) - 1), 0).

    The older form has one alpha for alpha1 and alpha2, and 1 for alpha3.
    """
    given = (alpha, alpha, 1.0) if alpha is not None else (alpha1, alpha2, alpha3)
    first, second, third = (float(1.0 if one is None else one) for one in given)
    wide = x.astype(np.float64)
    return third * np.maximum(wide, 0) + np.minimum(first * np.expm1(wide / second), 0)


@kernel("Relu6D", cuts=broadcast_cuts(), shape=same_as("x"))
def relu6_d(x: Array, scale: float) -> Array:
    """x held between 0 and 6, times scale."""
    held = np.minimum(np.maximum(x, 0), 6)
    return held if scale == 1 else held * np.float64(scale)


@kernel("ThresholdedRelu", cuts=broadcast_cuts(), shape=same_as("x"), direct=with_attributes)
def thresholded_relu(x: Array, alpha: float) -> Array:
    """x where x > alpha, else 0; NaN gives 0."""
    return np.where(x > x.dtype.type(alpha), x, x.dtype.type(0))
