"""Casts that wrap integers: which pairs of types can, which values are told, and that the result is what it was."""

from __future__ import annotations

import numpy as np
import pytest

import acl
import hostacl
from hostacl import _machine
from tests.calls import CODES, build_and_execute, device

WHOLE = ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"]


def told(values: np.ndarray, target: str, check: str = "HA531") -> list[str]:
    """The texts of a cast's reports; its result must be NumPy's."""
    x, y = device(values), device(np.zeros(values.shape, target))
    with hostacl.settings(check=check):
        _machine.take_reports()
        assert build_and_execute("Cast", [x], [y], {"dst_type": CODES[target]}) == 0
        assert acl.rt.synchronize_stream(0) == 0
        np.testing.assert_array_equal(y.read(), values.astype(target))
        return [text for rule, _, text, _, _, _ in _machine.take_reports() if rule == "HA531"]


@pytest.mark.parametrize("source", WHOLE)
@pytest.mark.parametrize("target", WHOLE)
def test_the_bounds_of_a_type_are_told_where_the_other_lacks_them(source: str, target: str) -> None:
    given, taken = np.iinfo(source), np.iinfo(target)
    values = np.array([0, given.min, given.max], source)
    wrapped = [place for place, value in enumerate([0, given.min, given.max]) if not taken.min <= value <= taken.max]
    texts = told(values, target)
    if not wrapped:
        assert texts == []
        return
    (text,) = texts
    assert f"x[{wrapped[0]}] = {values[wrapped[0]]} became " in text
    assert f"{len(wrapped)} of 3 values" in text


@pytest.mark.parametrize(
    ("check", "count"), [("", 0), ("HA2", 0), ("HA2,HA309", 0), ("HA531", 1), ("HA2,HA5", 1), ("all", 1)]
)
def test_only_who_asks_is_told(check: str, count: int) -> None:
    assert len(told(np.array(300, np.int32), "uint8", check)) == count


def test_who_ignores_it_is_not_told_and_pays_nothing() -> None:
    with hostacl.settings(check="all", ignore="HA53"):
        assert not _machine.asked_for("HA531")
    with hostacl.settings(check="all", on_misuse="off"):
        assert not _machine.asked_for("HA531")
    with hostacl.settings(check="HA5"):
        assert _machine.asked_for("HA531")
        assert not _machine.asked_for("HA217")


def test_a_scalar_has_no_place_and_nothing_never_wraps() -> None:
    assert told(np.array(300, np.int32), "uint8")[0].startswith("Cast: x = 300 became 44; allowed: 0 to 255, for y is uint8.")
    assert told(np.zeros((0, 3), np.int32), "uint8") == []
    assert told(np.array([2, 0], np.int32), "bool") == []
