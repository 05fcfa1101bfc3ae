"""Sorting and searching, by Python's sorted and by counting."""

from __future__ import annotations

from typing import Any

import numpy as np

from hostacl.tensors import dtypes
from random_calls.dice import Dice
from random_calls.oracle import oracle, shapes


def rank_of(value: Any) -> tuple[bool, Any]:
    """A key: NaN is the largest, zeros of both signs are equal."""
    nan = value != value  # noqa: PLR0124 - only NaN is not itself
    return bool(nan), 0 if nan else value


def in_order(x: Any, axis: int, largest_first: bool, count: int | None = None) -> tuple[Any, Any]:
    full = np.atleast_1d(x)
    lines = np.moveaxis(full, axis, -1)
    wanted = lines.shape[-1] if count is None else count
    values, places = np.empty((*lines.shape[:-1], wanted), x.dtype), np.empty((*lines.shape[:-1], wanted), object)
    for line in np.ndindex(lines.shape[:-1]):
        row = list(lines[line])
        keys = [rank_of(one) for one in row]
        order = sorted(range(len(row)), key=lambda place, keys=keys: keys[place], reverse=False)
        if largest_first:
            backward = list(range(len(row)))[::-1]
            order = sorted(backward, key=lambda place, keys=keys: keys[place])[::-1]
        for number, place in enumerate(order[:wanted]):
            values[(*line, number)], places[(*line, number)] = row[place], place
    return np.moveaxis(values, -1, axis), np.moveaxis(places, -1, axis)


@shapes("Sort", "SortV2")
def sorting(d: Dice) -> None:
    shape = d.shape()
    d.tensor("x", shape)
    d.attr("axis", d.axis(len(shape)))
    d.attr("descending", True)
    d.attr("stable", True)
    d.output("y2", dtypes.INT32)


@oracle("Sort")
def sort(x: Any, axis: int, descending: bool) -> Any:
    values, places = in_order(x, axis, descending)
    return values.reshape(x.shape), places.reshape(x.shape)


@oracle("SortV2")
def sort_v2(x: Any, axis: int, descending: bool) -> Any:
    return in_order(x, axis, descending)[0].reshape(x.shape)


@shapes("TopK", "TopKV2", "TopKD", "TopKV2D")
def top(d: Dice) -> None:
    shape = d.shape(1)
    axis = d.attr("dim", d.axis(len(shape)))
    d.tensor("x", shape)
    count = d.int(0, shape[axis])
    if d.decl("k") is not None:
        d.value("k", np.array(count if d.chance() else [count]))
    else:
        d.attr("k", count)
    d.tensor("assist_seq", (2,), dtype=dtypes.FLOAT16)
    d.attr("largest", True, False)
    d.attr("sorted", True, False)
    d.output("indices", dtypes.INT32)


@oracle("TopK", "TopKV2", "TopKD", "TopKV2D")
def top_k(x: Any, k: Any, dim: int, largest: bool) -> Any:
    return in_order(x, dim, largest, int(np.ravel(k)[0]))


def belongs(row: Any, value: Any, right: bool) -> int:
    key = rank_of(value)
    return sum(rank_of(one) < key or (right and rank_of(one) == key) for one in row)


@shapes("SearchSorted")
def searching(d: Dice) -> None:
    lead = d.shape(0, 7, long=False, grows=1)
    size = d.int(0, 5) if 0 not in lead else 2
    flat = d.chance()
    data = d.data(d.dtype_of("sorted_sequence"), (size,) if flat else (*lead, size))
    data = in_order(data.astype(np.float64) if data.dtype.kind not in "iu" else data, -1, False)[0]
    if d.optional("sorter"):
        order = (
            np.stack([d.rng.permutation(size) for _ in range(max(int(np.prod(data.shape[:-1])), 0))]).reshape(data.shape)
            if data.size
            else np.zeros(data.shape, np.int64)
        )
        mixed = np.empty_like(data)
        np.put_along_axis(mixed, order, data, -1)
        d.tensor("sorted_sequence", mixed)
        d.tensor("values", (*lead, d.int(0, 4)))
        d.inputs.pop("sorter", None)
        d.tensor("sorter", order)
    else:
        d.tensor("sorted_sequence", data)
        d.tensor("values", (*lead, d.int(0, 4)))
    d.attr("right", True)
    code = d.attr("dtype", dtypes.INT32, dtypes.INT64)
    d.output("out", int(code))


