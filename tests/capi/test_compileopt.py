"""Compile options of a program that set none."""

from __future__ import annotations

import subprocess
import sys

PROGRAM = """
import acl
JIT_COMPILE, PRECISION_MODE = 10, 0
assert acl.get_compileopt(JIT_COMPILE) == ("enable", 0), acl.get_compileopt(JIT_COMPILE)
assert acl.get_compileopt(PRECISION_MODE) == ("", 0), acl.get_compileopt(PRECISION_MODE)
"""


def test_operators_are_compiled_as_called_until_a_program_says_otherwise() -> None:
    subprocess.run([sys.executable, "-c", PROGRAM], check=True, timeout=60)
