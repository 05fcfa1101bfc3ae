"""Pictures and videos: only their memory; processing is not supported."""

from __future__ import annotations

from hostacl import _machine
from hostacl.acl.missing_media import *  # noqa: F403
from hostacl.acl.missing_video import *  # noqa: F403

__all__ = [
    "dvpp_free", "dvpp_malloc",
]


def dvpp_malloc(size: int) -> tuple[int, int]:
    """Device memory of ``size`` bytes for pictures: ``(address, ret)``.

    Here as any other device memory. C: ``acldvppMalloc``.
    """
    return _machine.acldvppMalloc(size)


def dvpp_free(ptr: int) -> int:
    """Frees memory of ``dvpp_malloc``; the code.

    C: ``acldvppFree``.
    """
    return _machine.acldvppFree(ptr)
