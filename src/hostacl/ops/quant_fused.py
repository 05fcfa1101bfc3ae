"""Quantisation joined with what comes before it: activations, rotations, scattering; and the encoding of scales."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from hostacl.ops import dims, exponential
from hostacl.ops.call import Call
from hostacl.ops.dims import Dim, Shape
from hostacl.ops.gelu import gelu_erf, gelu_tanh
from hostacl.ops.grouped import row_groups
from hostacl.ops.pooling import tiles
from hostacl.ops.quant import check_fitted, fitted, held
from hostacl.ops.quant_scales import OFFSET_BITS, OFFSET_SHIFT, check_counts
from hostacl.ops.registry import kernel
from hostacl.ops.run import Out
from hostacl.ops.scatter_axis import cached, scatter
from hostacl.ops.shapes import equal_dims, rank_is
from hostacl.tensors import dtypes

Array = NDArray[Any]

TRUNCATE, NEAREST = 0, 1
LOW_BITS, INT8_FLAG = 13, 1 << 46
"""The bits of a float32 scale that are left out, and the bit that says it is for an int8 result."""


def param_shape(call: Call) -> Shape:
    """The shape of the larger of scale and offset; the other has one element or the same number."""
    if call.attrs.get("round_mode", 0) not in (TRUNCATE, NEAREST):
        raise call.refuse("HA508", f"round_mode = {call.attr('round_mode')}; allowed: 0 (cut off), 1 (to nearest).")
    scale = call.shape("scale")
    if not call.has("offset"):
        return scale
    offset = call.shape("offset")
    sizes = dims.count(scale), dims.count(offset)
    if dims.known(*sizes) and 1 not in sizes and sizes[0] != sizes[1]:
        told = f"scale = {dims.text(scale)}, offset = {dims.text(offset)}"
        raise call.refuse("HA504", f"{told}; allowed: one element in one of them, or the same number.")
    return offset if sizes[0] == 1 and dims.known(*sizes) and sizes[1] != 1 else scale


@kernel("TransQuantParamV2", shape=param_shape, mixed=("offset",))
def trans_quant_param_v2(scale: Array, offset: Array | None, round_mode: int | None, out: tuple[Out, ...]) -> Array:
    """Scales in the encoding that quantised products take: the float32 in the lower half, bit 46, the offset from bit 37 on.

    The float32 keeps its upper 19 bits, cut off, with round_mode 1 rounded half to even. The offset is rounded half to even and
    held within -256 and 255; only where there is one its 9 bits are written.
    """
    bits = np.ascontiguousarray(scale.reshape(-1)).view(np.uint32).astype(np.uint64)
    if round_mode == NEAREST:
        half = np.uint64((1 << LOW_BITS - 1) - 1)
        bits = bits + half + (bits >> np.uint64(LOW_BITS) & np.uint64(1))
    bits = bits >> np.uint64(LOW_BITS) << np.uint64(LOW_BITS) & np.uint64(0xFFFFFFFF) | np.uint64(INT8_FLAG)
    if offset is not None:
        steps = np.clip(np.rint(np.nan_to_num(offset.reshape(-1))), -256, 255).astype(np.int64) & ((1 << OFFSET_BITS) - 1)
        bits = bits | steps.astype(np.uint64) << np.uint64(OFFSET_SHIFT)
    return bits.view(np.int64).reshape(out[0].shape)


MODES = ("static", "dynamic")


def rows_shape(call: Call, x: Shape) -> list[Shape]:
    """y and a scale for each row."""
    if call.attr("quant_mode") not in MODES:
        raise call.refuse("HA508", f"quant_mode = {call.attr('quant_mode')!r}; allowed: {', '.join(MODES)}.")
    return [x, x[:-1]]


def gelu_quant_shape(call: Call) -> list[Shape]:
    """y as x and a scale for each row; input_scale and input_offset for all of x or along its last axis."""
    x = rank_is(call, "x", *range(1, 9))
    if call.attr("approximate") not in ("none", "tanh"):
        raise call.refuse("HA508", f"approximate = {call.attr('approximate')!r}; allowed: none, tanh.")
    check_counts(call, x[-1], "element of the last axis", "input_scale", "input_offset")
    if call.attr("quant_mode") == "static" and not call.has("input_scale"):
        raise call.refuse("HA513", "input_scale is required with quant_mode static.")
    return rows_shape(call, x)


@kernel("GeluQuant", shape=gelu_quant_shape, mixed=("input_scale", "input_offset"), dtype_attrs={})
def gelu_quant(
    x: Array, input_scale: Array | None, input_offset: Array | None, approximate: str, quant_mode: str
) -> tuple[Array, Array | None]:
    """The GELU of x as int8, rounded half to even and held.

    static: times input_scale plus input_offset; out_scale is not written. dynamic: GELU times input_scale (where given) over
    out_scale, the largest magnitude of each row over 127; a row of zeros has scale 0 and gives zeros. approximate tanh takes
    the GELU by tanh.
    """
    gelu = gelu_tanh if approximate == "tanh" else gelu_erf
    rows = lines(x)
    result, scales = np.zeros(rows.shape, np.int8), np.zeros(len(rows))
    factor, moved = flat(input_scale), flat(input_offset)
    for part in tiles(rows):
        wide = gelu(rows[part]).astype(np.float64)
        wide = wide if factor is None else wide * factor
        if quant_mode == "static":
            result[part] = held(np.rint(wide if moved is None else wide + moved), dtypes.INT8)
        else:
            result[part], scales[part] = by_rows(wide)
    return result.reshape(x.shape), None if quant_mode == "static" else scales.reshape(x.shape[:-1])


def lines(x: Array) -> Array:
    """x as a matrix whose rows are its last axis."""
    return x.reshape(int(np.prod(x.shape[:-1])), x.shape[-1])


def flat(parameter: Array | None) -> Array | None:
    """A parameter of one element, or of one for each column, in float64."""
    return None if parameter is None else parameter.astype(np.float64).reshape(-1 if parameter.size != 1 else ())


def by_rows(wide: Array) -> tuple[Array, Array]:
    """Rows as int8, and the scales: the largest magnitude of each over 127."""
    scales = np.max(np.abs(wide), axis=1, initial=0) / 127.0
    return held(np.rint(wide / scales[:, None]), dtypes.INT8), scales


def swiglu_shape(call: Call) -> list[Shape]:
    """x with half its last axis, and a scale for each row; parameters with a row for each group where there are groups."""
    x = rank_is(call, "x", *range(2, 9))
    width = x[-1]
    if isinstance(width, int) and width % 2:
        raise call.refuse("HA504", f"x = {dims.text(x)}; allowed: an even last dim, whose halves are gated.")
    if call.attr("swiglu_mode") not in (0, 1):
        raise call.refuse("HA508", f"swiglu_mode = {call.attr('swiglu_mode')}; allowed: 0 (halves), 1 (pairs, clamped).")
    if call.attr("quant_mode") == "static" and not call.has("quant_scale"):
        raise call.refuse("HA513", "quant_scale is required with quant_mode static.")
    groups = dims.count(call.shape("group_index")) if call.has("group_index") else 1
    for name, size in (("weight_scale", width), ("bias", width), ("quant_scale", width // 2), ("quant_offset", width // 2)):
        check_grouped(call, name, size, groups)
    rows = dims.count(x[:-1])
    check_counts(call, rows, "row", "activation_scale")
    return rows_shape(call, (*x[:-1], width // 2))


def check_grouped(call: Call, name: str, size: Dim, groups: Dim) -> None:
    """Refuses a parameter that has neither one element nor one a column, for all groups or for each."""
    if call.has(name):
        count = dims.count(call.shape(name))
        allowed = (1, groups, size, size * groups if isinstance(size, int) and isinstance(groups, int) else size)
        if dims.known(count, size, groups) and count not in allowed:
            each = f", [{groups},{size}]" if groups != 1 else ""
            told = f"{name} = {dims.text(call.shape(name))}; allowed: [{size}]{each}, or one element."
            raise call.refuse("HA504", told)


@kernel("DequantSwigluQuant", shape=swiglu_shape, mixed=("group_index", "x"), dtype_attrs={})
def dequant_swiglu_quant(
    x: Array, weight_scale: Array | None, activation_scale: Array | None, bias: Array | None, quant_scale: Array | None,
    quant_offset: Array | None, group_index: Array | None, activate_left: bool, quant_mode: str, swiglu_mode: int,
    clamp_limit: float, glu_alpha: float, glu_bias: float, call: Call,
) -> tuple[Array, Array | None]:  # fmt: skip
    """SwiGLU of x·weight_scale·activation_scale + bias, as int8: rounded half to even and held.

    The second half of the last axis is activated, with activate_left the first. swiglu_mode 1 takes even and odd elements,
    g·sigmoid(glu_alpha·g)·(u + glu_bias) with g at most clamp_limit and u held within ±clamp_limit. static: times quant_scale
    plus quant_offset; scale is not written. dynamic: times quant_scale (where given) over scale, the largest magnitude of each
    row over 127. group_index: how many rows each group has, whose parameters are the rows of weight_scale, bias, quant_scale
    and quant_offset; rows behind the last group give 0.
    """
    rows = lines(x)
    width = x.shape[-1] // 2
    result, scales = np.zeros((len(rows), width), np.int8), np.zeros(len(rows))
    token = None if activation_scale is None else activation_scale.astype(np.float64).reshape(-1, 1)
    parts = [slice(0, len(rows))] if group_index is None else row_groups(call, group_index, 1, len(rows))
    for place, group in enumerate(parts):
        weight, plus = (of_group(one, place, len(parts), 2 * width) for one in (weight_scale, bias))
        factor, moved = (of_group(one, place, len(parts), width) for one in (quant_scale, quant_offset))
        for part in tiles(rows[group]):
            where = slice(group.start + (part.start or 0), group.start + min(part.stop or group.stop, group.stop - group.start))
            wide = rows[where].astype(np.float64)
            wide = wide if weight is None else wide * weight
            wide = wide if token is None else wide * (token if len(token) == 1 else token[where])
            wide = gated(wide if plus is None else wide + plus, activate_left, swiglu_mode, (clamp_limit, glu_alpha, glu_bias))
            wide = wide if factor is None else wide * factor
            if quant_mode == "static":
                result[where] = held(np.rint(wide if moved is None else wide + moved), dtypes.INT8)
            else:
                result[where], scales[where] = by_rows(wide)
    shape = (*x.shape[:-1], width)
    return result.reshape(shape), None if quant_mode == "static" else scales.reshape(x.shape[:-1])


def of_group(parameter: Array | None, place: int, groups: int, width: int) -> Array | None:
    """A group's part of a parameter, in float64."""
    if parameter is None:
        return None
    wide = parameter.astype(np.float64).reshape(-1)
    if wide.size == width * groups and groups > 1:
        return wide.reshape(groups, width)[place]
    return wide[place] if wide.size == groups else wide.reshape(-1 if wide.size != 1 else ())


