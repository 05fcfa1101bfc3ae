"""What the checks report, as objects: taken by tests, expected by tests."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from hostacl import _machine
from hostacl.checks.rule import rules

SERIOUS = frozenset({"error", "undefined", "leak"})
"""Severities of what should fail a test; portability is worth a warning."""


@dataclass(frozen=True)
class Report:
    """One misuse: which rule, in which function, at which place of its arguments, and where its objects come from.

    ``made``, ``freed``, ``destroyed`` and ``submitted`` are the places that the message names; ``at`` is the call's own.
    """

    code: str
    name: str
    severity: str
    function: str
    place: str
    message: str
    returned: int
    at: str
    made: tuple[str, ...]
    freed: tuple[str, ...]
    destroyed: tuple[str, ...]
    submitted: tuple[str, ...]
    right: str
    thread: int
    count: int

    def __str__(self) -> str:
        where = f" (at {self.at})" if self.at else ""
        function = f"{self.function}(): " if self.function else ""
        return f"{self.severity} {self.code} {self.name}: {function}{self.message}{where}"

    @property
    def serious(self) -> bool:
        """Whether it should fail a test."""
        return self.severity in SERIOUS


_kept: list[Report] = []


def take(answers: bool = False) -> list[Report]:
    """Every report since the last time, oldest first; without answers that programs ask for, such as timeouts."""
    found, _kept[:] = [*_kept, *map(_report, json.loads(_machine.take_reports_json()))], []
    known = rules()
    return [report for report in found if answers or not known[report.code].answer]


def _report(entry: dict[str, Any]) -> Report:
    values: dict[str, Any] = {name: tuple(value) if isinstance(value, list) else value for name, value in entry.items()}
    return Report(**values)


@contextmanager
def expects(*codes: str) -> Iterator[list[Report]]:
    """Demands, in a ``with`` block, a report of each of these rules and no other: ``with expects("HA204"): acl.rt.free(ptr)``.

    Gives a list that holds the reports once the block is over; they do not fail the test any more. AssertionError when one
    is missing or another came. A rule that costs must be on: ``--hostacl-check``, or ``hostacl.settings(check="all")``. Answers
    that programs ask for, such as the timeout HA312, count where they are named.
    """
    before, known = take(), rules()
    found: list[Report] = []
    try:
        yield found
    finally:
        found.extend(report for report in take(answers=True) if report.code in codes or not known[report.code].answer)
        _kept.extend(before)
    wanted, got = set(codes), {report.code for report in found}
    missing, others = sorted(wanted - got), [report for report in found if report.code not in wanted]
    if missing:
        raise AssertionError(f"expected {', '.join(missing)}; reported: {_listed(found)}")
    if others:
        raise AssertionError(f"expected only {', '.join(codes)}; also reported: {_listed(others)}")


def _listed(found: Iterable[Report]) -> str:
    return "\n".join(map(str, found)) or "nothing"
