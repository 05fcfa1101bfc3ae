"""Quantisation to integers and back."""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hostacl.ops import dims
from hostacl.ops.axes import channel_axes, per_channel
from hostacl.ops.axis_cuts import free_cuts
from hostacl.ops.call import Call
from hostacl.ops.dims import Dim, Shape
from hostacl.ops.registry import kernel
from hostacl.ops.run import Out
from hostacl.ops.shapes import axis as checked_axis
from hostacl.ops.shapes import broadcast_shapes, one_element, same_as
from hostacl.tensors import dtypes

Array = NDArray[Any]

NAMED = {"qint8": dtypes.INT8, "quint8": dtypes.UINT8, "qint32": dtypes.INT32, "qint16": dtypes.INT16}
ROUNDINGS: dict[str, Callable[[Any], Any]] = {"round": np.rint, "floor": np.floor, "ceil": np.ceil, "trunc": np.trunc}


def bounds_of(code: int) -> tuple[int, int]:
    """The least and the greatest value of an integer type."""
    if code == dtypes.INT4:
        return -8, 7
    limits = np.iinfo(dtypes.numpy_dtype(code))
    return int(limits.min), int(limits.max)


def held(x: Any, code: int) -> Array:
    """Values held within an integer type; NaN gives 0."""
    low, high = bounds_of(code)
    return np.asarray(np.where(np.isnan(x), 0, np.clip(x, low, high)))


def quantize_dtype(call: Call) -> int:
    """The type that the attribute's torch name stands for."""
    name = call.attr("dtype")
    code = NAMED.get(name.removeprefix("torch."))
    if code is None:
        allowed = ", ".join(f"torch.{one}" for one in NAMED)
        raise call.refuse("HA508", f"dtype = {name!r}; allowed: {allowed}.")
    return code


def quantize_shape(call: Call) -> Shape:
    """The shape of x; scales and zero_points have one element, or one for each place along the axis."""
    x = call.shape("x")
    quantize_dtype(call)
    size: Dim = 1
    for name in ("scales", "zero_points"):
        if call.has(name) and (count := dims.count(call.shape(name))) != 1:
            size = x[checked_axis(call, call.attr("axis"), len(x))] if x else 1
            if dims.known(count, size) and count != size:
                told = f"{name} = {dims.text(call.shape(name))}; allowed: one element, or {size} as x has along axis"
                raise call.refuse("HA504", f"{told} {call.attr('axis')}.")
    return x


def along(parameter: Array, rank: int, axis: int) -> Array:
    """A parameter of one element, or of one for each place along an axis, in a shape that broadcasts; in float64."""
    wide = parameter.astype(np.float64)
    if wide.size == 1:
        return wide.reshape(())
    return wide.reshape([-1 if place == axis % rank else 1 for place in range(rank)])


@kernel("Quantize", shape=quantize_shape, dtype={"y": quantize_dtype}, mixed=("zero_points",), dtype_attrs={})
def quantize(x: Array, scales: Array, zero_points: Array | None, axis: int, out: tuple[Out, ...]) -> Array:
    """round(x / scale) + zero point, halves to even, held within the type that dtype names (torch.qint8, quint8, qint32).

    For all of x, or for each place along the axis. Without zero_points they are 0; NaN gives 0.
    """
    steps = np.rint(x / along(scales, x.ndim, axis))
    return held(steps if zero_points is None else steps + along(zero_points, x.ndim, axis), out[0].code)


def rounding(call: Call) -> Callable[[Any], Any]:
    """The function that round_mode names, in capitals or not."""
    name = call.attr("round_mode")
    found = ROUNDINGS.get(name.lower())
    if found is None:
        raise call.refuse("HA508", f"round_mode = {name!r}; allowed: {', '.join(ROUNDINGS)}.")
    return found


def ascend_quant_dtype(call: Call) -> int:
    """int8, or int4 where dst_type says so."""
    code = call.attr("dst_type")
    if code not in (dtypes.INT8, dtypes.INT4):
        raise call.refuse("HA508", f"dst_type = {code}; allowed: {dtypes.INT8} (DT_INT8), {dtypes.INT4} (DT_INT4).")
    return int(code)


