"""HA9xx by example."""

from __future__ import annotations

import numpy as np

from tests.checks.kit import Kit, misuse


def _end(kit: Kit) -> None:
    kit.api.rt.destroy_stream(kit.stream)
    kit.api.finalize()


@misuse("HA901", "finalize", "", "2 tensor descriptors were never given back: made at")
def descriptors(kit: Kit, wrong: bool) -> None:
    for desc in [kit.desc([4]) for _ in range(2)]:
        if not wrong:
            kit.api.destroy_tensor_desc(desc)
    _end(kit)


@misuse("HA902", "finalize", "", "1 data buffer was never given back: made at")
def buffers(kit: Kit, wrong: bool) -> None:
    buffer = kit.api.create_data_buffer(0, 0)
    if not wrong:
        kit.api.destroy_data_buffer(buffer)
    _end(kit)


@misuse("HA903", "finalize", "", "1 operator attribute object was never given back: made at")
def attributes(kit: Kit, wrong: bool) -> None:
    attr = kit.attr(axis=1)
    if not wrong:
        kit.api.op.destroy_attr(attr)
    _end(kit)


@misuse("HA904", "finalize", "", "1 operator handle was never given back: made at")
def handles(kit: Kit, wrong: bool) -> None:
    desc = kit.desc([4])
    kit.api.op.compile("Abs", [desc], [desc], 0, 0, 0, "")
    handle, _ = kit.api.op.create_handle("Abs", [desc], [desc], 0)
    kit.api.destroy_tensor_desc(desc)
    if not wrong:
        kit.api.op.destroy_handle(handle)
    _end(kit)


@misuse("HA905", "rt.reset_device", "", "1 stream was never given back: made at")
def streams(kit: Kit, wrong: bool) -> None:
    if not wrong:
        kit.api.rt.destroy_stream(kit.stream)
    kit.api.rt.reset_device(0)


@misuse("HA906", "finalize", "", "1 event was never given back: made at")
def events(kit: Kit, wrong: bool) -> None:
    event, _ = kit.api.rt.create_event()
    if not wrong:
        kit.api.rt.destroy_event(event)
    _end(kit)


@misuse("HA907", "rt.reset_device", "", "1 context was never given back: made at")
def contexts(kit: Kit, wrong: bool) -> None:
    kit.api.rt.destroy_stream(kit.stream)
    context, _ = kit.api.rt.create_context(0)
    if not wrong:
        kit.api.rt.destroy_context(context)
    kit.api.rt.reset_device(0)


@misuse("HA908", "rt.reset_device", "", "1 block of device memory (100 bytes) was never given back: made at")
def device_memory(kit: Kit, wrong: bool) -> None:
    kit.api.rt.destroy_stream(kit.stream)
    ptr = kit.device(100)
    if not wrong:
        kit.api.rt.free(ptr)
    kit.api.rt.reset_device(0)


@misuse("HA909", "finalize", "", "1 block of pinned host memory (100 bytes) was never given back: made at")
def host_memory(kit: Kit, wrong: bool) -> None:
    ptr = kit.pinned(100)
    if not wrong:
        kit.api.rt.free_host(ptr)
    _end(kit)


@misuse("HA910", "finalize", "", "1 range of registered host memory (64 bytes) was never given back: made at")
def registered(kit: Kit, wrong: bool) -> None:
    ptr = kit.host(np.zeros(64, np.uint8))
    kit.api.rt.host_register(ptr, 64, 0)
    if not wrong:
        kit.api.rt.host_unregister(ptr)
    _end(kit)


@misuse("HA911", "finalize", "", "1 physical memory was never given back", faces=("c",))
def physical(kit: Kit, wrong: bool) -> None:
    place = np.array([0, 0, 0, 0, 1, 0, 0, 0], np.uint32)  # aclrtPhysicalMemProp: of device 0
    handle, ret = kit.api.aclrtMallocPhysical(1, kit.host(place), 0)
    assert ret == 0
    if not wrong:
        kit.api.aclrtFreePhysical(handle)
    _end(kit)


@misuse("HA912", "finalize", "", "2 group infos were never given back: made at")
def group_infos(kit: Kit, wrong: bool) -> None:
    for info in [kit.api.rt.create_group_info() for _ in range(2)]:
        if not wrong:
            kit.api.rt.destroy_group_info(info)
    _end(kit)


@misuse("HA913", "finalize", "", "1 range of reserved addresses was never given back: made at", faces=("c",))
def reserved(kit: Kit, wrong: bool) -> None:
    ptr, _ = kit.api.aclrtReserveMemAddress(2 << 20, 0, 0, 0)
    if not wrong:
        kit.api.aclrtReleaseMemAddress(ptr)
    _end(kit)
    if wrong:
        kit.api.aclrtReleaseMemAddress(ptr)


@misuse("HA914", "finalize", "", "1 stream configuration was never given back: made at", faces=("c",))
def configurations(kit: Kit, wrong: bool) -> None:
    handle = kit.api.aclrtCreateStreamConfigHandle()
    if not wrong:
        kit.api.aclrtDestroyStreamConfigHandle(handle)
    _end(kit)
    if wrong:
        kit.api.aclrtDestroyStreamConfigHandle(handle)
