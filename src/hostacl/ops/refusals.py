"""Operators that are refused by name, each with its reason."""

from __future__ import annotations

import json
from functools import cache
from importlib.resources import files


@cache
def refused() -> dict[str, str]:
    """Why each of these operators is not here and what to do instead; read once on first need."""
    reasons: dict[str, str] = json.loads(files("hostacl.ops").joinpath("facts/refused.json").read_text("utf-8"))
    return reasons