def ascend_quant_shape(call: Call) -> Shape:
    """The shape of x."""
    rounding(call)
    return call.shape("x")


@kernel("AscendQuant", shape=ascend_quant_shape, dtype={"y": ascend_quant_dtype}, cuts=free_cuts())
def ascend_quant(x: Array, scale: float, offset: float, sqrt_mode: bool, call: Call, out: tuple[Out, ...]) -> Array:
    """round(x·scale + offset), held within int8 or int4; with sqrt_mode scale counts twice. Round is half to even."""
    factor = float(scale) * scale if sqrt_mode else scale
    return held(rounding(call)(x.astype(np.float64) * factor + offset), out[0].code)


def ascend_quant_v2_shape(call: Call) -> Shape:
    """The shape of x; scale and offset broadcast to it or go along the axis."""
    rounding(call)
    x = call.shape("x")
    for name in ("scale", "offset"):
        if call.has(name):
            check_fitted(call, name, x)
    return x


def check_fitted(call: Call, name: str, x: Shape) -> None:
    """Refuses a parameter that neither has one element, goes along the axis, nor broadcasts to x."""
    shape = call.shape(name)
    size = dims.count(shape)
    place = checked_axis(call, call.attrs.get("axis", -1), len(x))
    if not x:
        one_element(call, name)
        return
    if size == 1 or (len(shape) == 1 and (not dims.known(size, x[place]) or size == x[place])):
        return
    joined = broadcast_shapes(x, shape)
    if len(shape) == 1 or joined is None or len(joined) != len(x) or (dims.known(*joined, *x) and joined != x):
        raise call.refuse("HA504", f"{name} = {dims.text(shape)}; allowed: one element, or {x[place]} along axis {place} of x.")


def fitted(parameter: Array, rank: int, axis: int) -> Array:
    """A parameter that broadcasts, a vector laid along the axis."""
    return along(parameter, rank, axis) if parameter.ndim <= 1 and rank else parameter.astype(np.float64)


@kernel("AscendQuantV2", shape=ascend_quant_v2_shape, dtype={"y": ascend_quant_dtype})
def ascend_quant_v2(
    x: Array, scale: Array, offset: Array | None, sqrt_mode: bool, axis: int, call: Call, out: tuple[Out, ...]
) -> Array:  # fmt: skip
    """round(x·scale + offset), held within int8 or int4; scale and offset for all of x or along the axis.

    With sqrt_mode scale counts twice. round_mode: round is half to even.
    """
    factor = fitted(scale, x.ndim, axis)
    steps = x * (factor * factor if sqrt_mode else factor)
    return held(rounding(call)(steps if offset is None else steps + fitted(offset, x.ndim, axis)), out[0].code)


def dequant_shape(call: Call) -> Shape:
    """The shape of x; deq_scale has one element or one a channel."""
    x, size = call.shape("x"), dims.count(call.shape("deq_scale"))
    channels = dims.count(x[one] for one in channel_axes(call.format("x"), len(x), "NHWC"))
    if size != 1 and dims.known(size, channels) and size != channels:
        told = f"deq_scale = {dims.text(call.shape('deq_scale'))}; allowed: one element, or {channels}, one a channel."
        raise call.refuse("HA504", told)
    return x


def scaled_axes(call: Call) -> tuple[int, ...]:
    """The axes along which deq_scale has more than one element."""
    size = prod(call.spec("deq_scale").shape)
    return () if size == 1 else tuple(channel_axes(call.format("x"), call.rank("x"), "NHWC"))


def dequant_dtype(call: Call) -> tuple[int, ...]:
    """What dtype says, by default float32; float16 when it is described so."""
    return (int(call.attr("dtype")),) if "dtype" in call.given else (dtypes.FLOAT, dtypes.FLOAT16)


