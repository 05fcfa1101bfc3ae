"""A fresh machine for each test of the core, and small helpers."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
import pytest

import acl
from hostacl import _machine

H2D, D2H, D2D = 1, 2, 3


@pytest.fixture(autouse=True)
def device() -> Iterator[None]:
    _machine.reset()
    assert acl.init() == 0
    assert acl.rt.set_device(0) == 0
    yield
    _machine.reset()


@pytest.fixture
def set_scheduler() -> Callable[[str], None]:
    def choose(name: str) -> None:
        assert _machine.configure("scheduler", name) == 0

    return choose


@pytest.fixture(params=["eager", "deferred", "shuffled:3"])
def scheduler(request: pytest.FixtureRequest) -> str:
    assert _machine.configure("scheduler", request.param) == 0
    return str(request.param)


@pytest.fixture
def stream() -> int:
    handle, ret = acl.rt.create_stream()
    assert ret == 0
    return int(handle)


def messages() -> str:
    return acl.get_recent_err_msg() or ""


def reported() -> list[str]:
    """The rules of all reports so far that no failing call made."""
    return [rule for rule, _, _, _, code, _ in _machine.take_reports() if code == 0]


def report_of(rule: str) -> str:
    """The text of the one report of a rule."""
    (text,) = [text for name, _, text, _, _, _ in _machine.take_reports() if name == rule]
    return text


def device_memory(size: int) -> int:
    pointer, ret = acl.rt.malloc(size, 0)
    assert ret == 0
    return int(pointer)


def pinned(size: int) -> int:
    pointer, ret = acl.rt.malloc_host(size)
    assert ret == 0
    return int(pointer)


def read(pointer: int, size: int) -> bytes:
    out = np.zeros(size, np.uint8)
    assert acl.rt.memcpy(acl.util.numpy_to_ptr(out), size, pointer, size, 4) == 0
    return out.tobytes()


def write(pointer: int, data: bytes) -> None:
    source = np.frombuffer(data, np.uint8).copy()
    assert acl.rt.memcpy(pointer, len(data), acl.util.numpy_to_ptr(source), len(data), 4) == 0