def gated(x: Array, left: bool, mode: int, numbers: tuple[float, float, float]) -> Array:
    """The gate of DequantSwigluQuant over the last axis."""
    limit, alpha, plus = numbers
    if mode:
        gate, other = np.minimum(x[:, 0::2], limit), np.clip(x[:, 1::2], -limit, limit)
        return np.asarray(exponential.gated(gate, alpha * gate) * (other + plus))
    first, second = np.split(x, 2, axis=1)
    active, plain = (first, second) if left else (second, first)
    return np.asarray(exponential.gated(active, active) * plain)


def flat_shape(call: Call) -> list[Shape]:
    """x and a scale for each of its matrices."""
    x = rank_is(call, "x", 3)
    for name, size in (("kronecker_p1", x[1]), ("kronecker_p2", x[2])):
        shape = rank_is(call, name, 2)
        for one in shape:
            equal_dims(call, one, size, f"{name} = {dims.text(shape)}; allowed: [{size},{size}] for x = {dims.text(x)}.")
    if not 0 < call.attr("clip_ratio") <= 1:
        raise call.refuse("HA508", f"clip_ratio = {call.attr('clip_ratio')}; allowed: above 0, up to 1.")
    if call.attr("dst_dtype") not in (dtypes.INT32, dtypes.INT4) or call.attr("dst_type_max"):
        told = f"dst_dtype = {call.attr('dst_dtype')}, dst_type_max = {call.attr('dst_type_max')}; allowed: 3 or 29, which both"
        raise call.refuse("HA508", f"{told} mean int4, and 0: how float4 results are scaled is not published.")
    return [x, x[:1]]


