"""A started machine with a device, for every test."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import acl

OK = 0
INVALID = 100000


@pytest.fixture(scope="package", autouse=True)
def _started() -> Iterator[None]:
    acl.init()
    yield
    acl.finalize()


@pytest.fixture(autouse=True)
def _device(_started: None) -> None:
    assert acl.rt.set_device(0) == OK
    acl.get_recent_err_msg()


@pytest.fixture
def desc() -> Iterator[int]:
    """A descriptor of float32 [2, 3], ND."""
    handle = acl.create_tensor_desc(0, [2, 3], 2)
    yield handle
    acl.destroy_tensor_desc(handle)


@pytest.fixture
def attr() -> Iterator[int]:
    handle = acl.op.create_attr()
    yield handle
    acl.op.destroy_attr(handle)
