"""The machine that tests start and leave as they found it."""

from __future__ import annotations

from collections.abc import Iterator

import acl
import hostacl


def started() -> Iterator[None]:
    """Around a test: nothing of others, initialized, device 0 chosen; for `pytest.fixture`."""
    hostacl.reset()
    assert acl.init() == 0
    assert acl.rt.set_device(0) == 0
    yield
    hostacl.reset()
