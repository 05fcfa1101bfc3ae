"""Lp norms over axes, whole and in two steps."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hostacl.ops.call import Call
from hostacl.ops.dims import Shape
from hostacl.ops.reduce import sum_over
from hostacl.ops.registry import kernel
from hostacl.ops.shapes import axes as checked_axes
from hostacl.ops.shapes import drop_axes, same_as

Array = NDArray[Any]

INFINITE = 2147483647
"""From this size on p stands for infinity: clients send the largest and the smallest int, as an int or as a float."""


def norm_axes(rank: int, axes: Sequence[int]) -> tuple[int, ...]:
    """The axes counted from the front; none given: all."""
    return tuple(axis % max(rank, 1) for axis in axes if rank) or tuple(range(rank))


def norm_shape(call: Call) -> Shape:
    """x without the axes, or with 1 there."""
    x = call.shape("x")
    checked_axes(call, call.attr("axes"), max(len(x), 1))
    return drop_axes(x, norm_axes(len(x), call.attr("axes")), call.attr("keepdim"))


def powers(x: Array, p: float, axes: Sequence[int], keep: bool) -> Any:
    """Σ|x|^p over axes; the largest or smallest |x| for p = ±∞; how many are not 0 for p = 0."""
    over, size = norm_axes(x.ndim, axes), np.abs(x)
    if abs(p) >= INFINITE:
        edge: Any = np.maximum if p > 0 else np.minimum
        start = 0.0 if p > 0 else np.inf
        return edge.reduce(size, axis=over, keepdims=keep, initial=size.dtype.type(start))
    if p == 0:
        return np.sum(size != 0, axis=over, keepdims=keep)
    wide = size if p == 1 else np.square(x, dtype=np.float64) if p == 2 else np.power(size.astype(np.float64), p)
    return sum_over(wide, over, keep)


def root(total: Any, p: float) -> Any:
    """total^(1/p), itself for p = 0 and p = ±∞."""
    if p in (0, 1) or abs(p) >= INFINITE:
        return total
    wide = np.asarray(total, np.float64)
    return np.sqrt(wide) if p == 2 else np.power(wide, 1 / p)


@kernel("LpNorm", "LpNormV2", shape=norm_shape)
def lp_norm(x: Array, p: float, axes: Sequence[int], keepdim: bool, epsilon: float) -> Any:
    """(Σ|x|^p)^(1/p) over axes (none: all), at least epsilon; NaN where there is one.

    p = 0 counts what is not 0; the largest int (or inf) stands for ∞, the largest |x|, the smallest for -∞, the smallest.
    """
    return np.maximum(root(powers(x, p, axes, keepdim), p), epsilon)


@kernel("LpNormReduceV2", shape=norm_shape)
def lp_norm_reduce_v2(x: Array, p: float, axes: Sequence[int], keepdim: bool) -> Any:
    """Σ|x|^p over axes (none: all), the first step of LpNormV2: for p = ±∞ the largest or smallest |x|, p = 0 counts non-zeros.

    epsilon has no meaning in this step.
    """
    return powers(x, p, axes, keepdim)


@kernel("LpNormUpdateV2", shape=same_as("x"))
def lp_norm_update_v2(x: Array, p: float, epsilon: float) -> Any:
    """x^(1/p), at least epsilon, the second step of LpNormV2; x itself for p = 0 and p = ±∞."""
    return np.maximum(root(x, p), epsilon)
