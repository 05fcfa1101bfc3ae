"""What the tests of the C face share: the toolkit that is installed, the compilers, the facts."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from hostacl import toolkit_path

PROGRAMS = Path(__file__).parent / "programs"
ROOT = Path(__file__).resolve().parents[2]

sys.path.insert(0, str(ROOT / "tools"))


@pytest.fixture(scope="session")
def toolkit() -> Path:
    toolkit_path.library_folder()  # says what to do when there is none
    return toolkit_path.root()


def try_run(command: list[str | Path], env: dict[str, str] | None = None) -> subprocess.CompletedProcess[str]:
    parts = [str(part) for part in command]
    return subprocess.run(parts, capture_output=True, text=True, timeout=120, env=env, check=False)


def run(command: list[str | Path], env: dict[str, str] | None = None) -> subprocess.CompletedProcess[str]:
    done = try_run(command, env)
    assert done.returncode == 0, f"{command}\n{done.stdout}{done.stderr}"
    return done


@pytest.fixture
def c_env(toolkit: Path) -> dict[str, str]:
    """The environment of a C program: the libraries, and in a checkout the Python that runs the tests."""
    env = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "HOSTACL_PYTHON")}
    env["LD_LIBRARY_PATH"] = str(toolkit / "lib64")
    if not toolkit.is_relative_to(sys.prefix):
        env["HOSTACL_PYTHON"] = sys.executable
        env["PYTHONPATH"] = str(toolkit.parent.parent)
    return env


@pytest.fixture
def compile_c(toolkit: Path, tmp_path: Path) -> Callable[..., Path]:
    """Builds a program from source text against the toolkit."""

    def build(source: str, *flags: str, compiler: str = "gcc", name: str = "program") -> Path:
        if shutil.which(compiler) is None:
            pytest.skip(f"no {compiler} here")
        path = tmp_path / f"{name}.{'cpp' if '+' in compiler else 'c'}"
        path.write_text(source)
        run([compiler, path, "-o", tmp_path / name, f"-I{toolkit}/include", f"-L{toolkit}/lib64", *flags])
        return tmp_path / name

    return build


@pytest.fixture
def program(compile_c: Callable[..., Path]) -> Callable[..., Path]:
    def build(name: str, *flags: str) -> Path:
        return compile_c((PROGRAMS / f"{name}.c").read_text(), f"-I{PROGRAMS}", "-Wall", "-Wextra", "-lascendcl",
                         "-lacl_op_compiler", "-lpthread", "-ldl", *flags, name=name)  # fmt: skip

    return build
