"""Kernels that compute in float64 part by part, so that their temporaries stay small."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]

ELEMENTS = 1 << 20
"""Elements of a part."""


def wide(array: Array) -> Array:
    """The array in float64, complex as it is."""
    return array if array.dtype.kind == "c" else array.astype(np.float64, copy=False)


def by_parts(function: Callable[..., Any], dtype: Any, *arrays: Any) -> Array:
    """An element-wise function of arrays that broadcast, in float64, part by part; an absent array (None) stays None."""
    shape = np.broadcast_shapes(*(array.shape for array in arrays if array is not None))
    result = np.empty(shape, dtype)
    full = [None if array is None else np.broadcast_to(array, shape) for array in arrays]
    for place in slices(shape):
        result[place] = function(*(None if array is None else wide(array[place]) for array in full))
    return result


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
