"""Guard bytes that were damaged before an operator ran are not laid at its door."""

from __future__ import annotations

import ctypes

import numpy as np

import acl
import hostacl
from hostacl.testing.reports import take
from tests.calls import build_and_execute, device


def test_damage_of_the_programs_own_comes_before_the_operator() -> None:
    hostacl.reset()
    with hostacl.settings(check="HA206"):
        assert acl.init() == 0
        assert acl.rt.set_device(0) == 0
        x, y = device(np.ones(8, np.float32)), device(np.zeros(8, np.float32))
        ctypes.memset(y.pointer + 32, 7, 1)
        take()
        assert build_and_execute("Abs", [x], [y]) == 0
        (report,) = take()
    hostacl.reset()
    assert (report.code, report.place) == ("HA206", "outputs[0]")
    assert "bytes 32 to 32 behind the start" in report.message
    assert "overwritten; the block has 32 bytes, before operator Abs (submitted at " in report.message
