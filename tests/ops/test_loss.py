"""Losses: worked values, extremes, targets out of range, refusals."""

from __future__ import annotations

import math

import numpy as np
import pytest

from hostacl.errors import Failed, Refused
from tests.ops.calling import bind, run

X = np.log(np.array([[0.2, 0.3, 0.5], [0.1, 0.6, 0.3]], np.float32))


def test_nll_as_torch_npu_calls_it():
    target = np.array([2, 1], np.int32)
    y, total = run("NLLLoss", X, target, np.ones(3, np.float32), reduction="mean", ignore_index=-100)
    assert y == pytest.approx(-(math.log(0.5) + math.log(0.6)) / 2)
    assert total == 2
    y, total = run("NLLLoss", X, target, np.array([1, 2, 3], np.float32), reduction="mean")
    assert y == pytest.approx(-(3 * math.log(0.5) + 2 * math.log(0.6)) / 5)
    assert total == 5


def test_nll_of_ignored_targets_only_is_nan():
    y, total = run("NLLLoss", X, np.array([7, 7], np.int64), reduction="mean", ignore_index=7)
    assert np.isnan(y)
    assert total == 0


@pytest.mark.parametrize("target", [3, -1])
def test_nll_names_a_target_that_is_no_class(target):
    with pytest.raises(Failed, match=f"target has {target}"):
        run("NLLLoss", X, np.array([0, target], np.int32))


def test_large_logits_stay_finite():
    predict, target = np.array([100, -100, 100], np.float32), np.array([1, 0, 0], np.float32)
    np.testing.assert_allclose(run("SigmoidCrossEntropyWithLogits", predict, target), [0, 0, 100], atol=4e-44)
    np.testing.assert_allclose(
        run("SigmoidCrossEntropyWithLogitsV2", predict, target, reduction="none"), [0, 0, 100], atol=4e-44
    )


def test_cross_entropy_holds_its_logarithms():
    x = np.array([0, 1, 0.5], np.float32)
    y = run("BinaryCrossEntropy", x, 1 - x, None, reduction="none")
    np.testing.assert_allclose(y, [100, 100, math.log(2)], rtol=1e-6)


def test_divergence_divides_by_the_batch():
    target = np.array([[0.5, 0.5], [0, 1]], np.float32)
    x = np.zeros((2, 2), np.float32)
    assert run("KLDiv", x, target, reduction="sum") == pytest.approx(math.log(0.5))
    assert run("KLDiv", x, target, reduction="batchmean") == pytest.approx(math.log(0.5) / 2)


def test_multilabel_targets_end_at_minus_one():
    y, flags = run("MultilabelMarginLoss", np.array([0.1, 0.2, 0.4, 0.8], np.float32), np.array([3, 0, -1, 1], np.int32))
    assert y == pytest.approx(0.85)  # the example of torch's documentation
    np.testing.assert_array_equal(flags, [1, 0, 0, 1])


def test_softmax_loss_and_its_gradient():
    loss, gradient = run("SparseSoftmaxCrossEntropyWithLogits", X, np.array([2, 1], np.int32))
    np.testing.assert_allclose(loss, -np.log([0.5, 0.6]), rtol=1e-6)
    np.testing.assert_allclose(gradient, [[0.2, 0.3, -0.5], [0.1, -0.4, 0.3]], rtol=1e-5)
    dense = run("SoftmaxCrossEntropyWithLogits", X, np.eye(3, dtype=np.float32)[[2, 1]])
    np.testing.assert_allclose(dense[0], loss)
    np.testing.assert_allclose(dense[1], gradient, atol=1e-7)


@pytest.mark.parametrize(
    ("op", "inputs", "attrs", "rule"),
    [
        ("MseLoss", [X, X], {"reduction": "batchmean"}, "HA508"),
        ("MseLoss", [X, X[0]], {}, "HA504"),
        ("LpLoss", [X, X], {"p": 2}, "HA508"),
        ("NLLLoss", [X, np.zeros(3, np.int32)], {}, "HA504"),
        ("NLLLoss", [X, np.zeros(2, np.int32), np.ones(2, np.float32)], {}, "HA504"),
        ("BinaryCrossEntropy", [X, X, X[:, :2]], {}, "HA504"),
        ("SparseSoftmaxCrossEntropyWithLogits", [X, np.zeros(3, np.int32)], {}, "HA504"),
    ],
)
def test_refusals(op, inputs, attrs, rule):
    with pytest.raises(Refused) as caught:
        bind(op, inputs, **attrs)
    assert caught.value.rule == rule
