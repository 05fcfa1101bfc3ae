"""Distinct values: sorted, in order of appearance, of neighbours, along an axis; with inverse and counts."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hostacl.ops import dims, ordering, runtime
from hostacl.ops.call import Call, Unknown
from hostacl.ops.dims import Shape
from hostacl.ops.registry import kernel
from hostacl.ops.shapes import axis as checked_axis
from hostacl.ops.shapes import rank_is
from hostacl.tensors import dtypes

Array = NDArray[Any]

FLAT = 1000
"""The axis that stands for "none": the flat tensor."""


class Groups(NamedTuple):
    """Equal elements: the place of the first one of each group, the group of each element, and how many it has."""

    first: Array
    inverse: Array
    counts: Array


def sorted_groups(x: Array) -> Groups:
    """Groups of a vector in ascending order. Each NaN is a group of its own, behind all others."""
    if x.dtype.kind in "iuf":
        code = dtypes.code_of(x.dtype.name)
        order = ordering.stable_places(ordering.keys(x[None], code))[0]
    else:
        order = np.argsort(x, kind="stable")
    return _groups(order, changes(x[order]))


def changes(x: Array) -> Array:
    """Where an element (or row) differs from the one before it."""
    new = np.ones(len(x), np.bool_)
    differ = x[1:] != x[:-1]
    new[1:] = differ if x.ndim == 1 else differ.any(axis=1)
    return new


def _groups(order: Array, new: Array) -> Groups:
    starts = np.flatnonzero(new)
    inverse = np.empty(order.size, np.int64)
    inverse[order] = np.cumsum(new) - 1
    return Groups(order[starts], inverse, np.diff(starts, append=order.size))


def sorted_rows(x: Array) -> Groups:
    """Groups of equal rows in lexicographic order."""
    if x.shape[1] == 0:
        return Groups(np.arange(min(len(x), 1)), np.zeros(len(x), np.int64), np.full(min(len(x), 1), len(x)))
    order = np.lexsort(x.T[::-1])
    return _groups(order, changes(x[order]))


def by_appearance(groups: Groups) -> Groups:
    """The same groups in the order in which they appear."""
    order = np.argsort(groups.first, kind="stable")
    number = np.empty(order.size, np.int64)
    number[order] = np.arange(order.size)
    return Groups(groups.first[order], number[groups.inverse], groups.counts[order])


def narrow(call: Call) -> tuple[int, ...]:
    """The dtype of indices and counts: what attribute out_idx says, else int64 when so described."""
    wanted = call.attrs.get("out_idx")
    return (dtypes.INT64, dtypes.INT32) if wanted in (None, dtypes.INT64) else (dtypes.INT32, dtypes.INT64)


def wide_first(call: Call) -> tuple[int, ...]:
    """int64 unless described as int32."""
    return (dtypes.INT64, dtypes.INT32)


def flat_unique(call: Call) -> list[Shape]:
    """Up to as many values as x has; an inverse of x's shape and counts when asked for."""
    x = call.shape("x")
    most = runtime.up_to(dims.count(x))
    return [(most,), x if call.attr("return_inverse") else (most,), (most,)]


@kernel(
    "UniqueWithCountsAndSorting", shape=flat_unique, dtype={"indices": wide_first, "counts": wide_first}
)
def unique_with_counts_and_sorting(
    x: Array, return_inverse: bool, return_counts: bool
) -> tuple[Array, Array | None, Array | None]:
    """The distinct values of x in ascending order, where each element of x stands among them, and how often each comes.

    The last two are written only when return_inverse and return_counts ask for them. Each NaN is distinct and stands last;
    -0 and 0 are equal. The values are sorted whether ``sorted`` asks for it or not.
    """
    flat = x.reshape(-1)
    groups = sorted_groups(flat)
    inverse = groups.inverse.reshape(x.shape) if return_inverse else None
    return flat[groups.first], inverse, groups.counts if return_counts else None


def consecutive(call: Call) -> list[Shape]:
    """Up to as many values (or slices along the axis) as x has; idx and count when asked for."""
    x, axis = call.shape("x"), call.attr("axis")
    if axis == FLAT:
        most = runtime.up_to(dims.count(x))
        return [(most,), x if call.attr("return_idx") else (most,), (most,)]
    if not x:
        raise call.refuse("HA509", f"axis = {axis}; x is a scalar: allowed is {FLAT}, the flat tensor.")
    place = checked_axis(call, axis, len(x))
    most = runtime.up_to(x[place])
    return [(*x[:place], most, *x[place + 1 :]), (x[place],) if call.attr("return_idx") else (most,), (most,)]


