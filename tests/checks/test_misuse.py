"""Each rule: its misuse is reported by code, function, place and value, through Python and through C; put right, nothing is."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import acl
import hostacl
from hostacl.checks.rule import rule
from hostacl.testing.reports import Report, take
from tests.checks import MODULES
from tests.checks.faces import Face
from tests.checks.kit import MISUSES, Kit, Misuse

assert MODULES  # they fill the table
EVERY = [
    pytest.param(one, face, id=f"{code.lower()}_{one.act.__name__}_{face}")
    for code, one in sorted(MISUSES.items())
    for face in one.faces
]


@pytest.fixture(autouse=True)
def machine() -> Iterator[None]:
    hostacl.reset()
    yield
    hostacl.reset()


def reports(one: Misuse, face: str, folder: Path, wrong: bool) -> list[Report]:
    """What is reported of a misuse, or of the same put right."""
    ignore = "" if one.code.startswith("HA9") else "HA9"  # most misuses end with what they have made still alive
    with hostacl.settings(check="all", ignore=ignore, scheduler=one.scheduler, **one.settings):
        assert acl.init() == 0
        assert acl.rt.set_device(0) == 0
        kit = Kit(Face(face), folder=folder)
        kit.stream = acl.rt.create_stream()[0]
        take()
        one.act(kit, wrong)
        return take(answers=True)


@pytest.mark.parametrize(("one", "face"), EVERY)
def test_misuse_is_reported(one: Misuse, face: str, tmp_path: Path) -> None:
    found = reports(one, face, tmp_path, wrong=True)
    assert {report.code for report in found} - set(one.also) == {one.code}, found
    report = next(each for each in found if each.code == one.code)
    page = rule(one.code)
    assert (report.function, report.place) == (Face(face).named(one.function), one.place), report.message
    assert (report.name, report.severity) == (page.title, page.severity)
    assert str(report.returned) in page.returns or "asked for" in page.returns
    for part in one.says:
        assert part in report.message


@pytest.mark.parametrize(("one", "face"), EVERY)
def test_put_right_it_is_silent(one: Misuse, face: str, tmp_path: Path) -> None:
    assert [report for report in reports(one, face, tmp_path, wrong=False) if report.code not in one.also] == []
