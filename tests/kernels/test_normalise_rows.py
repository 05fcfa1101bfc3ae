"""Rows normalised by their own statistics: float64 says what they are."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

from hostacl import _kernels

RNG = np.random.default_rng(5)


def wanted(x, gamma, beta, epsilon, centred):
    wide = x.astype(np.float64)
    mean = wide.mean(-1, keepdims=True) if centred else np.zeros((*x.shape[:-1], 1))
    spread = np.square(wide - mean).mean(-1, keepdims=True)
    y = (wide - mean) / np.sqrt(spread + epsilon)
    y = y if gamma is None else y * gamma.astype(np.float64)
    return y if beta is None else y + beta.astype(np.float64), mean[..., 0], spread[..., 0]


def run(x, gamma=None, beta=None, epsilon=1e-5, centred=True, inverse=False, out=None):
    y = np.empty_like(x) if out is None else out
    mean, second = (np.empty(x.shape[:-1], np.float32) for _ in range(2))
    _kernels.normalise_rows(x, gamma, beta, y, epsilon, mean, second, centred, inverse)
    return y, mean, second


@pytest.mark.parametrize("dtype", [np.float32, np.float16, ml_dtypes.bfloat16])
@pytest.mark.parametrize("width", [1, 3, 16, 17, 64, 1000, 1025, 3000])
@pytest.mark.parametrize("centred", [True, False])
def test_rows(dtype, width, centred):
    x = (RNG.standard_normal((5, width)) + 0.5).astype(dtype)
    gamma, beta = (RNG.standard_normal(width).astype(np.float32) for _ in range(2))
    y, mean, variance = run(x, gamma, beta, centred=centred)
    exact, middle, spread = wanted(x, gamma, beta, 1e-5, centred)
    near = 5e-6 if dtype == np.float32 else 2 * float(ml_dtypes.finfo(dtype).eps)
    np.testing.assert_allclose(y.astype(np.float64), exact, rtol=near, atol=near)
    if centred:
        np.testing.assert_allclose(mean, middle, rtol=1e-6, atol=1e-6)
    np.testing.assert_allclose(variance, spread, rtol=2e-6, atol=1e-12)


@pytest.mark.parametrize("shift", [1e4, -3e5])
def test_a_large_mean_costs_no_digits(shift):
    x = (RNG.standard_normal((4, 999)) + shift).astype(np.float32)
    y, mean, second = run(x, inverse=True)
    exact, middle, spread = wanted(x, None, None, 1e-5, True)
    np.testing.assert_allclose(y, exact, rtol=3e-6, atol=3e-6)
    np.testing.assert_allclose(mean, middle, rtol=1e-7)
    np.testing.assert_allclose(second, 1 / np.sqrt(spread + 1e-5), rtol=3e-6)


@pytest.mark.parametrize("scale", [1e30, 1e38, 1e-25, 1e-38])
def test_squares_that_leave_the_range_of_float32(scale):
    x = (RNG.standard_normal((3, 40)) * scale).astype(np.float32)
    y, _, _ = run(x, epsilon=0.0)
    np.testing.assert_allclose(y, wanted(x, None, None, 0.0, True)[0], rtol=1e-5, atol=1e-6)


def test_rows_of_one_value_give_beta():
    x = np.full((2, 9), 7.25, np.float32)
    beta = np.arange(9, dtype=np.float32)
    y, mean, variance = run(x, None, beta)
    np.testing.assert_array_equal(y, np.stack([beta, beta]))
    np.testing.assert_array_equal(mean, [7.25, 7.25])
    np.testing.assert_array_equal(variance, [0, 0])


def test_nan_and_infinity_stay_in_their_row():
    x = np.ones((3, 4), np.float32)
    x[0, 1], x[1, 2] = np.nan, np.inf
    y, _, _ = run(x)
    assert np.isnan(y[0]).all()
    assert np.isnan(y[1]).all()
    assert np.isfinite(y[2]).all()


def test_in_place_and_halves_into_floats():
    x = RNG.standard_normal((6, 33)).astype(np.float32)
    exact = wanted(x, None, None, 1e-5, True)[0]
    run(x, out=x)
    np.testing.assert_allclose(x, exact, rtol=5e-6, atol=5e-6)
    half = RNG.standard_normal((6, 33)).astype(np.float16)
    y, _, _ = run(half, out=np.empty((6, 33), np.float32))
    np.testing.assert_allclose(y, wanted(half, None, None, 1e-5, True)[0], rtol=5e-6, atol=5e-6)


def test_every_level_gives_the_same_bits():
    x = RNG.standard_normal((7, 1031)).astype(np.float32)
    before, results = _kernels.simd_level(), []
    try:
        for level in _kernels.simd_levels():
            _kernels.use_simd_level(level)
            results.append(run(x)[0].tobytes())
    finally:
        _kernels.use_simd_level(before)
    assert len(set(results)) == 1


def test_refusals():
    x = np.ones((2, 3), np.float32)
    with pytest.raises(ValueError, match="gamma"):
        run(x, np.ones(2, np.float32))
    with pytest.raises(TypeError, match="beta"):
        run(x, None, np.ones(3))
    with pytest.raises(ValueError, match="not empty"):
        run(np.ones((2, 0), np.float32))
    with pytest.raises(TypeError, match="float16, bfloat16, float32"):
        run(np.ones((2, 3)))
