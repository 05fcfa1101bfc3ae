"""Attention over parts of the keys, BERT's Adam, the gradient of distances: worked values, refusals."""

from __future__ import annotations

import numpy as np
import pytest

from hostacl.errors import Refused
from hostacl.tensors.spec import TensorSpec as Spec
from tests.ops.calling import bind, run

F32 = 0


def test_two_halves_of_the_keys_are_the_whole():
    rng = np.random.default_rng(0)
    scores, values = rng.normal(size=(5, 6)), rng.normal(size=(6, 3))
    powers = np.exp(scores)
    whole = powers @ values / powers.sum(1, keepdims=True)
    parts = []
    for half in (slice(0, 2), slice(2, 6)):
        total = powers[:, half].sum(1)
        parts.append((np.log(total).astype(np.float32), (powers[:, half] @ values[half] / total[:, None]).astype(np.float32)))
    (one, first), (other, second) = parts
    output, lse = run("AttentionUpdate", one, other, first, second, update_type=1, sp=2)
    np.testing.assert_allclose(output, whole, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(lse, np.log(powers.sum(1)), rtol=1e-5)


def test_a_part_without_keys_does_not_count():
    lse, go = np.array([0, -np.inf], np.float32), np.ones((2, 3), np.float32)
    output, _ = run("AttentionUpdate", lse, np.zeros(2, np.float32), go, 3 * go, update_type=0, sp=2)
    np.testing.assert_allclose(output, [[2] * 3, [3] * 3])


def adam(**changed):
    numbers = {"lr": 0.5, "beta1": 0.5, "beta2": 0.75, "epsilon": 0.0, "max_grad_norm": None, "global_grad_norm": 4.0,
               "weight_decay": 0.25, **changed}  # fmt: skip
    scalars = {name: None if one is None else np.array([one], np.float32) for name, one in numbers.items()}
    var, m, v, grad = (np.array([one], np.float32) for one in (2, 0, 0, 2))
    order = ("lr", "beta1", "beta2", "epsilon")
    last = ("max_grad_norm", "global_grad_norm", "weight_decay")
    return [one.item() for one in run("ApplyAdamV2", var, m, v, *map(scalars.get, order), grad, *map(scalars.get, last))]


def test_a_step_of_berts_adam():
    assert adam() == [2 - 0.5 * (1 / 1 + 0.25 * 2), 1, 1]
    assert adam(max_grad_norm=0.0) == adam(max_grad_norm=8.0) == adam()
    np.testing.assert_allclose(adam(max_grad_norm=2.0)[1:], [0.5, 0.25], rtol=1e-5)


def test_the_gradient_of_a_length_is_its_direction():
    x1, x2 = np.array([[3, 4]], np.float32), np.array([[0, 0], [3, 4]], np.float32)
    apart = run("Cdist", x1, x2)
    grad = np.array([[10, 7]], np.float32)
    np.testing.assert_allclose(run("CdistGrad", grad, x1, x2, apart), [[6, 8]], rtol=1e-6)
    largest = run("Cdist", x1, x2, p=float("inf"))
    for p in (float("inf"), -1.0):
        assert run("CdistGrad", grad, x1, x2, largest, p=p).tolist() == [[0, 10]]
        np.testing.assert_array_equal(run("Cdist", x1, x2, p=p), largest)


def test_the_gradient_of_distances_for_each_difference():
    rng = np.random.default_rng(0)
    x1, x2, grad = (rng.normal(size=shape).astype(np.float32) for shape in ((3, 4), (5, 4), (3, 5)))
    apart = run("Cdist", x1, x2)
    shape = (3, 5, 4)
    spread = [np.ascontiguousarray(np.broadcast_to(one, shape)) for one in
              (grad[..., None], x1[:, None], x2[None], apart[..., None])]  # fmt: skip
    y = run("CdistGrad", *spread, outputs=[Spec(F32, (3, 4))])
    np.testing.assert_allclose(y, run("CdistGrad", grad, x1, x2, apart), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize(
    ("op", "inputs", "attrs", "rule"),
    [
        ("AttentionUpdate", [Spec(F32, (2,)), Spec(F32, (2, 3))], {"sp": 2, "update_type": 0}, "HA513"),
        ("AttentionUpdate", [Spec(F32, (2,)), Spec(F32, (3, 3))], {"sp": 1, "update_type": 0}, "HA504"),
        ("AttentionUpdate", [Spec(F32, (2,)), Spec(F32, (2, 3))], {"sp": 1, "update_type": 2}, "HA508"),
        ("CdistGrad", [Spec(F32, (3, 4)), Spec(F32, (3, 2)), Spec(F32, (4, 2)), Spec(F32, (4, 3))], {}, "HA504"),
        ("CdistGrad", [Spec(F32, (5, 3, 4)), Spec(F32, (3, 2)), Spec(F32, (5, 4, 2)), Spec(F32, (5, 3, 4))], {}, "HA504"),
        ("ApplyAdamV2", [Spec(F32, (3,))] * 3 + [Spec(F32, (1,))] * 4 + [Spec(F32, (3,)), Spec(-1, (), -1)]
         + [Spec(F32, (1,))] * 2, {"adam_mode": "mbart_adam"}, "HA508"),
    ],
)  # fmt: skip
def test_refusals(op, inputs, attrs, rule):
    with pytest.raises(Refused) as caught:
        bind(op, inputs, **attrs)
    assert caught.value.rule == rule
