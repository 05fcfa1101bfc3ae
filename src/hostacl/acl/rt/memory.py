"""Memory: taken, freed, registered."""

from __future__ import annotations

from hostacl import _machine

__all__ = [
    "cmo_async", "free", "free_host", "get_mem_info", "host_get_device_pointer", "host_register",
    "host_register_v2", "host_unregister", "malloc", "malloc_align32", "malloc_cached", "malloc_host", "mem_flush",
    "mem_invalidate", "reduce_async",
]


def malloc(size: int, policy: int) -> tuple[int, int]:
    """Device memory of ``size`` bytes: ``(address, ret)``.

    At a real address, aligned to 64 bytes; what it holds is undefined. ``policy`` is an ``aclrtMemMallocPolicy``.
    100000 for size 0, 207001 when the device has no more, 107002 without a context. C: ``aclrtMalloc``.
    """
    return _machine.aclrtMalloc(size, policy)


def malloc_align32(size: int, policy: int) -> tuple[int, int]:
    """``malloc`` without the extra 32 bytes that a device adds: ``(address, ret)``.

    C: ``aclrtMallocAlign32``.
    """
    return _machine.aclrtMallocAlign32(size, policy)


def malloc_cached(size: int, policy: int) -> tuple[int, int]:
    """``malloc`` of memory with a cache, to be flushed with ``mem_flush``: ``(address, ret)``.

    C: ``aclrtMallocCached``.
    """
    return _machine.aclrtMallocCached(size, policy)


def malloc_host(size: int) -> tuple[int, int]:
    """Pinned host memory of ``size`` bytes: ``(address, ret)``.

    C: ``aclrtMallocHost``.
    """
    return _machine.aclrtMallocHost(size)


def free(ptr: int) -> int:
    """Frees device memory; the code.

    100000 for 0, 107000 for what is no live device memory; the message says what it is. C: ``aclrtFree``.
    """
    return _machine.aclrtFree(ptr)


def free_host(ptr: int) -> int:
    """Frees pinned host memory; the code.

    C: ``aclrtFreeHost``.
    """
    return _machine.aclrtFreeHost(ptr)


def mem_flush(ptr: int, size: int) -> int:
    """Writes cached device memory back; the code.

    C: ``aclrtMemFlush``.
    """
    return _machine.aclrtMemFlush(ptr, size)


def mem_invalidate(ptr: int, size: int) -> int:
    """Drops what the cache holds of device memory; the code.

    C: ``aclrtMemInvalidate``.
    """
    return _machine.aclrtMemInvalidate(ptr, size)


def get_mem_info(attr: int) -> tuple[int, int, int]:
    """The free and total bytes of the device's memory (``aclrtMemAttr``): ``(free, total, ret)``.

    C: ``aclrtGetMemInfo``.
    """
    return _machine.aclrtGetMemInfo(attr)


def reduce_async(dst: int, src: int, count: int, kind: int, type: int, stream: int, reserve: int) -> int:
    """Reduces ``count`` bytes at ``src`` into ``dst`` in a stream; the code.

    C: ``aclrtReduceAsync``.
    """
    return _machine.aclrtReduceAsync(dst, src, count, kind, type, stream, reserve)


def cmo_async(src: int, size: int, cmo_type: int, stream: int) -> int:
    """Prefetches or drops cached memory in a stream; the code.

    C: ``aclrtCmoAsync``.
    """
    return _machine.aclrtCmoAsync(src, size, cmo_type, stream)


def host_register(ptr: int, size: int, type: int) -> tuple[int, int]:
    """Makes host memory known to the device: ``(device_address, ret)``.

    C: ``aclrtHostRegister``.
    """
    return _machine.aclrtHostRegister(ptr, size, type)


def host_register_v2(ptr: int, size: int, flag: int) -> int:
    """Makes host memory known to the device; the code.

    C: ``aclrtHostRegisterV2``.
    """
    return _machine.aclrtHostRegisterV2(ptr, size, flag)


def host_get_device_pointer(host_ptr: int, flag: int) -> tuple[int, int]:
    """The device's address of registered host memory: ``(device_address, ret)``.

    C: ``aclrtHostGetDevicePointer``.
    """
    return _machine.aclrtHostGetDevicePointer(host_ptr, flag)


def host_unregister(ptr: int) -> int:
    """Takes back ``host_register``; the code.

    C: ``aclrtHostUnregister``.
    """
    return _machine.aclrtHostUnregister(ptr)
