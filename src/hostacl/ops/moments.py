"""Mean and variance over axes, and what is normalised with them: in float64, part by part of the first axis that is not 1."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hostacl.ops.pooling import tiles

Array = NDArray[Any]
Axes = tuple[int, ...]


def portions(x: Array) -> Iterator[tuple[slice, ...]]:
    """Parts of the first axis that is not 1, each of a bounded number of bytes; a single element's axes are left whole."""
    first = next((axis for axis, size in enumerate(x.shape) if size != 1), 0)
    for part in tiles(x[(0,) * first]):
        yield (slice(None),) * first + (part,) if x.ndim else ()


def mean_of(x: Array, axes: Axes, function: Callable[[Array, Any], Array]) -> Array:
    """The mean over axes (kept as 1) of function(part of x, which part), without a copy of all of x."""
    kept = tuple(1 if axis in axes else size for axis, size in enumerate(x.shape))
    total = np.zeros(kept, np.float64)
    for part in portions(x):
        place = tuple(slice(None) if axis in axes else one for axis, one in enumerate(part))
        total[place] += np.sum(function(x[part], place), axis=axes, keepdims=True, dtype=np.float64)
    return total / prod(x.shape[axis] for axis in axes)


def moments(x: Array, axes: Axes) -> tuple[Array, Array]:
    """Mean and population variance (of centred values) over axes, which stay as 1; NaN over nothing."""
    mean = mean_of(x, axes, lambda part, _: part)
    return mean, mean_of(x, axes, lambda part, place: np.square(part - mean[place]))


def rescaled(x: Array, mean: Any, factor: Array, offset: Any = None, scale: Any = None) -> Array:
    """(x - mean)·factor·scale + offset, in float64 and rounded once to the type of x; all broadcast to x."""
    y = np.empty(x.shape, x.dtype)
    for part in portions(x):
        piece = np.asarray(x[part] - np.asarray(_at(mean, part, x.ndim), np.float64))
        for one in (factor, scale):
            if one is not None:
                piece *= _at(one, part, x.ndim)
        if offset is not None:
            piece += _at(offset, part, x.ndim)
        y[part] = piece
    return y


def _at(parameter: Any, part: tuple[slice, ...], rank: int) -> Any:
    """The part of a parameter that goes with a part of x."""
    array = np.asarray(parameter)
    if array.ndim != rank:
        return array
    return array[tuple(slice(None) if size == 1 else one for size, one in zip(array.shape, part, strict=False))]


def inverse_root(variance: Array, epsilon: float) -> Array:
    """1/√(variance + epsilon)."""
    return np.asarray(1 / np.sqrt(np.asarray(variance, np.float64) + epsilon))
