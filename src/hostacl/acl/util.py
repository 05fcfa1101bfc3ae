"""acl.util: addresses of NumPy arrays and bytes objects, and back; threads for callbacks."""

from __future__ import annotations

import threading
import time
import warnings
from collections import deque
from collections.abc import Callable, Sequence
from math import prod
from operator import index
from typing import Any

import numpy as np

from hostacl import _machine

__all__ = [
    "bytes_to_ptr", "numpy_contiguous_to_ptr", "numpy_to_ptr", "ptr_to_bytes", "ptr_to_numpy", "start_thread", "stop_thread",
]

Array = np.ndarray[Any, Any]

_KEPT_BYTES: deque[bytes] = deque(maxlen=64)
"""What bytes_to_ptr was last asked about, so that ``bytes_to_ptr(a.tobytes())`` does not dangle."""

_STOP_SECONDS = 5.0
"""How long stop_thread waits for a thread's function to return by itself, and again after asking it to."""

_threads: dict[int, threading.Thread] = {}

_TYPES = [np.dtype(letter) for letter in "?" + np.typecodes["AllInteger"] + np.typecodes["AllFloat"]]
_SIZES: dict[int, int] = {dtype.num: dtype.itemsize for dtype in _TYPES}
"""Bytes of an element by NumPy's type number: of bool, integers, floats and complex numbers."""

_MOST_DIMS = 64 if np.lib.NumpyVersion(np.__version__) >= "2.0.0" else 32


def _check_array(function: str, array: object) -> Array:
    if isinstance(array, np.ndarray):
        return array
    raise TypeError(f"acl.util.{function}(): argument 'array' must be numpy.ndarray, not {type(array).__name__}")


def numpy_to_ptr(array: Array) -> int:
    """The address of an array's first element. The caller keeps the array alive.

    A RuntimeWarning is given for an array that is not C-contiguous: what lies at the address is its memory, in another order
    than its elements. Use ``numpy_contiguous_to_ptr`` then.
    """
    if not _check_array("numpy_to_ptr", array).flags.c_contiguous:
        warnings.warn(
            f"acl.util.numpy_to_ptr(): the array of shape {array.shape} and strides {array.strides} is not C-contiguous: its "
            "memory is not in the order of its elements. Pass numpy.ascontiguousarray(array), or use numpy_contiguous_to_ptr.",
            RuntimeWarning,
            stacklevel=2,
        )
    return int(array.ctypes.data)


def numpy_contiguous_to_ptr(array: Array) -> tuple[int, Array]:
    """The address of a C-contiguous array of these elements: ``(address, array)``; the array is the same one, or a copy.

    The caller keeps the array that comes back alive.
    """
    contiguous = np.ascontiguousarray(_check_array("numpy_contiguous_to_ptr", array)).reshape(array.shape)
    return int(contiguous.ctypes.data), contiguous


def ptr_to_numpy(ptr: int, shape: Sequence[int], type_num: int) -> Array | None:
    """An array over the memory at an address; nothing is copied.

    ``shape`` is a tuple or a list; ``type_num`` is NumPy's number of the type (``np.dtype.num``: 5 is int32), not an
    aclDataType. Memory of ours is kept until the array is gone; other memory must live as long. None, with a message, for
    address 0, freed memory, a negative dim or a number that is no plain type.
    """
    if not isinstance(shape, tuple | list):
        raise TypeError(f"acl.util.ptr_to_numpy(): argument 'shape' must be tuple or list, not {type(shape).__name__}")
    ptr, type_num = _address("ptr_to_numpy", ptr), _integer("ptr_to_numpy", "type_num", type_num)
    shape = [_integer("ptr_to_numpy", "shape", dim) for dim in shape]
    block = _machine.find_block(ptr)
    reason = _reason_against_type(type_num) or _reason_against_shape(shape) or _reason_against_address(ptr, block)
    if block is None:  # what a view past the end of a block overwrites, the guard bytes tell
        reason = reason or _reason_against_size(ptr, prod(shape) * _SIZES[type_num])
    if reason:
        _machine.fail("acl.util.ptr_to_numpy", 100000, "HA232", reason)
        return None
    _report_device_memory("ptr_to_numpy", ptr, block)
    return _machine.array(ptr, shape, type_num, True, None)


def _integer(function: str, name: str, value: Any) -> int:
    """An argument as an int; TypeError, by the function's and the argument's name, for what is none."""
    try:
        return index(value)
    except TypeError:
        kind = type(value).__name__
        raise TypeError(f"acl.util.{function}(): argument '{name}' must be int, not {kind}") from None


def _address(function: str, ptr: Any) -> int:
    address = _integer(function, "ptr", ptr)
    if not 0 <= address < 1 << 64:
        raise TypeError(f"acl.util.{function}(): argument 'ptr' must be in 0 .. {(1 << 64) - 1}, not {address}")
    return address


