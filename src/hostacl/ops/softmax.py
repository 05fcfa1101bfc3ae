"""Softmax over any axes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hostacl import _kernels
from hostacl.config import settings
from hostacl.ops.axis_cuts import free_cuts
from hostacl.ops.call import Call
from hostacl.ops.declare import codes
from hostacl.ops.dims import Shape
from hostacl.ops.registry import kernel
from hostacl.ops.shapes import axes as checked_axes
from hostacl.tensors import dtypes

Array = NDArray[Any]


def softmax_shape(call: Call) -> Shape:
    """The shape of x, once the axes are known to be its axes."""
    shape = call.shape("x")
    checked_axes(call, call.ints("axes"), len(shape))
    return shape


def softmax_dtype(call: Call) -> int:
    """float32 for a float16 x with half_to_float, else that of x."""
    return dtypes.FLOAT if call.attrs.get("half_to_float") and call.dtype("x") == dtypes.FLOAT16 else call.dtype("x")


def direct_softmax(call: Call) -> Any:
    """The native rows, when the last axis is the only one."""
    rank, (code, _) = call.rank("x"), codes(call)
    last = rank > 0 and [axis % rank for axis in call.ints("axes")] == [rank - 1]
    return _kernels.softmax if last and code in dtypes.FLOATS - {dtypes.DOUBLE} and not settings().saturate else None


@kernel("SoftmaxV2", shape=softmax_shape, dtype={"y": softmax_dtype}, direct=direct_softmax,
        cuts=free_cuts(lambda call: call.ints("axes")))  # fmt: skip
def softmax_v2(x: Array, axes: Sequence[int]) -> Array:
    """exp(x - max) / sum over the axes together; NaN where one of them is NaN."""
    over = tuple(axes) if x.ndim else ()
    if x.size == 0:
        return x
    shifted = np.exp(x - np.max(x, axis=over, keepdims=True))
    return shifted / np.sum(shifted, axis=over, keepdims=True)


def log_exp_sum(shifted: Array, over: tuple[int, ...]) -> Array:
    """log Σ e^shifted over axes, kept, where the largest is 0: what is little beside e^0 = 1 is not lost."""
    largest = shifted == 0
    others = np.sum(np.where(largest, 0, np.exp(shifted)), axis=over, keepdims=True)
    return np.asarray(np.log1p(others + (np.count_nonzero(largest, axis=over, keepdims=True) - 1)))
