"""Each rule: its misuse is reported by code, function, place and value, through Python and through C; put right, nothing is.

The tests are made of the tables: ``test_ha204_freed_twice[python]`` and ``[c]``, each with ``_put_right``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import acl
import hostacl
from hostacl.checks.rule import rule
from hostacl.testing.reports import Report, take
from tests.checks import MODULES
from tests.checks.faces import Face
from tests.checks.kit import MISUSES, Kit, Misuse

assert MODULES  # they fill the table


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


def is_called_from_here(site: str, face: str) -> bool:
    """Python's own line in these tests; of C functions, which ctypes calls, the place in its library."""
    return site.startswith("tests/checks/") if face == "python" else "+0x" in site and "hostacl" not in site


def check_reported(one: Misuse, face: str, folder: Path) -> None:
    found = reports(one, face, folder, wrong=True)
    assert {report.code for report in found} - set(one.also) == {one.code}, found
    report = next(each for each in found if each.code == one.code)
    page = rule(one.code)
    assert (report.function, report.place) == (Face(face).named(one.function), one.place), report.message
    assert (report.name, report.severity) == (page.title, page.severity)
    assert str(report.returned) in page.returns or "asked for" in page.returns
    assert is_called_from_here(report.at, face), report.at
    assert one.says
    assert all(one.says)
    for part in one.says:
        assert part in report.message


def check_silent(one: Misuse, face: str, folder: Path) -> None:
    assert [report for report in reports(one, face, folder, wrong=False) if report.code not in one.also] == []


def made(one: Misuse, check: Callable[[Misuse, str, Path], None]) -> Any:
    """The test of a misuse, for each of its faces."""

    @pytest.mark.parametrize("face", one.faces)
    def test(face: str, tmp_path: Path) -> None:
        check(one, face, tmp_path)

    return test


for _one in {id(one): one for one in MISUSES.values()}.values():
    _name = f"test_{_one.code.lower()}_{_one.act.__name__}"
    globals().update({_name: made(_one, check_reported), f"{_name}_put_right": made(_one, check_silent)})
