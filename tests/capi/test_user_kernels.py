"""Compile functions and device binaries from C."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from .conftest import run


def test_functions_and_binaries_are_kept_and_checked(program: Callable[..., Path], c_env: dict[str, str]) -> None:
    assert run([program("user_kernel")], env=c_env).stdout == "right\n"
