"""Device and pinned memory: what each misuse of it gives, and copies."""

from __future__ import annotations

import numpy as np
import pytest

import acl
from hostacl import _machine

from .conftest import D2D, D2H, H2D, device_memory, messages, pinned, read, reported, write


def test_a_copy_to_the_device_and_back_gives_the_same_bytes():
    data = np.arange(1000, dtype=np.int32)
    pointer = device_memory(data.nbytes)
    back = np.zeros_like(data)
    assert acl.rt.memcpy(pointer, data.nbytes, acl.util.numpy_to_ptr(data), data.nbytes, H2D) == 0
    assert acl.rt.memcpy(acl.util.numpy_to_ptr(back), data.nbytes, pointer, data.nbytes, D2H) == 0
    np.testing.assert_array_equal(back, data)
    assert reported() == []


def test_malloc_of_zero_bytes_is_refused():
    assert acl.rt.malloc(0, 0) == (0, 100000)
    assert "HA201: acl.rt.malloc(): size = 0" in messages()


def test_malloc_beyond_the_device_says_how_much_there_is():
    assert _machine.configure("device_memory", "1M") == 0
    kept = device_memory(600_000)
    assert acl.rt.malloc(600_000, 0) == (0, 207001)
    assert "HA202" in (text := messages())
    assert "1048576" in text
    assert acl.rt.free(kept) == 0
    assert acl.rt.malloc(600_000, 0)[1] == 0


def test_addresses_are_aligned_and_distinct():
    pointers = [device_memory(size) for size in (1, 31, 32, 33, 1000)]
    assert all(pointer % 64 == 0 for pointer in pointers)
    assert len(set(pointers)) == len(pointers)


def test_ha204_freed_twice_names_where_it_was_made_and_freed():
    pointer = device_memory(64)
    assert acl.rt.free(pointer) == 0
    assert acl.rt.free(pointer) == 107000
    text = messages()
    assert text.startswith("HA204: acl.rt.free(): devPtr = ")
    assert "64 bytes" in text
    assert "made at" in text
    assert "freed at" in text
    assert "test_memory.py" in text


def test_free_of_null_of_host_memory_of_a_handle_and_of_the_middle():
    assert acl.rt.free(0) == 100000
    assert acl.rt.free(pinned(16)) == 107000
    assert "aclrtFreeHost" in messages()
    assert acl.rt.free(device_memory(64) + 8) == 107000
    assert "HA208" in messages()
    desc = acl.create_tensor_desc(0, [2], 2)
    assert acl.rt.free(desc) == 107000
    assert "tensor descriptor" in messages()
    assert acl.rt.free_host(device_memory(16)) == 107000
    assert "HA205" in messages()


def test_ha206_bytes_behind_a_block_are_seen_at_free():
    pointer = device_memory(64)
    acl.util.ptr_to_numpy(pointer, (68,), np.dtype(np.uint8).num)[65] = 1
    assert acl.rt.free(pointer) == 0
    assert "HA206" in reported()


def test_ha206_strict_looks_at_every_synchronize(stream: int):
    assert _machine.configure("strict", "1") == 0
    pointer = device_memory(64)
    acl.util.ptr_to_numpy(pointer, (68,), np.dtype(np.uint8).num)[64] = 1
    assert acl.rt.synchronize_stream(stream) == 0
    assert "HA206" in reported()


def test_fresh_memory_is_filled_when_asked_for():
    assert _machine.configure("fill", "0xCD") == 0
    assert read(device_memory(40), 40) == b"\xcd" * 40


def test_the_order_of_the_checks_of_memcpy():
    pointer = device_memory(64)
    assert acl.rt.memcpy(0, 0, 0, 0, 99) == 0
    assert acl.rt.memcpy(0, 8, pointer, 8, D2D) == 100000
    assert "dst = NULL" in messages()
    assert acl.rt.memcpy(pointer, 8, 0, 8, D2D) == 100000
    assert "src = NULL" in messages()
    assert acl.rt.memcpy(pointer, 8, pointer, 16, 5) == 100000
    assert "HA212" in messages()
    assert acl.rt.memcpy(pointer, 8, pointer, 16, D2D) == 107000
    assert "HA210" in messages()


def test_ha209_a_copy_past_the_end_writes_nothing():
    target, source = device_memory(64), device_memory(256)
    write(target, b"a" * 64)
    assert acl.rt.memcpy(target, 256, source, 128, D2D) == 107000
    text = messages()
    assert "HA209" in text
    assert f"0x{target:x}, 0x{target + 128:x}" in text
    assert f"0x{target:x}, 0x{target + 64:x}" in text
    assert read(target, 64) == b"a" * 64


