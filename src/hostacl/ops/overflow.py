"""The overflow status: whether an operator's result was not finite since it was last cleared. Watched only when asked for."""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hostacl.config import settings
from hostacl.ops.call import Call, each_output
from hostacl.tensors import dtypes

Array = NDArray[Any]

EXPONENT = {dtypes.FLOAT16: 0x7C00, dtypes.BF16: 0x7F80}
LARGEST = {dtypes.FLOAT16: 0x7BFF, dtypes.BF16: 0x7F7F}


class Status:
    """The process' status; ``seen`` tells of an overflow, ``listeners`` are called at each."""

    def __init__(self) -> None:
        self.watching = False
        self.seen = False
        self.listeners: list[Callable[[], None]] = []
        self.starters: list[Callable[[], None]] = []

    def watch(self) -> None:
        """Starts watching: functions made from now on look at their results. ``starters`` drop those made before."""
        if not self.watching:
            self.watching = True
            for start in self.starters:
                start()

    def note(self) -> None:
        """Remembers an overflow."""
        self.seen = True
        for listener in self.listeners:
            listener()

    def clear(self) -> None:
        """Forgets it."""
        self.seen = False


status = Status()


def watched(call: Call, function: Callable[..., Any]) -> Callable[..., Any]:
    """The function, looking at its float results when the status is watched; as it is for what only moves elements."""
    places = [
        (position, spec.dtype)
        for _, position, spec in each_output(call)
        if spec.dtype in dtypes.FLOATS or spec.dtype in dtypes.COMPLEXES
    ]
    if not status.watching or call.operator.bits or not places:
        return function
    saturate, first = settings().saturate, call.inputs_sent

    def run(*arrays: Any) -> Any:
        shapes = function(*arrays)
        for place, code in places:
            array = arrays[first + place]
            if array is not None and overflowed(written(array, shapes, place), code, saturate):
                status.note()
        return shapes

    return run


def written(array: Array, shapes: Any, place: int) -> Array:
    """The part of an output that holds results."""
    if not isinstance(shapes, tuple) or place >= len(shapes):
        return array
    return array.reshape(-1)[: prod(shapes[place])]


def overflowed(array: Array, code: int, saturate: bool) -> bool:
    """Whether a result holds an infinity or NaN; where halves saturate, the largest one."""
    if code not in EXPONENT:
        parts = np.ascontiguousarray(array).view(np.float16) if code == dtypes.COMPLEX32 else array
        return not bool(np.isfinite(parts).all())
    bits = array.view(np.uint16)
    if saturate and bool(((bits & 0x7FFF) == LARGEST[code]).any()):
        return True
    return bool(((bits & EXPONENT[code]) == EXPONENT[code]).any())
