"""Positions of extremes with their values, and the gradient that goes back to them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hostacl import _kernels
from hostacl.ops import dims
from hostacl.ops.argminmax import direct_search, find_along, without_dimension
from hostacl.ops.call import Call
from hostacl.ops.dims import Shape
from hostacl.ops.index import checked_indices
from hostacl.ops.registry import kernel
from hostacl.ops.scan import lines_of, place_of
from hostacl.ops.shapes import axis, drop_axes, equal_dims
from hostacl.tensors import dtypes

Array = NDArray[Any]


@kernel(
    "ArgMin", "ArgMinD", shape=without_dimension, values=("dimension",), direct=direct_search(_kernels.axis_argmin)
)
def arg_min(x: Array, dimension: Any) -> Array:
    """The position of the first smallest element along the dimension; a NaN counts as the smallest."""
    return find_along(_kernels.axis_argmin, np.argmin, x, place_of(dimension, x.ndim))


@kernel("ArgMaxD", shape=without_dimension, direct=direct_search(_kernels.axis_argmax))
def arg_max_d(x: Array, dimension: int) -> Array:
    """The position of the first largest element along the dimension; a NaN counts as the largest."""
    return find_along(_kernels.axis_argmax, np.argmax, x, place_of(dimension, x.ndim))


def with_value(call: Call) -> list[Shape]:
    """The shape of x without the dimension, or with 1 there, for both outputs."""
    shape = call.shape("x")
    dropped = without_dimension(call)
    place = axis(call, call.attr("dimension"), len(shape), "dimension")
    return [drop_axes(shape, (place,), keep=True) if call.attr("keep_dims") else dropped] * 2


def position_and_value(found: Array, x: Array, dimension: int, keep_dims: bool) -> tuple[Array, Array]:
    """Where the extreme is, and the element there."""
    place = np.expand_dims(found, dimension)
    value = np.take_along_axis(np.atleast_1d(x), place, dimension)
    shape = x.shape if x.ndim == 0 else place.shape if keep_dims else found.shape
    return place.reshape(shape), value.reshape(shape)


def direct_with_value(loop: Callable[..., None]) -> Callable[[Call], Any]:
    """The same for a search that gives the values too."""

    def direct(call: Call) -> Any:
        if call.dtype("x") not in dtypes.HALVES or 0 in call.shape("x"):
            return None
        dimension, keep_dims = call.attr("dimension"), call.attr("keep_dims")
        place = place_of(dimension, call.rank("x"))

        def run(x: Array, positions: Array, values: Array) -> None:
            line = np.atleast_1d(x).view(np.uint16)
            found = np.empty((*line.shape[:place], *line.shape[place + 1 :]), np.int64)
            loop(lines_of(x, place), found)
            where, value = position_and_value(found, line, dimension, keep_dims)
            np.copyto(positions, where.reshape(positions.shape), casting="unsafe")
            np.copyto(values.view(np.uint16), value.reshape(values.shape))

        return run

    return direct


@kernel("ArgMaxWithValue", shape=with_value, direct=direct_with_value(_kernels.axis_argmax))
def arg_max_with_value(x: Array, dimension: int, keep_dims: bool) -> tuple[Array, Array]:
    """The position of the first largest element along the dimension, and that element; a NaN counts as the largest."""
    found = find_along(_kernels.axis_argmax, np.argmax, x, place_of(dimension, x.ndim))
    return position_and_value(found, x, dimension, keep_dims)


@kernel("ArgMinWithValue", shape=with_value, direct=direct_with_value(_kernels.axis_argmin))
def arg_min_with_value(x: Array, dimension: int, keep_dims: bool) -> tuple[Array, Array]:
    """The position of the first smallest element along the dimension, and that element; a NaN counts as the smallest."""
    found = find_along(_kernels.axis_argmin, np.argmin, x, place_of(dimension, x.ndim))
    return position_and_value(found, x, dimension, keep_dims)


def updated(call: Call) -> Shape:
    """The shape of var; indices and updates have it without the dimension."""
    var, indices, updates = (call.shape(name) for name in ("var", "indices", "updates"))
    place = axis(call, call.attr("dimension"), len(var), "dimension")
    wanted = drop_axes(var, (place,), keep=False)
    for name, shape in (("indices", indices), ("updates", updates)):
        told = f"{name} = {dims.text(shape)}; allowed: {dims.text(wanted)}, var without dimension {place}."
        if len(shape) != len(wanted):
            raise call.refuse("HA504", told)
        for one, other in zip(shape, wanted, strict=True):
            equal_dims(call, one, other, told)
    return var


@kernel("ArgMaxGrad", shape=updated)
def arg_max_grad(var: Array, indices: Array, updates: Array, dimension: int) -> Array:
    """var with updates written at indices along the dimension; a negative index counts from the end, one out of range fails."""
    result = np.atleast_1d(var).copy()
    found = checked_indices("ArgMaxGrad", indices, result.shape[dimension])
    np.put_along_axis(result, np.expand_dims(found, dimension), np.expand_dims(updates, dimension), dimension)
    return result.reshape(var.shape)
