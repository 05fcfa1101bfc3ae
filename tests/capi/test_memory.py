"""No memory error and no leak of ours, seen by AddressSanitizer and by what malloc has given out."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from .conftest import run
from .test_bridge import needs_libpython


def test_objects_leave_nothing_behind(program: Callable[..., Path], c_env: dict[str, str]) -> None:
    built = program("objects", "-g", "-fsanitize=address,undefined", "-fno-sanitize-recover=all")
    done = run([built], env={**c_env, "ASAN_OPTIONS": "detect_leaks=1"})
    assert done.stdout == "right\n"
    assert done.stderr == ""


@needs_libpython
def test_operators_make_no_memory_error(program: Callable[..., Path], c_env: dict[str, str]) -> None:
    """Leaks are not looked for: Python is never ended, and keeps what it has."""
    built = program("threads", "-g", "-fsanitize=address,undefined", "-fno-sanitize-recover=all")
    done = run([built], env={**c_env, "ASAN_OPTIONS": "detect_leaks=0"})
    assert done.stdout == "right\n"
    assert done.stderr == ""


@needs_libpython
def test_operators_do_not_make_the_process_grow(program: Callable[..., Path], c_env: dict[str, str]) -> None:
    done = run([program("growth")], env=c_env)
    assert int(done.stdout.split()[0]) <= 1
