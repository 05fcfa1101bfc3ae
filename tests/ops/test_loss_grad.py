"""Gradients of losses and of softmax: finite differences of the loss in float64, edges, refusals."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import special

from hostacl.errors import Failed, Refused
from hostacl.ops import parts
from hostacl.tensors.spec import TensorSpec as Spec
from tests.ops.calling import bind, run

RNG = np.random.default_rng(5)
P, Q = RNG.uniform(0.05, 0.95, (3, 4)), RNG.uniform(0.05, 0.95, (3, 4))
X, Y = RNG.normal(size=(3, 4)), RNG.normal(size=(3, 4))
POSITIVE = RNG.uniform(1, 2, 4)


def huber(x, y, sigma=0.7):
    away = np.abs(x - y)
    return np.where(away < sigma, away**2 / (2 * sigma), away - sigma / 2)


def logits(x, y):
    return POSITIVE * y * np.logaddexp(0, -x) + (1 - y) * np.logaddexp(0, x)


CASES = {
    "BinaryCrossEntropyGrad": (P, Q, {}, ("x", "y", "g"), lambda x, y: -y * np.log(x) - (1 - y) * np.log(1 - x)),
    "KlDivLossGrad": (X, Q, {}, ("g", "x", "y"), lambda x, y: y * (np.log(y) - x)),
    "L1LossGrad": (X, Y, {}, ("g", "x", "y"), lambda x, y: np.abs(x - y)),
    "MseLossGrad": (X, Y, {}, ("x", "y", "g"), lambda x, y: (x - y) ** 2),
    "SmoothL1LossGradV2": (X, Y, {"sigma": 0.7}, ("x", "y", "g"), huber),
    "SoftMarginLossGrad": (X, np.sign(Y), {}, ("x", "y", "g"), lambda x, y: np.logaddexp(0, -y * x)),
    "SigmoidCrossEntropyWithLogitsGradV2": (X, Q, {}, ("x", "y", "g", "none", "positive"), logits),
}


@pytest.mark.parametrize("reduction", ["none", "mean", "sum"])
@pytest.mark.parametrize("op", CASES)
def test_it_is_the_derivative_of_the_loss(op, reduction):
    x, y, attrs, order, loss = CASES[op]
    g = RNG.normal(size=x.shape if reduction == "none" else (1,))
    step = 1e-6
    want = (loss(x + step, y) - loss(x - step, y)) / (2 * step) * g / (x.size if reduction == "mean" else 1)
    given = {"x": x, "y": y, "g": g, "positive": POSITIVE, "none": None}
    tensors = [given[one] if given[one] is None else given[one].astype(np.float32) for one in order]
    np.testing.assert_allclose(run(op, *tensors, reduction=reduction, **attrs), want, rtol=2e-4, atol=1e-6)


def test_batchmean_divides_by_the_rows():
    tensors = [np.ones(1, np.float32), X.astype(np.float32), Q.astype(np.float32)]
    np.testing.assert_allclose(run("KlDivLossGrad", *tensors, reduction="batchmean"), -Q / 3, rtol=1e-6)


def test_large_logits_stay_finite():
    """Case B053."""
    predict, target = np.array([100, -100, 100], np.float32), np.array([1, 0, 0], np.float32)
    gradient = run("SigmoidCrossEntropyWithLogitsGrad", predict, target, np.ones(3, np.float32))
    np.testing.assert_allclose(gradient, [0, 0, 1], atol=1e-6)


def nll(target, reduction="mean", **attrs):
    x, weight = np.zeros((3, 4), np.float32), np.array([1, 2, 3, 4], np.float32)
    return run("NLLLossGrad", x, np.array([2], np.float32), np.array(target, np.int32), weight, np.array([8], np.float32),
               reduction=reduction, **attrs)  # fmt: skip


def test_nll_writes_one_element_a_row():
    assert nll([0, 3, -100]).tolist() == [[-0.25, 0, 0, 0], [0, 0, 0, -1], [0, 0, 0, 0]]
    assert nll([0, 3, 2], "sum", ignore_index=2).tolist() == [[-2, 0, 0, 0], [0, 0, 0, -8], [0, 0, 0, 0]]


@pytest.mark.parametrize("wrong", [4, -1])
def test_nll_fails_for_a_target_that_is_no_class(wrong):
    with pytest.raises(Failed, match=rf"target\[1\] = {wrong}; allowed: 0 to 3"):
        nll([0, wrong, 1])


def test_nll_of_planes_has_its_classes_in_axis_1():
    x, target = np.zeros((1, 2, 3), np.float32), np.array([[1, 0, 1]], np.int64)
    y_grad = np.array([[1, 2, 3]], np.float32)
    got = run("NLLLossGrad", x, y_grad, target, np.ones(2, np.float32), np.ones(1, np.float32), reduction="none")
    assert got.tolist() == [[[0, -2, 0], [-1, 0, -3]]]


@pytest.mark.parametrize("axes", [[0], [-1], [0, 1]])
def test_softmax_gradients_are_derivatives(axes, monkeypatch):
    monkeypatch.setattr(parts, "ELEMENTS", 5)
    g, over = RNG.normal(size=X.shape), tuple(axes)

    def softmax(x):
        return special.softmax(x, axis=over)

    for op, name, forward in (("SoftmaxGrad", "axes", softmax), ("LogSoftmaxGrad", "axis", lambda x: np.log(softmax(x)))):
        want = np.zeros_like(X)
        for place in np.ndindex(X.shape):
            step = np.zeros_like(X)
            step[place] = 1e-6
            want[place] = np.sum((forward(X + step) - forward(X - step)) * g) / 2e-6
        y, dy = forward(X).astype(np.float32), g.astype(np.float32)
        got = run(op, *((y, dy) if op == "SoftmaxGrad" else (dy, y)), **{name: axes})
        np.testing.assert_allclose(got, want, rtol=1e-4, atol=1e-6)


def test_masked_softmax_gradient_is_0_where_masked():
    y = np.full((1, 1, 2, 2), 0.5, np.float16)
    dy = np.array([[[[1, 3], [2, 6]]]], np.float16)
    mask = np.array([[[[True, False], [False, False]]]])
    assert run("ScaledMaskedSoftmaxGrad", dy, y, mask, scale=2.0).tolist() == [[[[0, 1], [-2, 2]]]]
    assert run("ScaledMaskedSoftmaxGrad", dy, y, fixed_triu_mask=True).tolist() == [[[[-0.5, 0], [-1, 1]]]]


def test_dropout_and_softmax_together_are_both_one_after_the_other():
    y, dy = special.softmax(X, axis=1).astype(np.float32), Y.astype(np.float32)
    mask = (RNG.random(12) < 0.5).astype(np.uint8)
    dropped = run("DropOutDoMaskV3", dy, mask, np.array(0.5, np.float32))
    want = 3 * run("SoftmaxGrad", y, dropped)
    got = run("DropoutWithMulsAndSoftmaxGrad", dy, mask, y, input_keep_prob=0.5, alpha=3.0)
    np.testing.assert_allclose(got, want, rtol=1e-5, atol=1e-6)


def test_parts_of_any_size_give_the_same(monkeypatch):
    tensors = [RNG.normal(size=(2, 3, 4)).astype(np.float32) for _ in range(3)]
    whole = run("MseLossGrad", *tensors)
    for size in (1, 3, 5, 13):
        monkeypatch.setattr(parts, "ELEMENTS", size)
        assert np.array_equal(run("MseLossGrad", *tensors), whole)


def test_what_does_not_fit_is_named():
    three = [Spec(0, (2, 3), 2), Spec(0, (2, 3), 2), Spec(0, (1,), 2)]
    with pytest.raises(Refused, match="reduction = 'most'"):
        bind("MseLossGrad", three, reduction="most")
    with pytest.raises(Refused, match="label"):
        bind("MseLossGrad", [three[0], Spec(0, (3, 2), 2), three[2]])
    with pytest.raises(Refused, match="dout"):
        bind("MseLossGrad", [*three[:2], Spec(0, (4,), 2)])
    with pytest.raises(Refused, match="axes"):
        bind("SoftmaxGrad", three[:2], axes=[2])
    assert bind("MseLossGrad", [Spec(0, (-1, 3), 2), Spec(0, (2, -1), 2), three[2]]).infer()[0].shape == (2, 3)
