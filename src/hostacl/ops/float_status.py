"""The overflow status as operators: allocated, read and cleared."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from hostacl.ops import dims
from hostacl.ops.call import Call
from hostacl.ops.dims import Shape
from hostacl.ops.overflow import status
from hostacl.ops.reading import Reads
from hostacl.ops.registry import kernel

Array = NDArray[Any]

SIZE = 8
"""Elements of a status; the first one tells."""


def status_shape(call: Call) -> Shape:
    """Eight elements. From here on results are watched."""
    status().watch()
    if call.has("addr") and (size := dims.count(call.shape("addr"))) != SIZE and dims.known(size):
        raise call.refuse("HA504", f"addr = {dims.text(call.shape('addr'))}; allowed: {SIZE} elements.")
    return (SIZE,)


def no_outputs(call: Call) -> list[Shape]:
    """None. From here on results are watched."""
    status().watch()
    return []


def told(dtype: Any) -> Array:
    """The status: its first element 1 after an overflow, else 0."""
    return np.array([status().seen(), *(0,) * (SIZE - 1)], dtype)


@kernel("NPUAllocFloatStatus", shape=status_shape)
def npu_alloc_float_status() -> Array:
    """Eight zeros, the place that the other status operators read into."""
    return np.zeros(SIZE, np.float32)


@kernel("NPUGetFloatStatus", shape=status_shape, updates=("addr",), reads={"addr": Reads.NOTHING})
def npu_get_float_status(addr: Array) -> tuple[Array, Array]:
    """Whether the result of an operator was not finite since the status was cleared: 1 or 0, then zeros; addr gets the same.

    On devices that saturate, a half result at its largest value counts. Operators that only move elements do not.
    """
    return told(np.float32), told(np.float32)


@kernel("NPUClearFloatStatus", shape=status_shape, updates=("addr",), reads={"addr": Reads.NOTHING})
def npu_clear_float_status(addr: Array) -> tuple[Array, Array]:
    """Clears the status; data and addr are zeros."""
    status().clear()
    return told(np.float32), told(np.float32)


@kernel("NPUGetFloatStatusV2", "NPUGetFloatDebugStatus", shape=status_shape)
def npu_get_float_status_v2() -> Array:
    """Whether the result of an operator was not finite since the status was cleared: 1 or 0, then zeros."""
    return told(np.int32)


@kernel("NPUClearFloatStatusV2", "NPUClearFloatDebugStatus", shape=no_outputs)
def npu_clear_float_status_v2() -> tuple[()]:
    """Clears the status; there is no output."""
    status().clear()
    return ()
