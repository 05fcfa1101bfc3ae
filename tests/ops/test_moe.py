"""Mixtures of experts: worked routes, ties, a whole layer put together, refusals."""

from __future__ import annotations

import numpy as np
import pytest

from hostacl.errors import Failed, Refused
from hostacl.tensors.spec import TensorSpec as Spec
from tests.ops.calling import bind, run

F32, I32 = 0, 3


def test_gates_of_two_rows():
    x = np.log(np.array([[1, 2, 5], [4, 4, 2]], np.float32))
    y, experts, rows = run("MoeGatingTopKSoftmax", x, None, k=2)
    np.testing.assert_allclose(y, [[0.625, 0.25], [0.4, 0.4]], rtol=1e-6)
    assert experts.tolist() == [[2, 1], [0, 1]]  # of equal ones the first
    assert rows.tolist() == [[0, 2], [1, 3]]
    _, experts, _ = run("MoeGatingTopKSoftmax", x, np.array([True, False]), k=2)
    assert experts.tolist() == [[3, 3], [0, 1]]


def test_only_the_best_groups_count():
    x = np.array([[3, -9, 2, 1.9]], np.float32)
    y, experts, _ = run("MoeGatingTopK", x, None, k=1, k_group=1, group_count=2, norm_type=1, group_select_mode=1)
    assert experts.tolist() == [[2]]
    assert y.item() == pytest.approx(1)
    _, experts, _ = run("MoeGatingTopK", x, None, k=1, k_group=1, group_count=2, norm_type=1)
    assert experts.tolist() == [[0]]


def test_the_bias_chooses_but_does_not_weigh():
    x, bias = np.zeros((1, 4), np.float32), np.array([0, 0, 1, 0], np.float32)
    y, experts, out = run("MoeGatingTopK", x, bias, k=1, out_flag=True, routed_scaling_factor=2.0)
    assert (y.item(), experts.item(), out.tolist()) == (0.5, 2, [[0.25] * 4])


def test_a_layer_of_experts_by_its_parts():
    """Each expert multiplies its rows by a number; routed, multiplied and put together that is a weighted sum."""
    rng = np.random.default_rng(0)
    x, logits = rng.normal(size=(5, 3)).astype(np.float32), rng.normal(size=(5, 4)).astype(np.float32)
    y, experts, rows = run("MoeGatingTopKSoftmax", logits, None, k=2)
    expanded, places, order = run("MoeInitRouting", x, rows, experts, active_num=5)
    counts = run("MoeComputeExpertTokens", order, num_experts=4)
    assert np.diff(counts, prepend=0).tolist() == [int(np.sum(experts == expert)) for expert in range(4)]
    factors = np.array([1, 10, 100, 1000], np.float32)
    done = expanded * factors[order][:, None]
    result = run("MoeFinalizeRouting", done, x, None, np.zeros((4, 3), np.float32), y, places, experts)
    want = x + sum(y[:, j, None] * factors[experts[:, j], None] * x for j in range(2))
    np.testing.assert_allclose(result, want, rtol=1e-5)


def test_a_row_that_is_named_twice_or_not_there_fails():
    x, experts = np.zeros((2, 3), np.float32), np.array([[0], [1]], np.int32)
    with pytest.raises(Failed, match="twice"):
        run("MoeInitRouting", x, np.array([[0], [0]], np.int32), experts, active_num=2)
    with pytest.raises(Failed, match="= 2"):
        run("MoeInitRouting", x, np.array([[0], [2]], np.int32), experts, active_num=2)


@pytest.mark.parametrize(
    ("op", "inputs", "attrs", "rule"),
    [
        ("MoeGatingTopKSoftmax", [Spec(F32, (2, 4))], {"k": 5}, "HA508"),
        ("MoeGatingTopKSoftmax", [Spec(F32, (2, 4)), Spec(12, (3,))], {"k": 1}, "HA504"),
        ("MoeGatingTopK", [Spec(F32, (2, 4))], {"k": 1, "group_count": 3}, "HA508"),
        ("MoeGatingTopK", [Spec(F32, (2, 4))], {"k": 3, "group_count": 2, "k_group": 1}, "HA508"),
        ("MoeGatingTopK", [Spec(F32, (2, 4))], {"k": 1, "norm_type": 2}, "HA508"),
        ("MoeGatingTopK", [Spec(F32, (2, 4)), Spec(F32, (3,))], {"k": 1}, "HA504"),
        ("MoeInitRouting", [Spec(F32, (2, 4)), Spec(I32, (2, 1)), Spec(I32, (2, 1))], {"active_num": -1}, "HA508"),
        ("MoeInitRouting", [Spec(F32, (2, 4)), Spec(I32, (3, 1)), Spec(I32, (3, 1))], {"active_num": 2}, "HA504"),
        ("MoeComputeExpertTokens", [Spec(I32, (2,))], {"num_experts": 0}, "HA508"),
    ],
)
def test_refusals(op, inputs, attrs, rule):
    with pytest.raises(Refused) as caught:
        bind(op, inputs, **attrs)
    assert caught.value.rule == rule


def test_unknown_rows():
    (y, *_) = bind("MoeGatingTopKSoftmax", [Spec(F32, (-1, 4))], k=2).infer()
    assert y.shape == (-1, 2)
    rows = [Spec(F32, (-1, 4)), Spec(I32, (-1, 2)), Spec(I32, (-1, 2))]
    assert bind("MoeInitRouting", rows, active_num=3).infer()[0].shape == (-1, 4)


X = np.arange(6, dtype=np.float32).reshape(3, 2)
PAIRS = np.array([[2, 0], [0, 1], [2, 3]], np.int32)


def test_a_range_of_experts_with_their_counts():
    given = {"expert_num": 4, "active_expert_range": [0, 3], "expert_tokens_num_flag": True}
    rows, places, ends, _ = run("MoeInitRoutingV3", X, PAIRS, **given)
    np.testing.assert_array_equal(rows, [*X[[0, 1, 1, 0, 2]], [0, 0]])
    assert places.tolist() == [3, 0, 1, 2, 4, -1]
    assert ends.tolist() == [2, 3, 5]
    _, pairs, counts, _ = run("MoeInitRoutingV3", X, PAIRS, row_idx_type=1, expert_tokens_num_type=1, **given)
    assert pairs.tolist() == [1, 2, 3, 0, 4, -1]
    assert counts.tolist() == [2, 1, 2]


def test_fewer_rows_with_their_scales():
    scale = np.array([1, 2, 3], np.float32)
    rows, places, told, scales = run("MoeInitRoutingV3", X, PAIRS, scale, expert_num=4, active_num=3)
    assert (rows.shape, places.tolist(), scales.tolist()) == ((3, 2), [-1, 0, 1, 2, -1, -1], [1, 2, 2])
    assert (told == 77).all()


@pytest.mark.parametrize(
    ("attrs", "rule"),
    [
        ({}, "HA508"),
        ({"expert_num": 4, "quant_mode": 1}, "HA508"),
        ({"expert_num": 4, "drop_pad_mode": 1}, "HA508"),
        ({"expert_num": 4, "active_expert_range": [2, 5]}, "HA508"),
    ],
)
def test_refusals_of_ranges(attrs, rule):
    with pytest.raises(Refused) as caught:
        bind("MoeInitRoutingV3", [X, PAIRS], **attrs)
    assert caught.value.rule == rule
