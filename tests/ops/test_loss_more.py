"""Further losses and activations: known values and refusals."""

from __future__ import annotations

import numpy as np
import pytest

from hostacl.errors import Refused
from tests.ops.calling import bind, run

X = np.array([1.0, 2.0, 3.0], np.float32)


def test_half_of_the_squares():
    assert run("L2Loss", X) == 7


def test_poisson_with_and_without_logarithm():
    y = np.array([0.0, 1.0, 4.0], np.float32)
    np.testing.assert_allclose(run("PoissonNllLoss", X, y, reduction="none"), np.exp(X) - y * X, rtol=1e-6)
    total = run("PoissonNllLoss", X, y, log_input=False, reduction="sum")
    np.testing.assert_allclose(total, np.sum(X - y * np.log(X + 1e-8)), rtol=1e-5)
    stirling = 4 * np.log(4) - 4 + 0.5 * np.log(8 * np.pi)
    found = run("PoissonNllLoss", X, y, full=True, reduction="none")
    np.testing.assert_allclose(found, np.exp(X) - y * X + [0, 0, stirling], rtol=1e-6)


def test_vectors_of_one_direction_and_of_none():
    pair, target = np.array([[3.0, 4.0], [0.0, 0.0]], np.float32), np.array([1.0, 1.0], np.float32)
    np.testing.assert_allclose(run("CosineEmbeddingLoss", pair, 2 * pair, target, reduction="none"), [0, 1], atol=1e-6)
    apart = run("CosineEmbeddingLoss", pair, pair, -target, margin=0.25, reduction="none")
    np.testing.assert_allclose(apart, [0.75, 0], atol=1e-6)


def test_celu_in_both_forms():
    x = np.array([-1.0, 2.0], np.float32)
    np.testing.assert_allclose(run("Celu", x, alpha1=2.0, alpha2=0.5, alpha3=3.0), [2 * np.expm1(-2.0), 6], rtol=1e-6)
    np.testing.assert_allclose(run("Celu", x, alpha=2.0), [2 * np.expm1(-0.5), 2], rtol=1e-6)


def test_softplus_of_large_numbers_is_finite():
    np.testing.assert_allclose(run("BNLL", np.array([-200.0, 0, 200.0], np.float32)), [0, np.log(2), 200], rtol=1e-6)


def test_refusals():
    with pytest.raises(Refused, match="reduction = 'max'; allowed: none, mean, sum"):
        bind("PoissonNllLoss", [X, X], reduction="max")
    with pytest.raises(Refused, match="alpha2 = 0; allowed: any other number"):
        bind("Celu", [X], alpha2=0.0)
    with pytest.raises(Refused, match="axis 1 holds the vectors"):
        bind("CosineEmbeddingLoss", [X, X, X])
