"""Misuses that take a process of their own: the same program wrong and right, in Python and in C."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

SOURCES = Path(__file__).parent / "programs"

Environment = Callable[[Path, bool], dict[str, str]]
"""What the program's environment has beside the usual, given a folder for files and whether it is the wrong one."""


@dataclass(frozen=True)
class Program:
    """A program that breaks a rule when its argument is ``wrong``, or in its wrong environment, and else does not."""

    code: str
    face: str
    source: str
    function: str
    place: str
    says: tuple[str, ...]
    environment: Environment


PROGRAMS: dict[tuple[str, str], Program] = {}


def _nothing(folder: Path, wrong: bool) -> dict[str, str]:
    return {}


def program(
    code: str, face: str, source: str, function: str, place: str, *says: str, environment: Environment = _nothing
) -> None:
    """Puts a program into the table."""
    assert (code, face) not in PROGRAMS, (code, face)
    PROGRAMS[code, face] = Program(code, face, source, function, place, says, environment)


def _user_operators(folder: Path, wrong: bool) -> dict[str, str]:
    file = folder / "operators.py"
    file.write_text("raise RuntimeError('half written')\n" if wrong else "import hostacl\n")
    return {"HOSTACL_OPS": str(file)}


def _engine(folder: Path, wrong: bool) -> dict[str, str]:
    """A Python in which ONNX Runtime cannot be imported, asked for it or not."""
    (folder / "sitecustomize.py").write_text("import sys\nsys.modules['onnxruntime'] = None\n")
    return {"PYTHONPATH": str(folder)} | ({"HOSTACL_ENGINE": "onnxruntime"} if wrong else {})


def _no_python(folder: Path, wrong: bool) -> dict[str, str]:
    return {"HOSTACL_PYTHON": "/no/such/python"} if wrong else {}


program(
    "HA110", "python", "after_the_end.py", "acl.op.execute_v2", "", "Add: the Python interpreter of this process has ended"
)
program(
    "HA110", "c", "one_add.c", "aclopCompileAndExecuteV2", "", "HOSTACL_PYTHON = /no/such/python does not exist",
    environment=_no_python,
)  # fmt: skip
program(
    "HA114", "c", "host_function.cpp", "aclrtSynchronizeStream", "", "host function (submitted at host_function",
    "internal error: not foreseen",
)  # fmt: skip
program(
    "HA529", "python", "one_add.py", "acl.op.compile", "", "operators.py", "RuntimeError: half written",
    environment=_user_operators,
)  # fmt: skip
program(
    "HA529", "c", "one_add.c", "aclopCompileAndExecuteV2", "", "operators.py", "RuntimeError: half written",
    environment=_user_operators,
)  # fmt: skip
program(
    "HA530", "python", "one_add.py", "acl.op.execute_v2", "", "HOSTACL_ENGINE = onnxruntime", "pip install",
    environment=_engine,
)  # fmt: skip
program(
    "HA530", "c", "one_add.c", "aclopCompileAndExecuteV2", "", "HOSTACL_ENGINE = onnxruntime", "pip install",
    environment=_engine,
)  # fmt: skip
