"""The gradient of repeated elements: sums, refusals, inference."""

from __future__ import annotations

import numpy as np
import pytest

from hostacl.errors import Refused
from hostacl.tensors.spec import TensorSpec as Spec
from tests.ops.calling import bind, run

GRADS = np.arange(1, 13, dtype=np.float32).reshape(2, 6)


@pytest.mark.parametrize("axis", [1, -1])
def test_each_element_is_the_sum_of_its_repeats(axis):
    got = run("RepeatInterleaveGrad", GRADS, np.array([3, 0, 2, 1]), const=[1], axis=axis)
    assert got.tolist() == [[6, 0, 9, 6], [24, 0, 21, 12]]
    two = np.array([2], np.int32)
    assert run("RepeatInterleaveGrad", GRADS, two, const=[1], axis=axis).tolist() == [[3, 7, 11], [15, 19, 23]]
    assert run("RepeatInterleaveGrad", GRADS, two, const=[1], axis=0).tolist() == [[8, 10, 12, 14, 16, 18]]


def test_what_was_repeated_0_times_is_as_large_as_described():
    inputs = [np.zeros((2, 0), np.float32), np.array([0])]
    assert run("RepeatInterleaveGrad", *inputs, const=[1]).tolist() == [[0], [0]]
    got = run("RepeatInterleaveGrad", *inputs, const=[1], outputs=[Spec(0, (2, 3), 2)])
    assert got.tolist() == [[0, 0, 0], [0, 0, 0]]


def test_it_is_adjoint_to_repeating():
    rng = np.random.default_rng(3)
    x, times = rng.normal(size=(3, 4, 2)).astype(np.float32), np.array([1, 0, 5, 2])
    y = run("RepeatInterleave", x, times, const=[1], axis=1)
    dy = rng.normal(size=y.shape).astype(np.float32)
    dx = run("RepeatInterleaveGrad", dy, times, const=[1], axis=1)
    np.testing.assert_allclose(np.vdot(x, dx), np.vdot(y, dy), rtol=1e-5)


def test_what_does_not_fit_is_named():
    repeats = Spec(9, (2,), 2, const=np.array([3, 2]).tobytes())
    with pytest.raises(Refused, match="add up to the 6 elements along axis 1"):
        bind("RepeatInterleaveGrad", [Spec(0, (2, 6), 2), repeats])
    with pytest.raises(Refused, match="1000"):
        bind("RepeatInterleaveGrad", [Spec(0, (2, 6), 2), repeats], axis=1000)
    with pytest.raises(Refused, match="0 or more"):
        bind("RepeatInterleaveGrad", [Spec(0, (2, 0), 2), Spec(9, (1,), 2, const=np.array([-1]).tobytes())])
    assert bind("RepeatInterleaveGrad", [Spec(0, (2, 6), 2), Spec(9, (2,), 2)]).infer()[0].shape == (2, -1)
    assert bind("RepeatInterleaveGrad", [Spec(0, (-1, 5), 2), repeats]).infer()[0].shape == (-1, 2)
