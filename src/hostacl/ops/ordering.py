"""Keys that order any dtype as unsigned integers, and stable sorts built on them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hostacl.tensors import dtypes

Array = NDArray[Any]

BLOCK = 1 << 22
"""Elements sorted at a time, so that keys stay small."""


def keys(x: Array, code: int, largest_first: bool = False) -> Array:
    """Unsigned integers in the order of x: -0 as 0, NaN behind all. Halves are given as their bits.

    ``largest_first`` turns the order round: NaN comes first then.
    """
    width = 8 * x.dtype.itemsize
    bits = cleaned(x, code).view(f"u{x.dtype.itemsize}")
    sign = bits.dtype.type(1 << (width - 1))
    if x.dtype.kind == "f" or code in dtypes.HALVES:
        negative = (bits.view(f"i{x.dtype.itemsize}") >> (width - 1)).view(bits.dtype)
        key = bits ^ (negative | sign)
    else:
        key = bits ^ sign if x.dtype.kind == "i" else bits
    return ~key if largest_first else key


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


def packed(key: Array) -> tuple[Array, int] | None:
    """Keys of a row with their places in the lower bits: their order is stable. None for keys of 8 bytes; (packed, shift)."""
    if key.dtype.itemsize == 8:
        return None
    small = key.dtype.itemsize <= 2 and key.shape[-1] <= 1 << 16
    wide, shift = (np.uint32, 16) if small else (np.uint64, 32)
    places = np.arange(key.shape[-1], dtype=wide)
    return (key.astype(wide) << wide(shift)) | places, shift


def sorted_places(key: Array) -> Array:
    """For each row the places of its keys in ascending order, of equal ones the first one first."""
    if key.dtype.itemsize < 4:
        return stable_places(key)
    places = np.argsort(key, axis=-1)
    found = np.take_along_axis(key, places, -1)
    tied = (found[:, 1:] == found[:, :-1]).any(axis=1)
    if tied.any():
        places[tied] = stable_places(key[tied])
    return places


def stable_places(key: Array) -> Array:
    """The same by a sort that is stable in itself: slower for keys of 4 bytes and more."""
    joined = packed(key)
    if joined is None:
        return np.argsort(key, axis=-1, kind="stable")
    both, shift = joined
    both.sort(axis=-1)
    return (both & both.dtype.type((1 << shift) - 1)).astype(np.int64)


def first_places(key: Array, count: int) -> Array:
    """For each row the places of its ``count`` smallest keys in ascending order, of equal ones the first ones."""
    joined = packed(key)
    if joined is None or 4 * count >= key.shape[-1]:
        return sorted_places(key)[:, :count]
    both, shift = joined
    if count:
        both.partition(count - 1, axis=-1)
    best = np.sort(both[:, :count], axis=-1)
    return (best & best.dtype.type((1 << shift) - 1)).astype(np.int64)


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
    values, places = np.empty((len(rows), wanted), rows.dtype), np.empty((len(rows), wanted), np.int64)
    for part in blocks(rows):
        key = keys(rows[part], code, largest_first)
        places[part] = sorted_places(key) if count is None else first_places(key, count)
        values[part] = np.take_along_axis(rows[part], places[part], -1)
    shaped = (np.moveaxis(one.reshape(*shape[:-1], wanted), -1, axis) for one in (values, places))
    return next(shaped), next(shaped)
