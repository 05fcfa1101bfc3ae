"""Where the toolkit root is: headers, libraries and scripts for C and C++ programs."""

from __future__ import annotations

import ctypes
from pathlib import Path


def root() -> Path:
    """The toolkit root, laid out as one of CANN: ``include/``, ``lib64/``, ``set_env.sh`` and the rest."""
    return Path(__file__).resolve().parent / "toolkit"


def library_folder() -> Path:
    """The folder of ``libascendcl.so`` and its siblings.

    Raises ``FileNotFoundError`` in a checkout that was not built.
    """
    folder = root() / "lib64"
    if not (folder / "libascendcl.so").exists():
        raise FileNotFoundError(
            f"{folder} has no libascendcl.so: this checkout was not built; run "
            "`cmake --install BUILD --component toolkit --prefix src`, or install hostacl with pip"
        )
    return folder


def open_libraries() -> tuple[str, ...]:
    """Opens the public libraries by path and gives their names.

    A client that is loaded later finds them by name, without ``LD_LIBRARY_PATH``. They jump to the core that is loaded,
    so this costs no second one. Gives nothing in a checkout that was not built.
    """
    libraries = sorted((root() / "lib64").glob("lib*.so"))
    for library in libraries:
        ctypes.CDLL(str(library))  # stays open: ctypes never closes a library
    return tuple(library.name for library in libraries)
