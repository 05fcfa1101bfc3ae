"""Comparisons that allow a difference, and of whole tensors."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from hostacl.ops.blocks import in_blocks
from hostacl.ops.call import Call
from hostacl.ops.dims import Shape
from hostacl.ops.registry import kernel
from hostacl.ops.shapes import broadcast

Array = NDArray[Any]


def distance(x1: Array, x2: Array) -> Array:
    """The absolute difference: of integers exact in 64 bits, of floats in float64; never negative."""
    kind = x1.dtype.kind
    if kind == "b":
        return np.asarray(x1 != x2).astype(np.float64)
    if kind in "fc":
        return np.abs(np.subtract(x1, x2, dtype=np.complex128 if kind == "c" else np.float64))
    bits = [x.astype(np.int64 if kind == "i" else np.uint64).view(np.uint64) for x in (x1, x2)]
    return np.where(x1 > x2, bits[0] - bits[1], bits[1] - bits[0]).astype(np.float64)


@kernel("IsClose", shape=broadcast("x1", "x2"), direct=in_blocks)
def is_close(x1: Array, x2: Array, rtol: float, atol: float, equal_nan: bool) -> Array:
    """Whether |x1 - x2| <= atol + rtol·|x2|, or both are equal (infinities too), or with equal_nan both NaN; in float64."""
    size = np.abs(x2.astype(np.complex128 if x2.dtype.kind == "c" else np.float64))
    close = (x1 == x2) | (np.isfinite(size) & (distance(x1, x2) <= atol + rtol * size))
    return close | (np.isnan(x1) & np.isnan(x2)) if equal_nan else close


@kernel("ApproximateEqual", shape=broadcast("x1", "x2"), direct=in_blocks)
def approximate_equal(x1: Array, x2: Array, tolerance: float) -> Array:
    """Whether |x1 - x2| < tolerance, in float64; false for NaN, and for infinities whether equal or not."""
    return distance(x1, x2) < tolerance


def one_answer(call: Call) -> Shape:
    """A scalar."""
    return ()


@kernel("TensorEqual", shape=one_answer)
def tensor_equal(input_x: Array, input_y: Array) -> Array:
    """Whether two tensors have one shape and equal elements; NaN equals nothing."""
    return np.asarray(np.array_equal(input_x, input_y))
