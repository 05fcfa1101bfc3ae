"""Places of extremes, by a loop along the axis."""

from __future__ import annotations

from typing import Any

import numpy as np

from hostacl.tensors import dtypes
from random_calls.dice import Dice
from random_calls.oracle import oracle, shapes


@shapes("ArgMaxV2")
def along_dimension(d: Dice) -> None:
    """A tensor with ties, and the dimension as a scalar value input."""
    shape = d.shape(1, empty=False)
    axis = d.axis(len(shape))
    if len(shape) > 1 and d.wants("empty"):
        shape = tuple(0 if place == (axis + 1) % len(shape) else size for place, size in enumerate(shape))
    d.tensor("x", shape, -2, 2)
    d.value("dimension", np.array(axis))
    d.output("y", int(d.attr("dtype", dtypes.INT32, dtypes.INT64)))


@oracle("ArgMaxV2")
def arg_max_v2(x: Any, dimension: Any) -> Any:
    axis = int(np.asarray(dimension).ravel()[0]) % x.ndim
    return first(x, axis, _beats)


def _beats(one: Any, best: Any) -> bool:
    """Whether an element is larger; NaN is the largest, complex numbers are ordered by real, then imaginary part."""
    if best != best:  # noqa: PLR0124 - only NaN is not equal to itself
        return False
    if isinstance(one, complex):
        return bool(one != one or (one.real, one.imag) > (best.real, best.imag))  # noqa: PLR0124
    return bool(one != one or one > best)  # noqa: PLR0124


def first(x: Any, axis: int, beats: Any) -> Any:
    """The first index along the axis that no other beats."""
    result = np.zeros(x.shape[:axis] + x.shape[axis + 1 :], object)
    for place in np.ndindex(result.shape):
        line = x[(*place[:axis], slice(None), *place[axis:])].tolist()
        best = 0
        for index, one in enumerate(line):
            if beats(one, line[best]):
                best = index
        result[place] = best
    return result
