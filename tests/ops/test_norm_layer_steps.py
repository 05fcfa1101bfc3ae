"""Gradients of layer norm in two steps: together they are those in one; refusals, inference."""

from __future__ import annotations

import numpy as np
import pytest

from hostacl.errors import Refused
from hostacl.tensors.spec import TensorSpec as Spec
from tests.ops.calling import bind, run
from tests.ops.differences import derivative

RNG = np.random.default_rng(8)
X, DY = RNG.normal(size=(2, 3, 4, 5, 6))[:, 0].astype(np.float32), RNG.normal(size=(2, 3, 4, 5, 6))[:, 0].astype(np.float32)
GAMMA = RNG.uniform(0.5, 2, (5, 6)).astype(np.float32)
WIDE = X.astype(np.float64)
MEAN, VARIANCE = (one(WIDE, axis=(-2, -1), keepdims=True).astype(np.float32) for one in (np.mean, np.var))
NORMAL = (WIDE - MEAN) / np.sqrt(VARIANCE.astype(np.float64))


def close(got, want):
    np.testing.assert_allclose(got, want, rtol=2e-4, atol=2e-5)


def by_x():
    """The gradient of x by differences of the forward formula."""

    def loss(x):
        centred = x - x.mean(axis=(-2, -1), keepdims=True)
        return np.sum(centred / np.sqrt((centred**2).mean(axis=(-2, -1), keepdims=True)) * GAMMA * DY)

    return derivative(loss, WIDE)


def test_every_first_step_gives_the_gradient_of_x_and_x_normalised():
    want, rstd = by_x(), (1 / np.sqrt(VARIANCE)).astype(np.float32)
    close(run("LayerNormXBackprop", DY, X, VARIANCE, MEAN, GAMMA), want)
    for op, statistic in (("LayerNormXBackpropV2", VARIANCE), ("LayerNormXBackpropV3", rstd)):
        dx, normal = run(op, DY, X, statistic, MEAN, GAMMA)
        close(dx, want)
        close(normal, NORMAL)
        assert run(op, DY.astype(np.float16), X.astype(np.float16), statistic, MEAN, GAMMA)[1].dtype == np.float32


@pytest.mark.parametrize("shape", [(5, 6), (1, 6), (5, 1), (4, 5, 6), (6,)])
def test_the_second_step_sums_over_all_that_gamma_lacks(shape):
    start = X.ndim - len(shape)
    over = (*range(start), *(start + place for place, size in enumerate(shape) if size == 1))
    want = [np.sum(one, axis=over).reshape(shape) for one in (DY * NORMAL, DY.astype(np.float64))]
    for got, one in zip(
        run("LayerNormBetaGammaBackpropV2", DY, NORMAL.astype(np.float32), shape_gamma=list(shape)), want, strict=True
    ):
        close(got, one)


def test_both_steps_are_the_gradient_in_one():
    dx, normal = run("LayerNormXBackpropV2", DY, X, VARIANCE, MEAN, GAMMA)
    parts = (dx, *run("LayerNormBetaGammaBackpropV2", DY, normal, shape_gamma=[5, 6]))
    others = (dx, *run("LayerNormBetaGammaBackprop", DY, X, VARIANCE, MEAN, shape_gamma=[5, 6]))
    for one, other, whole in zip(parts, others, run("LayerNormGrad", DY, X, VARIANCE, MEAN, GAMMA), strict=True):
        close(one, whole)
        close(other, whole)


def test_what_does_not_fit_is_named():
    x, row = Spec(0, (2, 3, 4), 2), Spec(0, (2, 3, 1), 2)
    with pytest.raises(Refused, match=r"shape_gamma = \[5\]"):
        bind("LayerNormBetaGammaBackpropV2", [x, x], shape_gamma=[5])
    with pytest.raises(Refused, match=r"shape_gamma = \[\]"):
        bind("LayerNormBetaGammaBackpropV2", [x, x], shape_gamma=[])
    with pytest.raises(Refused, match="mean"):
        bind("LayerNormBetaGammaBackprop", [x, x, row, Spec(0, (2,), 2)], shape_gamma=[4])
    with pytest.raises(Refused, match="gamma"):
        bind("LayerNormXBackprop", [x, x, row, row, Spec(0, (3,), 2)])
    found = bind("LayerNormXBackpropV3", [Spec(1, (-1, 3), 2)] * 2 + [Spec(0, (-1, 1), 2)] * 2 + [Spec(0, (3,), 2)]).infer()
    assert [(one.dtype, one.shape) for one in found] == [(1, (-1, 3)), (0, (-1, 3))]
    found = bind("LayerNormBetaGammaBackpropV2", [Spec(1, (-1, 3), 2), Spec(0, (-1, 3), 2)], shape_gamma=[3]).infer()
    assert [(one.dtype, one.shape) for one in found] == [(1, (3,))] * 2
