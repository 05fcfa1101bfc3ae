"""Gradients of functions of one tensor."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hostacl.ops.blocks import in_blocks
from hostacl.ops.precision import widest
from hostacl.ops.registry import kernel
from hostacl.ops.shapes import broadcast

Array = NDArray[Any]


def gradient(*op_types: str) -> Callable[[Callable[[Array, Array], Any]], Any]:
    """Declares z of y and dy, which have one shape (or broadcast)."""
    return kernel(*op_types, shape=broadcast("y", "dy"), direct=in_blocks)


@gradient("AbsGrad")
def abs_grad(y: Array, dy: Array) -> Array:
    """dy·sign(y), where y is the input of Abs; 0 at 0, NaN for NaN."""
    return dy * np.sign(y)


@gradient("AtanGrad")
def atan_grad(y: Array, dy: Array) -> Array:
    """dy/(1 + y²), where y is the input of Atan; y² does not overflow."""
    return dy / (1 + np.square(y, dtype=np.float64 if y.dtype == np.float32 else y.dtype))


@gradient("AcosGrad")
def acos_grad(y: Array, dy: Array) -> Array:
    """-dy/√(1 - y²), where y is the input of Acos; NaN beyond ±1, infinite at them."""
    return -dy / np.sqrt((1 - y) * (1 + y))


@gradient("AsinGrad")
def asin_grad(y: Array, dy: Array) -> Array:
    """dy/√(1 - y²), where y is the input of Asin, conjugated when complex; NaN beyond ±1, infinite at them.

    Integers are cut off toward zero, held within their type, and 0 in the place of NaN.
    """
    if y.dtype.kind in "iu":
        bound = np.iinfo(y.dtype)
        endless = np.where(dy > 0, bound.max, np.where(dy < 0, bound.min, 0))
        return np.where(y == 0, dy, np.where(np.abs(y) == 1, endless, 0)).astype(y.dtype)
    root = np.conj(y)
    return dy / np.sqrt((1 - root) * (1 + root))


@gradient("AcoshGrad")
def acosh_grad(y: Array, dy: Array) -> Array:
    """dy/sinh(y), where y is the output of Acosh; infinite at 0."""
    return dy / np.sinh(y.astype(np.float64))


@gradient("AsinhGrad")
def asinh_grad(y: Array, dy: Array) -> Array:
    """dy/cosh(y), where y is the output of Asinh."""
    return dy / np.cosh(y.astype(np.float64))


@kernel("InvGrad", shape=broadcast("x", "grad"), direct=in_blocks)
def inv_grad(x: Array, grad: Array) -> Array:
    """-grad·x², where x = 1/input is the output of Inv. Integers wrap."""
    return -grad * x * x


@gradient("ReciprocalGrad")
def reciprocal_grad(y: Array, dy: Array) -> Array:
    """-dy·y², where y = 1/x is the output of Reciprocal; of complex numbers with y conjugated."""
    root = np.conj(y)
    return -dy * root * root


@gradient("RsqrtGrad")
def rsqrt_grad(y: Array, dy: Array) -> Array:
    """-dy·y³/2, where y = 1/√x is the output of Rsqrt; y conjugated when complex, integers cut off toward zero."""
    if y.dtype == np.float64:  # digits and exponents apart, so that nothing is out of range or subnormal on the way
        (digits, power), (more, shift) = np.frexp(y), np.frexp(dy)
        return np.asarray(np.ldexp(digits * digits * digits * more * -0.5, 3 * power + shift))
    root = np.conj(widest(y))
    large = np.abs(root) > 1  # then it is halved first, before it may be out of range
    product = np.where(large, root * -0.5, root) * widest(dy) * root * root
    return np.where(large, product, product * -0.5)


@gradient("SqrtGrad")
def sqrt_grad(y: Array, dy: Array) -> Array:
    """dy/(2·y), where y = √x is the output of Sqrt, conjugated when complex; ±Inf at 0, NaN where dy is 0 too."""
    root = np.conj(widest(y))
    small = np.abs(root) < 1  # so that neither 2·y nor dy/y is out of range, nor dy/2 nothing
    quotient = widest(dy) / np.where(small, root + root, root)
    return np.where(small, quotient, quotient * 0.5)
