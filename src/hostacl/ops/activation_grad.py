"""Gradients of activations made of straight pieces: what comes back is the gradient, a multiple of it, or 0."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hostacl import _kernels
from hostacl.config import settings
from hostacl.ops import dims
from hostacl.ops.axes import channel_axes, channels_of, other_axes, per_channel
from hostacl.ops.blocks import in_blocks
from hostacl.ops.call import Call
from hostacl.ops.dims import Shape
from hostacl.ops.registry import kernel
from hostacl.ops.shapes import broadcast, broadcast_inputs
from hostacl.tensors import dtypes

Array = NDArray[Any]

FEATURES = broadcast("gradients", "features")


def kept(gradients: Array, where: Any) -> Array:
    """The gradient where a condition holds, else 0."""
    return np.where(where, gradients, gradients.dtype.type(0))


def direct_relu_grad(call: Call) -> Callable[..., None] | None:
    """A comparison and a choice by native loops, for floats of one shape."""
    code = call.dtype("gradients")
    if code not in (dtypes.FLOAT, *dtypes.HALVES) or settings().saturate or call.shape("gradients") != call.shape("features"):
        return in_blocks(call)
    zero = np.zeros((), dtypes.numpy_dtype(code))

    def run(gradients: Array, features: Array, backprops: Array) -> None:
        above = np.empty(features.shape, np.bool_)
        _kernels.greater(features, zero, above)
        _kernels.select(above, gradients, zero, backprops)

    return run


@kernel("ReluGrad", shape=FEATURES, direct=direct_relu_grad)
def relu_grad(gradients: Array, features: Array) -> Array:
    """The gradient where features > 0, else 0 (also for NaN); features are Relu's input or output."""
    return kept(gradients, features > 0)


@kernel("Relu6Grad", shape=FEATURES, direct=in_blocks)
def relu6_grad(gradients: Array, features: Array) -> Array:
    """The gradient where 0 < features < 6, else 0 (also for NaN)."""
    return kept(gradients, (features > 0) & (features < 6))


@kernel("LeakyReluGrad", shape=FEATURES, direct=in_blocks)
def leaky_relu_grad(gradients: Array, features: Array, negative_slope: float) -> Array:
    """The gradient where features > 0, else negative_slope times it."""
    return np.where(features > 0, gradients, gradients * gradients.dtype.type(negative_slope))


@kernel("HardtanhGrad", shape=broadcast("result", "grad"), direct=in_blocks)
def hardtanh_grad(result: Array, grad: Array, min_val: float, max_val: float) -> Array:
    """The gradient where min_val < result < max_val, else 0; result is Hardtanh's input or output."""
    low, high = result.dtype.type(min_val), result.dtype.type(max_val)
    return kept(grad, (result > low) & (result < high))


@kernel("HardSigmoidGrad", shape=broadcast("grads", "input_x"), direct=in_blocks)
def hard_sigmoid_grad(grads: Array, input_x: Array, alpha: float, beta: float) -> Array:
    """alpha·grads where 0 < alpha·x + beta < 1, else 0."""
    line = input_x.astype(np.float64) * alpha + beta
    return kept(grads * grads.dtype.type(alpha), (line > 0) & (line < 1))


@kernel("HardSwishGrad", shape=broadcast("grad", "x"), direct=in_blocks)
def hard_swish_grad(grad: Array, x: Array) -> Array:
    """The gradient times the slope of x·min(max(x + 3, 0), 6)/6: 0 up to -3, 1 from 3, x/3 + 1/2 between; NaN for NaN."""
    wide = x.astype(np.float64)
    return np.where(wide <= -3, grad.dtype.type(0), np.where(wide >= 3, grad, grad * (wide / 3 + 0.5)))


@kernel("HardShrinkGrad", shape=FEATURES, direct=in_blocks)
def hard_shrink_grad(gradients: Array, features: Array, lambd: float) -> Array:
    """The gradient where |features| > lambd (or NaN), else 0."""
    return kept(gradients, ~(np.abs(features) <= features.dtype.type(lambd)))


@kernel("SoftShrinkGrad", shape=broadcast("input_grad", "input_x"), direct=in_blocks)
def soft_shrink_grad(input_grad: Array, input_x: Array, lambd: float) -> Array:
    """The gradient where |x| > lambd (or NaN), else 0."""
    return kept(input_grad, ~(np.abs(input_x) <= input_x.dtype.type(lambd)))


@kernel("ThresholdGradV2D", shape=FEATURES)
def threshold_grad_v2_d(gradients: Array, features: Array, threshold: float) -> Array:
    """The gradient where features > threshold, else 0 (also for NaN)."""
    bound = features.dtype.type(threshold) if features.dtype.kind == "f" else np.float64(threshold)
    return kept(gradients, features > bound)


def prelu_grad_shape(call: Call) -> list[Shape]:
    """The shape of features, and that of weights: one element, or one for each channel."""
    full, weights = broadcast_inputs(call, "grads", "features"), call.shape("weights")
    channels = channels_of(full, channel_axes(call.format("features"), len(full), "NCHW"))
    size = dims.count(weights)
    if dims.known(size, channels) and size not in (1, channels):
        told = f"weights = {dims.text(weights)}; allowed: one element, or one for each of the {channels} channels."
        raise call.refuse("HA504", told)
    return [full, weights]


@kernel("PReluGrad", shape=prelu_grad_shape)
def p_relu_grad(grads: Array, features: Array, weights: Array, formats: dict[str, int]) -> tuple[Array, Array]:
    """The gradients of PRelu: grads where features > 0, else weights·grads; and the sum of grads·features over the others.

    Weights have one element or one for each channel (axis 1, or as the format of features says).
    """
    features = np.broadcast_to(features, np.broadcast_shapes(grads.shape, features.shape))
    over = channel_axes(formats["features"], features.ndim, "NCHW")
    slope = weights.reshape(()) if weights.size == 1 else per_channel(weights, features.shape, over)
    dx = np.where(features > 0, grads, grads * slope)
    axes = None if weights.size == 1 else other_axes(features.ndim, over)
    below = np.where(features > 0, 0, grads.astype(np.float64) * features)
    return dx, np.sum(below, axis=axes).reshape(weights.shape)
