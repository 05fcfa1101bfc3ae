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
    width = x.dtype.itemsize
    bits = np.ascontiguousarray(x).view(f"u{width}")
    sign = bits.dtype.type(1 << (8 * width - 1))
    if x.dtype.kind == "f" or code in dtypes.HALVES:
        key = np.where(bits & sign, ~bits, bits | sign)
        magnitude = bits & ~sign
        key[magnitude == 0] = sign
        key[magnitude > infinity(code)] = np.iinfo(bits.dtype).max
    else:
        key = bits ^ sign if x.dtype.kind == "i" else bits
    return ~key if largest_first else key


def infinity(code: int) -> int:
    """The bits of +Inf of a float type; what is above is NaN."""
    dtype = dtypes.numpy_dtype(code)
    return int(np.array(np.inf, dtype).view(f"u{dtype.itemsize}"))


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
