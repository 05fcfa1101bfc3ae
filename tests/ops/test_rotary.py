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
