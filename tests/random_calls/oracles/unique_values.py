"""Distinct values and counts, by lists that grow."""

from __future__ import annotations

from typing import Any

import numpy as np

from hostacl.tensors import dtypes
from random_calls.dice import Dice
from random_calls.oracle import Any_, finite, oracle, shapes, summed
from random_calls.oracles.sort_topk_search import rank_of


def same(one: Any, other: Any) -> bool:
    equal = one == other
    return bool(equal.all()) if isinstance(equal, np.ndarray) else bool(equal)


def grouped(listed: Any) -> tuple[list[int], list[int], list[int]]:
    """Where each group first appears, the group of each element, and how many it has; in order of appearance."""
    first: list[int] = []
    inverse, counts = [], []
    for place, value in enumerate(listed):
        group = next((number for number, one in enumerate(first) if same(listed[one], value)), None)
        if group is None:
            group = len(first)
            first.append(place)
            counts.append(0)
        inverse.append(group)
        counts[group] += 1
    return first, inverse, counts


def objects(listed: Any, dtype: Any = object) -> Any:
    result = np.empty(len(listed), dtype)
    result[:] = listed
    return result


def order_of(value: Any) -> Any:
    if isinstance(value, complex):
        return (bool(np.isnan(value)), rank_of(value.real), rank_of(value.imag))
    return rank_of(value)


@shapes("UniqueWithCountsAndSorting")
def distinct(d: Dice) -> None:
    shape = d.shape()
    d.tensor("x", shape, -2, 2)
    size, code = int(np.prod(shape)), int(d.choose(dtypes.INT32, dtypes.INT64))
    inverse, counts = d.attr("return_inverse", True), d.attr("return_counts", True)
    d.attr("sorted", True, False)
    d.output("y", d.dtype, (size,))
    d.output("indices", code, shape if inverse else (min(size, 1),))
    d.output("counts", code, (size,) if counts else (min(size, 1),))


@oracle("UniqueWithCountsAndSorting")
def unique_with_counts_and_sorting(x: Any, return_inverse: bool, return_counts: bool) -> Any:
    flat = list(x.flat)
    first, inverse, counts = grouped(flat)
    order = sorted(range(len(first)), key=lambda group: order_of(flat[first[group]]))
    values = objects([flat[first[group]] for group in order], x.dtype)
    unused = Any_((min(x.size, 1),))
    found = objects([order.index(group) for group in inverse]).reshape(x.shape)
    return values, found if return_inverse else unused, objects([counts[group] for group in order]) if return_counts else unused


@shapes("UniqueConsecutive")
def runs(d: Dice) -> None:
    shape = d.shape(1)
    axis = d.attr("axis", d.axis(len(shape)))
    d.tensor("x", shape, -1, 1)
    code = int(d.choose(dtypes.INT32, dtypes.INT64))
    flat = axis == 1000
    size = int(np.prod(shape)) if flat else shape[axis]
    index, counts = d.attr("return_idx", True), d.attr("return_counts", True)
    d.output("y", d.dtype, (size,) if flat else shape)
    d.output("idx", code, (shape if flat else (size,)) if index else (min(size, 1),))
    d.output("count", code, (size,) if counts else (min(size, 1),))


@oracle("UniqueConsecutive")
def unique_consecutive(x: Any, return_idx: bool, return_counts: bool, axis: int) -> Any:
    flat = axis == 1000
    listed = list(x.flat) if flat else [np.take(x, place, axis) for place in range(x.shape[axis])]
    starts = [place for place in range(len(listed)) if place == 0 or not np.all(listed[place] == listed[place - 1])]
    inverse = [sum(start <= place for start in starts) - 1 for place in range(len(listed))]
    counts = [stop - start for start, stop in zip(starts, [*starts[1:], len(listed)][: len(starts)], strict=True)]
    unused = Any_((min(len(listed), 1),))
    y = objects([listed[start] for start in starts], x.dtype) if flat else np.take(x, starts, axis)
    where = objects(inverse).reshape(x.shape) if flat else objects(inverse)
    return y, where if return_idx else unused, objects(counts) if return_counts else unused


@shapes("Unique", "UniqueWithCounts")
def vector(d: Dice) -> None:
    shape = d.shape(1, 1)
    d.tensor("x", shape, -2, 2)
    code = int(d.attr("out_idx", dtypes.INT32, dtypes.INT64))
    d.output("y", d.dtype, shape)
    d.output("idx", code)
    d.output("count", code, shape)


@oracle("Unique")
def unique(x: Any) -> Any:
    first, inverse, _ = grouped(list(x))
    return objects([x[one] for one in first], x.dtype), objects(inverse)


@oracle("UniqueWithCounts")
def unique_with_counts(x: Any) -> Any:
    first, inverse, counts = grouped(list(x))
    return objects([x[one] for one in first], x.dtype), objects(inverse), objects(counts)


