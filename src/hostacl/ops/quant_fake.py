"""Floats on the grid of a quantisation, and quantised results requantised or made floats with a bias."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from hostacl.ops import dims
from hostacl.ops.call import Call
from hostacl.ops.dims import Shape
from hostacl.ops.matmul import with_whole
from hostacl.ops.norm_layer import rms_norm
from hostacl.ops.quant import held
from hostacl.ops.quant_scales import check_counts, columns, encoded_offsets, factors, finished
from hostacl.ops.registry import kernel
from hostacl.ops.run import Out
from hostacl.ops.shapes import alike_inputs, one_element, rank_is
from hostacl.tensors import dtypes

Array = NDArray[Any]


def fake_shape(call: Call) -> Shape:
    """The shape of x; 2 to 16 bits, and a range of one element, or of one for each place of the last axis."""
    x = call.shape("x")
    if not 2 <= call.attr("num_bits") <= 16:
        raise call.refuse("HA508", f"num_bits = {call.attr('num_bits')}; allowed: 2 to 16.")
    if "PerChannel" in call.op_type:
        if not x:
            raise call.refuse("HA516", "x is a scalar; allowed: 1 or more dims, the last one the channels.")
        for name in ("min", "max"):
            (size,) = rank_is(call, name, 1)
            if dims.known(size, x[-1]) and size != x[-1]:
                raise call.refuse("HA504", f"{name} = [{size}]; allowed: [{x[-1]}], one for each channel, the last axis of x.")
    elif "min" in call.inputs:
        one_element(call, "min", "max")
    elif call.attr("min") >= call.attr("max"):
        raise call.refuse("HA508", f"min = {call.attr('min')}, max = {call.attr('max')}; min must be less.")
    return x


@kernel("FakeQuantWithMinMaxArgs", "FakeQuantWithMinMaxVars", "FakeQuantWithMinMaxVarsPerChannel", shape=fake_shape)
def fake_quant(x: Array, min: Any, max: Any, num_bits: int, narrow_range: bool) -> Array:
    """x on the nearest of 2^num_bits steps from min to max, which are moved so that 0 is a step; halves go up.

    What lies outside is held within. narrow_range leaves the lowest step out. A range of 0 to 0 gives 0.
    """
    scale, bottom, top = steps_of(min, max, num_bits, narrow_range)
    first, last = np.rint(bottom / scale), np.rint(top / scale)
    at = np.clip(x.astype(np.float64) / scale, first, last)  # in steps, so that a half is one
    y = (np.floor(at - first + 0.5) + first) * scale
    return np.where(nothing(min, max), 0.0, y)


def steps_of(low: Any, high: Any, num_bits: int, narrow_range: bool) -> tuple[Array, Array, Array]:
    """The width of a step, and the ends of the range moved so that 0 is a step."""
    low, high = (np.asarray(one, np.float32).astype(np.float64) for one in (low, high))
    first, last = float(narrow_range), float((1 << num_bits) - 1)
    scale = (high - low) / (last - first)
    zero = np.clip(np.floor(first - low / scale + 0.5), first, last)
    return scale, (first - zero) * scale, (last - zero) * scale


def nothing(low: Any, high: Any) -> Array:
    """Where the range is 0 to 0."""
    return np.asarray((np.asarray(low) == 0) & (np.asarray(high) == 0))


def fake_grad_shape(call: Call) -> Any:
    """The shape of x, and those of min and max where these are tensors."""
    alike_inputs(call, "gradients", "x")
    x = fake_shape(call)
    return [x, call.shape("min"), call.shape("max")] if "min" in call.inputs else x


@kernel("FakeQuantWithMinMaxArgsGradient", shape=fake_grad_shape)
def fake_quant_args_gradient(
    gradients: Array, x: Array, min: float, max: float, num_bits: int, narrow_range: bool
) -> Array:
    """The gradient where x lies within the range of FakeQuantWithMinMaxArgs, its moved ends included; else 0."""
    _, bottom, top = steps_of(min, max, num_bits, narrow_range)
    return np.where((x >= bottom) & (x <= top), gradients, gradients.dtype.type(0))


@kernel("FakeQuantWithMinMaxVarsGradient", "FakeQuantWithMinMaxVarsPerChannelGradient", shape=fake_grad_shape)
def fake_quant_vars_gradient(
    gradients: Array, x: Array, min: Array, max: Array, num_bits: int, narrow_range: bool, call: Call
) -> tuple[Array, Array, Array]:
    """The gradient where x lies within the range, moved so that 0 is a step; the sums of those below, and of those above it.

    A sum for each place of the last axis in the form for channels. With a range of 0 to 0 all of the gradient is x's.
    """
    by_channel = "PerChannel" in call.op_type
    low, high = (one if by_channel else one.reshape(()) for one in (min, max))
    axes, wide = tuple(range(x.ndim - 1)) if by_channel else None, gradients.astype(np.float64)
    _, bottom, top = steps_of(low, high, num_bits, narrow_range)
    idle = nothing(low, high)
    inside = idle | ((x >= bottom) & (x <= top))
    sums = [np.sum(np.where(far & ~idle, wide, 0), axis=axes).reshape(min.shape) for far in (x < bottom, x > top)]
    return np.where(inside, gradients, gradients.dtype.type(0)), sums[0], sums[1]


def requant_shape(call: Call) -> Shape:
    """The shape of x; one scale in all, or one for each channel."""
    x = rank_is(call, "x", *range(1, 9))
    check_counts(call, x[-1], "channel, the last axis of x", "req_scale")
    return x


@kernel("AscendRequant", shape=requant_shape, mixed=("req_scale",))
def ascend_requant(x: Array, req_scale: Array, relu_flag: bool) -> Array:
    """round(x·scale + offset) as int8, halves to even, held; with relu_flag negative x count as 0 first.

    A uint64 scale, one in all or one for each place of the last axis, holds a float32 in its lower half and an offset of 9 bits
    from bit 37 on.
    """
    scale, moved = columns(factors(req_scale)), columns(encoded_offsets(req_scale))

    def step(rows: Array, _: slice) -> Array:
        return (np.maximum(rows, 0) if relu_flag else rows) * scale + moved

    return finished(x, step, dtypes.INT8)


def bias_shape(call: Call) -> Shape:
    """The shape of x: rows and columns."""
    m, n = rank_is(call, "x", 2)
    check_counts(call, n, "column", "weight_scale", "bias")
    check_counts(call, m, "row", "activate_scale")
    return m, n


@kernel("DequantBias", shape=bias_shape, mixed=("x", "weight_scale", "activate_scale", "bias", "y"))
def dequant_bias(
    x: Array, weight_scale: Array, activate_scale: Array | None, bias: Array | None, out: tuple[Out, ...]
) -> Array:  # fmt: skip
    """x·weight_scale·activate_scale + bias: one weight_scale for each column, one activate_scale for each row.

    An int32 bias is added to x before the scales.
    """
    total = x if bias is None or bias.dtype.kind == "f" else with_whole(x, bias.reshape(-1))
    scale, rows = columns(factors(weight_scale)), None if activate_scale is None else activate_scale.reshape(-1, 1)
    plus = columns(bias) if bias is not None and bias.dtype.kind == "f" else None

    def step(wide: Array, part: slice) -> Array:
        wide = wide * scale
        wide = wide if rows is None else wide * (rows if len(rows) == 1 else rows[part])
        return wide if plus is None else wide + plus

    return finished(total, step, out[0].code)


def rms_quant_shape(call: Call) -> list[Shape]:
    """y1, y2 and x as x1; gamma and the scales go along its last axis."""
    x, other = rank_is(call, "x1", *range(1, 9)), call.shape("x2")
    if dims.known(*x, *other) and x != other:
        raise call.refuse("HA504", f"x1 = {dims.text(x)}, x2 = {dims.text(other)}; they must have one shape.")
    if call.attr("axis") not in (-1, len(x) - 1):
        raise call.refuse("HA509", f"axis = {call.attr('axis')}; allowed: -1, the last axis.")
    (width,) = rank_is(call, "gamma", 1)
    if dims.known(width, x[-1]) and width != x[-1]:
        raise call.refuse("HA504", f"gamma = [{width}]; allowed: [{x[-1]}], the last dim of x1.")
    check_counts(call, x[-1], "element of the last axis", "scales1", "scales2", "zero_points1", "zero_points2")
    return [x, x, x]


@kernel("AddRmsNormQuant", shape=rms_quant_shape, mixed=("scales1", "scales2", "zero_points1", "zero_points2"))
def add_rms_norm_quant(
    x1: Array, x2: Array, gamma: Array, scales1: Array, scales2: Array | None, zero_points1: Array | None,
    zero_points2: Array | None, epsilon: float,
) -> tuple[Array, Array | None, Array]:  # fmt: skip
    """RmsNorm of x = x1 + x2 as int8: round(z / scales1 + zero_points1), halves to even, held; and x.

    y2 is the same with scales2 and zero_points2; without scales2 it is not written.
    """
    x = x1 + x2
    z = rms_norm(x, gamma, epsilon)[0]

    def quantised(scale: Array, moved: Array | None) -> Array:
        steps = z / factors(scale.reshape(-1))
        return held(np.rint(steps if moved is None else steps + moved.astype(np.float64).reshape(-1)), dtypes.INT8)

    return quantised(scales1, zero_points1), None if scales2 is None else quantised(scales2, zero_points2), x
