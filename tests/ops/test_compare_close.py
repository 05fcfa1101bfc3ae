"""Comparisons with a difference allowed, and of whole tensors."""

from __future__ import annotations

import numpy as np
import pytest

from tests.ops.calling import bind, run

F32 = np.float32


def test_close_infinities_and_nan():
    x = np.array([1, np.inf, np.inf, np.nan], F32)
    y = np.array([1 + 5e-6, np.inf, -np.inf, np.nan], F32)
    assert run("IsClose", x, y).tolist() == [True, True, False, False]
    assert run("IsClose", x, y, equal_nan=True).tolist() == [True, True, False, True]
    np.testing.assert_array_equal(run("IsClose", x, y, equal_nan=True), np.isclose(x, y, equal_nan=True))


def test_large_integers_are_not_rounded_together():
    x, y = np.array([2**62], np.int64), np.array([2**62 + 1], np.int64)
    assert run("IsClose", x, y, rtol=0.0, atol=0.0).tolist() == [False]
    assert run("IsClose", x, y, rtol=0.0, atol=1.0).tolist() == [True]
    low, high = np.array([-(2**63)], np.int64), np.array([2**63 - 1], np.int64)
    assert run("ApproximateEqual", low, high, tolerance=1e19).tolist() == [False]


def test_approximately_equal_is_strict():
    x = np.array([1, 2], F32)
    assert run("ApproximateEqual", x, x + np.array([0.5, 0.25], F32), tolerance=0.5).tolist() == [False, True]


@pytest.mark.parametrize(("other", "wanted"), [([1, 2], True), ([1, 3], False), ([[1, 2]], False)])
def test_whole_tensors(other, wanted):
    assert run("TensorEqual", np.array([1, 2], F32), np.array(other, F32)).tolist() is wanted


def test_nan_is_not_itself_and_the_answer_may_be_described_as_one_element():
    x = np.array([np.nan], F32)
    assert run("TensorEqual", x, x).tolist() is False
    assert bind("TensorEqual", [x, x]).infer()[0].shape == ()


def test_differences_of_large_integers_are_compared_exactly():
    x, y = np.array([2**54 - 1, 2**54, -(2**63)]), np.array([0, 0, 2**63 - 1])
    assert run("ApproximateEqual", x, y, tolerance=float(2**54)).tolist() == [True, False, False]
    assert run("ApproximateEqual", x, y, tolerance=np.inf).tolist() == [True, True, True]
    assert run("ApproximateEqual", x, x, tolerance=0.0).tolist() == [False, False, False]
    assert run("IsClose", x, y + 0, rtol=0.0, atol=float(2**54)).tolist() == [True, True, False]
    one_more = np.array([2**53 + 1, 2**53], np.uint64)
    assert run("IsClose", one_more, np.zeros(2, np.uint64), rtol=0.0, atol=float(2**53)).tolist() == [False, True]
    assert run("IsClose", x, y, rtol=0.0, atol=float(2**64)).tolist() == [True, True, True]
