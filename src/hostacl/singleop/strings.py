"""Tensors of one string, which operators see as its bytes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hostacl import _machine
from hostacl.errors import Failed
from hostacl.ops.call import Call
from hostacl.ops.run import HOST_FAILURE
from hostacl.tensors.dtypes import STRING
from hostacl.tensors.spec import TensorSpec

Array = NDArray[Any]

PLACE = np.dtype([("start", np.int64), ("length", np.int64)])
"""What lies in memory of a string."""


def in_memory(spec: TensorSpec) -> tuple[np.dtype[Any], tuple[int, ...]] | Array:
    """What lies in memory of a tensor of strings; of a const one its bytes, the element first."""
    return (PLACE, spec.shape) if spec.const is None else np.frombuffer(spec.const, np.uint8)


def with_strings(call: Call, function: Callable[..., Any]) -> Callable[..., Any]:
    """The function of a call, given the bytes of strings in the place of what lies in memory of them."""
    bounds = ((name, one) for name, bound in call.inputs.items() for one in zip(bound.positions, bound.specs, strict=True))
    places = {place: name for name, (place, spec) in bounds if spec.dtype == STRING}
    if not places:
        return function

    def run(*arrays: Any) -> Any:
        ready = list(arrays)
        for place, name in places.items():
            ready[place] = only_string(call.op_type, name, arrays[place])
        return function(*ready)

    return run


def only_string(op: str, name: str, tensor: Array) -> Array:
    """The bytes of a tensor of one string; raises Failed where they do not lie in live memory.

    The element is {int64 start, int64 length}: start counts from the element's own address, as in what programs copy to the
    device (16, when the bytes follow at once); an address that is live where no bytes follow there is taken as well.
    """
    if tensor.dtype == np.uint8:
        return _within(op, name, tensor)
    address = int(tensor.__array_interface__["data"][0])
    if not address or not _machine.is_live(address, PLACE.itemsize):
        raise _refused(op, f"{name} points to {address:#x}, where no element {{int64 start, int64 length}} lies")
    start, length = (int(one) for one in tensor.reshape(())[()])
    for place in (address + start, start):
        if start >= 0 and length >= 0 and place < 1 << 63 and (length == 0 or _machine.is_live(place, length)):
            return np.frombuffer(_machine.bytes_at(place, length) if length else b"", np.uint8)
    raise _refused(op, _outside(name, start, length))


def _within(op: str, name: str, content: Array) -> Array:
    """The string of an element with what follows it."""
    if content.size < PLACE.itemsize:
        told = f"{name} has {content.size} bytes; an element {{int64 start, int64 length}} takes {PLACE.itemsize}"
        raise _refused(op, told)
    start, length = (int(one) for one in content[: PLACE.itemsize].view(np.int64))
    if start < 0 or length < 0 or start + length > content.size:
        raise _refused(op, _outside(name, start, length))
    return content[start : start + length]


def _outside(name: str, start: int, length: int) -> str:
    return f"{name} holds the element {{start {start}, length {length}}}, and so many bytes are not there"


def _refused(op: str, text: str) -> Failed:
    how = "give start 16 and the length, then the bytes, in one buffer"
    return Failed("HA519", f"{op}: {text}; {how}.", HOST_FAILURE)