@kernel("AscendDequant", shape=dequant_shape, dtype={"y": dequant_dtype}, cuts=free_cuts(scaled_axes))
def ascend_dequant(x: Array, deq_scale: Array, sqrt_mode: bool, relu_flag: bool, formats: dict[str, int]) -> Array:
    """x·deq_scale, for all of x or each channel (the last axis, or as the format of x says); with relu_flag at least 0.

    A uint64 deq_scale holds a float32 in its lower half. With sqrt_mode it counts twice.
    """
    scale = deq_scale
    if deq_scale.dtype == np.uint64:
        scale = (deq_scale & np.uint64(0xFFFFFFFF)).astype(np.uint32).view(np.float32)
    over = channel_axes(formats["x"], x.ndim, "NHWC")
    factor = scale.reshape(()) if scale.size == 1 else per_channel(scale, x.shape, over)
    wide = x * factor.astype(np.float64)
    wide = wide * factor if sqrt_mode else wide
    return np.maximum(wide, 0) if relu_flag else wide


@kernel("AscendAntiQuant", shape=same_as("x"), dtype={"y": dequant_dtype}, cuts=free_cuts())
def ascend_anti_quant(x: Array, scale: float, offset: float, sqrt_mode: bool) -> Array:
    """(x + offset)·scale; with sqrt_mode scale counts twice."""
    return (x.astype(np.float64) + offset) * (float(scale) * scale if sqrt_mode else scale)


def anti_shape(call: Call) -> Shape:
    """The shape of x; scale and offset have one element or go along its last axis."""
    x = call.shape("x")
    for name in ("scale", "offset"):
        if call.has(name):
            check_fitted(call, name, x)
    return x


def anti_dtype(call: Call) -> tuple[int, ...]:
    """What dst_type says, by default float16; bfloat16 when it is described so."""
    return (int(call.attr("dst_type")),) if "dst_type" in call.given else (dtypes.FLOAT16, dtypes.BF16)


@kernel("AscendAntiQuantV2", shape=anti_shape, dtype={"y": anti_dtype})
def ascend_anti_quant_v2(x: Array, scale: Array, offset: Array | None, sqrt_mode: bool) -> Array:
    """(x + offset)·scale, both for all of x or along its last axis; with sqrt_mode scale counts twice."""
    factor = fitted(scale, x.ndim, -1)
    wide = x.astype(np.float64) if offset is None else x + fitted(offset, x.ndim, -1)
    return np.asarray(wide * (factor * factor if sqrt_mode else factor))


def dequantize_shape(call: Call) -> Shape:
    """The shape of x; the ranges have one element."""
    if call.attr("mode") not in ("MIN_COMBINED", "MIN_FIRST", "SCALED"):
        raise call.refuse("HA508", f"mode = {call.attr('mode')!r}; allowed: MIN_COMBINED, MIN_FIRST, SCALED.")
    for name in ("min_range", "max_range"):
        if (size := dims.count(call.shape(name))) != 1 and dims.known(size):
            raise call.refuse("HA504", f"{name} = {dims.text(call.shape(name))}; allowed: one element.")
    return call.shape("x")


@kernel("Dequantize", shape=dequantize_shape)
def dequantize(x: Array, min_range: Array, max_range: Array, mode: str) -> Array:
    """The floats that quantised values stand for, given the range that the type's values cover.

    MIN_COMBINED and MIN_FIRST: min_range + (x - lowest)·(max_range - min_range)/(highest - lowest), the first with x moved by
    half the values when signed. SCALED: x·max_range/highest, or the larger of that and min_range/lowest when signed.
    """
    limits = np.iinfo(x.dtype)
    low, high = float(min_range.reshape(())), float(max_range.reshape(()))
    span = float(limits.max) - float(limits.min)
    wide = x.astype(np.float64)
    if mode == "SCALED":
        return wide * (max(low / limits.min, high / limits.max) if limits.min < 0 else high / limits.max)
    moved = wide + (span + 1) / 2 if mode == "MIN_COMBINED" and limits.min < 0 else wide
    return low + (moved if mode == "MIN_COMBINED" else wide - limits.min) * ((high - low) / span)
