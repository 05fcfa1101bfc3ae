"""The overflow status sees what operators gave before it was read."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

from hostacl.config import override
from hostacl.ops.overflow import status
from tests.ops.calling import bind, run


@pytest.fixture(autouse=True)
def fresh():
    status.clear()
    status.watch()
    yield
    status.clear()
    status.watching = False


def seen():
    return run("NPUGetFloatStatusV2")[0] == 1


@pytest.mark.parametrize("dtype", [np.float16, ml_dtypes.bfloat16, np.float32, np.float64])
def test_an_overflow_is_seen_until_it_is_cleared(dtype):
    large = np.full(3, float(ml_dtypes.finfo(dtype).max), dtype)
    run("Sub", large, large)
    assert not seen()
    run("Add", large, large)
    assert seen()
    run("Sub", large, large)
    assert seen()
    bind("NPUClearFloatStatusV2", []).function()()
    assert not seen()


def test_the_older_form_reads_into_its_memory():
    addr = run("NPUAllocFloatStatus")
    assert addr.tolist() == [0] * 8
    run("Reciprocal", np.zeros(1, np.float32))
    data = run("NPUGetFloatStatus", addr)
    assert addr.tolist() == data.tolist() == [1] + [0] * 7
    run("NPUClearFloatStatus", addr)
    assert addr.tolist() == [0] * 8
    assert run("NPUGetFloatStatus", addr)[0] == 0


def test_a_saturated_half_counts():
    with override(overflow="saturate"):
        y = run("Add", np.array([60000], np.float16), np.array([60000], np.float16))
    assert y[0] == 65504
    assert seen()


def test_moving_an_infinity_and_integers_do_not_count():
    run("Transpose", np.full((1, 2), np.inf, np.float32), np.array([1, 0]), const=[1])
    run("Add", np.array([2**31 - 1], np.int32), np.array([1], np.int32))
    assert not seen()


def test_until_it_is_asked_for_nothing_is_watched():
    status.watching = False
    run("Reciprocal", np.zeros(1, np.float32))
    assert not status.seen
    assert bind("NPUGetFloatStatusV2", []).infer()[0].shape == (8,)
    assert status.watching