def int4_only(call: Call) -> int:
    """int4: how float4 results are scaled is not published."""
    return dtypes.INT4


def float_only(call: Call) -> int:
    """float32, the scales of int4."""
    return dtypes.FLOAT


@kernel("FlatQuant", shape=flat_shape, dtype={"out": int4_only, "quant_scale": float_only}, dtype_attrs={},
        names={"p1": "kronecker_p1", "p2": "kronecker_p2"})  # fmt: skip
def flat_quant(x: Array, p1: Array, p2: Array, clip_ratio: float) -> tuple[Array, Array]:
    """round(y / scale) as int4 with y = kronecker_p1 · x · kronecker_p2 for each matrix of x, and the scales.

    Halves go to even, results are held. scale = the largest |y| of a matrix times clip_ratio over 7; a matrix of zeros has
    scale 0 and gives zeros.
    """
    result, scales = np.zeros(x.shape, np.int8), np.zeros(len(x))
    for place, matrix in enumerate(x):
        wide = np.matmul(p1, np.matmul(matrix, p2)).astype(np.float64)
        scales[place] = np.max(np.abs(wide), initial=0) * clip_ratio / 7
        result[place] = held(np.rint(wide / scales[place]), dtypes.INT4)
    return result, scales


def update_shape(call: Call) -> Shape:
    """The shape of var; scales along quant_axis of updates, or broadcast to it."""
    shape = cached(call)
    updates = call.shape("updates")
    axis: int = call.attr("quant_axis")
    if not -len(updates) <= axis < len(updates):
        told = f"quant_axis = {axis}; allowed: {-len(updates)} to {len(updates) - 1}, for updates has {len(updates)} dims."
        raise call.refuse("HA509", told)
    for name in ("quant_scales", "quant_zero_points"):
        if call.has(name) and len(call.shape(name)) == 1:
            check_counts(call, updates[axis], "place along quant_axis", name)
        elif call.has(name):
            check_fitted(call, name, updates)
    return shape


@kernel("QuantUpdateScatter", shape=update_shape, mixed=("updates", "quant_scales", "quant_zero_points", "indices"),
        attrs={"reciprocal_scale": False})  # fmt: skip
def quant_update_scatter(
    var: Array, indices: Array, updates: Array, quant_scales: Array, quant_zero_points: Array | None, axis: int,
    quant_axis: int, reciprocal_scale: bool, call: Call,
) -> Array:  # fmt: skip
    """Scatter of updates as var's integers: round(updates / quant_scales + quant_zero_points), halves to even, held.

    Scales and zero points go along quant_axis of updates, or broadcast; with reciprocal_scale updates are multiplied.
    updates[b] is written into var[b] from position indices[b] of the axis on. In place.
    """
    scale = fitted(quant_scales, updates.ndim, quant_axis)
    steps = updates * scale if reciprocal_scale else updates / scale
    if quant_zero_points is not None:
        steps = steps + fitted(quant_zero_points, updates.ndim, quant_axis)
    return scatter(var, indices, held(np.rint(steps), call.dtype("var")).astype(var.dtype), axis, call)
