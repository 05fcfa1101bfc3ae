"""Reductions: exact integers, floats in float64 with a bound for any order of float32 sums."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np

from hostacl.tensors import dtypes
from random_calls.dice import Dice
from random_calls.oracle import finite, oracle, shapes, summed


@shapes("ReduceSum", "ReduceMean")
def over_axes(d: Dice) -> None:
    """A tensor, and axes as a 1-D or scalar value input."""
    shape = d.shape()
    d.tensor("x", shape)
    axes: Any = d.axes(len(shape), 1)
    if len(axes) == 1 and d.chance():
        axes = axes[0]
    d.value("axes", axes)
    d.attr("keep_dims", True, False)


@shapes("ReduceSumD")
def over_attribute(d: Dice) -> None:
    """A tensor, and axes as an attribute."""
    shape = d.shape()
    d.tensor("x", shape)
    d.attr("axes", d.axes(len(shape), 1))
    d.attr("keep_dims", True, False)


def fold(x: Any, axes: Any, keep: bool, function: Any) -> Any:
    """The reduction of every group of elements that share the indices outside the axes, by an explicit loop."""
    along = {int(axis) % max(x.ndim, 1) for axis in np.atleast_1d(np.asarray(axes, dtype=object)).ravel()}
    kept = [range(size) if place not in along else range(1) for place, size in enumerate(x.shape)]
    shape = tuple(len(one) for one in kept)
    result = np.empty(shape, x.dtype)
    for place in itertools.product(*kept):
        group = x[tuple(slice(None) if axis in along else index for axis, index in enumerate(place))]
        result[place] = function(np.ravel(group))
    return result if keep else result.reshape([size for place, size in enumerate(shape) if place not in along])


@oracle("ReduceSum", "ReduceSumD")
def reduce_sum(x: Any, axes: Any, keep_dims: bool, dice: Dice) -> Any:
    if np.asarray(axes).size == 0:
        return x
    total = fold(x, axes, keep_dims, lambda group: sum(group.tolist(), x.dtype.type(0) if x.dtype != object else 0))
    return total if x.dtype == object else _bounded(x, total, axes, keep_dims, dice)


@oracle("ReduceMean")
def reduce_mean(x: Any, axes: Any, keep_dims: bool, dice: Dice) -> Any:
    if np.asarray(axes).size == 0:
        return x
    if x.dtype == object:
        signed = dice.dtype not in (dtypes.UINT8, dtypes.UINT16, dtypes.UINT32, dtypes.UINT64)
        return fold(x, axes, keep_dims, lambda group: _whole_mean(group, signed))
    total = fold(x, axes, keep_dims, lambda group: sum(group.tolist()) / len(group) if len(group) else np.nan)
    return _bounded(x, total, axes, keep_dims, dice, mean=True)


def _whole_mean(group: Any, signed: bool) -> int:
    """The mean of integers toward zero; the sum is one of 64 bits (our choice)."""
    half = 1 << 63 if signed else 0
    total = (sum(group.tolist()) + half) % (1 << 64) - half
    return abs(total) // max(len(group), 1) * (-1 if total < 0 else 1)


def _bounded(x: Any, total: Any, axes: Any, keep: bool, dice: Dice, mean: bool = False) -> Any:
    bits = 53 if dice.dtype in (dtypes.DOUBLE, dtypes.COMPLEX128) else 24
    sizes = fold(finite(x), axes, keep, lambda group: group.sum() / (max(len(group), 1) if mean else 1))
    return summed(total, sizes, x.size, bits)
