"""acl.util: behaviour contract, section "pyACL forms"."""

from __future__ import annotations

import gc
import threading
from typing import Any

import numpy as np
import pytest

import acl

HOST_TO_DEVICE, DEVICE_TO_HOST = 1, 2


def test_bytes_to_ptr_can_be_asked_for() -> None:
    """``"bytes_to_ptr" in dir(acl.util)`` is how programs ask."""
    assert "bytes_to_ptr" in dir(acl.util)


def test_numpy_to_ptr_is_the_address() -> None:
    """numpy_to_ptr: the address of the array's data."""
    array = np.arange(4)
    assert acl.util.numpy_to_ptr(array) == array.ctypes.data


@pytest.mark.parametrize("make", [lambda: np.arange(6).reshape(2, 3).T, lambda: np.arange(8)[::2]])
def test_a_discontiguous_array_warns(make: Any) -> None:
    """numpy_to_ptr: with a warning for a discontiguous array (report B069)."""
    array = make()
    with pytest.warns(RuntimeWarning, match="not C-contiguous"):
        assert acl.util.numpy_to_ptr(array) == array.ctypes.data


def test_numpy_contiguous_to_ptr_copies_only_when_needed() -> None:
    """numpy_contiguous_to_ptr: (ptr, contiguous array)."""
    array = np.arange(6).reshape(2, 3)
    pointer, same = acl.util.numpy_contiguous_to_ptr(array)
    assert pointer == array.ctypes.data
    assert same.ctypes.data == array.ctypes.data
    pointer, other = acl.util.numpy_contiguous_to_ptr(array.T)
    assert other.flags.c_contiguous
    assert pointer == other.ctypes.data
    np.testing.assert_array_equal(other, array.T)


@pytest.mark.parametrize("dtype", ["?", "i1", "u2", "i4", "i8", "f2", "f4", "f8", "c8", "c16"])
def test_ptr_to_numpy_is_a_view_of_any_type(dtype: str) -> None:
    """ptr_to_numpy's type number is NumPy's (np.dtype.num), its shape a tuple or a list."""
    array = np.arange(6).reshape(2, 3).astype(dtype)
    view = acl.util.ptr_to_numpy(array.ctypes.data, (2, 3), array.dtype.num)
    np.testing.assert_array_equal(view, array)
    view[0, 0] = 1
    assert array[0, 0] == 1
    assert acl.util.ptr_to_numpy(array.ctypes.data, [6], array.dtype.num).shape == (6,)
    assert acl.util.ptr_to_numpy(array.ctypes.data, (), array.dtype.num).shape == ()


def test_ptr_to_numpy_of_an_odd_address() -> None:
    """An address that is not aligned works."""
    raw = np.zeros(17, np.uint8)
    view = acl.util.ptr_to_numpy(raw.ctypes.data + 1, (2, 2), np.dtype(np.int32).num)
    view[:] = [[1, 2], [3, 4]]
    np.testing.assert_array_equal(raw[1:].view(np.int32), [1, 2, 3, 4])


def test_ptr_to_numpy_refuses_what_cannot_be() -> None:
    """Anything else: TypeError for a wrong type; None with a text for a wrong value."""
    assert acl.util.ptr_to_numpy(0, (2,), 5) is None
    assert "ptr = 0" in (acl.get_recent_err_msg() or "")
    array = np.zeros(4, np.int32)
    assert acl.util.ptr_to_numpy(array.ctypes.data, (-1,), 5) is None
    assert acl.util.ptr_to_numpy(array.ctypes.data, (1,), 17) is None
    with pytest.raises(TypeError, match="shape"):
        acl.util.ptr_to_numpy(array.ctypes.data, 4, 5)


