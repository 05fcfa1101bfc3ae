"""A fresh machine for each test."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import acl
import hostacl


@pytest.fixture(autouse=True)
def machine() -> Iterator[None]:
    hostacl.reset()
    assert acl.init() == 0
    assert acl.rt.set_device(0) == 0
    yield
    hostacl.reset()