@kernel("UniqueConsecutive", shape=consecutive, dtype={"idx": wide_first, "count": wide_first})
def unique_consecutive(
    x: Array, return_idx: bool, return_counts: bool, axis: int
) -> tuple[Array, Array | None, Array | None]:
    """x without elements (slices along the axis) that equal the one before; where each went, and how many there were in a row.

    Axis 1000 is the flat tensor. idx and count are written only when return_idx and return_counts ask. NaN equals nothing.
    """
    lines, rows = (x.reshape(-1),) * 2 if axis == FLAT else slices(x, axis)
    groups = _groups(np.arange(len(rows)), changes(rows))
    kept = lines[groups.first]
    inverse = groups.inverse.reshape(x.shape) if axis == FLAT else groups.inverse
    y = kept if axis == FLAT else np.moveaxis(kept, 0, axis)
    return y, inverse if return_idx else None, groups.counts if return_counts else None


def slices(x: Array, axis: int) -> tuple[Array, Array]:
    """x with the axis in front, and the same as rows."""
    lines = np.moveaxis(x, axis, 0)
    return lines, np.ascontiguousarray(lines).reshape(len(lines), -1 if lines.size else 0)


def vector_unique(call: Call) -> list[Shape]:
    """Up to as many values as the vector x has, the group of each element, and counts."""
    (size,) = rank_is(call, "x", 1)
    return [(runtime.up_to(size),), (size,), (runtime.up_to(size),)]


@kernel("Unique", shape=vector_unique, dtype={"idx": narrow})
def unique(x: Array) -> tuple[Array, Array]:
    """The distinct values of a vector as they appear, and which of them each element is. NaN equals nothing."""
    groups = by_appearance(sorted_groups(x))
    return x[groups.first], groups.inverse


@kernel("UniqueWithCounts", shape=vector_unique, dtype={"idx": narrow, "count": narrow})
def unique_with_counts(x: Array) -> tuple[Array, Array, Array]:
    """The distinct values of a vector as they appear, which of them each element is, and how often each comes."""
    groups = by_appearance(sorted_groups(x))
    return x[groups.first], groups.inverse, groups.counts


def axis_unique(call: Call) -> list[Shape]:
    """Up to as many slices as x has along the axis, the group of each, and counts."""
    x = call.shape("x")
    if not call.known("axis"):
        raise Unknown("axis")
    place = unique_axis(call, call.ints("axis"), len(x))
    most = runtime.up_to(x[place])
    found: list[Shape] = [(*x[:place], most, *x[place + 1 :]), (x[place],), (most,), (x[place],)]
    if "inverse_idx" in call.outputs:
        found[1] = (most,)
    return found


def unique_axis(call: Call, listed: Any, rank: int) -> int:
    """The axis; none at all for a vector."""
    values = runtime.whole(listed)
    if len(values) > 1 or (not values and rank != 1) or rank == 0:
        told = f"axis = {values} for x of rank {rank}; allowed: one axis, or none at all for a vector."
        raise call.refuse("HA519" if rank else "HA516", told)
    return checked_axis(call, values[0] if values else 0, rank)


def along(call: Call, x: Array, axis: Any) -> tuple[Array, Groups]:
    """The distinct slices of x along the axis as they appear (ascending when attribute sorted asks), and their groups."""
    place = unique_axis(call, axis, x.ndim)
    lines, rows = slices(x, place)
    groups = sorted_groups(lines) if x.ndim == 1 else sorted_rows(rows)
    if not call.attrs.get("sorted"):
        groups = by_appearance(groups)
    return np.moveaxis(lines[groups.first], 0, place), groups


@kernel("UniqueExt2", shape=axis_unique, values=("axis",), dtype={"idx": narrow})
def unique_ext2(x: Array, axis: Any, call: Call) -> tuple[Array, Array]:
    """The distinct slices of x along the axis as they appear, and which of them each slice is. NaN equals nothing."""
    values, groups = along(call, x, axis)
    return values, groups.inverse


@kernel(
    "UniqueWithCountsExt2", shape=axis_unique, values=("axis",), dtype={"idx": narrow, "count": narrow, "inverse_idx": narrow}
)
def unique_with_counts_ext2(x: Array, axis: Any, call: Call) -> tuple[Array, ...]:
    """The distinct slices of x along the axis as they appear, which of them each slice is, and how often each comes.

    The older prototype (attributes sorted and return_inverse, output inverse_idx) gives as idx where each first appears, and
    the group of each slice as inverse_idx; sorted puts the slices in ascending order. NaN equals nothing.
    """
    values, groups = along(call, x, axis)
    if "inverse_idx" in call.outputs:
        return values, groups.first, groups.counts, groups.inverse
    return values, groups.inverse, groups.counts
