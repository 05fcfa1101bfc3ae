"""Places of extremes, by a loop along the axis."""

from __future__ import annotations

from typing import Any

import numpy as np

from hostacl.tensors import dtypes
from random_calls.dice import Dice
from random_calls.oracle import oracle, shapes


def shape_and_axis(d: Dice) -> tuple[tuple[int, ...], int]:
    """A shape, and an axis along which it is not empty."""
    shape = d.shape(empty=False)
    axis = d.axis(len(shape))
    if len(shape) > 1 and d.wants("empty"):
        shape = tuple(0 if place == (axis + 1) % len(shape) else size for place, size in enumerate(shape))
    return shape, axis


@shapes("ArgMaxV2")
def along_dimension(d: Dice) -> None:
    """A tensor with ties, and the dimension as a scalar value input."""
    shape, axis = shape_and_axis(d)
    d.tensor("x", shape, -2, 2)
    d.value("dimension", np.array(axis))
    d.output("y", int(d.attr("dtype", dtypes.INT32, dtypes.INT64)))


@oracle("ArgMaxV2")
def arg_max_v2(x: Any, dimension: Any) -> Any:
    return first(x, int(np.asarray(dimension).ravel()[0]), _beats)


def _beats(one: Any, best: Any) -> bool:
    """Whether an element is larger; NaN is the largest, complex numbers are ordered by real, then imaginary part."""
    if best != best:  # noqa: PLR0124 - only NaN is not equal to itself
        return False
    if isinstance(one, complex):
        return bool(one != one or (one.real, one.imag) > (best.real, best.imag))  # noqa: PLR0124
    return bool(one != one or one > best)  # noqa: PLR0124


def first(x: Any, axis: int, beats: Any) -> Any:
    """The first index along the axis that no other beats; that of a scalar is 0."""
    if x.ndim == 0:
        return np.array(0, object)
    axis %= x.ndim
    result = np.zeros(x.shape[:axis] + x.shape[axis + 1 :], object)
    for place in np.ndindex(result.shape):
        line = x[(*place[:axis], slice(None), *place[axis:])].tolist()
        best = 0
        for index, one in enumerate(line):
            if beats(one, line[best]):
                best = index
        result[place] = best
    return result


@shapes("ArgMin", "ArgMaxD", "ArgMinD")
def along_dimension_too(d: Dice) -> None:
    """As for ArgMaxV2, the dimension as a value input or an attribute."""
    if "dimension" not in d.prototype.attrs:
        along_dimension(d)
        return
    shape, axis = shape_and_axis(d)
    d.tensor("x", shape, -2, 2)
    d.attr("dimension", axis)


@oracle("ArgMaxD")
def arg_max_d(x: Any, dimension: int) -> Any:
    return first(x, dimension, _beats)


def _below(one: Any, best: Any) -> bool:
    """Whether an element is smaller; NaN is the smallest."""
    if best != best:  # noqa: PLR0124
        return False
    if isinstance(one, complex):
        return bool(one != one or (one.real, one.imag) < (best.real, best.imag))  # noqa: PLR0124
    return bool(one != one or one < best)  # noqa: PLR0124


@oracle("ArgMin", "ArgMinD")
def arg_min(x: Any, dimension: Any) -> Any:
    return first(x, int(np.asarray(dimension).ravel()[0]), _below)


@shapes("ArgMaxWithValue", "ArgMinWithValue")
def with_value(d: Dice) -> None:
    """A tensor with ties and a dimension."""
    shape, axis = shape_and_axis(d)
    d.tensor("x", shape, -2, 2)
    d.attr("dimension", axis)
    d.attr("keep_dims", True, False)
    d.output("indice", dtypes.INT32)


def place_and_value(x: Any, dimension: int, keep_dims: bool, beats: Any) -> Any:
    if x.ndim == 0:
        return np.array(0, object), x
    axis = dimension % x.ndim
    place = np.expand_dims(first(x, axis, beats), axis)
    value = np.empty(place.shape)
    for at in np.ndindex(place.shape):
        value[at] = x[(*at[:axis], place[at], *at[axis + 1 :])]
    return (place, value) if keep_dims else (place.squeeze(axis), value.squeeze(axis))


@oracle("ArgMaxWithValue")
def arg_max_with_value(x: Any, dimension: int, keep_dims: bool) -> Any:
    return place_and_value(x, dimension, keep_dims, _beats)


@oracle("ArgMinWithValue")
def arg_min_with_value(x: Any, dimension: int, keep_dims: bool) -> Any:
    return place_and_value(x, dimension, keep_dims, _below)


@shapes("ArgMaxGrad")
def going_back(d: Dice) -> None:
    """A tensor, a place along the dimension for each line, and what goes there."""
    shape, axis = shape_and_axis(d)
    d.tensor("var", shape)
    lines = tuple(size for place, size in enumerate(shape) if place != axis % len(shape))
    count = shape[axis] if shape else 1
    d.tensor("indices", d.rng.integers(-count, count, lines))
    d.tensor("updates", lines)
    d.attr("dimension", axis)


@oracle("ArgMaxGrad")
def arg_max_grad(var: Any, indices: Any, updates: Any, dimension: int) -> Any:
    if var.ndim == 0:
        return updates
    result, axis = var.copy(), dimension % var.ndim
    for place in np.ndindex(indices.shape):
        result[(*place[:axis], int(indices[place]), *place[axis:])] = updates[place]
    return result
