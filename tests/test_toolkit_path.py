"""The toolkit root, and the libraries that a client finds by name once they are open."""

from __future__ import annotations

import os
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
