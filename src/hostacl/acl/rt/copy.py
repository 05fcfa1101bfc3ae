"""Copies and fills."""

from __future__ import annotations

from hostacl import _machine

__all__ = [
    "memcpy", "memcpy2d", "memcpy2d_async", "memcpy_async", "memcpy_async_with_condition", "memset", "memset_async",
]


def memset(ptr: int, max_count: int, value: int, count: int) -> int:
    """Fills the first ``count`` bytes at ``ptr`` with the byte ``value``; the code.

    ``max_count`` is the room there: 107000 when count is more. C: ``aclrtMemset``.
    """
    return _machine.aclrtMemset(ptr, max_count, value, count)


def memset_async(ptr: int, max_count: int, value: int, count: int, stream: int) -> int:
    """``memset`` in a stream; the code.

    C: ``aclrtMemsetAsync``.
    """
    return _machine.aclrtMemsetAsync(ptr, max_count, value, count, stream)


def memcpy(dst: int, dest_max: int, src: int, count: int, kind: int) -> int:
    """Copies ``count`` bytes; the code.

    ``dest_max`` is the room at ``dst``: 107000 when count is more. Count 0 gives 0. ``kind`` is an
    ``aclrtMemcpyKind``: 0 host to host, 1 host to device, 2 device to host, 3 device to device, 4 whatever it is; the
    addresses decide, and a kind that does not fit them is reported. The copy is ordered against no stream:
    synchronize first. C: ``aclrtMemcpy``.
    """
    return _machine.aclrtMemcpy(dst, dest_max, src, count, kind)


def memcpy_async(dst: int, dest_max: int, src: int, count: int, kind: int, stream: int) -> int:
    """``memcpy`` in a stream; the code.

    The source must live, unchanged, until the stream gets there. Host to host: 207000 since CANN 8.0.RC3.
    C: ``aclrtMemcpyAsync``.
    """
    return _machine.aclrtMemcpyAsync(dst, dest_max, src, count, kind, stream)


def memcpy_async_with_condition(dst: int, dest_max: int, src: int, count: int, kind: int, stream: int) -> int:
    """``memcpy_async`` whose synchrony is for the machine to choose; the code.

    C: ``aclrtMemcpyAsyncWithCondition``.
    """
    return _machine.aclrtMemcpyAsyncWithCondition(dst, dest_max, src, count, kind, stream)


def memcpy2d(dst: int, dpitch: int, src: int, spitch: int, width: int, height: int, kind: int) -> int:
    """Copies ``height`` rows of ``width`` bytes, ``dpitch`` and ``spitch`` bytes apart; the code.

    C: ``aclrtMemcpy2d``.
    """
    return _machine.aclrtMemcpy2d(dst, dpitch, src, spitch, width, height, kind)


def memcpy2d_async(
    dst: int, dpitch: int, src: int, spitch: int, width: int, height: int, kind: int, stream: int
) -> int:
    """``memcpy2d`` in a stream; the code.

    C: ``aclrtMemcpy2dAsync``.
    """
    return _machine.aclrtMemcpy2dAsync(dst, dpitch, src, spitch, width, height, kind, stream)
