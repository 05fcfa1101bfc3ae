"""Kernels that compute in float64 part by part, so that their temporaries stay small."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]

ELEMENTS = 1 << 16
"""Elements of a part: a few of them in float64 stay in the cache."""


def wide(array: Array) -> Array:
    """The array in float64, complex as it is."""
    return array if array.dtype.kind == "c" else array.astype(np.float64, copy=False)


def by_parts(function: Callable[..., Any], dtype: Any, *arrays: Any) -> Array:
    """An element-wise function of arrays that broadcast, in float64, part by part; an absent array (None) stays None."""
    shape = np.broadcast_shapes(*(array.shape for array in arrays if array is not None))
    result = np.empty(shape, dtype)
    alike = [None if array is None else array.reshape((1,) * (len(shape) - array.ndim) + array.shape) for array in arrays]
    for place in slices(shape):
        result[place] = function(*(None if array is None else wide(array[within(array, place)]) for array in alike))
    return result


def within(array: Array, place: Sequence[Any]) -> tuple[Any, ...]:
    """The part of an array that broadcasts, for a part of the whole: all of an axis where it has one element."""
    if place[:1] == (...,):
        return (...,)
    pairs = zip(place, array.shape, strict=False)
    return tuple(one if size != 1 else 0 if isinstance(one, int) else slice(None) for one, size in pairs)


def slices(shape: Sequence[int]) -> Iterator[tuple[slice | int, ...]]:
    """Parts of an array of this shape: whole, or pieces of the first axes that are small enough."""
    if prod(shape) <= ELEMENTS or not shape:
        yield (...,)  # type: ignore[misc]
        return
    inner = prod(shape[1:])
    if inner > ELEMENTS:
        for index in range(shape[0]):
            yield from ((index, *rest) for rest in slices(shape[1:]))
        return
    step = ELEMENTS // max(inner, 1)
    for start in range(0, shape[0], step):
        yield (slice(start, start + step),)


def by_rows(function: Callable[..., Any], axes: Sequence[int], dtype: Any, *arrays: Array) -> Array:
    """A function of rows, in float64: ``axes`` of equally shaped arrays are laid out as rows, (parts of) all rows at a time.

    The function gets (rows, elements) arrays and gives one; the result has the arrays' shape.
    """
    shape = arrays[0].shape
    over = [axis % max(len(shape), 1) for axis in axes] if shape else []
    order = [axis for axis in range(len(shape)) if axis not in over] + over
    length = prod(shape[axis] for axis in over)
    count = prod(shape) // length if length else 0
    flat = [np.transpose(array, order).reshape(count, length) for array in arrays]
    result = np.empty((count, length), dtype)
    step = max(1, ELEMENTS // max(length, 1))
    for start in range(0, count, step):
        part = slice(start, start + step)
        result[part] = function(*(wide(array[part]) for array in flat))
    inverse = [order.index(axis) for axis in range(len(shape))]
    return np.transpose(result.reshape([shape[axis] for axis in order]), inverse)
