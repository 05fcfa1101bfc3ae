"""No memory error and no leak of ours, seen by AddressSanitizer and by what malloc has given out."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from .conftest import run, try_run
from .test_bridge import needs_libpython
from .test_examples import EXAMPLES


def sanitizer_is_there() -> bool:
    if shutil.which("gcc") is None:
        return False
    return os.path.isabs(run(["gcc", "-print-file-name=libasan.so"]).stdout)


pytestmark = pytest.mark.skipif(not sanitizer_is_there(), reason="gcc has no libasan here")
SANITIZERS = ("-g", "-fsanitize=address,undefined", "-fno-sanitize-recover=all")
EACH = ["add_compile.c", "add_handle.c", "matmul_float16.cpp", "conv2d_no_bias.cpp", "four_threads.cpp"]
FIND_LEAKS = {"ASAN_OPTIONS": "detect_leaks=1", "PYTHONMALLOC": "malloc"}  # Python's own pools would hide what points where


def find_leaks(built: Path, env: dict[str, str]) -> subprocess.CompletedProcess[str]:
    """Runs a program under LeakSanitizer; again where that one itself broke down, which says nothing of the program."""
    for _ in range(3):
        done = try_run([built], env={**env, **FIND_LEAKS})
        if "LeakSanitizer has encountered a fatal error" not in done.stderr:
            break
    assert done.returncode == 0, f"{built}\n{done.stdout}{done.stderr}"
    return done


def test_objects_leave_nothing_behind(program: Callable[..., Path], c_env: dict[str, str]) -> None:
    done = find_leaks(program("objects", *SANITIZERS), c_env)
    assert (done.stdout, done.stderr) == ("right\n", "")


def test_mapped_memory(program: Callable[..., Path], c_env: dict[str, str]) -> None:
    done = find_leaks(program("virtual_memory", *SANITIZERS), c_env)
    assert (done.stdout, done.stderr) == ("right\n", "")


@needs_libpython
def test_threads_make_no_memory_error(program: Callable[..., Path], c_env: dict[str, str]) -> None:
    built = program("threads", *SANITIZERS)
    done = find_leaks(built, c_env)
    assert (done.stdout, done.stderr) == ("right\n", "")


@needs_libpython
@pytest.mark.parametrize("name", EACH)
def test_an_example_leaves_nothing_behind(compile_c: Callable[..., Path], c_env: dict[str, str], name: str) -> None:
    source = EXAMPLES / name
    libraries = ("-lascendcl", "-lacl_op_compiler", "-lpthread")
    built = compile_c(source.read_text(), f"-I{EXAMPLES}", *libraries, *SANITIZERS, name=source.stem,
                      compiler="g++" if source.suffix == ".cpp" else "gcc")  # fmt: skip
    done = find_leaks(built, c_env)
    assert (done.stdout, done.stderr) == (f"{source.stem}: right\n", "")


@needs_libpython
def test_operators_do_not_make_the_process_grow(program: Callable[..., Path], c_env: dict[str, str]) -> None:
    done = run([program("growth")], env=c_env)
    assert int(done.stdout.split()[0]) <= 1
