"""Logarithm of softmax and masked softmax: worked values and refusals."""

from __future__ import annotations

import numpy as np
import pytest

from hostacl.errors import Refused
from hostacl.tensors.spec import TensorSpec as Spec
from tests.ops.calling import bind, run

X = np.array([[1, 2, 3], [1000, 0, -1000]], np.float32)


def test_log_softmax_as_torch_npu_calls_it():
    got = run("LogSoftmaxV2", X, axes=[1])
    row = np.log(np.exp([1.0, 2, 3]) / np.exp([1.0, 2, 3]).sum())
    np.testing.assert_allclose(got, [row, [0, -1000, -2000]], rtol=1e-6)
    column = np.log([np.exp(2) / (1 + np.exp(2)), 1 / (1 + np.exp(2))])
    np.testing.assert_allclose(run("LogSoftmaxV2", X, axes=[0])[:, 1], column, rtol=1e-6)


def test_masked_scores_get_nothing():
    x = np.zeros((2, 2), np.float16)
    mask = np.array([[False, True], [True, True]])
    np.testing.assert_array_equal(run("ScaledMaskedSoftmax", x, mask), [[1, 0], [0.5, 0.5]])
    np.testing.assert_array_equal(run("ScaledMaskedSoftmax", x, fixed_triu_mask=True), [[1, 0], [0.5, 0.5]])


def test_mask_is_for_windows_and_bias_for_heads():
    x = np.zeros((1, 2, 2, 1, 2), np.float32)
    mask, bias = np.array([[[0, 0]], [[0, -1e4]]], np.float32), np.array([[[0, 0]], [[-1e4, 0]]], np.float32)
    y = run("MaskedSoftmaxWithRelPosBias", x, mask, bias)[0, :, :, 0]
    np.testing.assert_array_equal(y, [[[0.5, 0.5], [0, 1]], [[1, 0], [0.5, 0.5]]])


@pytest.mark.parametrize(
    ("op", "inputs", "attrs", "rule"),
    [
        ("LogSoftmaxV2", [X], {"axes": [2]}, "HA509"),
        ("ScaledMaskedSoftmax", [Spec(1, (2, 3))], {}, "HA513"),
        ("ScaledMaskedSoftmax", [Spec(1, (2, 3)), Spec(12, (3, 3))], {}, "HA504"),
        ("MaskedSoftmaxWithRelPosBias", [Spec(0, (1, 2, 3, 4)), Spec(-1, (), -1), Spec(0, (4, 4))], {}, "HA504"),
    ],
)
def test_refusals(op, inputs, attrs, rule):
    with pytest.raises(Refused) as caught:
        bind(op, inputs, **attrs)
    assert caught.value.rule == rule
