"""Who may import whom: the rooms of docs/design.md."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

SOURCE = Path(__file__).resolve().parent.parent / "src" / "hostacl"
pytestmark = pytest.mark.skipif(not SOURCE.exists(), reason="the sources are not here")

LEVELS = [
    {"acl", "cli", "testing"},
    {"singleop", "checks", "trace", "switches", "toolkit_path"},
    {"ops", "_machine"},
    {"_kernels", "tensors", "status", "errors", "config"},
]
LEVEL = {room: level for level, rooms in enumerate(LEVELS) for room in rooms}
"""A room may import its own level and those below it."""


def room_of(path: Path) -> str:
    return path.relative_to(SOURCE).parts[0].removesuffix(".py")


def imported(path: Path) -> Iterator[str]:
    """The rooms of hostacl that a file imports, wherever in the file."""
    package = ["hostacl", *path.relative_to(SOURCE).parts[:-1]]
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else []
            module = ".".join([*base, node.module or ""]).strip(".")
            names = [f"{module}.{alias.name}" for alias in node.names] if module == "hostacl" else [module]
        else:
            continue
        yield from (name.split(".")[1] for name in names if name.startswith("hostacl."))


FILES = sorted(path for path in SOURCE.rglob("*.py") if path.name != "__init__.py" or path.parent != SOURCE)


def test_there_are_rooms() -> None:
    assert {room_of(path) for path in FILES} <= set(LEVEL) | {"toolkit"}


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(SOURCE)))
def test_no_room_reaches_up(path: Path) -> None:
    mine = LEVEL[room_of(path)]
    assert [room for room in imported(path) if LEVEL[room] < mine] == []


@pytest.mark.parametrize("path", [path for path in FILES if room_of(path) in {"ops", "tensors"}], ids=lambda path: path.name)
def test_operators_know_no_machine(path: Path) -> None:
    native = {"_machine", "_kernels"} if room_of(path) == "tensors" else {"_machine"}
    assert native & set(imported(path)) == set()
