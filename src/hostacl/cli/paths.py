"""Where things lie, and the environment that makes programs find them."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from pathlib import Path

from hostacl.toolkit_path import root

PACKAGE = Path(__file__).resolve().parent.parent
TOOLKIT = root()
"""What stands for a CANN toolkit root."""

LISTS: Mapping[str, Path] = {
    "PYTHONPATH": PACKAGE.parent,
    "LD_LIBRARY_PATH": TOOLKIT / "lib64",
    "PATH": TOOLKIT / "bin",
}
"""Search paths that a program's environment begins with; what was there stays behind."""

ROOTS: Mapping[str, Path] = {
    "ASCEND_HOME_PATH": TOOLKIT,
    "ASCEND_TOOLKIT_HOME": TOOLKIT,
    "ASCEND_OPP_PATH": TOOLKIT / "opp",
    "DDK_PATH": TOOLKIT,
    "NPU_HOST_LIB": TOOLKIT / "lib64",
}
"""Folders that builds and programs look for."""


def prefixed(first: Path, existing: str) -> str:
    """A search path that begins with a folder and goes on as it did, the folder named once."""
    rest = [part for part in existing.split(os.pathsep) if part and part != str(first)]
    return os.pathsep.join([str(first), *rest])


def environment(base: Mapping[str, str]) -> dict[str, str]:
    """An environment in which ``import acl``, ``-lascendcl`` programs and ``atc`` are hostacl's, by this very Python."""
    lists = {name: prefixed(first, base.get(name, "")) for name, first in LISTS.items()}
    return {"HOSTACL_PYTHON": sys.executable, **base, **lists, **{name: str(root) for name, root in ROOTS.items()}}
