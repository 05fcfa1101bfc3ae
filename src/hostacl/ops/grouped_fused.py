"""Quantised products in groups with what follows them: a gate, or the way back to the tokens."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hostacl.errors import Failed
from hostacl.ops import dims
from hostacl.ops.call import Call
from hostacl.ops.dims import Shape
from hostacl.ops.gemm import flipped
from hostacl.ops.grouped import row_groups
from hostacl.ops.matmul import product
from hostacl.ops.quant_fused import by_rows, gated
from hostacl.ops.quant_scales import check_counts, factors, refuse_given
from hostacl.ops.registry import kernel
from hostacl.ops.shapes import equal_dims, rank_is
from hostacl.tensors import dtypes

Array = NDArray[Any]

UNPUBLISHED = "what it does to the result is not published"


def check_integers(call: Call, *names: str) -> None:
    """Refuses small floats, whose scales come in layouts that are not published."""
    for name in names:
        if call.dtype(name) not in (dtypes.INT8, dtypes.INT4):
            told = f"{name} is {dtypes.ge_name(call.dtype(name))}; allowed: DT_INT8 (weights: DT_INT4 too)"
            raise call.refuse("HA502", f"{told}. QuantBatchMatmulV4 multiplies small floats, one group at a time.")


def grouped_dims(call: Call, weight: Shape, flip: bool) -> tuple[Any, Any, Any]:
    """Rows, groups and columns of x · weight; refuses what does not go together."""
    m, k = rank_is(call, "x", 2)
    if len(weight) != 3:
        raise call.refuse("HA516", f"the weights = {dims.text(weight)}; allowed: 3 dims, one matrix for each group.")
    groups, inner, n = (weight[0], weight[2], weight[1]) if flip else weight
    if dims.known(k, inner) and k != inner:
        raise call.refuse("HA504", f"x has {k} columns, the weights {inner} rows; they must be equal.")
    if call.attr("group_list_type") not in (0, 1):
        raise call.refuse("HA508", f"group_list_type = {call.attr('group_list_type')}; allowed: 0 (ends), 1 (lengths).")
    if call.has("group_list"):
        check_counts(call, groups, "group", "group_list")
    return m, groups, n


def check_table(call: Call, name: str, shape: Shape, groups: Any, n: Any) -> None:
    """Refuses scales that are not one for each column of each group."""
    if dims.known(*shape, groups, n) and dims.count(shape) != groups * n:
        raise call.refuse("HA504", f"{name} = {dims.text(shape)}; allowed: [{groups},{n}], one for each column of each group.")


def swiglu_shape(call: Call) -> list[Shape]:
    """Half of the columns, and a scale for each row."""
    check_integers(call, "x", "weight")
    refuse_given(call, UNPUBLISHED, "bias", "weight_assist_matrix")
    if len(call.shapes("weight")) != 1 or len(call.shapes("weight_scale")) != 1:
        raise call.refuse("HA513", "the weights of all groups are one tensor of 3 dims, and so are their scales, of 2.")
    for name in ("dequant_mode", "quant_mode"):
        if call.attr(name) != 0:
            raise call.refuse("HA508", f"{name} = {call.attr(name)}; allowed: 0.")
    m, groups, n = grouped_dims(call, call.shapes("weight")[0], call.attr("transpose_weight"))
    check_table(call, "weight_scale0", call.shapes("weight_scale")[0], groups, n)
    check_counts(call, m, "row", "x_scale")
    if isinstance(n, int) and n % 2:
        raise call.refuse("HA504", f"the weights have {n} columns; allowed: an even number, whose halves are gated.")
    if call.has("smooth_scale"):
        check_table(call, "smooth_scale", call.shape("smooth_scale"), groups, n // 2)
    return [(m, n // 2), (m,)]


TILE_BYTES = 32 << 20
"""What the float64 products of some rows may take."""


def tiles(groups: Sequence[slice], columns: int) -> Iterator[tuple[int, slice]]:
    """Each group with its rows, many of them in parts."""
    step = max(1, TILE_BYTES // (8 * max(columns, 1)))
    for place, rows in enumerate(groups):
        for start in range(rows.start, rows.stop, step):
            yield place, slice(start, min(start + step, rows.stop))


def int8_only(call: Call) -> int:
    """int8."""
    return dtypes.INT8


def float_only(call: Call) -> int:
    """float32."""
    return dtypes.FLOAT


@kernel("GroupedMatmulSwigluQuantV2", shape=swiglu_shape, dtype={"y": int8_only, "y_scale": float_only}, dtype_attrs={},
        mixed=("x", "weight", "x_scale", "weight_scale"))  # fmt: skip
def grouped_matmul_swiglu_quant_v2(
    x: Array, x_scale: Array, group_list: Array, weight: list[Array], weight_scale: list[Array], smooth_scale: Array | None,
    transpose_weight: bool, group_list_type: int, call: Call,
) -> tuple[Array, Array]:  # fmt: skip
    """SwiGLU of x · weight·x_scale·weight_scale for each group of rows, as int8 with a scale for each row.

    The first half of the columns is activated and gates the second. The scale is the largest magnitude of a row over 127 (after
    times the group's smooth_scale, where given); results are rounded half to even. group_list holds ends of groups, with
    group_list_type 1 lengths; rows behind the last group give 0. dequant_dtype, quant_dtype and tuning_config change nothing.
    """
    matrices = weight[0]
    n = matrices.shape[1 if transpose_weight else 2]
    y, scales = np.zeros((len(x), n // 2), np.int8), np.zeros(len(x))
    columns, rows = factors(weight_scale[0]).reshape(len(matrices), n), factors(x_scale).reshape(-1, 1)
    smooth = None if smooth_scale is None else smooth_scale.astype(np.float64).reshape(len(matrices), n // 2)
    for place, part in tiles(row_groups(call, group_list, group_list_type, len(x)), n):
        total = product(x[part], flipped(matrices[place], transpose_weight)).astype(np.float64)
        wide = gated(total * columns[place] * (rows if len(rows) == 1 else rows[part]), True, 0, (0.0, 0.0, 0.0))
        y[part], scales[part] = by_rows(wide if smooth is None else wide * smooth[place])
    return y, scales


def routing_shape(call: Call) -> Shape:
    """(output_bs, n)."""
    check_integers(call, "x", "w")
    refuse_given(call, UNPUBLISHED, "bias", "offset")
    if call.attr("transpose_x"):
        raise call.refuse("HA508", "transpose_x is true; allowed: false.")
    m, groups, n = grouped_dims(call, call.shape("w"), call.attr("transpose_w"))
    for name in ("scale", "group_list", "row_index"):
        if not call.has(name):
            raise call.refuse("HA513", f"{name} is required.")
    check_table(call, "scale", call.shape("scale"), groups, n)
    check_counts(call, m, "row", "pertoken_scale", "logit", "row_index")
    places = call.shape("row_index")
    equal_dims(call, dims.count(places), m, f"row_index = {dims.text(places)}; allowed: one for each of {m} rows.")
    size, start = int(call.attr("output_bs")), int(call.attr("shared_input_offset"))
    if size < 1 and m != 0:
        raise call.refuse("HA508", f"output_bs = {size}; allowed: 1 or more, the rows of y.")
    if call.has("shared_input"):
        rows, width = rank_is(call, "shared_input", 2)
        if isinstance(rows, int) and dims.known(width, n) and (width != n or start < 0 or start + rows > size):
            told = f"shared_input = {dims.text((rows, width))} from row {start} on; y is [{size},{n}]"
            raise call.refuse("HA504", f"{told}. It must lie inside.")
    return size, n


@kernel("GroupedMatmulFinalizeRouting", shape=routing_shape, dtype_attrs={},
        mixed=("x", "w", "scale", "pertoken_scale", "shared_input", "row_index"))  # fmt: skip
def grouped_matmul_finalize_routing(
    x: Array, w: Array, scale: Array, pertoken_scale: Array | None, group_list: Array, shared_input: Array | None,
    logit: Array | None, row_index: Array, shared_input_weight: float, shared_input_offset: int, transpose_w: bool,
    output_bs: int, group_list_type: int, call: Call,
) -> Array:  # fmt: skip
    """Rows of x · w·scale·pertoken_scale·logit, added up in the rows of y that row_index names; plus the shared input.

    Each group of rows has its matrix of w; group_list holds lengths of groups, with group_list_type 0 ends; rows behind the
    last group are left out. shared_input times shared_input_weight is added to the rows from shared_input_offset on. y is
    float32 whatever dtype says.
    """
    n = w.shape[1 if transpose_w else 2]
    y, columns = np.zeros((output_bs, n)), factors(scale).reshape(len(w), n)
    index = row_index.reshape(-1)
    wrong = (index < 0) | (index >= output_bs)
    if wrong.any():
        first = int(np.argmax(wrong))
        told = f"row_index[{first}] = {int(index[first])}; allowed: 0 to {output_bs - 1}, the rows of y"
        raise Failed("HA510", f"{call.op_type}: {told}.")
    if shared_input is not None:
        where = slice(shared_input_offset, shared_input_offset + len(shared_input))
        y[where] += shared_input.astype(np.float64) * shared_input_weight
    for place, part in tiles(row_groups(call, group_list, group_list_type, len(x)), n):
        wide = product(x[part], flipped(w[place], transpose_w)).astype(np.float64) * columns[place]
        for one in (pertoken_scale, logit):
            if one is not None:
                wide *= one.reshape(-1, 1) if one.size == 1 else one.reshape(-1, 1)[part]
        np.add.at(y, index[part], wide)
    return y
