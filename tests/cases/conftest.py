"""A fresh machine for each case, and the ways to execute."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

import acl
from hostacl import _machine
from tests.cases.driver import WAYS
from tests.machine import started

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # for random_calls, by that one name


machine = pytest.fixture(autouse=True)(started)


@pytest.fixture(params=WAYS)
def way(request: pytest.FixtureRequest) -> str:
    """Each way to execute: compiled in the call, or found among the models."""
    return str(request.param)


@pytest.fixture
def stream() -> int:
    handle, ret = acl.rt.create_stream()
    assert ret == 0
    return int(handle)


def reports() -> dict[str, str]:
    """The texts of the reports since the last time, by rule; failures are not among them."""
    return {rule: text for rule, _, text, _, code, _ in _machine.take_reports() if code == 0}

