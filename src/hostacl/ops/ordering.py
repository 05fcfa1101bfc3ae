"""Keys that order any dtype as unsigned integers, and stable sorts built on them."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hostacl import _kernels
from hostacl.ops import precision
from hostacl.tensors import dtypes

Array = NDArray[Any]

BLOCK = 1 << 16
"""Elements sorted at a time, so that keys stay in the cache."""


def keys(x: Array, code: int, largest_first: bool = False) -> Array:
    """Unsigned integers in the order of x: -0 as 0, NaN behind all. Halves are given as their bits.

    ``largest_first`` turns the order round: NaN comes first then.
    """
    if code in dtypes.HALVES and x.size >= precision.TABLE_FROM:
        found = np.empty(x.shape, np.uint16)
        _kernels.table_lookup(x, half_keys(code, largest_first), found)
        return found
    width = 8 * x.dtype.itemsize
    bits = cleaned(x, code).view(f"u{x.dtype.itemsize}")
    sign = bits.dtype.type(1 << (width - 1))
    if x.dtype.kind == "f" or code in dtypes.HALVES:
        negative = (bits.view(f"i{x.dtype.itemsize}") >> (width - 1)).view(bits.dtype)
        key = bits ^ (negative | sign)
    else:
        key = bits ^ sign if x.dtype.kind == "i" else bits
    return ~key if largest_first else key


@cache
def half_keys(code: int, largest_first: bool) -> Array:
    """The keys of all 65,536 values of a half type."""
    every = np.arange(65536, dtype=np.uint16)
    return np.concatenate([keys(part, code, largest_first) for part in np.split(every, 65536 // 2048)])


def cleaned(x: Array, code: int) -> Array:
    """x with one zero and one NaN, a positive one."""
    if code in dtypes.HALVES:
        infinity = int(np.array(np.inf, dtypes.numpy_dtype(code)).view(np.uint16))
        magnitude = x & np.uint16(0x7FFF)
        one_zero = np.where(magnitude == 0, np.uint16(0), x)
        return np.where(magnitude > infinity, np.uint16(0x7FFF), one_zero)
    if x.dtype.kind != "f":
        return np.ascontiguousarray(x)
    one_zero = np.ascontiguousarray(x) + x.dtype.type(0)
    missing = np.isnan(one_zero)
    if missing.any():
        one_zero[missing] = np.nan
    return one_zero


def packing(key: Array) -> tuple[np.dtype[Any], int] | None:
    """The type that holds keys with their places in the lower bits, and how many bits those take; None for keys of 8 bytes."""
    if key.dtype.itemsize == 8:
        return None
    small = key.dtype.itemsize <= 2 and key.shape[-1] <= 1 << 16
    return (np.dtype(np.uint32), 16) if small else (np.dtype(np.uint64), 32)


def joined(key: Array, places: Array, wide: np.dtype[Any], shift: int) -> Array:
    """Keys with their places in the lower bits: their order is stable."""
    both = key.astype(wide)
    both <<= wide.type(shift)
    both |= places
    return both


def places_in(both: Array) -> Array:
    """The places of joined keys: their lower halves (the machine's byte order is little-endian)."""
    return both.view(f"u{both.dtype.itemsize // 2}")[..., ::2].astype(np.int64)


def sorted_places(key: Array) -> Array:
    """For each row the places of its keys in ascending order, of equal ones the first one first."""
    if key.dtype.itemsize < 8:
        return stable_places(key)
    places = np.argsort(key, axis=-1)
    found = np.take_along_axis(key, places, -1)
    tied = (found[:, 1:] == found[:, :-1]).any(axis=1)
    if tied.any():
        places[tied] = stable_places(key[tied])
    return places


def stable_places(key: Array) -> Array:
    """The same by a sort that is stable in itself: slower for keys of 8 bytes."""
    form = packing(key)
    if form is None:
        return np.argsort(key, axis=-1, kind="stable")
    wide, shift = form
    both = joined(key, np.arange(key.shape[-1], dtype=wide), wide, shift)
    both.sort(axis=-1)
    return places_in(both)


def first_places(key: Array, count: int) -> Array:
    """For each row the places of its ``count`` smallest keys in ascending order, of equal ones the first ones."""
    form = packing(key)
    if form is None or 4 * count >= key.shape[-1]:
        return sorted_places(key)[:, :count]
    wide, shift = form
    few = candidates(key, count, wide, shift)
    if few is None:
        few = joined(key, np.arange(key.shape[-1], dtype=wide), wide, shift)
        if count:
            few.partition(count - 1, axis=-1)
            few = few[:, :count]
    return places_in(np.sort(few, axis=-1)[:, :count])


SHORTEST, LONGEST = 8, 256
"""Elements of the pieces whose smallest keys bound the smallest of a row."""


def candidates(key: Array, count: int, wide: np.dtype[Any], shift: int) -> Array | None:
    """The joined keys of each row that can be among its ``count`` smallest, filled up with largest values, or None.

    The count-th of the smallest keys of pieces of the row is a bound for the count-th of the row. None when too many are below.
    """
    rows, width = key.shape
    length = min(width // max(4 * count, 1), LONGEST)
    if count == 0 or rows == 0 or length < SHORTEST:
        return None
    pieces = width // length
    least = key[:, : pieces * length].reshape(rows, pieces, length).min(axis=2)
    least.partition(count - 1, axis=-1)
    inside = key <= least[:, count - 1 : count]
    found = np.flatnonzero(inside)
    row, place = np.divmod(found, width)
    many = np.bincount(row, minlength=rows)
    most = int(many.max())
    if 4 * most > width:
        return None
    few = np.full((rows, most), np.iinfo(wide).max, wide)
    few[row, np.arange(row.size) - np.repeat(np.cumsum(many) - many, many)] = joined(
        key.reshape(-1)[found], place.astype(wide), wide, shift
    )
    return few


def at_places(rows: Array, places: Array) -> Array:
    """The elements of each row at its places."""
    starts = np.arange(len(rows))[:, None] * rows.shape[1]
    taken: Array = np.take(rows.reshape(-1), places + starts, mode="clip") if rows.size else rows[:, :0]
    return taken


def rows_of(x: Array, axis: int) -> tuple[Array, tuple[int, ...]]:
    """x as rows along the axis, and the shape to come back to (the axis last)."""
    last = np.moveaxis(np.atleast_1d(x), axis, -1)
    return np.ascontiguousarray(last).reshape(-1, last.shape[-1]) if last.size else last.reshape(0, last.shape[-1]), last.shape


def blocks(rows: Array) -> Iterator[slice]:
    """The rows in pieces of about BLOCK elements."""
    step = max(BLOCK // max(rows.shape[1], 1), 1)
    return (slice(start, start + step) for start in range(0, len(rows), step))


def select(x: Array, code: int, axis: int, count: int | None, largest_first: bool) -> tuple[Array, Array]:
    """The first ``count`` elements (None: all) along the axis in order, and where they were."""
    rows, shape = rows_of(x, axis)
    wanted = rows.shape[1] if count is None else count
    numbers = np.int32 if rows.shape[1] < 1 << 31 else np.int64
    values, places = np.empty((len(rows), wanted), rows.dtype), np.empty((len(rows), wanted), numbers)
    for part in blocks(rows):
        key = keys(rows[part], code, largest_first)
        places[part] = sorted_places(key) if count is None else first_places(key, count)
        values[part] = at_places(rows[part], places[part])
    shaped = (np.moveaxis(one.reshape(*shape[:-1], wanted), -1, axis) for one in (values, places))
    return next(shaped), next(shaped)
