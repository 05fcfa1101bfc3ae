"""The toolkit root, and the libraries that a client finds by name once they are open."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from hostacl import toolkit_path


def test_the_root_holds_what_builds_look_for() -> None:
    root = toolkit_path.root()
    for path in ("include/acl/acl.h", "include/aclnn/acl_meta.h", "set_env.sh", "cmake/hostaclConfig.cmake"):
        assert (root / path).exists(), path


def test_the_library_folder_is_named_or_the_way_to_it() -> None:
    assert toolkit_path.library_folder() == toolkit_path.root() / "lib64"


def test_without_libraries_the_text_says_what_to_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(toolkit_path, "root", lambda: tmp_path)
    with pytest.raises(FileNotFoundError, match="cmake --install"):
        toolkit_path.library_folder()
    assert toolkit_path.open_libraries() == ()


def test_once_open_the_libraries_are_found_by_name() -> None:
    script = (
        "import ctypes\nfrom hostacl import toolkit_path\nnames = toolkit_path.open_libraries()\n"
        "assert len(names) == 11, names\nfor name in names: ctypes.CDLL(name)\n"
    )
    env = {name: value for name, value in os.environ.items() if name != "LD_LIBRARY_PATH"}
    subprocess.run([sys.executable, "-c", script], env=env, check=True, timeout=60)


def test_set_env_gives_the_variables_once() -> None:
    root = toolkit_path.root()
    script = f'source "{root}/set_env.sh"; source "{root}/set_env.sh"; echo "$ASCEND_HOME_PATH|$DDK_PATH|$LD_LIBRARY_PATH"'
    done = subprocess.run(["bash", "-c", script], env={"PATH": os.environ["PATH"]}, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == f"{root}|{root}|{root}/lib64"


def python(script: str, **env: str) -> subprocess.CompletedProcess[str]:
    clean = {name: value for name, value in os.environ.items() if name not in ("LD_LIBRARY_PATH", "LD_PRELOAD")}
    command = [sys.executable, "-c", script]
    return subprocess.run(command, env={**clean, **env}, capture_output=True, text=True, timeout=60, check=False)


@pytest.mark.parametrize("module", ["hostacl", "acl"])
def test_importing_opens_them_so_that_clients_find_them(module: str) -> None:
    done = python(f"import {module}, ctypes as c\nc.CDLL('libascendcl.so').aclInit\nc.CDLL('libacl_cblas.so').aclblasHgemm")
    assert done.returncode == 0, done.stderr


def test_importing_hostacl_alone_stays_cheap() -> None:
    done = python("import sys, hostacl\nprint([name for name in ('numpy', 'hostacl._machine') if name in sys.modules])")
    assert done.stdout == "[]\n", done.stderr


def test_it_is_one_core_whatever_was_opened_first() -> None:
    script = (
        "import ctypes, sys\nfirst = ctypes.CDLL(sys.argv[1] + '/acllib/lib64/libascendcl.so')\nimport acl\n"
        "assert first.aclInit(None) == 0\nassert acl.init() == 100002, 'two cores'\n"
    )
    command = [sys.executable, "-c", script, str(toolkit_path.root())]
    subprocess.run(command, check=True, timeout=60)


@pytest.mark.parametrize("version", ['const char *hacl_core_version(void) { return "0.0.1"; }', "int nothing;"])
def test_a_core_of_another_version_is_refused(version: str, tmp_path: Path) -> None:
    """One that a library of another installation has brought in: an ImportError that names both, not a crash later."""
    if shutil.which("gcc") is None:
        pytest.skip("no gcc here")
    (tmp_path / "core.c").write_text(version)
    other = tmp_path / toolkit_path.CORE
    build = ["gcc", "-shared", "-fPIC", f"-Wl,-soname,{toolkit_path.CORE}", str(tmp_path / "core.c"), "-o", str(other)]
    subprocess.run(build, check=True, timeout=60)
    done = python("import hostacl", LD_PRELOAD=str(other))
    assert done.returncode == 1
    for part in ("ImportError", str(other), "LD_PRELOAD", "0.0.1" if "0.0.1" in version else "unknown"):
        assert part in done.stderr
