"""Attention: worked rows, bands, lengths, lists, pages, several blocks, refusals, inference."""

from __future__ import annotations

import numpy as np
import pytest

from hostacl.errors import Failed, Refused
from hostacl.ops import attention
from hostacl.tensors.spec import TensorSpec as Spec
from tests.ops.calling import bind, run

F32, F16, I64, I32 = 0, 1, 9, 3
NEW = {"head_num": 1, "is_flash": True, "input_layout": "BNSD"}
OLD = {"head_num": 1, "input_layout": "BNSD"}


def floats(*shape, seed=0):
    return np.random.default_rng(seed).normal(size=shape).astype(np.float32)


def plain(q, k, v, scale=1.0, hidden=None):
    """Attention of (…, steps, features) in float64."""
    scores = q.astype(np.float64) @ k.astype(np.float64).swapaxes(-1, -2) * scale
    scores = scores if hidden is None else np.where(hidden, -np.inf, scores)
    powers = np.exp(scores - scores.max(-1, keepdims=True))
    return powers / powers.sum(-1, keepdims=True) @ v


def test_a_query_that_meets_two_keys():
    q, k = np.zeros((1, 1, 1, 2), np.float32), np.zeros((1, 1, 2, 2), np.float32)
    v = np.array([[1, 2], [3, 6]], np.float32).reshape(1, 1, 2, 2)
    top, total, empty, y = run("FlashAttentionScore", q, k, v, **NEW)
    assert (top.ravel().tolist(), total.ravel().tolist()) == ([0] * 8, [2] * 8)
    assert (y.ravel().tolist(), empty.shape) == ([2, 4], (0,))


def test_a_row_of_which_nothing_counts_is_zero():
    q, k, v = (floats(1, 1, 2, 3, seed=seed) for seed in range(3))
    mask = np.array([[1, 1], [0, 0]], np.float32)
    *_, y = run("FlashAttentionScore", q, k, v, None, None, None, mask, **NEW)
    assert not y[0, 0, 0].any()
    np.testing.assert_allclose(y[0, 0, 1], plain(q, k, v)[0, 0, 1], rtol=1e-5)
    for gradient in run("FlashAttentionScoreGrad", q, k, v, q, None, None, None, mask, head_num=1, input_layout="BNSD")[:3]:
        assert np.isfinite(gradient).all()


@pytest.mark.parametrize(("mode", "shift"), [(2, 0), (3, 3)])
def test_causal_masks(mode, shift):
    q, k, v = floats(2, 1, 4, 3), floats(2, 1, 7, 3, seed=1), floats(2, 1, 7, 3, seed=2)
    *_, y = run("FlashAttentionScore", q, k, v, sparse_mode=mode, **OLD)
    hidden = np.arange(7) > np.arange(4)[:, None] + shift
    np.testing.assert_allclose(y, plain(q, k, v, hidden=hidden), rtol=1e-4, atol=1e-5)


