"""Rotary embedding turns pairs; its gradient turns them back."""

from __future__ import annotations

import numpy as np
import pytest

from hostacl.errors import Refused
from hostacl.tensors.spec import TensorSpec as Spec
from tests.ops.calling import bind, run

RNG = np.random.default_rng(3)
X = RNG.normal(size=(2, 3, 8)).astype(np.float32)


def test_it_turns_complex_numbers():
    angle = RNG.normal(size=(3, 4))
    cos, sin = (np.concatenate([part, part], -1)[None].astype(np.float32) for part in (np.cos(angle), np.sin(angle)))
    want = (X[..., :4] + 1j * X[..., 4:]) * np.exp(1j * angle)
    np.testing.assert_allclose(run("RotaryMul", X, cos, sin), np.concatenate([want.real, want.imag], -1), rtol=1e-5, atol=1e-6)


def test_gradients_are_adjoint_in_each_argument():
    r1, r2, dy = (RNG.normal(size=shape).astype(np.float32) for shape in ((1, 3, 8), (1, 3, 8), X.shape))
    dx, dr1, dr2 = run("RotaryMulGrad", X, r1, r2, dy)
    zero = np.zeros_like(r1)
    np.testing.assert_allclose(np.vdot(dx, X), np.vdot(run("RotaryMul", X, r1, r2), dy), rtol=1e-4)
    np.testing.assert_allclose(np.vdot(dr1, r1), np.vdot(run("RotaryMul", X, r1, zero), dy), rtol=1e-4)
    np.testing.assert_allclose(np.vdot(dr2, r2), np.vdot(run("RotaryMul", X, zero, r2), dy), rtol=1e-4)


def test_what_is_not_needed_is_not_written():
    _, dr1, dr2 = run("RotaryMulGrad", X, X, X, X, need_backward=False)
    assert (dr1 == 77).all()
    assert (dr2 == 77).all()


def test_an_odd_last_dim_is_refused():
    with pytest.raises(Refused, match="even"):
        bind("RotaryMul", [Spec(0, (2, 3), 2)] * 3)
    with pytest.raises(Refused, match="r2"):
        bind("RotaryMul", [Spec(0, (2, 4), 2), Spec(0, (2, 4), 2), Spec(0, (3, 4), 2)])


def turned_pairs(pairs, mode):
    """cos 0 and sin 1 turn each pair (a, b) to (-b, a)."""
    x = np.arange(1, 9, dtype=np.float32)[None]
    y = run("RotaryPositionEmbedding", x, np.zeros_like(x), np.ones_like(x), mode=mode)
    want = np.zeros(8)
    for first, second in pairs:
        want[first], want[second] = -x[0, second], x[0, first]
    np.testing.assert_array_equal(y[0], want)


def test_pairs_of_each_mode():
    turned_pairs([(0, 4), (1, 5), (2, 6), (3, 7)], 0)
    turned_pairs([(0, 1), (2, 3), (4, 5), (6, 7)], 1)
    turned_pairs([(0, 2), (1, 3), (4, 6), (5, 7)], 2)


def test_interleave_half_lays_pairs_out():
    x = np.arange(1, 9, dtype=np.float32)[None]
    plain, zero = np.ones_like(x), np.zeros_like(x)
    assert run("RotaryPositionEmbedding", x, plain, zero, mode=3).tolist() == [[1, 3, 5, 7, 2, 4, 6, 8]]
    assert run("RotaryPositionEmbedding", x, zero, plain, mode=3).tolist() == [[-2, -4, -6, -8, 1, 3, 5, 7]]
    half = x.astype(np.float16)
    assert run("InterleaveRope", half, half, 0 * half).tolist() == [[1, 6, 15, 28, 10, 24, 42, 64]]


@pytest.mark.parametrize("mode", range(4))
def test_the_gradients_of_each_mode_are_adjoint(mode):
    cos, sin, dy = (RNG.normal(size=shape).astype(np.float32) for shape in ((1, 3, 8), (1, 1, 8), X.shape))
    dx, dcos, dsin = run("RotaryPositionEmbeddingGrad", dy, cos, sin, X, mode=mode)

    def forward(x, c, s):
        return np.vdot(run("RotaryPositionEmbedding", x, c, s, mode=mode), dy)

    np.testing.assert_allclose(np.vdot(dx, X), forward(X, cos, sin), rtol=1e-4)
    np.testing.assert_allclose(np.vdot(dcos, cos), forward(X, cos, 0 * sin), rtol=1e-4)
    np.testing.assert_allclose(np.vdot(dsin, sin), forward(X, 0 * cos, sin), rtol=1e-4)
    _, dcos, dsin = run("RotaryPositionEmbeddingGrad", dy, cos, sin, mode=mode)
    assert (dcos == 77).all()
    assert (dsin == 77).all()


def test_query_and_key_in_place_with_different_heads():
    query, key = RNG.normal(size=(2, 3, 4, 8)).astype(np.float32), RNG.normal(size=(2, 3, 1, 8)).astype(np.float32)
    cos, sin = (RNG.normal(size=(1, 3, 1, 8)).astype(np.float32) for _ in range(2))
    want = [run("RotaryPositionEmbedding", one, cos, sin, mode=1) for one in (query, key)]
    outputs = [Spec(0, query.shape), Spec(0, key.shape)]
    call = bind("ApplyRotaryPosEmb", [query, key, cos, sin], outputs, rotary_mode="interleave")
    call.function()(query, key, cos, sin, query, key)
    np.testing.assert_array_equal(query, want[0])
    np.testing.assert_array_equal(key, want[1])


@pytest.mark.parametrize(
    ("op", "shapes", "attrs", "rule"),
    [
        ("RotaryPositionEmbedding", [(2, 6)] * 3, {"mode": 2}, "HA504"),
        ("RotaryPositionEmbedding", [(2, 8)] * 3, {"mode": 4}, "HA508"),
        ("RotaryPositionEmbedding", [(2, 8)] * 4, {}, "HA513"),
        ("RotaryPositionEmbedding", [(2, 8), (2, 4), (2, 8)], {}, "HA504"),
        ("ApplyRotaryPosEmb", [(2, 8)] * 4, {"rotary_mode": "third"}, "HA508"),
        ("ApplyRotaryPosEmb", [(2, 8), (2, 4), (2, 8), (2, 8)], {}, "HA504"),
    ],
)
def test_refusals(op, shapes, attrs, rule):
    with pytest.raises(Refused) as caught:
        bind(op, [Spec(0, shape) for shape in shapes], **attrs)
    assert caught.value.rule == rule