def test_a_copy_within_the_last_32_bytes_is_reported():
    target, source = device_memory(40), device_memory(64)
    assert acl.rt.memcpy(target, 64, source, 64, D2D) == 0
    assert "HA221" in reported()


@pytest.mark.parametrize("kind", [0, 1, 2])
def test_a_wrong_kind_is_reported_and_the_pointers_decide(kind: int):
    source, target = device_memory(4), device_memory(4)
    write(source, b"abcd")
    assert acl.rt.memcpy(target, 4, source, 4, kind) == 0
    assert read(target, 4) == b"abcd"
    assert reported() == ["HA211"]


def test_memory_that_is_not_ours_to_touch_is_refused():
    pointer = device_memory(64)
    for address in (1, 0x1000, 2**62, pointer + 2**33):
        assert acl.rt.memcpy(pointer, 64, address, 64, 4) == 107000
        assert "HA218" in messages()


def test_use_after_free_is_refused_at_the_call():
    pointer, other = device_memory(64), device_memory(64)
    acl.rt.free(pointer)
    assert acl.rt.memcpy(other, 64, pointer, 64, D2D) == 107000
    assert "HA204" in messages()
    assert acl.rt.memset(pointer, 64, 0, 64) == 107000
    assert acl.rt.memcpy_async(pointer, 64, other, 64, D2D, 0) == 107000
    assert "freed at" in messages()


def test_overlapping_copies_move_as_memmove():
    pointer = device_memory(64)
    write(pointer, bytes(range(64)))
    assert acl.rt.memcpy(pointer + 8, 56, pointer, 56, D2D) == 0
    assert read(pointer, 64) == bytes(range(8)) + bytes(range(56))
    assert "HA214" in reported()


def test_two_dimensional_copies_keep_the_gaps():
    source, target = device_memory(40), device_memory(60)
    write(source, bytes(range(40)))
    write(target, b"\xff" * 60)
    assert acl.rt.memcpy2d(target, 15, source, 10, 7, 4, D2D) == 0
    got = np.frombuffer(read(target, 60), np.uint8).reshape(4, 15)
    np.testing.assert_array_equal(got[:, :7], np.arange(40, dtype=np.uint8).reshape(4, 10)[:, :7])
    assert (got[:, 7:] == 255).all()
    assert acl.rt.memcpy2d(target, 6, source, 10, 7, 4, D2D) == 107000
    assert acl.rt.memcpy2d(target, 15, source, 10, 7, 5, D2D) == 107000
    assert "HA209" in messages()


def test_memset_sets_and_refuses():
    pointer = device_memory(64)
    assert acl.rt.memset(pointer, 64, 0x41, 64) == 0
    assert read(pointer, 64) == b"A" * 64
    assert acl.rt.memset(pointer, 32, 0, 64) == 107000
    assert acl.rt.memset(0, 32, 0, 32) == 100000
    assert acl.rt.memset(0, 0, 0, 0) == 0


def test_mem_info_follows_what_is_allocated():
    free, total, ret = acl.rt.get_mem_info(1)
    assert ret == 0
    pointer = device_memory(1 << 20)
    assert acl.rt.get_mem_info(1) == (free - (1 << 20), total, 0)
    assert acl.rt.get_mem_info(0) == (0, 0, 0)
    acl.rt.free(pointer)
    assert acl.rt.get_mem_info(1) == (free, total, 0)
    assert acl.rt.get_mem_info(77)[-1] == 107000


def test_registered_host_memory_is_known_until_it_is_unregistered():
    array = np.zeros(100, np.uint8)
    address = acl.util.numpy_to_ptr(array)
    assert acl.rt.host_register(address, 100, 0) == (address, 0)
    assert acl.rt.host_register(address, 100, 0)[-1] == 107000
    assert _machine.live_objects()["registered"] == 1
    assert acl.rt.host_unregister(address) == 0
    assert acl.rt.host_unregister(address) == 107000


def test_many_blocks_leave_nothing_behind():
    pointers = [device_memory(1 + i * 7 % 5000) for i in range(3000)]
    for pointer in pointers[::2] + pointers[1::2]:
        assert acl.rt.free(pointer) == 0
    assert _machine.live_objects()["device_blocks"] == 0


def test_dvpp_memory_is_device_memory():
    pointer, ret = acl.media.dvpp_malloc(100)
    assert ret == 0
    assert acl.media.dvpp_free(pointer) == 0
