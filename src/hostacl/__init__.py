"""hostacl: AscendCL's single-operator programs on an ordinary CPU."""

from __future__ import annotations

__version__: str


def reset() -> None:
    """Makes the machine as it was at the start of the process: no device set, no model known, no message kept.

    Settings are read again. For notebooks and tests. Handles and addresses from before are dead afterwards.
    """
    from hostacl import _machine

    _machine.reset()


def __getattr__(name: str) -> str:
    if name != "__version__":
        raise AttributeError(f"module 'hostacl' has no attribute {name!r}")
    from hostacl._machine import __version__

    return __version__
