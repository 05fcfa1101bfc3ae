"""Comparisons that allow a difference, and of whole tensors."""

from __future__ import annotations

from math import ceil
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hostacl.ops.blocks import in_blocks
from hostacl.ops.call import Call
from hostacl.ops.dims import Shape
from hostacl.ops.registry import kernel
from hostacl.ops.shapes import broadcast

Array = NDArray[Any]


TWO_64 = 2.0**64


def distance(x1: Array, x2: Array) -> Array:
    """The absolute difference: of integers exact, as uint64; of bool and floats in float64; never negative."""
    kind = x1.dtype.kind
    if kind == "b":
        return np.asarray(x1 != x2).astype(np.float64)
    if kind in "fc":
        return np.abs(np.subtract(x1, x2, dtype=np.complex128 if kind == "c" else np.float64))
    bits = [x.astype(np.int64 if kind == "i" else np.uint64).view(np.uint64) for x in (x1, x2)]
    return np.where(x1 > x2, bits[0] - bits[1], bits[1] - bits[0])


def at_most(gap: Array, bound: Array) -> Array:
    """Whether a distance is not above a float64 bound; one of integers is compared exactly, not as a float."""
    if gap.dtype.kind != "u":
        return np.asarray(gap <= bound)
    small = (bound >= 0) & (bound < TWO_64)
    return np.where(small, gap <= np.where(small, bound, 0).astype(np.uint64), bound >= TWO_64)


@kernel("IsClose", shape=broadcast("x1", "x2"), direct=in_blocks)
def is_close(x1: Array, x2: Array, rtol: float, atol: float, equal_nan: bool) -> Array:
    """Whether |x1 - x2| <= atol + rtol·|x2|, or both are equal (infinities too), or with equal_nan both NaN.

    The right side is worked out in float64; the difference of integers is exact.
    """
    size = np.abs(x2.astype(np.complex128 if x2.dtype.kind == "c" else np.float64))
    close = (x1 == x2) | (np.isfinite(size) & at_most(distance(x1, x2), atol + rtol * size))
    return close | (np.isnan(x1) & np.isnan(x2)) if equal_nan else close


@kernel("ApproximateEqual", shape=broadcast("x1", "x2"), direct=in_blocks)
def approximate_equal(x1: Array, x2: Array, tolerance: float) -> Array:
    """Whether |x1 - x2| < tolerance: of integers exactly, else in float64; false for NaN, for infinities equal or not."""
    gap = distance(x1, x2)
    if gap.dtype.kind != "u":
        return np.asarray(gap < tolerance)
    inside = 0 < tolerance < TWO_64
    return gap < np.uint64(ceil(tolerance)) if inside else np.full(gap.shape, tolerance >= TWO_64)


def one_answer(call: Call) -> Shape:
    """A scalar."""
    return ()


@kernel("TensorEqual", shape=one_answer)
def tensor_equal(input_x: Array, input_y: Array) -> Array:
    """Whether two tensors have one shape and equal elements; NaN equals nothing."""
    return np.asarray(np.array_equal(input_x, input_y))
