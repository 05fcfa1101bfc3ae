"""The C and C++ examples, built by each compiler, run with LD_LIBRARY_PATH alone and under ``hostacl run``."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path

import pytest

from .conftest import run, try_run
from .test_bridge import needs_libpython

EXAMPLES = Path(__file__).resolve().parents[2] / "examples" / "c"
PROGRAMS = ["add_compile", "add_model_dir", "add_handle", "matmul_float16", "conv2d_no_bias", "four_threads",
            "custom_op"]  # fmt: skip


@pytest.fixture(scope="module", params=["gcc", "clang"])
def built(request: pytest.FixtureRequest, toolkit: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    if shutil.which(request.param) is None:
        pytest.skip(f"no {request.param} here")
    folder = tmp_path_factory.mktemp(request.param) / "c"
    shutil.copytree(EXAMPLES, folder, ignore=shutil.ignore_patterns("build", "op_models", *PROGRAMS))
    cxx = {"gcc": "g++", "clang": "clang++"}[request.param]
    run(["make", "-C", folder, f"TOOLKIT={toolkit}", f"CC={request.param}", f"CXX={cxx}", "CFLAGS=-Werror", "CXXFLAGS=-Werror"])
    run([sys.executable, "-m", "hostacl.cli.main", "run", "atc", f"--singleop={folder}/add.json",
         f"--output={folder}/op_models",
         "--soc_version=Ascend910B1"])  # fmt: skip
    return folder


@needs_libpython
@pytest.mark.parametrize("program", PROGRAMS)
def test_an_example_gives_the_right_values(built: Path, c_env: dict[str, str], program: str) -> None:
    arguments = [built / "op_models"] if program == "add_model_dir" else []
    env = {**c_env, "HOSTACL_OPS": str(built / "my_ops.py")} if program == "custom_op" else c_env
    assert run([built / program, *arguments], env=env).stdout == f"{program}: right\n"


@needs_libpython
@pytest.mark.parametrize("scheduler", ["eager", "deferred"])
@pytest.mark.parametrize("program", PROGRAMS)
def test_an_example_breaks_no_rule(built: Path, c_env: dict[str, str], program: str, scheduler: str) -> None:
    arguments = [built / "op_models"] if program == "add_model_dir" else []
    env = {**c_env, "HOSTACL_OPS": str(built / "my_ops.py"), "HOSTACL_SCHEDULER": scheduler}
    done = run([built / program, *arguments], env={**env, "HOSTACL_CHECK": "all", "HOSTACL_REPORT": "text"})
    assert (done.stdout, done.stderr) == (f"{program}: right\n", "")


@needs_libpython
def test_a_custom_operator_needs_its_file(built: Path, c_env: dict[str, str]) -> None:
    done = try_run([built / "custom_op"], env=c_env)
    assert done.returncode == 1
    assert "gave 500002" in done.stderr
    assert "AxpyCustom" in done.stderr


@needs_libpython
def test_an_example_runs_under_hostacl_run(built: Path) -> None:
    env = {name: value for name, value in os.environ.items() if name != "LD_LIBRARY_PATH"} | {"HOSTACL_PYTHON": sys.executable}
    done = run([sys.executable, "-m", "hostacl.cli.main", "run", built / "add_compile"], env=env)
    assert done.stdout == "add_compile: right\n"


def test_cmake_finds_the_toolkit(toolkit: Path, tmp_path: Path) -> None:
    if shutil.which("cmake") is None:
        pytest.skip("no cmake here")
    run(["cmake", "-S", EXAMPLES, "-B", tmp_path, f"-DCMAKE_PREFIX_PATH={toolkit}"])
    run(["cmake", "--build", tmp_path])
    assert (tmp_path / "four_threads").exists()
