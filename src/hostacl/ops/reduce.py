"""Reductions over axes that arrive as a tensor, or as an attribute in the D twins."""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hostacl import _kernels
from hostacl.ops.registry import kernel
from hostacl.ops.shapes import reduced

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


def sum_over(x: Array, axes: Axes, keep: bool) -> Any:
    """The sum. float32 is added in blocks or in float64, never one long float32 chain; integers wrap in their type."""
    if not axes:
        return x
    if x.dtype != np.float32:
        wide = {"c": np.complex128, "f": np.float64}.get(x.dtype.kind, x.dtype)
        return np.sum(x, axis=axes, keepdims=keep, dtype=wide)
    trailing = sorted(axes) == list(range(x.ndim - len(axes), x.ndim))
    if not trailing or x.size == 0:
        return sum_in_runs(x, axes, keep)
    lead = x.shape[: x.ndim - len(axes)]
    out = np.empty(prod(lead), np.float32)
    _kernels.row_sum(np.ascontiguousarray(x).reshape(out.size, -1), out)
    return out.reshape(lead + (1,) * len(axes) if keep else lead)


RUN = 64
"""How many elements are added in float32 before the sum goes on in float64."""


def sum_in_runs(x: Array, axes: Axes, keep: bool) -> Any:
    """The sum of float32 over any axes: short runs along the longest of them in float32, the runs in float64."""
    long = max(axes, key=lambda axis: x.shape[axis])
    runs = x.shape[long] // RUN
    if runs < 2:
        return np.sum(x, axis=axes, keepdims=keep, dtype=np.float64)
    head = x[(slice(None),) * long + (slice(0, runs * RUN),)]
    parts = np.add.reduce(head.reshape(*x.shape[:long], runs, RUN, *x.shape[long + 1 :]), axis=long + 1)
    rest = x[(slice(None),) * long + (slice(runs * RUN, None),)]
    return sum(np.sum(part, axis=axes, keepdims=keep, dtype=np.float64) for part in (parts, rest))


reduction("ReduceSum", "ReduceSumD", function=sum_over)
