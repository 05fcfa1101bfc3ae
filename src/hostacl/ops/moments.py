"""Mean and variance over axes, and what is normalised with them: in float64, part by part of the first axis."""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hostacl.ops.pooling import tiles

Array = NDArray[Any]
Axes = tuple[int, ...]


def mean_of(x: Array, axes: Axes, function: Callable[[Array, Any], Array]) -> Array:
    """The mean over axes (kept as 1) of function(part of x, which part), without a copy of all of x."""
    kept = tuple(1 if axis in axes else size for axis, size in enumerate(x.shape))
    total = np.zeros(kept, np.float64)
    for part in tiles(x):
        place = slice(None) if 0 in axes else part
        total[place] += np.sum(function(x[part], place), axis=axes, keepdims=True, dtype=np.float64)
    return total / prod(x.shape[axis] for axis in axes)


def moments(x: Array, axes: Axes) -> tuple[Array, Array]:
    """Mean and population variance (of centred values) over axes, which stay as 1; NaN over nothing."""
    mean = mean_of(x, axes, lambda part, _: part)
    return mean, mean_of(x, axes, lambda part, place: np.square(part - mean[place]))


def rescaled(x: Array, mean: Any, factor: Array, offset: Any = None, scale: Any = None) -> Array:
    """(x - mean)·factor·scale + offset, in float64 and rounded once to the type of x; all broadcast to x."""
    y = np.empty(x.shape, x.dtype)
    for part in tiles(x):
        piece = np.asarray(x[part] - np.asarray(_at(mean, part, x.ndim), np.float64))
        for one in (factor, scale):
            if one is not None:
                piece *= _at(one, part, x.ndim)
        if offset is not None:
            piece += _at(offset, part, x.ndim)
        y[part] = piece
    return y


def _at(parameter: Any, part: slice, rank: int) -> Any:
    """The part of a parameter that goes with a part of x."""
    array = np.asarray(parameter)
    return array[part] if array.ndim == rank and rank and array.shape[0] > 1 else array


def inverse_root(variance: Array, epsilon: float) -> Array:
    """1/√(variance + epsilon)."""
    return np.asarray(1 / np.sqrt(np.asarray(variance, np.float64) + epsilon))