@oracle("SearchSorted")
def search_sorted(sorted_sequence: Any, values: Any, sorter: Any, right: bool) -> Any:
    result = np.empty(values.shape, object)
    for place in np.ndindex(values.shape):
        row = sorted_sequence if sorted_sequence.ndim == 1 else sorted_sequence[place[:-1]]
        result[place] = belongs(row, values[place], right)
    return result


@shapes("LowerBound", "UpperBound")
def bounding(d: Dice) -> None:
    rows, size = d.shape(2, 2)
    data = d.data(d.dtype, (rows, size))
    d.tensor("sorted_x", in_order(data.astype(np.float64) if data.dtype.kind not in "iu" else data, -1, False)[0])
    d.tensor("values", (rows, size if d.kind in {"in place", "partial overlap"} else d.int(0, 4)))
    code = d.attr("out_type", dtypes.INT32, dtypes.INT64)
    d.output("y", int(code))


@oracle("LowerBound")
def lower_bound(sorted_x: Any, values: Any) -> Any:
    return search_sorted(sorted_x, values, None, False)


@oracle("UpperBound")
def upper_bound(sorted_x: Any, values: Any) -> Any:
    return search_sorted(sorted_x, values, None, True)


@shapes("NthElement")
def nth(d: Dice) -> None:
    shape = (*d.shape(0, 7, grows=1), d.int(1, 5))
    d.tensor("x", shape)
    d.value("n", np.array(d.int(0, shape[-1] - 1)))
    d.attr("reverse", True)


@oracle("NthElement")
def nth_element(x: Any, n: Any, reverse: bool) -> Any:
    return in_order(x, -1, reverse)[0][..., int(np.ravel(n)[0])]


@shapes("InTopK", "InTopKD", "InTopKV2")
def scoring(d: Dice) -> None:
    (rows,), classes = d.shape(1, 1), d.int(1, 5)
    first, second = (one.name for one in d.prototype.inputs[:2])
    d.tensor(first, (rows, classes))
    d.tensor(second, d.rng.integers(-1, classes + 1, rows))
    count = d.int(1, classes)
    if d.decl("k") is not None:
        d.value("k", np.array(count))
    else:
        d.attr("k", count)


def among(rows: Any, targets: Any, k: Any) -> Any:
    found = []
    for row, target in zip(rows, targets, strict=True):
        inside = 0 <= target < len(row) and np.isfinite(row[int(target)])
        found.append(bool(inside and sum(one > row[int(target)] for one in row) < int(np.ravel(k)[0])))
    return np.array(found, bool)


@oracle("InTopK", "InTopKD")
def in_top_k(x1: Any, x2: Any, k: Any) -> Any:
    return among(x1, x2, k)


@oracle("InTopKV2")
def in_top_k_v2(predictions: Any, targets: Any, k: Any) -> Any:
    return among(predictions, targets, k)


@shapes("Bucketize")
def buckets(d: Dice) -> None:
    d.tensor("x", d.shape())
    d.attr("boundaries", sorted(float(d.int(-5, 5)) for _ in range(d.int(1, 5))))
    d.attr("right", True, False)
    code = d.attr("dtype", dtypes.INT32, dtypes.INT64) or dtypes.INT32
    d.output("y", int(code))


@oracle("Bucketize")
def bucketize(x: Any, boundaries: Any, right: bool) -> Any:
    result = np.empty(x.shape, object)
    for place in np.ndindex(x.shape):
        result[place] = belongs(boundaries, x[place], right is not False)
    return result
