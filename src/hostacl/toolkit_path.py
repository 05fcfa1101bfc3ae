"""Where the toolkit root is: headers, libraries and scripts for C and C++ programs."""

from __future__ import annotations

import os
from contextlib import suppress
from ctypes import CDLL, c_char_p
from pathlib import Path

CORE = "libhostacl_core.so"


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
    """Opens the public libraries by path and gives their names; done when hostacl is imported.

    A client that is loaded later finds them by name, without ``LD_LIBRARY_PATH``. They jump to the core that is loaded,
    so this costs no second one. Gives nothing in a checkout that was not built. ImportError when the core in this process
    is of another version.
    """
    libraries = sorted((root() / "lib64").glob("lib*.so"))
    if libraries:
        _check_core()
    for library in libraries:
        CDLL(str(library))  # stays open: ctypes never closes a library
    return tuple(library.name for library in libraries)


def _check_core() -> None:
    """Refuses a core that a library of another installation has brought into the process, unless the versions agree."""
    with suppress(OSError):
        loaded = CDLL(CORE, os.RTLD_NOLOAD)  # OSError: none is
        path = _mapped_file(CORE)
        if path is not None and path != Path(__file__).resolve().parent / CORE:
            _check_version(loaded, path)


def _mapped_file(name: str) -> Path | None:
    """The file of this name that the process has mapped."""
    with open("/proc/self/maps") as maps:
        return next((Path(line.split(None, 5)[5].rstrip()) for line in maps if line.endswith(f"/{name}\n")), None)


def _check_version(loaded: CDLL, path: Path) -> None:
    try:
        from hostacl import _machine  # noqa: F401 - its own check compares the versions
    except ImportError as error:
        version = "unknown"
        with suppress(AttributeError):
            loaded.hacl_core_version.restype = c_char_p
            version = loaded.hacl_core_version().decode()
        raise ImportError(
            f"{path} is in this process, version {version}, and does not belong to {Path(__file__).parent}: two copies of "
            f"hostacl are mixed. Remove the other one from LD_LIBRARY_PATH or LD_PRELOAD. ({error})"
        ) from error
