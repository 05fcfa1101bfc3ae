"""The operators that tell of overflow, where no machine runs them: shapes, and what they give."""

from __future__ import annotations

import numpy as np
import pytest

from hostacl.errors import Refused
from tests.ops.calling import bind, run


def test_eight_elements():
    assert run("NPUAllocFloatStatus").tolist() == [0] * 8
    assert bind("NPUGetFloatStatusV2", []).infer()[0].shape == (8,)


def test_another_size_is_refused():
    with pytest.raises(Refused, match=r"addr.*8 elements"):
        bind("NPUGetFloatStatus", [np.zeros(7, np.float32)])