def _reason_against_type(type_num: int) -> str:
    """Says so when NumPy's type number is not bool, integer, float or complex: sizes that the number alone gives."""
    if type_num in _SIZES:
        return ""
    return f"type_num = {type_num}; allowed: np.dtype(...).num of a type of fixed size, such as 5 (int32)"


def _reason_against_shape(shape: Sequence[int]) -> str:
    allowed = f"at most {_MOST_DIMS} dims of 0 or more, of a size that memory can have"
    bad = len(shape) > _MOST_DIMS or any(dim < 0 for dim in shape) or prod(max(dim, 1) for dim in shape) >= 1 << 56
    return f"shape = {tuple(shape)}; allowed: {allowed}" if bad else ""


def _reason_against_address(ptr: int, block: dict[str, Any] | None) -> str:
    if ptr == 0:
        return "ptr = 0; allowed: the address of the data"
    freed = block is not None and block["freed"]
    return f"ptr = {ptr:#x} is memory freed at {block['freed_site']}; allowed: live memory" if block and freed else ""


def _reason_against_size(ptr: int, size: int) -> str:
    if size < 1 << 64 and _machine.is_live(ptr, size):
        return ""
    return f"ptr = {ptr:#x}: the {size} bytes there are not all live memory; allowed: the address of as many"


def bytes_to_ptr(data: bytes) -> int:
    """The address of a bytes object's data: programs copy out of it, and into it.

    The last 64 objects are kept alive. A copy into one of length 0 or 1 is refused: the whole process shares it.
    """
    address = _machine.bytes_address(data)
    _KEPT_BYTES.append(data)
    return address


def ptr_to_bytes(ptr: int, size: int) -> bytes | None:
    """A copy of ``size`` bytes at an address; None, with a message, for address 0, a negative size, or freed memory."""
    ptr, size = _address("ptr_to_bytes", ptr), _integer("ptr_to_bytes", "size", size)
    block = _machine.find_block(ptr)
    reason = f"size = {size}; allowed: 0 or more" if size < 0 else _reason_against_address(ptr, block)
    reason = reason or _reason_against_size(ptr, size)
    if reason:
        _machine.fail("acl.util.ptr_to_bytes", 100000, "HA232", reason)
        return None
    _report_device_memory("ptr_to_bytes", ptr, block)
    return _machine.bytes_at(ptr, size)


def _report_device_memory(function: str, ptr: int, block: dict[str, Any] | None) -> None:
    if block is not None and block["space"] == "device":
        text = f"ptr = {ptr:#x} is device memory, which a host cannot read on a card; copy it first"
        _machine.report("HA231", text, f"acl.util.{function}")


def start_thread(func: Callable[[Any], object], args: Any) -> tuple[int, int]:
    """Runs ``func(args)`` in a thread of its own: ``(thread_id, ret)``.

    The id is what ``acl.rt.subscribe_report`` takes. Such a function usually loops over ``acl.rt.process_report`` until the
    program tells it to stop; end the thread with ``stop_thread``.
    """
    if not callable(func):
        raise TypeError(f"acl.util.start_thread(): argument 'func' must be callable, not {type(func).__name__}")
    thread = threading.Thread(target=func, args=(args,), daemon=True, name="acl.util.start_thread")
    thread.start()
    if thread.ident is None:
        return 0, _machine.fail("acl.util.start_thread", 500000, "HA114", "the thread has no id")
    _threads[thread.ident] = thread
    return thread.ident, 0


def stop_thread(thread_id: int) -> int:
    """Waits for the end of a thread of ``start_thread``; the code.

    A function that has not returned after 5 seconds is stopped by a SystemExit at its next Python instruction. 100000 for an id
    that ``start_thread`` did not give; 500000 when the thread does not end.
    """
    thread = _threads.get(thread_id)
    if thread is None:
        text = f"thread_id = {thread_id}; allowed: the id of a thread that start_thread gave and that was not stopped"
        return _machine.fail("acl.util.stop_thread", 100000, "HA404", text)
    if not _ends(thread) and not _interrupt(thread_id, thread):
        text = f"thread_id = {thread_id}: its function does not return; let it leave its loop before stop_thread"
        return _machine.fail("acl.util.stop_thread", 500000, "HA114", text)
    del _threads[thread_id]
    return 0


def _ends(thread: threading.Thread) -> bool:
    thread.join(_STOP_SECONDS)
    return not thread.is_alive()


def _interrupt(thread_id: int, thread: threading.Thread) -> bool:
    end = time.monotonic() + _STOP_SECONDS
    while thread.is_alive() and time.monotonic() < end:
        _machine.raise_in_thread(thread_id, SystemExit)
        thread.join(0.1)
    return not thread.is_alive()
