"""HA2xx by example."""

from __future__ import annotations

import ctypes

import numpy as np

import hostacl
from hostacl import _machine
from tests.checks.kit import Kit, misuse

PYTHON = ("python",)
C = ("c",)


@misuse("HA201", "rt.malloc", "size", "0; allowed: at least 1")
def zero_size(kit: Kit, wrong: bool) -> None:
    kit.api.rt.malloc(0 if wrong else 1, 0)


@misuse("HA202", "rt.malloc", "size", "no room", device_memory="1M")
def no_room(kit: Kit, wrong: bool) -> None:
    kit.api.rt.malloc(2 << 20 if wrong else 1 << 10, 0)


@misuse("HA203", "rt.free", "devPtr", "NULL")
def free_of_null(kit: Kit, wrong: bool) -> None:
    kit.api.rt.free(0 if wrong else kit.device())


@misuse("HA204", "rt.free", "devPtr", "made at", "freed at")
def freed_twice(kit: Kit, wrong: bool) -> None:
    ptr, other = kit.device(), kit.device()
    kit.api.rt.free(ptr)
    kit.api.rt.free(ptr if wrong else other)


@misuse("HA205", "rt.free", "devPtr", "pinned host memory", "aclrtFreeHost")
def freed_by_the_other(kit: Kit, wrong: bool) -> None:
    kit.api.rt.free(kit.pinned() if wrong else kit.device())


@misuse("HA206", "op.execute_v2", "inputs[0]", "made at", "by operator CarelessCustom", "submitted at")
def written_past_the_end(kit: Kit, wrong: bool) -> None:
    @hostacl.op("CarelessCustom", inputs={"x": "float32"}, outputs={"y": "float32"})
    def custom(x: np.ndarray[tuple[int], np.dtype[np.float32]]) -> np.ndarray[tuple[int], np.dtype[np.float32]]:
        """x itself, of which a byte is written, or one behind it."""
        _poke(x.ctypes.data + (x.nbytes if wrong else 0))
        return x

    kit.run("CarelessCustom", [kit.tensor([8])], [kit.tensor([8])])
    kit.wait()


@misuse("HA207", "rt.free", "devPtr", "unknown (host) memory")
def free_of_host_memory(kit: Kit, wrong: bool) -> None:
    kit.api.rt.free(kit.host(np.zeros(4)) if wrong else kit.device())


def _poke(address: int) -> None:
    ctypes.memset(address, 7, 1)


@misuse("HA208", "rt.free", "devPtr", "byte 8 of", "allowed: its start")
def free_inside(kit: Kit, wrong: bool) -> None:
    kit.api.rt.free(kit.device() + (8 if wrong else 0))


@misuse("HA209", "rt.memcpy", "dst", "64 bytes", "nothing was written")
def past_the_end(kit: Kit, wrong: bool) -> None:
    kit.api.rt.memcpy(kit.device(64), 128, kit.device(128), 128 if wrong else 64, 3)


@misuse("HA210", "rt.memcpy", "destMax", "64", "count = 128")
def count_above_max(kit: Kit, wrong: bool) -> None:
    kit.api.rt.memcpy(kit.device(128), 64, kit.device(128), 128 if wrong else 64, 3)


@misuse("HA211", "rt.memcpy", "kind", "2 says device to host", "src is host memory")
def copy_kind(kit: Kit, wrong: bool) -> None:
    kit.api.rt.memcpy(kit.device(), 64, kit.pinned(), 64, 2 if wrong else 1)


@misuse("HA212", "rt.memcpy", "kind", "9; allowed: 0")
def unknown_kind(kit: Kit, wrong: bool) -> None:
    kit.api.rt.memcpy(kit.device(), 64, kit.pinned(), 64, 9 if wrong else 1)


@misuse("HA213", "rt.memcpy", "src", "NULL")
def copy_from_null(kit: Kit, wrong: bool) -> None:
    kit.api.rt.memcpy(kit.device(), 64, 0 if wrong else kit.pinned(), 64, 1)


@misuse("HA214", "rt.memcpy", "", "dst [0x", "overlap")
def copy_overlaps(kit: Kit, wrong: bool) -> None:
    ptr = kit.device(256)
    kit.api.rt.memcpy(ptr + (32 if wrong else 64), 64, ptr, 64, 3)


@misuse("HA215", "rt.memcpy_async", "dst", "dst = 0x", "and src = 0x", "are both host memory")
def async_host_to_host(kit: Kit, wrong: bool) -> None:
    kit.api.rt.memcpy_async(kit.pinned(), 64, kit.pinned() if wrong else kit.device(), 64, 0 if wrong else 2, kit.stream)


@misuse("HA216", "rt.memcpy_async", "src", "aclrtMallocHost did not give", also=("HA224",))
def pageable(kit: Kit, wrong: bool) -> None:
    src = kit.host(np.zeros(64, np.uint8)) if wrong else kit.pinned(128) + 1
    kit.api.rt.memcpy_async(kit.device(), 64, src, 64, 1, kit.stream)


