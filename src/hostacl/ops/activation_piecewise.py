"""Activations made of straight pieces: leaky, hard, shrinking, with a threshold."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from hostacl.ops import dims
from hostacl.ops.axes import channel_axes, per_channel
from hostacl.ops.axis_cuts import broadcast_cuts
from hostacl.ops.call import Call
from hostacl.ops.declare import unary, with_attributes
from hostacl.ops.dims import Shape
from hostacl.ops.registry import kernel
from hostacl.ops.shapes import broadcast_shapes, one_element, same_as
from hostacl.tensors import dtypes

Array = NDArray[Any]


def relu6(x: Array) -> Array:
    """x held between 0 and 6; NaN stays."""
    one = x.dtype.type
    return np.asarray(np.minimum(np.maximum(x, one(0)), one(6)))


def hard_swish(x: Array) -> Array:
    """x·min(max(x + 3, 0), 6)/6; NaN at -Inf."""
    return x * np.minimum(np.maximum(x + 3, 0), 6) / 6


unary("Relu6", relu6)
unary("HardSwish", hard_swish)


@kernel("LeakyRelu", cuts=broadcast_cuts(), shape=same_as("x"), direct=with_attributes)
def leaky_relu(x: Array, negative_slope: float) -> Array:
    """x where x > 0, else negative_slope·x."""
    return np.where(x > 0, x, x * x.dtype.type(negative_slope))


def hard_sigmoid_dtype(call: Call) -> tuple[int, ...]:
    """int32 gives float32 or float16, a float type itself."""
    code = call.dtype("input_x")
    return (dtypes.FLOAT, dtypes.FLOAT16) if code == dtypes.INT32 else (code,)


@kernel("HardSigmoid", cuts=broadcast_cuts(), shape=same_as("input_x"), dtype={"output_y": hard_sigmoid_dtype},
        direct=with_attributes)  # fmt: skip
def hard_sigmoid(input_x: Array, alpha: float, beta: float) -> Array:
    """alpha·x + beta, held between 0 and 1; an int32 x gives a float type."""
    line = input_x.astype(np.float64) * alpha + beta
    return np.asarray(np.minimum(np.maximum(line, 0), 1))


@kernel("HardShrink", cuts=broadcast_cuts(), shape=same_as("input_x"), direct=with_attributes)
def hard_shrink(input_x: Array, lambd: float) -> Array:
    """x where |x| > lambd, else 0; NaN stays."""
    return np.where(np.abs(input_x) <= input_x.dtype.type(lambd), input_x.dtype.type(0), input_x)


@kernel("SoftShrink", cuts=broadcast_cuts(), shape=same_as("input_x"), direct=with_attributes)
def soft_shrink(input_x: Array, lambd: float) -> Array:
    """x moved by lambd toward 0, and 0 where it would cross it; NaN stays."""
    edge = input_x.dtype.type(lambd)
    return np.where(input_x > edge, input_x - edge, np.where(input_x < -edge, input_x + edge, input_x * 0))


@kernel("Threshold", cuts=broadcast_cuts(), shape=same_as("x"), direct=with_attributes)
def threshold(x: Array, threshold: float) -> Array:
    """1 where x > threshold, else 0 (also for NaN)."""
    return (x > x.dtype.type(threshold)).astype(x.dtype)


def threshold_v2_shape(call: Call) -> Shape:
    """The shape of x."""
    one_element(call, "threshold", "value")
    return call.shape("x")


@kernel("ThresholdV2", cuts=broadcast_cuts(), shape=threshold_v2_shape)
def threshold_v2(x: Array, threshold: Array, value: Array | None) -> Array:
    """x where x > threshold (or NaN), else value; threshold and value have one element, value is 0 by default."""
    other = x.dtype.type(0) if value is None else value.reshape(())
    return np.where(x <= threshold.reshape(()), other, x)


@kernel("ThresholdV2D", cuts=broadcast_cuts(), shape=same_as("x"))
def threshold_v2_d(x: Array, threshold: float, value: float) -> Array:
    """x where x > threshold (or NaN), else value, which integers cut off toward zero."""
    if x.dtype.kind in "iu":
        bound = np.floor(threshold)
        low = np.iinfo(x.dtype).min
        below = np.zeros(x.shape, bool) if bound < low else x <= int(min(bound, float(np.iinfo(x.dtype).max)))
        return np.where(below, np.array(int(value)).astype(x.dtype), x)
    return np.where(x <= x.dtype.type(threshold), x.dtype.type(value), x)


def prelu_shape(call: Call) -> Shape:
    """The shape of x; weight has one element, one for each channel, or broadcasts to x without its batch."""
    x, weight = call.shape("x"), call.shape("weight")
    size = dims.count(weight)
    if not dims.known(size) or size == 1:
        return x
    channels = [x[axis] for axis in prelu_channels(call, len(x))]
    if not dims.known(*x) or size == dims.count(channels) or (len(weight) > 1 and broadcast_shapes(x, weight) == x):
        return x
    raise call.refuse(
        "HA504", f"weight = {dims.text(weight)}; allowed: one element, or one for each of the {dims.count(channels)} channels."
    )


def prelu_channels(call: Call, rank: int) -> tuple[int, ...]:
    """The channel axes of x."""
    return channel_axes(call.format("x"), rank, "NCHW")


@kernel("PRelu", shape=prelu_shape)
def p_relu(x: Array, weight: Array, call: Call) -> Array:
    """x where x > 0, else weight·x; weight has one element or one for each channel (axis 1, or as the format of x says)."""
    over = prelu_channels(call, x.ndim)
    channels = int(np.prod([x.shape[axis] for axis in over]))
    if weight.size == 1:
        slope = weight.reshape(())
    else:
        slope = per_channel(weight, x.shape, over) if weight.size == channels else weight
    return np.where(x > 0, x, x * slope)
