"""CTC: all alignments counted by hand, lengths, what cannot be aligned, refusals."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from hostacl.errors import Failed, Refused
from hostacl.tensors.spec import TensorSpec as Spec
from tests.ops.calling import bind, run

F32, F64, I64 = 0, 11, 9


def log_probs(steps=4, batch=1, classes=3, seed=0):
    scores = np.random.default_rng(seed).normal(size=(steps, batch, classes))
    return scores - np.log(np.exp(scores).sum(-1, keepdims=True))


def collapsed(path):
    """Repeats once, then without blanks."""
    return [label for label, _ in itertools.groupby(path) if label]


@pytest.mark.parametrize("target", [[1], [1, 2], [2, 2], []])
def test_the_probability_of_all_alignments(target):
    probs = log_probs()
    total = sum(
        np.exp(sum(probs[step, 0, label] for step, label in enumerate(path)))
        for path in itertools.product(range(3), repeat=4)
        if collapsed(path) == target
    )
    padded = np.array([target + [0] * (2 - len(target))], np.int64)
    loss, _ = run("CTCLossV2", probs, padded, np.array([4]), np.array([len(target)]))
    assert loss.item() == pytest.approx(-np.log(total))


def test_targets_one_after_the_other():
    probs = log_probs(5, 3)
    lengths, rows = np.array([2, 0, 1]), np.array([[1, 2], [0, 0], [2, 0]])
    steps = np.array([5, 4, 3])
    loss, alpha = run("CTCLossV2", probs, rows, steps, lengths)
    outputs = [Spec(F64, (3,)), Spec(F64, (3, 5, 8))]  # room beyond the states that there are
    flat, wide = run("CTCLossV2", probs, np.array([1, 2, 2]), steps, lengths, outputs=outputs)
    np.testing.assert_array_equal(loss, flat)
    np.testing.assert_array_equal(alpha, wide[..., :5])
    assert (wide[..., 5:] == -np.inf).all()


def test_a_blank_that_carries_the_longest_target():
    given = log_probs(5, 1, 3), np.array([[0, 1]]), np.array([5]), np.array([2])
    plain, carrying = (run("CTCLossV2", *given, blank=blank)[0] for blank in (2, 2 + 2 * 3))
    assert plain == carrying


def test_too_few_steps():
    probs = log_probs(2)
    given = probs, np.array([[1, 1]]), np.array([2]), np.array([2])
    loss, alpha = run("CTCLossV2", *given)
    assert loss.item() == np.inf
    assert run("CTCLossV2", *given, zero_infinity=True)[0].item() == 0
    grad = run("CTCLossV2Grad", np.ones(1), *given, loss, alpha, zero_infinity=True)
    assert not grad.any()
    assert not run("CTCLossV2Grad", np.ones(1), *given, np.zeros(1), alpha, zero_infinity=True).any()


def test_the_gradient_of_each_step_adds_up_to_nothing():
    given = log_probs(6, 2, 4), np.array([[1, 3], [2, 0]]), np.array([6, 4]), np.array([2, 1])
    loss, alpha = run("CTCLossV2", *given)
    grad = run("CTCLossV2Grad", np.array([1.0, -2]), *given, loss, alpha)
    np.testing.assert_allclose(grad.sum(-1), 0, atol=1e-12)
    assert not grad[4:, 1].any()
    assert grad[3, 1].any()


@pytest.mark.parametrize(
    ("targets", "steps", "lengths", "text"),
    [
        ([[1, 2]], [5], [2], "input_lengths holds 5"),
        ([[1, 2]], [4], [3], "target_lengths holds 3"),
        ([[1, 3]], [4], [2], "targets hold 1 to 3"),
        ([[-1, 2]], [4], [2], "targets hold -1"),
    ],
)
def test_lengths_and_labels_that_are_not_there(targets, steps, lengths, text):
    with pytest.raises(Failed, match=text):
        run("CTCLossV2", log_probs(), np.array(targets), np.array(steps), np.array(lengths))


@pytest.mark.parametrize(
    ("place", "spec", "attrs", "rule"),
    [
        (0, Spec(F32, (4, 3)), {}, "HA516"),
        (1, Spec(I64, (2, 2)), {}, "HA504"),
        (2, Spec(I64, (2,)), {}, "HA504"),
        (3, Spec(I64, (1, 1)), {}, "HA516"),
        (0, Spec(F32, (4, 1, 3)), {"blank": -1}, "HA508"),
        (0, Spec(F32, (4, 1, 3)), {"reduction": "max"}, "HA508"),
    ],
)
def test_refusals(place, spec, attrs, rule):
    inputs = [Spec(F32, (4, 1, 3)), Spec(I64, (1, 2)), Spec(I64, (1,)), Spec(I64, (1,))]
    inputs[place] = spec
    with pytest.raises(Refused) as caught:
        bind("CTCLossV2", inputs, **attrs)
    assert caught.value.rule == rule


def test_inference():
    lengths = [Spec(I64, (2,)), Spec(I64, (2,))]
    loss, alpha = bind("CTCLossV2", [Spec(F32, (7, 2, 5)), Spec(I64, (2, 3)), *lengths]).infer()
    assert (loss.shape, alpha.shape) == ((2,), (2, 7, 7))
    _, alpha = bind("CTCLossV2", [Spec(F32, (7, 2, 5)), Spec(I64, (4,)), *lengths]).infer()
    assert alpha.shape == (2, 7, -1)