@shapes("UniqueExt2", "UniqueWithCountsExt2")
def along(d: Dice) -> None:
    shape = d.shape(1)
    axis = d.axis(len(shape))
    d.tensor("x", shape, -1, 1)
    d.value("axis", np.array([] if len(shape) == 1 and d.chance(0.3) else [axis], np.int64))
    code = int(d.attr("out_idx", dtypes.INT32, dtypes.INT64))
    older = any(one.name == "inverse_idx" for one in d.generation.outputs)
    d.attrs.pop("sorted", None)
    d.output("y", d.dtype, shape)
    d.output("idx", code, (shape[axis],))
    d.output("count", code, (shape[axis],))
    if older:
        d.output("inverse_idx", code, (shape[axis],))
        d.served.add("older")


def slices_of(x: Any, axis: Any) -> tuple[list[Any], int]:
    at = int(axis[0]) % x.ndim if len(axis) else 0
    return [np.take(x, place, at) for place in range(x.shape[at])], at


@oracle("UniqueExt2")
def unique_ext2(x: Any, axis: Any) -> Any:
    listed, at = slices_of(x, axis)
    first, inverse, _ = grouped(listed)
    return np.take(x, first, at), objects(inverse)


@oracle("UniqueWithCountsExt2")
def unique_with_counts_ext2(x: Any, axis: Any, dice: Dice) -> Any:
    listed, at = slices_of(x, axis)
    first, inverse, counts = grouped(listed)
    if "older" in dice.served:
        return np.take(x, first, at), objects(first), objects(counts), objects(inverse)
    return np.take(x, first, at), objects(inverse), objects(counts)


# --- counts ---


def counted(x: Any, low: float, high: float, bins: int, outside: bool) -> Any:
    """How many elements lie in each bin, by exact fractions."""
    from fractions import Fraction

    counts = [0] * bins
    for value in x.flat:
        if rank_of(value)[0] or (not outside and not low <= value <= high):
            continue
        inside = min(max(value, low), high)
        place = int((Fraction(inside) - Fraction(low)) * bins / (Fraction(high) - Fraction(low)))
        counts[min(place, bins - 1)] += 1
    return objects(counts)


@shapes("Histogram")
def bins(d: Dice) -> None:
    d.tensor("x", d.shape())
    d.attr("bins", d.choose(1, 4, 8))
    span = d.choose(1.0, 8.0, *([] if d.kind == "special values" else [0.0]))
    for name, value in (("min", -span), ("max", span)):
        d.attrs[name], d.values[name] = ("float", value), value
    d.output("y", d.choose(dtypes.FLOAT, dtypes.INT32))


@oracle("Histogram")
def histogram(x: Any, bins: int, min: float, max: float) -> Any:
    return counted(x, *range_of(x, min, max), bins, False)


def range_of(x: Any, low: Any, high: Any) -> tuple[Any, Any]:
    """The range that is counted: that of x when none is given, one to both sides of x when all its elements are equal."""
    if low == high and x.size:
        low, high = min(x.flat), max(x.flat)
    return (low - 1, high + 1) if low == high else (low, high)


@shapes("HistogramV2")
def bins_v2(d: Dice) -> None:
    d.tensor("x", d.shape())
    d.tensor("min", np.array(0))
    d.tensor("max", np.array([8 if d.kind == "special values" else d.choose(0, 5, 8)]))
    d.attr("bins", d.choose(1, 4, 8))


@oracle("HistogramV2")
def histogram_v2(x: Any, min: Any, max: Any, bins: int) -> Any:
    return counted(x, *range_of(x, int(min), int(max.item())), bins, False)


@shapes("HistogramFixedWidth", "HistogramFixedWidthD")
def fixed(d: Dice) -> None:
    d.tensor("x", d.shape())
    d.tensor("range", np.array([-2, 6]))
    count = d.choose(1, 4, 8)
    if d.decl("nbins") is not None:
        d.value("nbins", np.array(count))
    else:
        d.attr("nbins", count)
    d.attr("dtype")


@oracle("HistogramFixedWidth", "HistogramFixedWidthD")
def histogram_fixed_width(x: Any, nbins: Any) -> Any:
    return counted(x, -2, 6, int(np.ravel(nbins)[0]), True)


@shapes("Bincount")
def counting(d: Dice) -> None:
    shape = d.shape()
    d.tensor("array", d.rng.integers(0, 6, shape), dtype=dtypes.INT32)
    d.value("size", np.array(d.int(0, 7)))
    d.tensor("weights", d.choose(shape, (0,)), dtype=d.dtype)
    d.output("bins", d.dtype)


@oracle("Bincount")
def bincount(array: Any, size: Any, weights: Any) -> Any:
    length = int(np.ravel(size)[0])
    result, total = np.zeros(length, weights.dtype), np.zeros(length)
    each = weights.ravel() if weights.size else np.ones(array.size, int)
    for value, weight in zip(array.flat, each, strict=True):
        if value < length:
            result[int(value)] += weight
            total[int(value)] += finite(weight) if weights.dtype != object else 0
    return result if weights.dtype == object else summed(result, total, array.size)
