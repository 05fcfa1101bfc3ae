"""How often published programs call each operator one by one, and the family each belongs to."""

from __future__ import annotations

import json
from functools import cache
from importlib.resources import files
from typing import Any

YOURS = "your own"
"""The family of operators that were registered with hostacl.op."""


@cache
def _facts() -> dict[str, Any]:
    """The facts file, read once on first need."""
    content: dict[str, Any] = json.loads(files("hostacl.ops").joinpath("facts/usage.json").read_text("utf-8"))
    return content


@cache
def families() -> dict[str, str]:
    """The family of every known operator."""
    return {name: family for family, names in _facts()["families"].items() for name in names.split()}


def family(op_type: str) -> str:
    """An operator's family."""
    return families().get(op_type, YOURS)


def call_sites(op_type: str) -> int:
    """In how many places of published programs an operator is called one by one."""
    return int(_facts()["call_sites"].get(op_type, 0))