def test_sequences_one_after_the_other():
    q, k, v = floats(5, 4, 3), floats(6, 2, 3, seed=1), floats(6, 2, 3, seed=2)
    ends = np.array([2, 5]), np.array([3, 6])
    given = {"head_num": 4, "input_layout": "TND", "scale_value": 0.5}
    top, _, _, y = run("FlashAttentionScore", q, k, v, None, None, None, None, None, *ends, **given)
    assert top.shape == (5, 4, 8)
    for own, other in ((slice(0, 2), slice(0, 3)), (slice(2, 5), slice(3, 6))):
        for head in range(4):
            want = plain(q[own, head], k[other, head // 2], v[other, head // 2], 0.5)
            np.testing.assert_allclose(y[own, head], want, rtol=1e-4, atol=1e-5)
    with pytest.raises(Failed, match="ends at query 9"):
        run("FlashAttentionScore", q, k, v, None, None, None, None, None, np.array([9, 5]), ends[1], **given)


def test_dropped_scores_by_bits_and_by_bytes():
    q, k, v = floats(1, 2, 3, 4), floats(1, 2, 5, 4, seed=1), floats(1, 2, 5, 4, seed=2)
    bits = np.random.default_rng(0).integers(0, 2, 30)
    packed = np.packbits(bits, bitorder="little")
    given = {**NEW, "head_num": 2, "keep_prob": 0.5}
    one, other = (run("FlashAttentionScore", q, k, v, None, mask, **given)[3] for mask in (packed, bits.astype(np.uint8)))
    np.testing.assert_array_equal(one, other)
    powers = np.exp((q @ k.swapaxes(-1, -2)).astype(np.float64))
    share = powers / powers.sum(-1, keepdims=True) * bits.reshape(1, 2, 3, 5) * 2
    np.testing.assert_allclose(one, share @ v, rtol=1e-4, atol=1e-5)
    with pytest.raises(Failed, match="drop_mask has 3"):
        run("FlashAttentionScore", q, k, v, None, packed[:3].copy(), **given)


def test_blocks_of_rows(monkeypatch):
    q, k, v, dy = (floats(1, 2, 9, 4, seed=seed) for seed in range(4))
    shift = floats(1, 1, 9, 9, seed=5)
    given = q, k, v, dy, shift
    attrs = {"head_num": 2, "input_layout": "BNSD"}
    whole = run("FlashAttentionScoreGrad", *given, **attrs)
    monkeypatch.setattr(attention, "BLOCK", 20)
    for one, other in zip(run("FlashAttentionScoreGrad", *given, **attrs), whole, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-4, atol=1e-6)


def test_lengths_of_queries_and_keys():
    q, k, v = floats(2, 1, 3, 4), floats(2, 1, 5, 4, seed=1), floats(2, 1, 5, 4, seed=2)
    lengths = np.array([3, 1]), np.array([2, 5])
    attrs = {"num_heads": 1, "input_layout": "BNSD", "scale_value": 0.5}
    y = run("PromptFlashAttention", q, k, v, None, None, *lengths, **attrs)
    np.testing.assert_allclose(y[0, 0], plain(q[0, 0], k[0, 0, :2], v[0, 0, :2], 0.5), rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(y[1, 0, 0], plain(q[1, 0], k[1, 0], v[1, 0], 0.5)[0], rtol=1e-4, atol=1e-5)
    assert not y[1, 0, 1:].any()
    with pytest.raises(Failed, match="actual_seq_lengths"):
        run("PromptFlashAttention", q, k, v, None, None, np.array([4, 1]), lengths[1], **attrs)


def test_a_list_of_keys_of_different_lengths():
    q = floats(2, 1, 4).astype(np.float16)
    keys, values = ([floats(1, size, 4, seed=seed + size).astype(np.float16) for size in (3, 5)] for seed in (1, 9))
    attrs = {"num_heads": 1, "input_layout": "BSH", "num_key_value_heads": 1}
    named = [Spec(F16, one.shape, name=f"key{place}") for place, one in enumerate(keys)]
    named += [Spec(F16, one.shape, name=f"value{place}") for place, one in enumerate(values)]
    call = bind("IncreFlashAttention", [q, *named], [Spec(F16, (2, 1, 4))], **attrs)
    y = np.zeros_like(q)
    call.function()(q, *keys, *values, y)
    for image in range(2):
        want = plain(q[image], keys[image][0], values[image][0])
        np.testing.assert_allclose(y[image], want, rtol=2e-3, atol=1e-3)


def test_pages_in_any_order():
    pages = floats(5, 2, 4).astype(np.float16)
    q, table = floats(1, 1, 4, seed=3).astype(np.float16), np.array([[4, 0, -1]], np.int32)
    given = [q, pages, pages, *[None] * 2, np.array([3]), *[None] * 7, table]
    y = run("IncreFlashAttention", *given, num_heads=1, input_layout="BSH")
    steps = np.concatenate([pages[4], pages[0]])[:3]
    np.testing.assert_allclose(y[0], plain(q[0], steps, steps), rtol=2e-3, atol=1e-3)
    given[5] = np.array([7])
    with pytest.raises(Failed, match="4 pages"):
        run("IncreFlashAttention", *given, num_heads=1, input_layout="BSH")


def test_logarithms_of_sums():
    q, k, v = (floats(1, 2, 3, 4, seed=seed).astype(np.float16) for seed in range(3))
    y, lse = run("FusedInferAttentionScore", q, k, v, num_heads=2, input_layout="BNSD_BSND", softmax_lse_flag=True)
    assert (y.shape, lse.shape, lse.dtype) == ((1, 3, 2, 4), (1, 2, 3, 1), np.float32)
    want = np.log(np.exp(q.astype(np.float64) @ k.astype(np.float64).swapaxes(-1, -2)).sum(-1, keepdims=True))
    np.testing.assert_allclose(lse, want, rtol=1e-4)


SIDE = Spec(F32, (2, 1, 3, 4))


@pytest.mark.parametrize(
    ("op", "inputs", "attrs", "rule"),
    [
        ("FlashAttentionScore", [SIDE] * 3, {**NEW, "input_layout": "NBSD"}, "HA508"),
        ("FlashAttentionScore", [SIDE] * 3, {**NEW, "head_num": 2}, "HA504"),
        ("FlashAttentionScore", [SIDE, SIDE, Spec(F32, (2, 1, 4, 4))], NEW, "HA504"),
        ("FlashAttentionScore", [SIDE] * 3, {**NEW, "keep_prob": 0.0}, "HA508"),
        ("FlashAttentionScore", [SIDE] * 3 + [Spec(F32, (3, 2))], NEW, "HA504"),
        ("FlashAttentionScore", [SIDE] * 3 + [Spec(-1, (), -1)] * 2 + [SIDE], NEW, "HA513"),
        ("FlashAttentionScoreGrad", [SIDE] * 3 + [Spec(F32, (2, 1, 3, 5))], OLD, "HA504"),
        ("PromptFlashAttention", [SIDE] * 3, {"num_heads": 1, "input_layout": "SBH"}, "HA508"),
        ("PromptFlashAttention", [SIDE] * 3 + [Spec(-1, (), -1)] * 2 + [Spec(I64, (3,))],
         {"num_heads": 1, "input_layout": "BNSD"}, "HA504"),
        ("PromptFlashAttention", [SIDE] * 3 + [Spec(-1, (), -1)] * 4 + [Spec(10, (1,))],
         {"num_heads": 1, "input_layout": "BNSD"}, "HA513"),
        ("PromptFlashAttention", [SIDE] * 3, {"num_heads": 1, "input_layout": "BNSD", "sparse_mode": 9}, "HA508"),
    ],
)  # fmt: skip
def test_refusals(op, inputs, attrs, rule):
    with pytest.raises(Refused) as caught:
        bind(op, inputs, **attrs)
    assert caught.value.rule == rule


def test_inference():
    q, k = Spec(F16, (2, -1, 8)), Spec(F16, (2, 7, 4))
    rows, _, _, y = bind("FlashAttentionScore", [q, k, k], **{**NEW, "head_num": 4, "input_layout": "BSH"}).infer()
    assert (rows.shape, y.shape) == ((2, 4, -1, 8), (2, -1, 8))