def test_bytes_round_trip_through_the_device() -> None:
    """bytes_to_ptr aliases the bytes object and acl.rt.memcpy writes into it."""
    source, target = bytes(range(1, 65)), bytes(64)
    device, ret = acl.rt.malloc(64, 0)
    assert ret == 0
    assert acl.rt.memcpy(device, 64, acl.util.bytes_to_ptr(source), 64, HOST_TO_DEVICE) == 0
    assert acl.rt.memcpy(acl.util.bytes_to_ptr(target), 64, device, 64, DEVICE_TO_HOST) == 0
    assert target == source
    assert acl.util.ptr_to_bytes(device, 64) == source
    assert acl.rt.free(device) == 0


def test_a_shared_bytes_object_is_never_written() -> None:
    """Small bytes objects are shared by the whole process: a copy into one of length ≤ 1 is refused with a text."""
    device, _ = acl.rt.malloc(32, 0)
    acl.rt.memset(device, 32, 7, 32)
    for shared in (b"", b"a"):
        assert acl.rt.memcpy(acl.util.bytes_to_ptr(shared), 1, device, 1, DEVICE_TO_HOST) != 0
        assert "bytes" in (acl.get_recent_err_msg() or "")
    assert bytes([97]) == b"a"
    assert acl.rt.free(device) == 0


def test_a_temporary_bytes_object_does_not_dangle() -> None:
    """The last 64 objects passed to bytes_to_ptr stay referenced."""
    pointers = [acl.util.bytes_to_ptr(np.full(300, number, np.uint8).tobytes()) for number in range(64)]
    gc.collect()
    for number, pointer in enumerate(pointers):
        assert acl.util.ptr_to_bytes(pointer, 300) == bytes([number]) * 300


def test_ptr_to_bytes_copies() -> None:
    """ptr_to_bytes: a copy."""
    array = np.arange(8, dtype=np.uint8)
    data = acl.util.ptr_to_bytes(array.ctypes.data, 8)
    array[:] = 0
    assert data == bytes(range(8))
    assert acl.util.ptr_to_bytes(array.ctypes.data, -1) is None
    assert acl.util.ptr_to_bytes(0, 4) is None


def test_a_view_keeps_freed_memory() -> None:
    """Free marks the block dead, the memory goes back when the last view dies."""
    host, _ = acl.rt.malloc_host(64)
    view = acl.util.ptr_to_numpy(host, (64,), np.dtype(np.uint8).num)
    view[:] = 3
    assert acl.rt.free_host(host) == 0
    assert view.sum() == 192
    assert acl.util.ptr_to_numpy(host, (64,), np.dtype(np.uint8).num) is None


def test_a_thread_runs_until_it_is_stopped() -> None:
    """start_thread: (thread_id, ret); the function gets its one argument."""
    running, seen = threading.Event(), []

    def loop(arguments: list[int]) -> None:
        seen.append((arguments, threading.get_ident()))
        while not running.wait(0.01):
            pass

    thread_id, ret = acl.util.start_thread(loop, [1, 2])
    assert ret == 0
    running.set()
    assert acl.util.stop_thread(thread_id) == 0
    assert seen == [([1, 2], thread_id)]
    assert acl.util.stop_thread(thread_id) != 0


def test_a_callback_runs_in_the_subscribed_thread() -> None:
    """Callbacks: subscribe a thread, launch, process report."""
    stopped, called = threading.Event(), []
    stream, _ = acl.rt.create_stream()
    context, _ = acl.rt.get_context()

    def loop(arguments: list[int]) -> None:
        acl.rt.set_context(arguments[0])
        while not stopped.is_set():
            acl.rt.process_report(arguments[1])

    thread_id, _ = acl.util.start_thread(loop, [context, 20])
    assert acl.rt.subscribe_report(thread_id, stream) == 0
    assert acl.rt.launch_callback(lambda data: called.append((data, threading.get_ident())), ["data"], 1, stream) == 0
    assert acl.rt.synchronize_stream(stream) == 0
    assert called == [(["data"], thread_id)]
    stopped.set()
    assert acl.util.stop_thread(thread_id) == 0
    assert acl.rt.unsubscribe_report(thread_id, stream) == 0
    assert acl.rt.destroy_stream(stream) == 0
