"""Products of floats with quantised weights."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hostacl.ops import dims
from hostacl.ops.batches import Cut
from hostacl.ops.call import Call
from hostacl.ops.dims import Shape
from hostacl.ops.gemm import flipped
from hostacl.ops.grouped import row_groups
from hostacl.ops.matmul import product, product_shape, with_whole
from hostacl.ops.matmul_cuts import along
from hostacl.ops.pooling import tiles
from hostacl.ops.quant import held
from hostacl.ops.quant_scales import check_counts, columns, factors, finished, refuse_given
from hostacl.ops.registry import kernel
from hostacl.ops.run import Out
from hostacl.ops.shapes import rank_is
from hostacl.tensors import dtypes

Array = NDArray[Any]


def weight_shape(call: Call) -> Shape:
    """The (batched) product of x and weight; antiquant parameters for all, each column, or groups along k."""
    shape = product_shape(call, "x", "weight", call.attr("transpose_x"), call.attr("transpose_weight"))
    flip, weight = bool(call.attr("transpose_weight")), rank_is(call, "weight", 2)
    group = int(call.attr("antiquant_group_size"))
    if group < 0:
        raise call.refuse("HA508", f"antiquant_group_size = {group}; allowed: 0 (no groups) or more.")
    k = weight[1 if flip else 0]
    for name in ("antiquant_scale", "antiquant_offset"):
        if not call.has(name):
            continue
        if group and len(call.shape(name)) == 2:
            groups = -(-k // group) if isinstance(k, int) else k
            wanted = (shape[-1], groups) if flip else (groups, shape[-1])
            if dims.known(*call.shape(name), *wanted) and call.shape(name) != wanted:
                raise call.refuse("HA504", f"{name} = {dims.text(call.shape(name))}; allowed: {dims.text(wanted)}.")
        else:
            check_counts(call, shape[-1], "column", name)
    check_counts(call, shape[-1], "column", "quant_scale", "quant_offset", "bias")
    return shape


def weight_dtype(call: Call) -> tuple[int, ...]:
    """int8 with quant_scale, else a half type: that of attribute dtype, of x where it is -1."""
    told, code = call.attrs.get("dtype", -1), call.dtype("x")
    allowed = (dtypes.INT8,) if call.has("quant_scale") else (code, *(dtypes.HALVES - {code}))
    if told == -1:
        return allowed
    if told not in allowed:
        names = ", ".join(f"{one} ({dtypes.ge_name(one)})" for one in allowed)
        raise call.refuse("HA508", f"dtype = {told}; allowed: -1 (as the inputs say), {names}.")
    return (told,)


def weight_cuts(call: Call) -> Iterator[Cut]:
    """The cuts of x · weight: by rows, and by columns, for which parameters in groups are cut as the weight is."""
    flips = int(bool(call.attr("transpose_x"))), int(bool(call.attr("transpose_weight")))
    yield from along(call, {"x": flips[0] - 2}, -2)
    groups, lines = ("antiquant_scale", "antiquant_offset"), ("quant_scale", "quant_offset", "bias")
    grids = dict.fromkeys(groups, 1 - flips[1]) if call.attr("antiquant_group_size") else {}
    yield from along(call, {"weight": -1 - flips[1]}, -1, (), lines if grids else (*lines, *groups), grids)


@kernel("WeightQuantBatchMatmulV2", shape=weight_shape, dtype={"y": weight_dtype}, dtype_attrs={},
        mixed=("weight", "quant_scale", "quant_offset", "bias", "y"), cuts=weight_cuts)  # fmt: skip
def weight_quant_batch_matmul_v2(
    x: Array, weight: Array, antiquant_scale: Array, antiquant_offset: Array | None, quant_scale: Array | None,
    quant_offset: Array | None, bias: Array | None, transpose_x: bool, transpose_weight: bool, antiquant_group_size: int,
    out: tuple[Out, ...],
) -> Array:  # fmt: skip
    """x · ((weight + antiquant_offset)·antiquant_scale) + bias.

    The parameters have one element, one for each column, or, with antiquant_group_size, one for each group of so many elements
    along k; they are stored as the weight is. With quant_scale y is int8: rounded half to even after times quant_scale plus
    quant_offset, and held; a 64-bit quant_scale holds a float32 in its lower half. dtype -1: y is as the inputs say.
    """
    wide = weight.astype(np.float32)
    if antiquant_offset is not None:
        wide += over(antiquant_offset, weight.shape, transpose_weight, antiquant_group_size)
    wide *= over(antiquant_scale, weight.shape, transpose_weight, antiquant_group_size)
    y = product(flipped(x, transpose_x), flipped(wide, transpose_weight))
    if bias is not None:
        y += bias.reshape(-1)
    if quant_scale is None:
        return y
    scale, moved = columns(factors(quant_scale)), columns(quant_offset)
    return finished(y, lambda rows, _: rows * scale if moved is None else rows * scale + moved, out[0].code)


def over(parameter: Array, size: tuple[int, ...], flip: bool, group: int) -> Array:
    """A parameter in a shape that broadcasts over a weight as it is stored."""
    if parameter.size == 1:
        return parameter.reshape(())
    if group and parameter.ndim == 2:
        axis = 1 if flip else 0
        return np.repeat(parameter, group, axis=axis).take(range(size[axis]), axis=axis)
    return parameter.reshape((-1, 1) if flip else (1, -1))


MODES = ("pertoken", "pertensor")


def dequant_shape(call: Call) -> Shape:
    """(m, n)."""
    refuse_given(call, "how it enters the product is not published", "x_offset")
    if call.attr("x_quant_mode") not in MODES:
        raise call.refuse("HA508", f"x_quant_mode = {call.attr('x_quant_mode')!r}; allowed: {', '.join(MODES)}.")
    rank_is(call, "x", 2)
    rank_is(call, "quantized_weight", 2)
    shape = product_shape(call, "x", "quantized_weight", False, call.attr("transpose_weight"))
    check_counts(call, shape[-1], "column", "weight_scale", "bias")
    check_counts(call, shape[0], "row", "x_scale")
    check_counts(call, call.shape("x")[1], "column of x", "smooth_scale")
    return shape


@kernel("QuantMatmulDequant", shape=dequant_shape, mixed=("smooth_scale",))
def quant_matmul_dequant(
    x: Array, quantized_weight: Array, weight_scale: Array, bias: Array | None, x_scale: Array | None,
    smooth_scale: Array | None, x_quant_mode: str, transpose_weight: bool,
) -> Array:  # fmt: skip
    """(round(x·smooth_scale / x_scale) · weight + bias)·weight_scale·x_scale, x held within int8 and rounded half to even.

    Without x_scale it is the largest |x·smooth_scale| over 127: of each row, with x_quant_mode pertensor of all of x; 0: 0.
    """
    rows, scale = quantized(x, smooth_scale, x_scale, x_quant_mode)
    total = product(rows, flipped(quantized_weight, transpose_weight))
    return dequantized(total, bias, weight_scale, scale)


def quantized(x: Array, smooth: Array | None, scale: Array | None, mode: str) -> tuple[Array, Array]:
    """Rows of x as int8 and their scales."""
    if scale is not None:
        scales = np.broadcast_to(scale.astype(np.float64).reshape(-1), (len(x),))
    else:
        scales = np.zeros(len(x))
        for part in tiles(x):
            scales[part] = np.max(np.abs(x[part] if smooth is None else x[part] * smooth), axis=1, initial=0) / 127.0
        if mode == "pertensor":
            scales[:] = np.max(scales, initial=0)
    result = np.zeros(x.shape, np.int8)
    for part in tiles(x):
        wide = x[part].astype(np.float64) if smooth is None else (x[part] * smooth).astype(np.float64)
        result[part] = held(np.rint(wide / scales[part][:, None]), dtypes.INT8)
    return result, scales


def dequantized(total: Array, bias: Array | None, weight_scale: Array, scales: Array) -> Array:
    """Rows of products, with an int32 bias, times the scales of columns and rows."""
    if bias is not None:
        total = with_whole(total, bias.reshape(-1))
    factor = columns(factors(weight_scale))
    return finished(total, lambda rows, part: rows * factor * scales[part][:, None], dtypes.FLOAT)


def grouped_dequant_shape(call: Call) -> Shape:
    """(m, n), for weights of so many groups."""
    refuse_given(call, "how it enters the product is not published", "x_offset")
    if call.attr("x_quant_mode") not in MODES:
        raise call.refuse("HA508", f"x_quant_mode = {call.attr('x_quant_mode')!r}; allowed: {', '.join(MODES)}.")
    (m, k), weight = rank_is(call, "x", 2), rank_is(call, "quantized_weight", 3)
    groups, n, inner = (weight[0], *weight[1:]) if call.attr("transpose_weight") else (weight[0], weight[2], weight[1])
    if dims.known(k, inner) and k != inner:
        raise call.refuse("HA504", f"x has {k} columns, the weights {inner} rows; they must be equal.")
    for name in ("weight_scale", "bias"):
        if call.has(name) and dims.known(*call.shape(name), groups, n) and call.shape(name) != (groups, n):
            raise call.refuse("HA504", f"{name} = {dims.text(call.shape(name))}; allowed: {dims.text((groups, n))}.")
    check_counts(call, groups, "group", "group_list")
    check_counts(call, m, "row", "x_scale")
    check_counts(call, k, "column of x", "smooth_scale")
    return m, n


@kernel("QuantGroupedMatmulDequant", shape=grouped_dequant_shape, mixed=("smooth_scale",))
def quant_grouped_matmul_dequant(
    x: Array, quantized_weight: Array, weight_scale: Array, group_list: Array, bias: Array | None, x_scale: Array | None,
    smooth_scale: Array | None, x_quant_mode: str, transpose_weight: bool, call: Call,
) -> Array:  # fmt: skip
    """QuantMatmulDequant with a weight for each group of rows; group_list holds the row behind each group's last one.

    Rows behind the last group are 0.
    """
    rows, scale = quantized(x, smooth_scale, x_scale, x_quant_mode)
    y = np.zeros((len(x), weight_scale.shape[-1]), np.float32)
    for place, part in enumerate(row_groups(call, group_list, 0, len(x))):
        total = product(rows[part], flipped(quantized_weight[place], transpose_weight))
        y[part] = dequantized(total, None if bias is None else bias[place], weight_scale[place], scale[part])
    return y
