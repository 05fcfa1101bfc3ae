"""Quantisation, element by element in Python's own arithmetic."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from hostacl.tensors import dtypes
from random_calls.dice import Dice
from random_calls.oracle import Within, finite, oracle, shapes

RANGE = {dtypes.INT8: (-128, 127), dtypes.UINT8: (0, 255), dtypes.INT16: (-(2**15), 2**15 - 1),
         dtypes.INT32: (-(2**31), 2**31 - 1), dtypes.INT4: (-8, 7)}  # fmt: skip
NAMES = {"torch.qint8": dtypes.INT8, "torch.quint8": dtypes.UINT8, "torch.qint32": dtypes.INT32}


def held(value: float, code: int) -> int:
    """A whole number within a type; NaN is 0."""
    low, high = RANGE[code]
    if math.isnan(value):
        return 0
    return int(min(max(value, low), high))


def whole(value: float, mode: str) -> float:
    """A float without its fraction."""
    if not math.isfinite(value):
        return value
    functions: dict[str, Any] = {"round": round, "floor": math.floor, "ceil": math.ceil, "trunc": math.trunc}
    return float(functions[mode.lower()](value))


def each(function: Any, *arrays: Any) -> Any:
    """A function of Python numbers over arrays that broadcast, as an array of Python ints."""
    full = np.broadcast_arrays(*arrays)
    result = [function(*map(float, one)) for one in zip(*(array.ravel() for array in full), strict=True)]
    return np.array(result, object).reshape(full[0].shape)


def spread(parameter: Any, rank: int, axis: int) -> Any:
    if parameter.size == 1:
        return parameter.reshape(())
    return parameter.reshape([-1 if place == axis % rank else 1 for place in range(rank)])


@shapes("Quantize")
def quantize_call(d: Dice) -> None:
    shape = d.shape(2 if d.kind.startswith("attributes") else 1)
    axis = d.attr("axis", d.axis(len(shape))) if len(shape) > 1 else d.attr("axis", 0)
    if axis >= len(shape):
        axis = 0
        d.attrs["axis"], d.values["axis"] = ("int", 0), 0
    per_axis = d.chance()
    d.tensor("x", shape)
    count = (shape[axis],) if per_axis else (1,)
    scales = np.asarray(2.0 ** d.rng.integers(-4, 2, count))
    d.tensor("scales", scales, dtype=dtypes.FLOAT)
    name = d.attr("dtype", *NAMES)
    code = NAMES[name]
    if d.optional("zero_points"):
        low, high = max(RANGE[code][0], -50), min(RANGE[code][1], 50)
        d.tensor("zero_points", d.rng.integers(low, high, count), dtype=d.choose(code, dtypes.FLOAT))
    d.output("y", code)


@oracle("Quantize")
def quantize(x: Any, scales: Any, zero_points: Any, axis: int, dice: Dice) -> Any:
    code = dice.outputs["y"][0]
    scale = spread(scales, x.ndim, axis)
    zero = np.zeros(()) if zero_points is None else spread(zero_points.astype(np.float64), x.ndim, axis)
    return each(lambda a, s, z: held(whole(a / s, "round") + z, code), x, scale, zero)


@shapes("AscendQuant")
def ascend_call(d: Dice) -> None:
    d.tensor("x", d.shape())
    d.attr("scale", 2.0, 0.25)
    d.attr("offset", 0.0, 3.0)
    modes(d, "Floor", "Ceil", "Trunc")


@shapes("AscendQuantV2")
def ascend_v2_call(d: Dice) -> None:
    shape = d.shape(1)
    axis = d.attr("axis", d.axis(len(shape)))
    count = (shape[axis],) if d.chance() else (1,)
    d.tensor("x", shape)
    d.tensor("scale", np.asarray(2.0 ** d.rng.integers(-3, 3, count)), dtype=d.dtype)
    if d.optional("offset"):
        d.tensor("offset", d.rng.integers(-9, 9, count), dtype=d.dtype)
    modes(d, "floor", "ceil", "trunc")


def modes(d: Dice, *names: str) -> None:
    d.attr("sqrt_mode", True)
    d.attr("round_mode", *names)
    d.output("y", d.attr("dst_type", dtypes.INT4))


@oracle("AscendQuant", "AscendQuantV2")
def ascend_quant(x: Any, scale: Any, offset: Any, sqrt_mode: bool, round_mode: str, dice: Dice) -> Any:
    axis = dice.values.get("axis", -1)
    factor, zero = (np.asarray(0.0 if one is None else one, np.float64) for one in (scale, offset))
    factor, zero = (spread(one, x.ndim, axis) for one in (factor, zero))
    code = dice.outputs["y"][0]
    return each(lambda a, s, z: held(whole(a * (s * s if sqrt_mode else s) + z, round_mode), code), x, factor, zero)


@shapes("AscendDequant")
def dequant_call(d: Dice) -> None:
    shape = d.shape(1)
    d.tensor("x", shape)
    count = (shape[-1],) if d.chance() else (1,)
    factors = d.rng.uniform(0.01, 2, count).astype(np.float32)
    if d.chance():
        d.tensor("deq_scale", factors.view(np.uint32).astype(np.uint64), dtype=dtypes.UINT64)
        d.values["factors"] = factors.astype(np.float64)
    else:
        halves = d.tensor("deq_scale", factors, dtype=dtypes.FLOAT16)
        d.values["factors"] = halves.astype(np.float64)
    d.attr("sqrt_mode", True)
    d.attr("relu_flag", True)
    d.output("y", d.attr("dtype", dtypes.FLOAT16))


@oracle("AscendDequant")
def ascend_dequant(x: Any, sqrt_mode: bool, relu_flag: bool, dice: Dice) -> Any:
    factor = dice.values["factors"]
    result = x.astype(np.float64) * (factor * factor if sqrt_mode else factor)
    return np.where(result < 0, 0, result) if relu_flag else result


@shapes("AscendAntiQuant")
def anti_call(d: Dice) -> None:
    d.tensor("x", d.shape())
    d.attr("scale", 2.0, 0.3)
    d.attr("offset", 0.0, 3.0)
    d.attr("sqrt_mode", True)
    d.output("y", d.attr("dtype", dtypes.FLOAT16))


@shapes("AscendAntiQuantV2")
def anti_v2_call(d: Dice) -> None:
    shape = d.shape(1)
    d.tensor("x", shape)
    count = (shape[-1],) if d.chance() else (1,)
    code = d.choose(dtypes.FLOAT, dtypes.BF16)
    d.tensor("scale", np.asarray(d.rng.uniform(0.01, 2, count)), dtype=code)
    if d.optional("offset"):
        d.tensor("offset", d.rng.integers(-9, 9, count), dtype=code)
    d.attr("sqrt_mode", True)
    d.output("y", d.attr("dst_type", dtypes.BF16))


@oracle("AscendAntiQuant", "AscendAntiQuantV2")
def anti_quant(x: Any, scale: Any, offset: Any, sqrt_mode: bool) -> Any:
    factor = scale * scale if sqrt_mode else scale
    return x.astype(np.float64) * factor + (0.0 if offset is None else offset * factor)


@shapes("Dequantize")
def dequantize_call(d: Dice) -> None:
    d.tensor("x", d.shape())
    for name, low, high in (("min_range", -8, -1), ("max_range", 1, 8)):
        d.tensor(name, np.asarray(d.rng.uniform(low, high, d.choose((), (1,)))), dtype=dtypes.FLOAT)
    d.attr("mode", "MIN_FIRST", "SCALED")
    d.output("y", dtypes.FLOAT)


@oracle("Dequantize")
def dequantize(x: Any, min_range: Any, max_range: Any, mode: str, dice: Dice) -> Any:
    limits = np.iinfo(dtypes.numpy_dtype(dice.dtype))
    low, high = float(min_range.ravel()[0]), float(max_range.ravel()[0])
    wide = x.astype(np.float64)
    if mode == "SCALED":
        result = wide * (high / limits.max if limits.min == 0 else max(low / limits.min, high / limits.max))
    else:
        share = (wide - float(limits.min)) / (float(limits.max) - float(limits.min))
        result = low + share * (high - low)
    return Within(result, (finite(result) + abs(low) + abs(high)) * 2.0**-22)


@shapes("DynamicQuant", "DynamicQuantV2")
def dynamic_call(d: Dice) -> None:
    shape = d.shape(1)
    d.tensor("x", shape, -9, 9)
    rows = int(np.prod(shape[:-1]))
    if d.optional("smooth_scales"):
        grouped = d.optional("group_index")
        groups = d.int(1, 3)
        size = (groups, shape[-1]) if grouped else (shape[-1],)
        d.tensor("smooth_scales", np.asarray(d.rng.uniform(0.5, 2, size)), dtype=d.dtype)
        if grouped:
            d.tensor("group_index", np.sort(d.rng.integers(0, rows + 1, groups)), dtype=dtypes.INT32)
    elif d.kind == "optional present":
        d.tensor("smooth_scales", np.ones(shape[-1]), dtype=d.dtype)
    code = dtypes.INT8
    if "dst_type" in d.generation.attrs:
        code = d.attr("dst_type", dtypes.INT4)
    d.output("y", code)


def rows_with_factors(x: Any, smooth: Any, group_index: Any) -> list[Any]:
    table = x.reshape(int(np.prod(x.shape[:-1])), x.shape[-1])
    result = []
    for row, line in enumerate(table):
        factor: Any = 1.0
        if smooth is not None and group_index is None:
            factor = smooth
        elif smooth is not None:
            group = sum(1 for end in group_index if int(end) <= row)
            factor = smooth[group] if group < len(smooth) else 1.0
        result.append((line * factor).astype(np.float32).astype(np.float64))
    return result


@oracle("DynamicQuant")
def dynamic_quant(x: Any, smooth_scales: Any, group_index: Any, dice: Dice) -> Any:
    code = dice.outputs["y"][0]
    y, scales = [], []
    for line in rows_with_factors(x, smooth_scales, group_index):
        top = max(map(abs, line), default=0.0) if not np.isnan(line).any() else np.nan
        scale = top / RANGE[code][1]
        scales.append(scale)
        y += [held(whole(one / scale if scale else math.nan, "round"), code) for one in line]
    return np.array(y, object).reshape(x.shape), np.array(scales).reshape(x.shape[:-1])


@oracle("DynamicQuantV2")
def dynamic_quant_v2(x: Any, smooth_scales: Any, group_index: Any, dice: Dice) -> Any:
    code = dice.outputs["y"][0]
    low, high = RANGE[code]
    y, scales, offsets = [], [], []
    for line in rows_with_factors(x, smooth_scales, group_index):
        top, bottom = np.max(line, initial=-np.inf), np.min(line, initial=np.inf)
        scale = np.float64(top - bottom) / (high - low)
        offset = high - np.float64(top) / scale
        scales.append(scale)
        offsets.append(offset)
        y += [held(whole(float(np.float64(one) / scale + offset), "round"), code) for one in line]
    shape = x.shape[:-1]
    return np.array(y, object).reshape(x.shape), np.array(scales).reshape(shape), np.array(offsets).reshape(shape)


