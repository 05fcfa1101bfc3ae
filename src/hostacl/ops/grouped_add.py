"""Products of quantised matrices in groups along the inner axis, added to what is there."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hostacl.ops import dims
from hostacl.ops.call import Call
from hostacl.ops.dims import Shape
from hostacl.ops.grouped import row_groups
from hostacl.ops.quant_scales import MX_GROUP
from hostacl.ops.registry import kernel
from hostacl.ops.shapes import equal_dims, rank_is
from hostacl.tensors import dtypes

Array = NDArray[Any]

PAIR = 2 * MX_GROUP
"""How many elements of the inner axis a row of pairs of float8_e8m0 scales is for."""

TILE_BYTES = 2**25


def added_shape(call: Call) -> Shape:
    """(groups, m, n), that of y."""
    k, m = rank_is(call, "x1", 2)
    inner, n = rank_is(call, "x2", 2)
    equal_dims(call, k, inner, f"x1 has {k} rows, x2 {inner}; they must be equal: the inner axis is the first of both.")
    (groups,) = rank_is(call, "group_list", 1)
    y, shape = rank_is(call, "y", 3), (groups, m, n)
    if dims.known(*y, *shape) and y != shape:
        raise call.refuse("HA504", f"y = {dims.text(y)}; allowed: {dims.text(shape)}, a product for each group.")
    check_attributes(call)
    check_scales(call, k, shape)
    return shape


def check_attributes(call: Call) -> None:
    """Refuses kinds of group_list and sizes of groups that are not known."""
    if call.attr("group_list_type") not in (0, 1):
        raise call.refuse("HA508", f"group_list_type = {call.attr('group_list_type')}; allowed: 0 (ends), 1 (lengths).")
    if call.attr("group_size") != 0:
        raise call.refuse("HA508", f"group_size = {call.attr('group_size')}; allowed: 0, as the scales' shapes say.")


def check_scales(call: Call, k: Any, shape: Shape) -> None:
    """Refuses scales of other types and shapes than those that belong to the matrices."""
    kinds = {call.dtype(name) == dtypes.HIFLOAT8 for name in ("x1", "x2")} | {call.dtype("scale2") == dtypes.FLOAT}
    if len(kinds) == 2:
        given = ", ".join(f"{name} is {dtypes.ge_name(call.dtype(name))}" for name in ("x1", "x2", "scale2"))
        told = "DT_HIFLOAT8 with scales of DT_FLOAT, or two of DT_FLOAT8_E5M2 and DT_FLOAT8_E4M3FN with DT_FLOAT8_E8M0"
        raise call.refuse("HA503", f"{given}; allowed: x1 and x2 of {told}.")
    groups, m, n = shape
    if call.dtype("scale2") == dtypes.FLOAT:
        check_shape(call, "scale1", (groups,), (groups, 1))
        check_shape(call, "scale2", (groups,), (groups, 1), (groups, n))
        return
    if not call.has("scale1"):
        raise call.refuse("HA513", "scale1 is missing; scales of DT_FLOAT8_E8M0 are needed for both matrices.")
    rows = k // PAIR + groups
    check_shape(call, "scale1", (rows, m, 2))
    check_shape(call, "scale2", (rows, n, 2))


def check_shape(call: Call, name: str, *allowed: Shape) -> None:
    """Refuses a tensor that has none of these shapes."""
    shape = call.shape(name) if call.has(name) else allowed[0]
    if not any(len(one) == len(shape) and (not dims.known(*one, *shape) or one == shape) for one in allowed):
        told = " or ".join(dims.text(one) for one in allowed)
        raise call.refuse("HA504", f"{name} = {dims.text(shape)}; allowed: {told}.")


@kernel("QuantGroupedMatmulInplaceAdd", shape=added_shape, mixed=("x1", "x2"))
def quant_grouped_matmul_inplace_add(
    x1: Array, x2: Array, scale2: Array, group_list: Array, y: Array, scale1: Array | None, group_list_type: int, call: Call
) -> Array:  # fmt: skip
    """y + (x1ᵀ · x2)·scale1·scale2 for each group of rows of x1 (k, m) and x2 (k, n), in place.

    group_list holds ends of groups, with group_list_type 1 lengths; rows behind the last group are left out, a group without
    rows leaves its y. hifloat8: scale1 has one element a group (1 where left out), scale2 one, or one for each column. Other
    float8: each 32 rows of a group share a float8_e8m0 scale for every column, the last perhaps fewer. How the scales of the
    groups follow each other is our choice: group i, which begins at row s, has its pairs of scales from s // 64 + i on.
    """
    result = y.astype(np.float32)
    for place, part in enumerate(row_groups(call, group_list, group_list_type, len(x1))):
        if scale2.ndim == 3:
            assert scale1 is not None
            first = part.start // PAIR + place
            one, other = MicroScaled(x1[part], scale1[first:]), MicroScaled(x2[part], scale2[first:])
            add_product(result[place], one, other, 1.0)
        else:
            factor = scale2[place].astype(np.float64) * (1 if scale1 is None else scale1[place].astype(np.float64))
            add_product(result[place], MicroScaled(x1[part], None), MicroScaled(x2[part], None), factor)
    return result


class MicroScaled:
    """Rows of a group, with a scale for each column of 32 of them, in pairs, or none."""

    def __init__(self, values: Array, scale: Array | None) -> None:
        self.values, self.scale = values, scale

    def tile(self, rows: slice, columns: slice) -> Array:
        """The scaled values of some rows, the first of which begins a pair of scales."""
        wide = self.values[rows, columns].astype(np.float64)
        if self.scale is None:
            return wide
        pairs = self.scale[rows.start // PAIR : -(-rows.stop // PAIR), columns]
        by_rows = np.repeat(pairs.swapaxes(1, 2).reshape(2 * len(pairs), pairs.shape[1]), MX_GROUP, axis=0)
        return wide * by_rows[: len(wide)]


def add_product(y: Array, one: MicroScaled, other: MicroScaled, factor: Any) -> None:
    """Adds oneᵀ · other times a factor (of all or of columns) to y, in tiles whose float64 copies stay small."""
    k, n = other.values.shape
    rows = max(1, TILE_BYTES // (8 * max(n, 1)))
    depth = max(PAIR, TILE_BYTES // (8 * max(min(rows, len(y)), n, 1)) // PAIR * PAIR)
    for columns in parts(len(y), rows):
        total = np.zeros((columns.stop - columns.start, n))
        for part in parts(k, depth):
            total += one.tile(part, columns).T @ other.tile(part, slice(None))
        y[columns] += total * factor


def parts(size: int, each: int) -> Iterator[slice]:
    """A range in pieces of so many."""
    return (slice(start, min(start + each, size)) for start in range(0, size, each))
