"""Caches of attention and the gated delta rule: worked values, what is not written, refusals."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

from hostacl.errors import Failed, Refused
from hostacl.tensors.spec import TensorSpec as Spec
from tests.ops.calling import bind, run

F32, F16, BF16, I64, I32 = 0, 1, 27, 9, 3
KV = [Spec(F32, (2, 1, 3, 6)), Spec(F32, (2,)), Spec(F32, (2, 1, 3, 4)), Spec(F32, (2, 1, 3, 4)), Spec(I64, (2, 3)),
      Spec(F32, (2, 1, 5, 4)), Spec(F32, (2, 1, 5, 2))]  # fmt: skip


def kv(index, mode, cache, **attrs):
    """One step of [3, 4 | 1, 2], normalised and turned by cos 0 and sin 1."""
    row = np.array([3, 4, 1, 2], np.float32).reshape(1, 1, 1, 4)
    zeros, ones = np.zeros((1, 1, 1, 2), np.float32), np.ones((1, 1, 1, 2), np.float32)
    caches = np.full((*cache, 2), 9, np.float32)
    given = row, np.array([1, 2], np.float32), zeros, ones, np.array([index]), caches, caches
    return run("KvRmsNormRopeCache", *given, epsilon=0.0, cache_mode=mode, **attrs)


def test_a_step_in_the_cache_of_its_sequence():
    k, ckv, rope, normed = kv(1, "Norm", (1, 1, 3), is_output_kv=True)
    assert k[0, 0].tolist() == [[9, 9], [-2, 1], [9, 9]]
    root = np.sqrt(12.5)
    np.testing.assert_allclose(ckv[0, 0], [[9, 9], [3 / root, 8 / root], [9, 9]], rtol=1e-6)
    assert rope.ravel().tolist() == [-2, 1]
    np.testing.assert_array_equal(normed.ravel(), ckv[0, 0, 1])


def test_a_step_in_pages_and_one_that_is_not_written():
    k, _, rope, _ = kv(3, "PA", (2, 2, 1))
    assert k[1, 1, 0].tolist() == [-2, 1]
    assert (k.reshape(4, 2)[:3] == 9).all()
    assert (rope == 77).all()
    k, ckv, *_ = kv(-1, "PA_BNSD", (2, 2, 1))
    assert (k == 9).all()
    assert (ckv == 9).all()
    with pytest.raises(Failed, match="index holds 4"):
        kv(4, "PA", (2, 2, 1))


def test_heads_into_caches_of_tiles():
    rng = np.random.default_rng(0)
    qkv, ones = rng.normal(size=(2, 4 * 32)).astype(np.float16), np.ones(32, np.float16)
    cos, sin = np.ones((2, 32), np.float16), np.zeros((2, 32), np.float16)
    caches = [np.zeros((3, 2, 4, 16), np.float16)] * 2
    given = qkv, ones, ones, cos, sin, np.array([6, -1]), np.zeros((2, 64), np.float16), *caches
    q, k, v, *_ = run("QkvRmsNormRopeCache", *given, qkv_size=[1, 2, 4, 32], head_nums=[2, 1, 1])
    wide = qkv.astype(np.float64).reshape(2, 4, 32)
    want = wide / np.sqrt((wide**2).mean(-1, keepdims=True) + 1e-6)
    np.testing.assert_allclose(q.reshape(2, 2, 32), want[:, :2], rtol=2e-3)
    np.testing.assert_allclose(k[1, :, 2].ravel(), want[0, 2], rtol=2e-3)
    np.testing.assert_array_equal(v[1, :, 2].ravel(), qkv[0, 96:])
    assert np.count_nonzero(v) == 32


def test_what_was_learned_is_recalled():
    """beta 1 stores a value under its key; another key that is orthogonal leaves it alone."""
    keys, values = np.eye(3)[[0, 1, 0]], np.array([[5, 6], [7, 8], [1, 1]])
    half = ml_dtypes.bfloat16
    query, key, value = (x[:, None].astype(half) for x in (np.eye(3)[[0, 0, 0]], keys, values))
    states = np.zeros((4, 1, 2, 3), half)
    lengths, places = np.array([2, 1], np.int32), np.array([1, 2, 3], np.int32)
    out, states = run("RecurrentGatedDeltaRule", query, key, value, np.ones((3, 1), half), states, lengths, places)
    assert out[:, 0].astype(float).tolist() == [[5, 6], [5, 6], [1, 1]]
    assert states[2, 0].astype(float).tolist() == [[5, 7, 0], [6, 8, 0]]
    assert states[1, 0].astype(float).tolist() == [[5, 0, 0], [6, 0, 0]]
    assert not states[0].any()


def test_lengths_and_accepted_tokens_that_are_not_there():
    given = [Spec(BF16, (2, 1, 3)), Spec(BF16, (2, 1, 3)), Spec(BF16, (2, 1, 2)), Spec(BF16, (2, 1)), Spec(BF16, (4, 1, 2, 3))]
    arrays = [np.zeros(one.shape, ml_dtypes.bfloat16) for one in given]
    for lengths, accepted, text in (([3], None, "actual_seq_lengths"), ([2], [3], "num_accepted_tokens")):
        extra = [] if accepted is None else [None, None, np.array(accepted, np.int32)]
        with pytest.raises(Failed, match=text):
            run("RecurrentGatedDeltaRule", *arrays, np.array(lengths, np.int32), np.array([0, 1], np.int32), *extra)


@pytest.mark.parametrize(
    ("place", "spec", "attrs", "rule"),
    [
        (1, Spec(F32, (3,)), {}, "HA504"),
        (0, Spec(F32, (2, 2, 3, 6)), {}, "HA504"),
        (2, Spec(F32, (2, 1, 2, 4)), {}, "HA504"),
        (4, Spec(I64, (5,)), {}, "HA504"),
        (5, Spec(F32, (2, 1, 5, 3)), {}, "HA504"),
        (5, Spec(F32, (3, 1, 5, 4)), {}, "HA504"),
        (0, KV[0], {"cache_mode": "PA_NZ"}, "HA508"),
    ],
)
def test_refusals_of_caches(place, spec, attrs, rule):
    inputs = list(KV)
    inputs[place] = spec
    with pytest.raises(Refused) as caught:
        bind("KvRmsNormRopeCache", inputs, **attrs)
    assert caught.value.rule == rule


def test_scales_are_refused():
    with pytest.raises(Refused, match="k_rope_scale is given"):
        bind("KvRmsNormRopeCache", [*KV, Spec(F32, (4,))])
