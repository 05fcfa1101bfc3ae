"""Sorting, the k largest or smallest, and searching in sorted sequences."""

from __future__ import annotations

from math import prod
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from hostacl.ops import dims, ordering, runtime
from hostacl.ops.call import Call
from hostacl.ops.dims import Shape
from hostacl.ops.registry import kernel
from hostacl.ops.shapes import alike_inputs, equal_dims, one_element
from hostacl.ops.shapes import axis as checked_axis
from hostacl.tensors import dtypes

Array = NDArray[Any]

WIDER = (dtypes.INT64,)

LONG = 64
"""Values of a row from which on it is searched by itself."""


def index_width(name: str) -> Any:
    """The dtype rule of indices: int32 unless the attribute, or the described output, says int64."""

    def rule(call: Call) -> tuple[int, ...]:
        wanted = call.attrs.get(name)
        return (dtypes.INT64, dtypes.INT32) if wanted == dtypes.INT64 else (dtypes.INT32, dtypes.INT64)

    return rule


def ordered(call: Call) -> list[Shape]:
    """Two outputs with the shape of x."""
    x = call.shape("x")
    checked_axis(call, call.attr("axis"), len(x))
    return [x, x]


@kernel(
    "Sort", shape=ordered, attrs={"y2_dtype": dtypes.INT32}, dtypes={"y2": WIDER}, dtype={"y2": index_width("y2_dtype")},
    dtype_attrs={"y2": "y2_dtype"}, bits=True,
)  # fmt: skip
def sort(x: Array, axis: int, descending: bool, call: Call) -> tuple[Array, Array]:
    """The elements along the axis in order, and where they were.

    Always stable: of equal elements (-0 and 0 are equal) the first stays the first, descending too. NaN counts as the largest.
    """
    values, places = ordering.select(x, call.dtype("x"), axis, None, descending)
    return values.reshape(x.shape), places.reshape(x.shape)


@kernel("SortV2", shape=lambda call: ordered(call)[0], bits=True)
def sort_v2(x: Array, axis: int, descending: bool, call: Call) -> Array:
    """The elements along the axis in order. Stable; NaN counts as the largest."""
    return ordering.select(x, call.dtype("x"), axis, None, descending)[0].reshape(x.shape)


def best(call: Call) -> list[Shape]:
    """x with k along the dim; up to all of them before k is known."""
    x = call.shape("x")
    place = checked_axis(call, call.attr("dim"), len(x), "dim")
    shape = x or (1,)
    if "k" not in call.attrs and not call.known("k"):
        return [(*shape[:place], runtime.up_to(shape[place]), *shape[place + 1 :])] * 2
    count = call.scalar("k")
    high = dims.bounds(shape[place])[1]
    if count < 0 or (high is not None and count > high):
        rule = "HA508" if "k" in call.attrs else "HA519"
        raise call.refuse(rule, f"k = {count}; allowed: 0 to {high}, for x = {dims.text(x)} has {high} along dim {place}.")
    return [(*shape[:place], count, *shape[place + 1 :])] * 2


@kernel(
    "TopK", "TopKV2", "TopKD", "TopKV2D", shape=best, values=("k",), attrs={"indices_dtype": dtypes.INT32},
    dtypes={"indices": WIDER}, dtype={"indices": index_width("indices_dtype")}, dtype_attrs={"indices": "indices_dtype"},
    bits=True,
)  # fmt: skip
def top_k(x: Array, k: Any, dim: int, largest: bool, call: Call) -> tuple[Array, Array]:
    """The k largest (or smallest) elements along dim and where they were, always in order.

    Of equal elements the first comes first. NaN counts as the largest.
    """
    return ordering.select(x, call.dtype("x"), dim, runtime.one(k), largest)


def searched(call: Call) -> Shape:
    """The shape of values; a sequence of more dims has the same leading ones."""
    sequence, values = call.shape("sorted_sequence"), call.shape("values")
    told = f"sorted_sequence = {dims.text(sequence)}, values = {dims.text(values)}"
    if not sequence:
        raise call.refuse("HA516", "sorted_sequence is a scalar; allowed: 1 dim or more.")
    if len(sequence) > 1:
        if len(sequence) != len(values):
            raise call.refuse("HA504", f"{told}: both need one rank, or sorted_sequence 1 dim.")
        for one, other in zip(sequence[:-1], values[:-1], strict=True):
            equal_dims(call, one, other, f"{told}: all dims but the last must be equal.")
    if call.has("sorter"):
        alike_inputs(call, "sorted_sequence", "sorter")
    return values


def less(one: Array, other: Array) -> Array:
    """one < other, NaN being the largest."""
    if one.dtype.kind != "f":
        return one < other
    return (one < other) | (np.isnan(other) & ~np.isnan(one))


def search(sequence: Array, values: Array, right: bool) -> Array:
    """Where each value belongs in its row of a sequence."""
    if sequence.ndim == 1:
        return np.searchsorted(sequence, values, side="right" if right else "left")
    lead = prod(sequence.shape[:-1])
    rows, wanted = sequence.reshape(lead, sequence.shape[-1]), values.reshape(lead, values.shape[-1])
    if wanted.shape[1] >= LONG:
        side: Literal["left", "right"] = "right" if right else "left"
        found = [np.searchsorted(row, each, side=side) for row, each in zip(rows, wanted, strict=True)]
        return np.array(found, np.int64).reshape(values.shape)
    return _halve(rows, wanted, right).reshape(values.shape)


