"""The answer of functions that are not supported."""

from __future__ import annotations

from hostacl import _machine


def refuse(name: str, why: str) -> int:
    """200001 (ACL_ERROR_API_NOT_SUPPORT), with a message that names the function and says why."""
    return _machine.fail(name, 200001, "HA109", f"not supported: {why}")
