"""Batch normalisation: worked values, the forms clients call, refusals."""

from __future__ import annotations

import numpy as np
import pytest

from hostacl.errors import Refused
from hostacl.tensors.spec import TensorSpec as Spec
from tests.ops.calling import bind, run, spec

NCHW, NHWC = 0, 1
X = np.arange(12, dtype=np.float32).reshape(2, 3, 1, 2)
ONES, ZEROS = np.ones(3, np.float32), np.zeros(3, np.float32)


def test_training_as_the_formula_says():
    y, mean, variance, saved_mean, saved_variance, _ = run("BatchNorm", X, ONES * 2, ONES, layout=NCHW, data_format="NCHW")
    expected_mean, expected = X.mean(axis=(0, 2, 3)), X.var(axis=(0, 2, 3))
    np.testing.assert_allclose(mean, expected_mean)
    np.testing.assert_allclose(variance, expected * 4 / 3, rtol=1e-6)
    np.testing.assert_allclose(saved_mean, expected_mean)
    np.testing.assert_allclose(saved_variance, expected, rtol=1e-6)
    exact = 2 * (X - expected_mean[:, None, None]) / np.sqrt(expected + 1e-4)[:, None, None] + 1
    np.testing.assert_allclose(y, exact, rtol=1e-5, atol=1e-6)


def test_inference_as_onnxruntime_calls_it_with_five_outputs():
    outputs = [Spec(0, X.shape, NCHW), *[Spec(0, (3,), NCHW)] * 4]
    mean, variance = np.array([1, 2, 3], np.float32), np.array([4, 9, 16], np.float32)
    results = run("BatchNorm", X, ONES, ZEROS, mean, variance, outputs=outputs, layout=NCHW, data_format="NCHW",
                  is_training=False, epsilon=0.0)  # fmt: skip
    np.testing.assert_allclose(results[0], (X - mean[:, None, None]) / np.array([2, 3, 4])[:, None, None], rtol=1e-6)
    for got, want in zip(results[1:], (mean, variance, mean, variance), strict=True):
        np.testing.assert_array_equal(got, want)


def test_channels_follow_the_format_then_data_format():
    x = np.moveaxis(X, 1, 3)
    plain = run("BatchNorm", X, ONES, ZEROS, layout=NCHW)[0]
    np.testing.assert_array_equal(np.moveaxis(run("BatchNorm", x.copy(), ONES, ZEROS, layout=NHWC)[0], 3, 1), plain)
    np.testing.assert_array_equal(run("BatchNorm", X, ONES, ZEROS, data_format="NCHW")[0], plain)
    np.testing.assert_array_equal(np.moveaxis(run("BatchNorm", x.copy(), ONES, ZEROS)[0], 3, 1), plain)


def test_one_element_a_channel_gives_no_nan():
    x = np.full((1, 1, 1, 1), 2, np.float16)
    one = np.ones((1, 1, 1, 1), np.float32)
    y, mean, variance, _, _ = run("BNTrainingUpdate", x, 2 * one, 4 * one, one, 0 * one, 0 * one, one, factor=0.1, epsilon=1e-5)
    np.testing.assert_allclose([mean.item(), variance.item(), y.item()], [0.2, 0.9, 0], rtol=1e-6)


@pytest.mark.parametrize("dtype", [np.float16, np.float32])
def test_running_statistics_are_updated_in_their_own_memory(dtype):
    rng = np.random.default_rng(4)
    x = rng.uniform(-1, 1, (2, 3, 4, 4)).astype(dtype)
    exact = x.astype(np.float64)
    total, squares = (one.sum(axis=(0, 2, 3)).astype(np.float32) for one in (exact, exact**2))
    scale, offset, mean, variance = (rng.uniform(0.5, 1, 3).astype(np.float32) for _ in range(4))
    before = mean.copy(), variance.copy()
    specs = [spec(one, NCHW) for one in (x, total, squares, scale, offset, mean, variance)]
    described = [spec(one, NCHW) for one in (x, mean, variance, mean, variance)]
    y, now, spread = np.zeros_like(x), np.zeros(3, np.float32), np.zeros(3, np.float32)
    call = bind("BNTrainingUpdate", specs, described, factor=0.1, epsilon=1e-5)
    call.function()(x, total, squares, scale, offset, mean, variance, y, mean, variance, now, spread)
    places = x.size / 3
    np.testing.assert_allclose(mean, 0.9 * before[0] + 0.1 * exact.mean(axis=(0, 2, 3)), rtol=1e-6)
    unbiased = exact.var(axis=(0, 2, 3)) * places / (places - 1)
    np.testing.assert_allclose(variance, 0.9 * before[1] + 0.1 * unbiased, rtol=1e-5)
    root = np.sqrt(exact.var(axis=(0, 2, 3)) + 1e-5)
    wanted = (exact - exact.mean(axis=(0, 2, 3), keepdims=True)) / root[:, None, None] * scale[:, None, None]
    np.testing.assert_allclose(y.astype(np.float64), wanted + offset[:, None, None], rtol=2e-3, atol=2e-3)


def test_reduce_takes_a_clients_epsilon():
    total, squares = run("BNTrainingReduce", X, layout=NCHW, epsilon=1e-5)
    np.testing.assert_array_equal(total, X.sum(axis=(0, 2, 3)))
    np.testing.assert_array_equal(squares, (X * X).sum(axis=(0, 2, 3)))


def test_large_mean_loses_no_digits():
    x = (np.random.default_rng(0).normal(size=(4, 1, 8, 8)) + 1000).astype(np.float32)
    exact = (x - x.mean(dtype=np.float64)) / x.std(dtype=np.float64)
    y = run("BatchNorm", x, ONES[:1], ZEROS[:1], layout=NCHW, epsilon=0.0)[0]
    np.testing.assert_allclose(y, exact, rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize(
    ("op", "inputs", "attrs", "rule"),
    [
        ("BatchNorm", [X, ONES[:2], ZEROS], {}, "HA504"),
        ("BatchNorm", [X, ONES, ZEROS], {"is_training": False}, "HA513"),
        ("BNInfer", [X, ONES, ONES, ONES, ONES[:1]], {"epsilon": 0.1}, "HA504"),
        ("BNInfer", [X, ONES, ONES, ONES, ONES], {}, "HA505"),
        ("BNTrainingReduce", [X[0, 0, 0, 0]], {}, "HA516"),
    ],
)
def test_refusals(op, inputs, attrs, rule):
    with pytest.raises(Refused) as caught:
        bind(op, [np.asarray(one) for one in inputs], layout=NCHW, **attrs)
    assert caught.value.rule == rule


def test_blocked_layout():
    stored = np.zeros((2, 1, 1, 2, 16), np.float32)
    stored[..., :3] = X.transpose(0, 2, 3, 1)[:, None]
    spec = Spec(0, X.shape, NCHW, storage_format=3, storage_shape=stored.shape)
    total, squares = np.zeros(3, np.float32), np.zeros(3, np.float32)
    bind("BNTrainingReduce", [spec], [Spec(0, (3,)), Spec(0, (3,))]).function()(stored, total, squares)
    np.testing.assert_array_equal(total, X.sum(axis=(0, 2, 3)))
