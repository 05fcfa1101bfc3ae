"""Norms without parameters: known values and refusals; softmax with a mask of bytes."""

from __future__ import annotations

import numpy as np
import pytest

from hostacl.errors import Refused
from hostacl.tensors.spec import TensorSpec
from tests.ops.calling import bind, run

X = np.random.default_rng(2).standard_normal((2, 3, 4, 5)).astype(np.float32)


def test_the_mean_of_all_pixels():
    np.testing.assert_allclose(run("GlobalAveragePool", X), X.mean(axis=(2, 3), keepdims=True), rtol=1e-5, atol=1e-7)
    with pytest.raises(Refused, match="has 2 dims; allowed: 3 or more"):
        bind("GlobalAveragePool", [X[0, 0]])


@pytest.mark.parametrize(("over", "attrs"), [((2, 3), {}), ((1, 2, 3), {"across_channels": True})])
def test_mean_and_deviation_are_taken_away(over, attrs):
    y = run("MVN", X, **attrs)
    np.testing.assert_allclose(y.mean(axis=over), 0, atol=1e-6)
    np.testing.assert_allclose(y.std(axis=over), 1, rtol=1e-5)
    only = run("MVN", X, normalize_variance=False, **attrs)
    np.testing.assert_allclose(only, X - X.mean(axis=over, keepdims=True), atol=1e-6)


def test_axes_are_told_in_the_second_form():
    np.testing.assert_allclose(run("MVNV2", X).mean(axis=(0, 2, 3)), 0, atol=1e-6)
    with pytest.raises(Refused, match="HA509"):
        bind("MVNV2", [X], axes=[4])


def test_a_mask_of_bytes_drops_elements():
    x, mask = np.zeros((1, 4), np.float16), np.array([1, 0, 1, 0], np.uint8)
    y, dropped = run("SoftmaxV2WithDropOutDoMaskV3D", x, mask, keep_prob=0.5)
    np.testing.assert_array_equal(y, [[0.25] * 4])
    np.testing.assert_array_equal(dropped, [[0.5, 0, 0.5, 0]])
    with pytest.raises(Refused, match="needed: 4 elements"):
        bind("SoftmaxV2WithDropOutDoMaskV3D", [x, mask[:3]], keep_prob=0.5)


def test_the_first_quantised_product():
    x, scale = np.full((1, 2), 3, np.int8), np.array([int(np.float32(0.25).view(np.uint32))], np.uint64)
    y = run("QuantBatchMatmul", x, x, np.array([2], np.int32), scale, outputs=[TensorSpec(1, (1, 1))], adj_x2=True)
    assert y == 5
