"""The constants that the face exports: those of the facts, each of them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import acl

FACTS = json.loads((Path(__file__).resolve().parents[2] / "tools" / "facts" / "enums.json").read_text())
GROUPS: dict[str, dict[str, object]] = {**FACTS["enums"], "macros": FACTS["macros"], "errors": FACTS["errors"]}


@pytest.mark.parametrize("group", GROUPS)
def test_every_constant_is_exported_with_its_value(group: str) -> None:
    assert {name: getattr(acl, name, None) for name in GROUPS[group]} == GROUPS[group]
