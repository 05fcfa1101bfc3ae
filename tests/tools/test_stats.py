"""Rules without a misuse through both faces are told."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def stats(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(ROOT / "tools"))
    sys.modules.pop("stats", None)
    return importlib.import_module("stats")


def test_each_rule_is_broken_through_both_faces_or_a_face_lacks_what_it_takes(stats: ModuleType) -> None:
    assert list(stats.untested()) == []


def test_a_misuse_that_is_not_there_is_told(stats: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    broken = set(stats.broken())
    monkeypatch.setattr(stats, "broken", lambda: broken - {("HA204", "c")})
    assert list(stats.untested()) == ["HA204 has no misuse through c in tests/checks"]


def test_a_face_that_has_what_it_is_said_to_lack(stats: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    lacking = {**stats.table("lacking.py"), ("HA226", "python"): ("no memory", "malloc_host")}
    monkeypatch.setattr(stats, "table", lambda name: lacking)
    assert [text.partition(":")[0] for text in stats.untested()] == ["HA226"]


def test_a_rule_of_no_face_needs_a_test_of_its_name(stats: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stats, "tested_by_name", lambda: {"HA613"})
    assert [text.partition(" ")[0] for text in stats.untested()] == ["HA614"]
