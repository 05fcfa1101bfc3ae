"""Running sums, products and extremes along an axis."""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hostacl import _kernels
from hostacl.config import settings
from hostacl.ops.call import Call
from hostacl.ops.dims import Shape
from hostacl.ops.registry import kernel
from hostacl.ops.shapes import axis as checked_axis
from hostacl.tensors import dtypes

Array = NDArray[Any]


LONG = 256
"""Elements from which on a slice is long."""


def along_axis(call: Call) -> Shape:
    """The shape of x; the axis is checked as soon as it is known."""
    shape = call.shape("x")
    if "axis" in call.attrs or call.known("axis"):
        checked_axis(call, call.scalar("axis"), len(shape))
    return shape


def place_of(axis: Any, rank: int) -> int:
    """The axis counted from the front (the shape rule checked it)."""
    return int(np.asarray(axis).reshape(())) % max(rank, 1)


def lines_of(x: Array, place: int) -> Array:
    """A tensor with three axes: before the axis, along it, behind it. A scalar is a line of one."""
    return x.reshape(prod(x.shape[:place]), *(x.shape[place : place + 1] or (1,)), prod(x.shape[place + 1 :]))


def accumulate(function: np.ufunc, first: int, x: Array, axis: Any, exclusive: bool, reverse: bool) -> Array:
    """A running sum or product."""
    line = lines_of(np.ascontiguousarray(x), place_of(axis, x.ndim))
    result = np.empty_like(line)
    if x.dtype.kind == "f":
        RUNNING[function](line, result, exclusive, reverse)
        return result.reshape(x.shape)
    source, target = (line[:, ::-1], result[:, ::-1]) if reverse else (line, result)
    if exclusive:
        target[:, :1] = first
        source, target = source[:, :-1], target[:, 1:]
    run_along(function, source, target)
    return result.reshape(x.shape)


RUNNING: dict[Any, Callable[..., None]] = {np.add: _kernels.running_sum, np.multiply: _kernels.running_product}
"""The native loops of float tensors."""


def direct_scan(loop: Callable[..., None]) -> Callable[[Call], Any]:
    """The ``direct`` of a scan: the native loop on float tensors as they lie in memory, once the axis is known."""

    def direct(call: Call) -> Any:
        if call.dtype("x") not in dtypes.FLOATS or not call.known("axis") or settings().saturate:
            return None
        place = place_of(call.scalar("axis"), call.rank("x"))
        exclusive, reverse = call.attr("exclusive"), call.attr("reverse")
        return lambda *arrays: loop(lines_of(arrays[0], place), lines_of(arrays[-1], place), exclusive, reverse)

    return direct


def run_along(function: np.ufunc, x: Array, out: Array) -> None:
    """Accumulates along axis 1: slice by slice where slices are long, which is faster than line by line."""
    if x.shape[2] < LONG or x.shape[1] == 0:
        function.accumulate(x, axis=1, dtype=x.dtype, out=out)
        return
    out[:, 0] = x[:, 0]
    for place in range(1, x.shape[1]):
        function(out[:, place - 1], x[:, place], out=out[:, place])


@kernel("Cumsum", "CumsumD", shape=along_axis, values=("axis",), direct=direct_scan(_kernels.running_sum))
def cumsum(x: Array, axis: Any, exclusive: bool, reverse: bool) -> Array:
    """The running sum along an axis: exclusive starts with 0 and leaves the element itself out, reverse runs from the end.

    Halves are added in float32, float32 in float64, and rounded once; integers wrap.
    """
    return accumulate(np.add, 0, x, axis, exclusive, reverse)


@kernel("Cumprod", "CumprodD", shape=along_axis, values=("axis",), direct=direct_scan(_kernels.running_product))
def cumprod(x: Array, axis: Any, exclusive: bool, reverse: bool) -> Array:
    """The running product along an axis: exclusive starts with 1 and leaves the element itself out, reverse runs from the end.

    Halves are multiplied in float32, float32 in float64, and rounded once; integers wrap.
    """
    return accumulate(np.multiply, 1, x, axis, exclusive, reverse)


def extreme_shapes(name: str) -> Any:
    """The shape of x, twice."""

    def rule(call: Call) -> list[Shape]:
        checked_axis(call, call.attr(name), call.rank("x"), name)
        return [call.shape("x")] * 2

    return rule


def running(function: np.ufunc, x: Array, axis: int) -> tuple[Array, Array]:
    """The running extreme and the position of its last occurrence so far."""
    line = np.atleast_1d(x)
    best = function.accumulate(line, axis=axis)
    shape = [1] * line.ndim
    shape[axis] = -1
    places = np.arange(line.shape[axis]).reshape(shape)
    here = (line == best) | np.not_equal(line, line)
    found = np.maximum.accumulate(np.where(here, places, 0), axis=axis)
    return best.reshape(x.shape), found.reshape(x.shape)


def direct_extreme(loop: Callable[..., None], name: str) -> Callable[[Call], Any]:
    """The ``direct`` of a running extreme: the native loop on float32 and halves as they lie in memory."""

    def direct(call: Call) -> Any:
        halves = call.dtype("x") in dtypes.HALVES
        if not (halves or call.dtype("x") == dtypes.FLOAT) or (halves and settings().saturate):
            return None
        place = place_of(call.attr(name), call.rank("x"))

        def run(x: Array, values: Array, indices: Array) -> None:
            places = indices if indices.dtype == np.int64 else np.empty(indices.shape, np.int64)
            loop(lines_of(x, place), lines_of(values, place), lines_of(places, place))
            if places is not indices:
                np.copyto(indices, places, casting="unsafe")

        return run

    return direct


def index_types(call: Call) -> tuple[int, ...]:
    """Positions are int64 or int32."""
    return dtypes.INT64, dtypes.INT32


@kernel(
    "Cummax", shape=extreme_shapes("dim"), dtype={"indices": index_types}, direct=direct_extreme(_kernels.running_max, "dim")
)
def cummax(x: Array, dim: int) -> tuple[Array, Array]:
    """The largest element so far along an axis and its place: the last of equal ones; from a NaN on NaN, at the last one."""
    return running(np.maximum, x, dim)


@kernel(
    "Cummin", shape=extreme_shapes("axis"), dtype={"indices": index_types}, direct=direct_extreme(_kernels.running_min, "axis")
)
def cummin(x: Array, axis: int) -> tuple[Array, Array]:
    """The smallest element so far along an axis and its place: the last of equal ones; from a NaN on NaN, at the last one."""
    return running(np.minimum, x, axis)

