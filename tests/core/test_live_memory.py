"""Addresses where no memory is: every function that reads or writes says so instead of crashing; reset leaves nothing alive."""

from __future__ import annotations

import ctypes
import mmap
from collections.abc import Callable

import numpy as np
import pytest

import acl
import hostacl
from hostacl import _machine
from tests.calls import arguments, describe, device

from .conftest import device_memory, messages, pinned

NOWHERE = (1, 16, 0x5EAD00000000, 1 << 46)


def operator(address: int, way: str, output: bool) -> int:
    """An Add with an input or output at an address."""
    x = device(np.zeros(8, np.float32))
    there = device(np.zeros(8, np.float32))
    acl.update_data_buffer(there.buffer, address, 32)
    given = arguments("Add", [x, x] if output else [x, there], [there] if output else [x], 0)
    acl.op.compile(given[0], given[1], given[3], 0, 0, 0, None)
    return int(getattr(acl.op, way)(*given, *([0, 0, None] if way.startswith("compile") else []), 0))


@pytest.mark.parametrize("address", NOWHERE)
@pytest.mark.parametrize("way", ["execute", "execute_v2", "compile_and_execute", "compile_and_execute_v2"])
@pytest.mark.parametrize("output", [False, True])
def test_ha218_an_operator_with_a_buffer_where_nothing_is(address: int, way: str, output: bool) -> None:
    assert operator(address, way, output) == 100000
    text = messages()
    assert "HA218" in text
    assert hex(address) in text
    assert ("outputs[0]" if output else "inputs[1]") in text


@pytest.mark.parametrize("address", NOWHERE)
@pytest.mark.parametrize(
    "call",
    [
        lambda address: acl.set_tensor_const(acl.create_tensor_desc(0, [8], 2), address, 32),
        lambda address: acl.op.load(address, 100),
        lambda address: acl.op.infer_shape(
            "Add", [acl.create_tensor_desc(0, [8], 2)] * 2, [acl.create_data_buffer(address, 32)] * 2, 1,
            [acl.create_tensor_desc(-1, [], -1)], 0,
        ),
    ],
    ids=["const", "load", "infer"],
)  # fmt: skip
def test_ha218_bytes_that_are_not_there(address: int, call: Callable[[int], int]) -> None:
    assert call(address) == 100000
    assert "HA218" in messages()


@pytest.mark.parametrize("address", NOWHERE)
def test_views_of_nothing(address: int) -> None:
    assert acl.util.ptr_to_bytes(address, 8) is None
    assert acl.util.ptr_to_numpy(address, (2,), 11) is None
    assert messages().count(hex(address)) == 2


def test_ha218_const_data_out_of_a_freed_block_and_past_the_end_of_one() -> None:
    desc = describe(np.zeros(8, np.float32))
    pointer = device_memory(32)
    assert acl.set_tensor_const(desc, pointer, 32) == 0
    assert acl.set_tensor_const(desc, pointer, 1 << 20) == 100000
    assert acl.rt.free(pointer) == 0
    assert acl.set_tensor_const(desc, pointer, 32) == 100000


def test_host_memory_of_any_kind_is_live() -> None:
    for array in (np.arange(8, dtype=np.float32), np.arange(1 << 20, dtype=np.float32)):
        assert operator(array.ctypes.data, "compile_and_execute_v2", False) == 0
        assert acl.set_tensor_const(describe(array), array.ctypes.data, array.nbytes) == 0
    assert operator(pinned(64), "compile_and_execute_v2", True) == 0
    assert acl.rt.synchronize_device() == 0


def test_reset_ends_events_and_host_memory() -> None:
    acl.rt.create_event()
    kept = acl.util.ptr_to_numpy(pinned(64), (16,), 11)
    registered = np.zeros(4096, np.uint8)
    assert acl.rt.host_register(registered.ctypes.data, 4096, 0)[1] == 0
    kept[:] = 5
    hostacl.reset()
    assert not any(_machine.live_objects().values())
    np.testing.assert_array_equal(kept, np.full(16, 5))  # an array keeps its memory


@pytest.mark.parametrize("shape", [(-1,), (1 << 40, 1 << 40), (1,) * 65])
def test_shapes_that_no_memory_has(shape: tuple[int, ...]) -> None:
    assert acl.util.ptr_to_numpy(device_memory(64), shape, 11) is None
    assert "shape" in messages()


@pytest.mark.parametrize(
    ("name", "given"), [("ptr_to_bytes", ({}, 5)), ("ptr_to_bytes", (16, 1.5)), ("ptr_to_numpy", (None, (1,), 1))]
)
def test_arguments_of_views_are_named(name: str, given: tuple[object, ...]) -> None:
    with pytest.raises(TypeError, match=rf"acl\.util\.{name}\(\): argument '(ptr|size)' must be int"):
        getattr(acl.util, name)(*given)


def test_an_attribute_that_is_no_number_is_a_type_error() -> None:
    desc = acl.create_tensor_desc(0, [8], 2)
    with pytest.raises(TypeError, match="attr"):
        acl.op.infer_shape("Add", [desc], [], 1, [desc], np.arange(3))


def mapped(size: int) -> int:
    """Host memory that can be given back to the system."""
    libc = ctypes.CDLL(None)
    libc.mmap.restype = ctypes.c_void_p
    return int(libc.mmap(None, ctypes.c_size_t(size), 3, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS, -1, ctypes.c_long(0)))


@pytest.mark.parametrize("to_device", [True, False])
def test_host_memory_that_is_gone_when_its_copy_runs(to_device: bool) -> None:
    with hostacl.settings(scheduler="deferred", cann="8.0"):
        host, there = mapped(mmap.PAGESIZE), device_memory(64)
        ends = (there, 64, host, 64, 1) if to_device else (host, 64, there, 64, 2)
        assert acl.rt.memcpy_async(*ends, 0) == 0
        assert ctypes.CDLL(None).munmap(ctypes.c_void_p(host), ctypes.c_size_t(mmap.PAGESIZE)) == 0
        assert acl.rt.synchronize_stream(0) == 507015
    text = messages()
    for part in ("HA218", "src" if to_device else "dst", hex(host), "freed before it ran", "submitted at"):
        assert part in text


def test_host_memory_that_is_gone_when_its_operator_runs() -> None:
    x, y = device(np.zeros(8, np.float32)), device(np.zeros(8, np.float32))
    host = mapped(mmap.PAGESIZE)
    acl.update_data_buffer(x.buffer, host, 32)
    with hostacl.settings(scheduler="deferred"):
        given = arguments("Abs", [x], [y], 0)
        assert acl.op.compile_and_execute_v2(*given, 0, 0, None, 0) == 0
        assert ctypes.CDLL(None).munmap(ctypes.c_void_p(host), ctypes.c_size_t(mmap.PAGESIZE)) == 0
        assert acl.rt.synchronize_stream(0) == 507015
    text = messages()
    for part in ("HA218", "Abs", "inputs[0]", "freed before it ran", "submitted at"):
        assert part in text
