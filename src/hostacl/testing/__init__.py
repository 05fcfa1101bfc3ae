"""For tests of programs: failures on demand, and reports of misuse as something to expect."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from hostacl.testing.injection import Injection as Injection
    from hostacl.testing.injection import inject as inject
    from hostacl.testing.reports import Report as Report
    from hostacl.testing.reports import expects as expects

_LAZY = {"Injection": "injection", "inject": "injection", "Report": "reports", "expects": "reports"}
"""Where each is; looked up when asked for, so that the pytest plugin beside them costs nothing where it is not used."""


def __getattr__(name: str) -> Any:
    if name not in _LAZY:
        raise AttributeError(f"module 'hostacl.testing' has no attribute {name!r}")
    return getattr(import_module(f"hostacl.testing.{_LAZY[name]}"), name)
