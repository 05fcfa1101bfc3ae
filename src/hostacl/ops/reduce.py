"""Reductions over axes that arrive as a tensor, or as an attribute in the D twins."""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hostacl import _kernels
from hostacl.config import settings
from hostacl.ops.call import Call
from hostacl.ops.registry import kernel
from hostacl.ops.shapes import reduced
from hostacl.tensors import dtypes

Array = NDArray[Any]
Axes = tuple[int, ...]


def axes_of(axes: Any, rank: int, noop: bool) -> Axes:
    """The axes as numbers from 0 (the shape rule checked them). An empty list is none, or all when noop is false."""
    listed = tuple(int(axis) for axis in np.asarray(axes, np.int64).ravel())
    if not listed and not noop:
        return tuple(range(rank))
    return tuple(axis % rank for axis in listed) if rank else ()


def reduction(*op_types: str, function: Callable[[Array, Axes, bool], Any], **options: Any) -> None:
    """Reductions in a line: ``reduction("ReduceSum", "ReduceSumD", function=sum_over)``, function(x, axes, keep_dims)."""
    options.setdefault("shape", reduced())
    options.setdefault("values", ("axes",))

    def run(x: Array, axes: Any, keep_dims: bool, noop_with_empty_axes: bool) -> Any:
        return function(x, axes_of(axes, x.ndim, noop_with_empty_axes), keep_dims)

    run.__doc__ = function.__doc__
    kernel(*op_types, attrs={"noop_with_empty_axes": True}, **options)(run)


def runs_of(rank: int, axes: Axes) -> list[tuple[int, int]]:
    """The axes as runs of neighbours: (first, behind the last)."""
    runs: list[tuple[int, int]] = []
    for axis in range(rank):
        if axis in axes:
            runs = [*runs[:-1], (runs[-1][0], axis + 1)] if runs and runs[-1][1] == axis else [*runs, (axis, axis + 1)]
    return runs


def reduce_into(loop: Callable[..., None], x: Array, axes: Axes, out: Array, *divisor: float) -> None:
    """A native loop over the axes, into out: run by run from the last on, float32 in between."""
    runs = runs_of(x.ndim, axes)
    shape = x.shape
    for first, behind in runs[:0:-1]:
        lines = (prod(shape[:first]), prod(shape[first:behind]), prod(shape[behind:]))
        part = np.empty(lines[0] * lines[2], np.float32)
        loop(x.reshape(lines), part)
        shape, x = (*shape[:first], *shape[behind:]), part
    ((first, behind),) = runs[:1]
    loop(x.reshape(prod(shape[:first]), prod(shape[first:behind]), prod(shape[behind:])), out, *divisor)


def reduced_by(loop: Callable[..., None], x: Array, axes: Axes, keep: bool, *divisor: float) -> Array:
    """A native loop over the axes of a float32 tensor, as a new array."""
    shape = (1 if axis in axes else size for axis, size in enumerate(x.shape) if keep or axis not in axes)
    out = np.empty(tuple(shape), np.float32)
    reduce_into(loop, np.ascontiguousarray(x), axes, out, *divisor)
    return out


def direct_reduction(loop: Callable[..., None], mean: bool = False, noop: bool = True) -> Callable[[Call], Any]:
    """The ``direct`` of a reduction: the native loop on float32 and half tensors as they lie in memory."""

    def direct(call: Call) -> Any:
        if not call.known("axes"):
            return None
        shape, rank = call.shape("x"), call.rank("x")
        over = axes_of(call.ints("axes"), rank, bool(call.attrs.get("noop_with_empty_axes", noop)))
        halves = call.dtype("x") in dtypes.HALVES
        narrow = halves or call.dtype("x") == dtypes.FLOAT
        if not over or 0 in shape or not narrow or (halves and settings().saturate):
            return None
        divisor = (float(prod(call.spec("x").shape[axis] for axis in over)),) if mean else ()
        return lambda *arrays: reduce_into(loop, arrays[0], over, arrays[-1], *divisor)

    return direct


def sum_over(x: Array, axes: Axes, keep: bool) -> Any:
    """The sum. float32 is added in short runs in float32, the runs in float64; integers wrap in their type."""
    if not axes:
        return x
    if x.dtype == np.float32 and x.size:
        return reduced_by(_kernels.axis_sum, x, axes, keep)
    wide = {"c": np.complex128, "f": np.float64}.get(x.dtype.kind, x.dtype)
    return np.sum(x, axis=axes, keepdims=keep, dtype=wide)


reduction("ReduceSum", "ReduceSumD", function=sum_over, direct=direct_reduction(_kernels.axis_sum))
