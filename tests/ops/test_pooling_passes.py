"""Pooling in passes: windows of every kind against a loop over windows, and what float32 sums must not lose."""

from __future__ import annotations

import itertools

import ml_dtypes
import numpy as np
import pytest

from hostacl.tensors.spec import TensorSpec
from tests.ops.calling import CODES, bind, run

NCHW, NHWC = 0, 1


def looped(x, function, k, s, pads, count):
    """The windows of a (N, C, H, W) tensor one by one: function of those elements that are inside."""
    y = np.empty((*x.shape[:2], *count), np.float64)
    for i, j in itertools.product(*map(range, count)):
        top, left = i * s[0] - pads[0], j * s[1] - pads[2]
        rows, columns = (slice(max(at, 0), max(at + size, 0)) for at, size in zip((top, left), k, strict=True))
        y[..., i, j] = function(x[:, :, rows, columns].astype(np.float64), axis=(2, 3))
    return y


@pytest.mark.parametrize("dtype", [np.float32, np.float16, np.float64])
@pytest.mark.parametrize("layout", [NCHW, NHWC])
@pytest.mark.parametrize(
    ("k", "s", "pads"),
    [
        ((3, 3), (1, 1), [0, 0, 0, 0]),
        ((3, 3), (2, 2), [1, 1, 1, 1]),
        ((2, 5), (3, 1), [0, 1, 4, 2]),
        ((1, 2), (1, 9), [0, 0, 0, 0]),
        ((9, 9), (1, 1), [8, 8, 8, 8]),
        ((11, 13), (1, 1), [0, 0, 0, 0]),
        ((1, 1), (1, 1), [0, 0, 0, 0]),
        ((4, 7), (1, 8), [3, 0, 0, 6]),
    ],
)
def test_windows_as_a_loop_gives_them(dtype, layout, k, s, pads):
    x = np.random.default_rng(3).normal(size=(2, 3, 11, 13)).astype(dtype)
    count = [(size + pads[2 * at] + pads[2 * at + 1] - k[at]) // s[at] + 1 for at, size in enumerate((11, 13))]
    order = "NCHW" if layout == NCHW else "NHWC"
    attrs = {"ksize": [1, 1, *k], "strides": [1, 1, *s], "pads": pads, "padding_mode": "CALCULATED", "data_format": order}
    if layout == NHWC:
        attrs.update(ksize=[1, *k, 1], strides=[1, *s, 1])
    sent = x if layout == NCHW else np.ascontiguousarray(np.moveaxis(x, 1, -1))
    for op, function, more in (("MaxPoolV3", np.max, {}), ("AvgPoolV2", np.mean, {"exclusive": True})):
        y = run(op, sent, layout=layout, **attrs, **more)
        got = y if layout == NCHW else np.moveaxis(y, -1, 1)
        want = looped(x, function, k, s, pads, count)
        eps = float(ml_dtypes.finfo(dtype).eps)
        np.testing.assert_allclose(got.astype(np.float64), want, rtol=eps, atol=0 if op == "MaxPoolV3" else 2e-7)


def test_a_sum_may_overflow_where_the_mean_does_not():
    x = np.full((1, 1, 4, 4), 3e38, np.float32)
    y = run("AvgPoolV2", x, ksize=[1, 1, 2, 2], strides=[1, 1, 1, 1])
    np.testing.assert_array_equal(y, np.full((1, 1, 3, 3), np.float32(3e38)))


def test_infinity_and_nan_stay_in_their_windows():
    x = np.ones((1, 2, 3, 5), np.float32)
    x[0, 0, 0, 4], x[0, 1, 2, 0] = np.inf, np.nan
    for op in ("AvgPoolV2", "MaxPoolV3"):
        y = run(op, x, ksize=[1, 1, 1, 2], strides=[1, 1, 1, 1])
        want = np.ones((2, 3, 4))
        want[0, 0, 3], want[1, 2, 0] = np.inf, np.nan
        np.testing.assert_array_equal(y[0], want)


def test_large_windows_lose_no_digits():
    x = (np.random.default_rng(5).random((1, 1, 50, 50)) + 100).astype(np.float32)
    y = run("AvgPoolV2", x, ksize=[1, 1, 45, 45], strides=[1, 1, 5, 5])
    want = looped(x, np.mean, (45, 45), (5, 5), [0] * 4, (2, 2))
    np.testing.assert_array_equal(y, want.astype(np.float32))


def test_whole_planes_and_large_tensors():
    x = np.random.default_rng(6).normal(size=(1, 64, 80, 72)).astype(np.float32)
    common = {"ksize": [1, 1, 1, 1], "strides": [1, 1, 1, 1], "global_pooling": True}
    np.testing.assert_array_equal(run("MaxPoolV3", x, **common)[..., 0, 0], x.max(axis=(2, 3)))
    mean = x.mean(axis=(2, 3), dtype=np.float64)
    np.testing.assert_allclose(run("AvgPoolV2", x, **common)[..., 0, 0], mean, rtol=1e-6, atol=1e-7)
    y = run("MaxPoolV3", x, ksize=[1, 1, 2, 2], strides=[1, 1, 2, 2])
    np.testing.assert_array_equal(y, x.reshape(1, 64, 40, 2, 36, 2).max(axis=(3, 5)))


@pytest.mark.parametrize("dtype", [np.float16, np.float32])
def test_means_in_place_whose_sums_are_too_large_start_from_the_input(dtype):
    x = np.random.default_rng(7).uniform(-1, 1, (2, 3, 6, 6)).astype(dtype)
    x[0, 1, 2, 2:4] = np.inf if dtype is np.float16 else np.finfo(np.float32).max
    spec, attrs = TensorSpec(CODES[np.dtype(dtype)], x.shape, 0), {"ksize": [1, 1, 3, 3], "strides": [1, 1, 1, 1]}
    call = bind("AvgPoolV2", [spec], [spec], layout=0, padding_mode="SAME", exclusive=False, **attrs)
    apart, shared = np.empty_like(x), x.copy()
    with np.errstate(all="ignore"):
        call.function()(x, apart)
        call.function()(shared, shared)
    around = np.pad(x.astype(np.float64), ((0, 0), (0, 0), (1, 1), (1, 1)))
    with np.errstate(all="ignore"):
        want = np.lib.stride_tricks.sliding_window_view(around, (3, 3), axis=(2, 3)).mean((-1, -2))
    np.testing.assert_allclose(apart, want, rtol=2e-3, atol=1e-3)
    np.testing.assert_array_equal(shared, apart)