def _halve(rows: Array, wanted: Array, right: bool) -> Array:
    """All values of all rows at once."""
    low, high = np.zeros(wanted.shape, np.int64), np.full(wanted.shape, rows.shape[1], np.int64)
    for _ in range(rows.shape[1].bit_length()):
        middle = (low + high) // 2
        found = np.take_along_axis(rows, np.minimum(middle, rows.shape[1] - 1), -1)
        after = ~less(wanted, found) if right else less(found, wanted)
        open_ = low < high
        low, high = np.where(open_ & after, middle + 1, low), np.where(open_ & ~after, middle, high)
    return low


@kernel("SearchSorted", shape=searched)
def search_sorted(
    sorted_sequence: Array, values: Array, sorter: Array | None, right: bool, call: Call
) -> Array:
    """Where each value belongs in the sequence of its row: before equal ones, behind them when right. NaN is the largest.

    sorter: the order that sorts a sequence that is not sorted itself. A sequence of one dim is for all values.
    """
    length = sorted_sequence.shape[-1]
    if sorter is not None and (wrong := (sorter < 0) | (sorter >= length)).any():
        told = f"sorter holds {int(sorter[wrong][0])}; allowed: 0 to {length - 1}, places of sorted_sequence."
        raise call.refuse("HA510", told)
    sequence = sorted_sequence if sorter is None else np.take_along_axis(sorted_sequence, sorter, -1)
    return search(sequence, values, right)


def bounded(call: Call) -> Shape:
    """The shape of values; sorted_x has as many rows."""
    sequence, values = call.shape("sorted_x"), call.shape("values")
    told = f"sorted_x = {dims.text(sequence)}, values = {dims.text(values)}: matrices of equally many rows are allowed."
    if len(sequence) != 2 or len(values) != 2:
        raise call.refuse("HA516", told)
    equal_dims(call, sequence[0], values[0], told)
    return values


@kernel("LowerBound", shape=bounded)
def lower_bound(sorted_x: Array, values: Array) -> Array:
    """Where each value belongs in its row of sorted_x, before equal ones. NaN is the largest."""
    return search(sorted_x, values, False)


@kernel("UpperBound", shape=bounded)
def upper_bound(sorted_x: Array, values: Array) -> Array:
    """Where each value belongs in its row of sorted_x, behind equal ones. NaN is the largest."""
    return search(sorted_x, values, True)


def nth(call: Call) -> Shape:
    """x without its last dim."""
    x = call.shape("x")
    if not x:
        raise call.refuse("HA516", "x is a scalar; allowed: 1 dim or more.")
    one_element(call, "n")
    return x[:-1]


@kernel("NthElement", shape=nth, bits=True)
def nth_element(x: Array, n: Any, reverse: bool, call: Call) -> Array:
    """The element that would stand at place n of each sorted row (last axis), of the descending order when reverse."""
    place = runtime.one(n)
    if not 0 <= place < x.shape[-1]:
        raise call.refuse("HA519", f"n = {place}; allowed: 0 to {x.shape[-1] - 1}, for x has {x.shape[-1]} elements a row.")
    return ordering.select(x, call.dtype("x"), -1, place + 1, reverse)[0][..., place]


def scored(call: Call) -> Shape:
    """A vector with an element for each row of predictions."""
    first, second = list(call.inputs)[:2]
    rows, targets = call.shape(first), call.shape(second)
    told = f"{first} = {dims.text(rows)}, {second} = {dims.text(targets)}: a matrix and a vector with one class for each row."
    if len(rows) != 2 or len(targets) != 1:
        raise call.refuse("HA516", told)
    one_element(call, "k")
    return (equal_dims(call, rows[0], targets[0], told),)


def in_top(rows: Array, targets: Array, k: int) -> Array:
    """Whether fewer than k elements of the row are larger than the target's; false for a target or row without a number."""
    inside = (targets >= 0) & (targets < rows.shape[1])
    own = np.take_along_axis(rows, np.where(inside, targets, 0)[:, None], 1) if rows.size else np.empty((len(rows), 1))
    return inside & np.isfinite(own[:, 0]) & ((rows > own).sum(axis=1) < k)


@kernel("InTopK", "InTopKD", shape=scored)
def in_top_k(x1: Array, x2: Array, k: Any) -> Array:
    """Whether the score of class x2[i] is among the k largest of its row; equal scores all count, infinite and NaN never."""
    return in_top(x1, x2, runtime.one(k))


@kernel("InTopKV2", shape=scored)
def in_top_k_v2(predictions: Array, targets: Array, k: Any) -> Array:
    """Whether the score of class targets[i] is among the k largest of its row; equal scores all count."""
    return in_top(predictions, targets, runtime.one(k))


def bucketed(call: Call) -> Shape:
    """The shape of x."""
    return call.shape("x")


@kernel("Bucketize", shape=bucketed)
def bucketize(x: Array, boundaries: list[float], right: bool | None) -> Array:
    """How many boundaries are at most x (below it when right is false): the number of the bucket it falls into."""
    return np.searchsorted(np.asarray(boundaries, np.float32), x, side="left" if right is False else "right")


