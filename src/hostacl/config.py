"""The settings: what the environment says, frozen, and the way to change them for a while."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

INF_NAN_FAMILIES = ("Ascend910B", "Ascend910_93", "Ascend950")
"""Product families whose floats overflow to Inf and keep NaN; all others saturate."""

CHOICES: Mapping[str, tuple[str, ...]] = {
    "dtypes": ("strict", "permissive"),
    "engine": ("native", "onnxruntime"),
    "overflow": ("inf_nan", "saturate"),
}


def overflow_of(soc: str) -> str:
    """The overflow mode that a product has when nothing switches it: ``inf_nan`` or ``saturate``."""
    return "inf_nan" if soc.startswith(INF_NAN_FAMILIES) else "saturate"


def _wrong(name: str, value: str) -> str:
    """What is wrong with a setting's value; empty when nothing is."""
    allowed = CHOICES.get(name, (value,))
    return "" if value in allowed else f"HOSTACL_{name.upper()} = {value!r}; allowed: {', '.join(allowed)}"


@dataclass(frozen=True)
class Settings:
    """One consistent set of settings; each field is named after its variable (``HOSTACL_DTYPES`` …).

    ``dtypes``: strict = what the prototypes list, permissive = whatever computes exactly.
    ``overflow`` follows the SoC unless it is given. ``op_files`` are Python files that register operators of the user's own.
    """

    dtypes: str = "strict"
    engine: str = "native"
    soc: str = "Ascend910B1"
    cann: str = "9.0"
    auto_compile: bool = False
    op_files: tuple[str, ...] = ()
    overflow: str = ""

    def __post_init__(self) -> None:
        object.__setattr__(self, "overflow", self.overflow or overflow_of(self.soc))
        for name in CHOICES:
            if wrong := _wrong(name, getattr(self, name)):
                raise ValueError(wrong)

    @property
    def saturate(self) -> bool:
        """Whether a float16 result that overflows becomes ±65504 and a NaN becomes 0."""
        return self.overflow == "saturate"

    @property
    def permissive(self) -> bool:
        """Whether dtypes beyond the prototypes' are taken."""
        return self.dtypes == "permissive"


def from_environment(environ: Mapping[str, str] = os.environ) -> Settings:
    """The settings that the ``HOSTACL_…`` variables describe. A value that is not allowed is ignored, with a warning."""
    given: dict[str, Any] = {}
    for name in ("dtypes", "engine", "soc", "cann", "overflow"):
        if value := environ.get(f"HOSTACL_{name.upper()}"):
            if wrong := _wrong(name, value):
                print(f"hostacl: {wrong}. It is ignored.", file=sys.stderr)
            else:
                given[name] = value
    given["auto_compile"] = environ.get("HOSTACL_AUTO_COMPILE", "0") not in {"", "0"}
    given["op_files"] = tuple(filter(None, environ.get("HOSTACL_OPS", "").split(os.pathsep)))
    return Settings(**given)


_current: Settings | None = None


def settings() -> Settings:
    """The settings in force. Plans are made under them: who changes them drops the plans made before."""
    global _current  # noqa: PLW0603 - one process, one set of settings
    if _current is None:
        _current = from_environment()
    return _current


def change(**changes: Any) -> Settings:
    """Puts changed settings in force and returns those that were in force before."""
    global _current  # noqa: PLW0603
    before = settings()
    _current = replace(before, **_with_overflow(before, changes))
    return before


def _with_overflow(before: Settings, changes: Mapping[str, Any]) -> dict[str, Any]:
    """The changes, with the overflow mode of a newly named SoC."""
    follows = "soc" in changes and "overflow" not in changes
    return {**changes, "overflow": overflow_of(changes["soc"])} if follows else dict(changes)


@contextmanager
def override(**changes: Any) -> Iterator[Settings]:
    """Changed settings for the length of a ``with`` block: ``with override(dtypes="permissive"): …``."""
    global _current  # noqa: PLW0603
    before = change(**changes)
    try:
        yield settings()
    finally:
        _current = before