@misuse("HA217", "op.execute_v2", "inputs[1]", "bytes 16 to 63 of device memory", "made at", "never written", "Add")
def never_written(kit: Kit, wrong: bool) -> None:
    x, y = kit.tensor([16]), kit.tensor([16])
    kit.compile("Add", [x, x], [y])
    ptr, _ = kit.api.rt.malloc(64, 0)
    kit.api.rt.memset(ptr, 64, 0, 16 if wrong else 64)
    other = kit.api.create_data_buffer(ptr, 64)
    kit.execute("Add", [x, (x[0], other)], [y])


@misuse("HA218", "rt.memcpy", "src", "not all memory of this process")
def not_live(kit: Kit, wrong: bool) -> None:
    kit.api.rt.memcpy(kit.device(), 64, 4096 if wrong else kit.pinned(), 64, 1)


@misuse("HA219", "rt.memcpy2d", "dpitch", "spitch = 64, width = 64")
def bad_pitch(kit: Kit, wrong: bool) -> None:
    kit.api.rt.memcpy2d(kit.device(256), 32 if wrong else 64, kit.device(256), 64, 64, 2, 3)


@misuse("HA220", "rt.host_unregister", "ptr", "allowed: the start of registered host memory")
def not_registered(kit: Kit, wrong: bool) -> None:
    ptr = kit.host(np.zeros(64, np.uint8))
    kit.api.rt.host_register(ptr, 64, 0)
    kit.api.rt.host_unregister(ptr + (8 if wrong else 0))


@misuse("HA221", "rt.memcpy", "dst", "64 bytes end behind the 60 bytes")
def last_block(kit: Kit, wrong: bool) -> None:
    ptr, _ = kit.api.rt.malloc(60, 0)
    kit.api.rt.memcpy(ptr, 64, kit.pinned(), 64 if wrong else 60, 1)


@misuse("HA222", "rt.synchronize_stream", "src", "source of a copy of 64 bytes host to device (submitted", scheduler="deferred")
def source_changed(kit: Kit, wrong: bool) -> None:
    src = kit.pinned()
    kit.api.rt.memcpy_async(kit.device(), 64, src, 64, 1, kit.stream)
    if not wrong:
        kit.wait()
    _poke(src)
    kit.wait()


@misuse("HA223", "rt.malloc", "policy", "77; allowed: 0 to 5")
def malloc_policy(kit: Kit, wrong: bool) -> None:
    kit.api.rt.malloc(64, 77 if wrong else 2)


@misuse("HA224", "rt.memcpy_async", "dst", "multiples of 64")
def not_aligned(kit: Kit, wrong: bool) -> None:
    kit.api.rt.memcpy_async(kit.device(128) + (8 if wrong else 64), 64, kit.pinned(), 64, 1, kit.stream)


@misuse("HA225", "rt.free", "devPtr", "is freed while set of 64 bytes of stream", "(submitted at", scheduler="deferred")
def freed_while_pending(kit: Kit, wrong: bool) -> None:
    ptr = kit.device()
    kit.api.rt.memset_async(ptr, 64, 1, 64, kit.stream)
    if not wrong:
        kit.wait()
    kit.api.rt.free(ptr)
    kit.wait()


@misuse("HA226", "aclrtReleaseMemAddress", "virPtr", "allowed", faces=C)
def addresses(kit: Kit, wrong: bool) -> None:
    ptr, _ = kit.api.aclrtReserveMemAddress(2 << 20, 0, 0, 0)
    kit.api.aclrtReleaseMemAddress(ptr + (64 if wrong else 0))


@misuse("HA227", "op.execute_v2", "inputs[0]", "unknown (host) memory", "not placed in host memory")
def host_as_device(kit: Kit, wrong: bool) -> None:
    x, y = kit.tensor([8]), kit.tensor([8])
    kit.compile("Abs", [x], [y])
    host = kit.api.create_data_buffer(kit.host(np.zeros(8, np.float32)), 32)
    kit.execute("Abs", [(x[0], host if wrong else x[1])], [y])


@misuse("HA228", "op.execute_v2", "inputs[0]", "points to device memory", "placed in host memory")
def device_as_host(kit: Kit, wrong: bool) -> None:
    x, y = kit.tensor([8]), kit.tensor([8])
    kit.api.set_tensor_place_ment(x[0], 1)
    kit.compile("Abs", [x], [y])
    host = kit.api.create_data_buffer(kit.host(np.zeros(8, np.float32)), 32)
    kit.execute("Abs", [(x[0], x[1] if wrong else host)], [y])


@misuse("HA230", "rt.memcpy", "dst", "which the whole process shares", faces=PYTHON)
def shared_bytes(kit: Kit, wrong: bool) -> None:
    target = b"a" if wrong else b"ab"
    kit.api.rt.memcpy(kit.api.util.bytes_to_ptr(target), 1, kit.device(), 1, 2)


@misuse("HA231", "util.ptr_to_bytes", "ptr", "device memory", faces=PYTHON)
def device_read_as_host(kit: Kit, wrong: bool) -> None:
    kit.api.util.ptr_to_bytes(kit.device() if wrong else kit.pinned(), 64)


@misuse("HA232", "util.ptr_to_bytes", "ptr", "0; allowed: the address", faces=PYTHON)
def not_readable(kit: Kit, wrong: bool) -> None:
    try:
        kit.api.util.ptr_to_bytes(0 if wrong else kit.pinned(), 64)
    except ValueError:
        assert _machine.setting("check")
