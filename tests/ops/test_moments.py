"""Mean, variance and what is normalised with them, in parts: as in float64, whichever axes are 1, with little memory."""

from __future__ import annotations

import numpy as np
import pytest

from hostacl.ops import moments, pooling
from tests.ops.test_batches import peak

SHAPES = [
    ((1, 1, 4, 50, 60), (2, 3, 4)), ((1, 1, 1, 70, 90), (2, 3, 4)), ((3, 50, 60), (1, 2)), ((40, 60), (0,)),
    ((1, 30, 50), (2,)),
]


@pytest.mark.parametrize(("shape", "axes"), SHAPES)
def test_parts_give_the_whole(shape, axes, monkeypatch):
    monkeypatch.setattr(moments, "tiles", lambda x: pooling.tiles(x, 1000))
    x = np.random.default_rng(1).normal(3, 2, shape).astype(np.float32)
    wide = x.astype(np.float64)
    mean, variance = moments.moments(x, axes)
    np.testing.assert_allclose(mean, wide.mean(axes, keepdims=True), rtol=1e-12)
    np.testing.assert_allclose(variance, wide.var(axes, keepdims=True), rtol=1e-12)
    root = moments.inverse_root(variance, 1e-5)
    y = moments.rescaled(x, mean, root, np.float64(2), np.full((1,) * len(shape), 3.0))
    np.testing.assert_allclose(y, (wide - mean) * root * 3 + 2, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("shape", [(), (1,), (1, 1, 1)])
def test_one_element(shape):
    x = np.full(shape, 5, np.float32)
    mean, variance = moments.moments(x, tuple(range(len(shape))))
    assert (mean == 5).all()
    assert (variance == 0).all()
    assert moments.rescaled(x, mean, np.float64(1)).shape == shape


@pytest.mark.parametrize("shape", [(1, 1, 2048, 1024), (1, 8, 512, 512)])
def test_a_single_image_is_normalised_with_little_beside_its_result(shape, monkeypatch):
    monkeypatch.setattr(moments, "tiles", lambda x: pooling.tiles(x, 1 << 18))
    x = np.ones(shape, np.float32)

    def run() -> None:
        mean, variance = moments.moments(x, tuple(range(1, x.ndim)))
        moments.rescaled(x, mean, moments.inverse_root(variance, 1e-5))

    assert peak(run) < x.nbytes + (6 << 20)
