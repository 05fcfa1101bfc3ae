"""Activations of one tensor made of exponentials: the ELU kin, softplus, softsign, mish."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from hostacl.ops import exponential
from hostacl.ops.axis_cuts import broadcast_cuts
from hostacl.ops.call import Call
from hostacl.ops.declare import unary, with_attributes
from hostacl.ops.dims import Shape
from hostacl.ops.registry import kernel
from hostacl.ops.shapes import same_as

Array = NDArray[Any]

SELU_SCALE, SELU_ALPHA = 1.0507009873554805, 1.6732632423543772


def bent(x: Array, bottom: float, slope: float, rate: float) -> Array:
    """slope·x where x > 0, else bottom·(e^(rate·x) - 1); NaN stays."""
    below = np.minimum(x, 0)
    curve = np.expm1(below if rate == 1 else exponential.wide(below) * rate)
    return np.where(x > 0, slope * x, bottom * curve)


@kernel("Elu", cuts=broadcast_cuts(), shape=same_as("x"), direct=with_attributes)
def elu(x: Array, alpha: float, scale: float | None, input_scale: float | None) -> Array:
    """scale·x where x > 0, else scale·alpha·(e^(input_scale·x) - 1)."""
    outer = 1.0 if scale is None else scale
    return bent(x, outer * alpha, outer, 1.0 if input_scale is None else input_scale)


def selu(x: Array) -> Array:
    """1.0507·x where x > 0, else 1.0507·1.67326·(e^x - 1). Integers are cut off toward zero."""
    wide = x if x.dtype.kind == "f" else x.astype(np.float64)
    return bent(wide, SELU_SCALE * SELU_ALPHA, SELU_SCALE, 1)


unary("Selu", selu)


def celu_shape(call: Call) -> Shape:
    """The shape of x; alpha divides, so it is not 0."""
    if call.attr("alpha") == 0:
        raise call.refuse("HA508", "alpha = 0; allowed: any other number, it divides x.")
    return call.shape("x")


@kernel("CeluV2", cuts=broadcast_cuts(), shape=celu_shape, direct=with_attributes)
def celu_v2(x: Array, alpha: float) -> Array:
    """max(0, x) + min(0, alpha·(e^(x/alpha) - 1))."""
    curve = alpha * np.expm1(x if alpha == 1 else exponential.wide(x) / alpha)
    return np.maximum(x, 0) + np.minimum(curve, 0)


def soft_plus(x: Array) -> Array:
    """log(1 + e^x), without overflow; NaN for NaN."""
    return np.maximum(x, 0) + np.log1p(np.exp(-np.abs(x)))


def softplus(x: Array) -> Array:
    """log(1 + e^x), without overflow: x itself for large x."""
    return soft_plus(x)


def log_sigmoid(x: Array) -> Array:
    """log(sigmoid(x)) = min(x, 0) - log(1 + e^-|x|), without overflow."""
    return -soft_plus(-x)


def softsign(x: Array) -> Array:
    """x / (1 + |x|); NaN at the infinities."""
    return x / (1 + np.abs(x))


def mish(x: Array) -> Array:
    """x·tanh(log(1 + e^x)), by way of n = e^x·(e^x + 2): x·n/(n + 2); NaN at -Inf."""
    power = exponential.exp(exponential.wide(np.minimum(x, 40)), x.dtype == np.float32)
    top = power * (power + 2)
    return np.asarray(x * (top / (top + 2)))


unary("Softplus", softplus)
unary("LogSigmoid", log_sigmoid)
unary("Softsign", softsign)
unary("Mish", mish)


def softplus_shape(call: Call) -> Shape:
    """The shape of x; beta divides, so it is not 0."""
    if call.attr("beta") == 0:
        raise call.refuse("HA508", "beta = 0; allowed: any other number, it divides.")
    return call.shape("x")


@kernel("SoftplusV2", cuts=broadcast_cuts(), shape=softplus_shape, direct=with_attributes)
def softplus_v2(x: Array, beta: float, threshold: float) -> Array:
    """log(1 + e^(beta·x)) / beta, and x itself where beta·x is above the threshold."""
    steep = exponential.wide(x) * beta
    return np.where(steep > threshold, x, soft_plus(steep) / beta)
