"""The package as pip installed it."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent

try:
    DISTRIBUTION = distribution("hostacl")
except PackageNotFoundError:
    pytest.skip("hostacl is not installed", allow_module_level=True)

FILES = [Path(str(entry.locate())) for entry in DISTRIBUTION.files or ()]
NAMES = {str(entry) for entry in DISTRIBUTION.files or ()}


def test_no_symlinks_and_no_strays() -> None:
    assert [path for path in FILES if path.is_symlink()] == []
    assert {name.split("/")[0] for name in NAMES if not name.startswith("..")} <= {
        "acl",
        "hostacl",
        "pytest_hostacl",
        f"hostacl-{DISTRIBUTION.version}.dist-info",
    }


@pytest.mark.parametrize(
    "name",
    [
        "hostacl/py.typed",
        "acl/py.typed",
        "acl/__init__.py",
        "pytest_hostacl/__init__.py",
        "hostacl/libhostacl_core.so",
        "hostacl/ops/facts/operators.json",
        "hostacl/toolkit/bin/atc",
        "hostacl/toolkit/lib64/libascendcl.so",
        "hostacl/toolkit/include/acl/acl.h",
        "hostacl/_kernels.pyi",
    ],
)
def test_is_in_the_package(name: str) -> None:
    assert name in NAMES


def test_licence_is_in_the_package() -> None:
    assert any(name.endswith("LICENSE") for name in NAMES)


def test_scripts_can_be_run() -> None:
    atc = next(path for path in FILES if str(path).endswith("toolkit/bin/atc"))
    assert atc.stat().st_mode & stat.S_IXUSR
    done = subprocess.run(
        [atc, "--help"], capture_output=True, text=True, timeout=60, check=True, env={"PATH": os.environ["PATH"]}
    )
    assert "--singleop" in done.stdout


def test_versions_are_equal() -> None:
    import hostacl
    from hostacl import _machine

    assert hostacl.__version__ == DISTRIBUTION.version == _machine.__version__
    if (ROOT / "pyproject.toml").exists():
        assert f'version = "{DISTRIBUTION.version}"' in (ROOT / "pyproject.toml").read_text()


def test_import_acl_is_ours_and_loads_little() -> None:
    program = "import sys, acl; print(acl.__file__); print('click' in sys.modules or 'rich' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, cwd="/", timeout=60, check=True)
    path, heavy = done.stdout.splitlines()
    assert Path(path).parent.name == "acl"
    assert heavy == "False"
