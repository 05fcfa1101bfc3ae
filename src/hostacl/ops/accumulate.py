"""Combining many elements into few, by their places: the heart of scatters, segments and embeddings."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hostacl import _kernels
from hostacl.tensors import dtypes

Array = NDArray[Any]
Combine = Callable[[Array, Array, Array], Array]
"""(target of rows x width, row of each update, updates) gives the new target, the given one untouched."""

CHUNK = 1 << 22
"""Elements whose places are worked out at a time."""

MANY = 64
"""Terms up to which a float32 sum is as good as a float64 one: its error stays below 2**-18 of their size."""


def flat_places(rows: Array, updates: Array) -> Iterator[tuple[Array, Array]]:
    """The updates in pieces, with the flat place of each element."""
    width = updates.shape[1]
    step = max(CHUNK // max(width, 1), 1)
    columns = np.arange(width)
    for start in range(0, len(rows), step):
        part = rows[start : start + step].astype(np.intp, copy=False)
        places = part if width == 1 else (part[:, None] * width + columns).reshape(-1)
        yield places, updates[start : start + step].reshape(-1)


def apply(ufunc: np.ufunc) -> Combine:
    """``target[row] = ufunc(target[row], update)`` for one update after the other."""

    def combine(target: Array, rows: Array, updates: Array) -> Array:
        result = np.ascontiguousarray(target).copy()
        for places, values in flat_places(rows, updates):
            ufunc.at(result.reshape(-1), places, np.ascontiguousarray(values))
        return result

    return combine


HALF_TYPES = frozenset(map(dtypes.numpy_dtype, dtypes.HALVES))
"""What the native loops widen on the way; they give float32."""


def by_loop(loop: Callable[..., bool], ufunc: np.ufunc) -> Combine:
    """The same by the native loop where it knows the type."""
    one_by_one = apply(ufunc)

    def combine(target: Array, rows: Array, updates: Array) -> Array:
        half = target.dtype in HALF_TYPES
        if not (half or target.dtype.kind in "iuf") or updates.dtype != target.dtype:
            return one_by_one(target, rows, updates)
        result = np.empty(target.shape, np.float32 if half else target.dtype)
        loop(target, numbers(rows), updates, result)
        return result

    return combine


def numbers(rows: Array) -> Array:
    """Row numbers in a type that the native loops read."""
    return rows if rows.dtype in (np.int32, np.int64) else rows.astype(np.int64)


added, subtracted = by_loop(_kernels.scatter_add, np.add), by_loop(_kernels.scatter_subtract, np.subtract)
multiplied = by_loop(_kernels.scatter_multiply, np.multiply)


def add(target: Array, rows: Array, updates: Array) -> Array:
    """Updates added to their rows. Integers wrap, bool is logical or; float32 is added in float64 where many meet in a row."""
    if target.dtype.kind == "b":
        return apply(np.logical_or)(target, rows, updates)
    if target.dtype != np.float32 or updates.dtype != np.float32:
        return added(target, rows, updates)
    result = np.empty(target.shape, np.float32)
    if _kernels.scatter_add(target, numbers(rows), updates, result, MANY):
        return result
    sums = wide_sums(rows, updates, len(target))
    return np.where(sums == 0, target, target + sums)


def sums_of(rows: Array, updates: Array, count: int) -> Array:
    """The sum of the updates, float32 or halves as they are, of each of ``count`` rows, in float64 where many meet in a row."""
    half = updates.dtype in HALF_TYPES
    if half or updates.dtype == np.float32:
        zeros = np.zeros((count, updates.shape[1]), updates.dtype)
        sums = np.empty(zeros.shape, np.float32)
        if _kernels.scatter_add(zeros, numbers(rows), updates, sums, MANY):
            return sums
    return wide_sums(rows, updates.astype(np.float32) if half else updates, count)


def wide_sums(rows: Array, updates: Array, count: int) -> Array:
    """The same in float64."""
    width = updates.shape[1]
    sums = np.zeros(count * width)
    for places, values in flat_places(rows, updates):
        if values.size >= sums.size // 4:
            sums += np.bincount(places, values, sums.size)
        else:
            lines = sums[:, None]
            _kernels.scatter_add(lines, numbers(places), values.astype(np.float64)[:, None], lines)
    return sums.reshape(count, width)


def subtract(target: Array, rows: Array, updates: Array) -> Array:
    """Updates taken away from their rows; integers wrap."""
    if target.dtype == np.float32:
        return add(target, rows, -updates)
    return subtracted(target, rows, updates)


def multiply(target: Array, rows: Array, updates: Array) -> Array:
    """Rows multiplied by their updates; float32 and halves in float64, integers wrap, bool is logical and."""
    if target.dtype.kind == "b":
        return apply(np.logical_and)(target, rows, updates)
    if target.dtype != np.float32 and target.dtype not in HALF_TYPES:
        return multiplied(target, rows, updates)
    result = np.empty(target.shape, np.float64)
    _kernels.scatter_multiply(target, numbers(rows), updates, result)
    return result


def divide(target: Array, rows: Array, updates: Array) -> Array:
    """Rows divided by their updates; integers toward zero, and 0 when divided by 0."""
    if target.dtype.kind == "f":
        return apply(np.divide)(target.astype(np.float64), rows, updates.astype(np.float64))
    divisors = multiplied(np.ones(target.shape), rows, updates.astype(np.float64))
    quotients = np.trunc(target / np.where(divisors == 0, np.inf, divisors))
    return quotients.astype(np.int64).astype(target.dtype)


def update(target: Array, rows: Array, updates: Array) -> Array:
    """Rows replaced by their updates; of several for one row the last wins."""
    result = np.empty(target.shape, target.dtype)
    _kernels.scatter_assign(target, numbers(rows), updates.astype(target.dtype, copy=False), result)
    return result


maximum, minimum = by_loop(_kernels.scatter_max, np.maximum), by_loop(_kernels.scatter_min, np.minimum)
"""The largest or smallest of a row and its updates; NaN when one of them is."""
