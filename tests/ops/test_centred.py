"""Deviations, sums of squares and logarithms of sums: every form that the native loops take, and those that they leave."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest

from hostacl.config import override
from tests.ops.calling import run

Array = Any
HALVES = [np.dtype(np.float16), np.dtype(ml_dtypes.bfloat16)]
TOLERANCE = {"float16": 1e-3, "bfloat16": 8e-3, "float32": 2e-6}
AXES = [[0], [1], [2], [0, 1], [1, 2], [0, 2], [-1, 0], []]


def close(got: Array, want: Array, dtype: Any) -> None:
    np.testing.assert_allclose(np.asarray(got).astype(float), want, rtol=TOLERANCE[str(np.dtype(dtype))])


@pytest.mark.parametrize("dtype", [*HALVES, np.dtype(np.float32)], ids=str)
@pytest.mark.parametrize("axes", AXES, ids=str)
@pytest.mark.parametrize("keep", [False, True])
def test_over_any_axes(keep: bool, axes: list[int], dtype: Any) -> None:
    x = np.random.default_rng(0).uniform(0.5, 3, (4, 6, 5)).astype(dtype)
    wide, over = x.astype(float), tuple(axes) or (0, 1, 2)
    if dtype != HALVES[1]:
        std, mean = run("ReduceStd", x, dim=axes, keepdim=keep)
        close(std, wide.std(axis=over, ddof=1, keepdims=keep), dtype)
        close(mean, wide.mean(axis=over, keepdims=keep), dtype)
    about = wide.mean(axis=over, keepdims=True).astype(dtype)
    spread = np.square(wide - about.astype(float)).sum(axis=over, keepdims=keep) / (x.size / about.size - 1)
    for given in (about, np.broadcast_to(about, x.shape).copy()):
        close(run("ReduceStdWithMean", x, given, dim=axes, keepdim=keep), np.sqrt(spread), dtype)
        inverse = run("ReduceStdWithMean", x, given, dim=axes, keepdim=keep, invert=True, epsilon=0.5)
        close(inverse, 1 / np.sqrt(spread + 0.5), dtype)
        if dtype != HALVES[1]:
            close(run("ReduceStdV2Update", x, given, dim=axes, keepdim=keep, if_std=False), spread, dtype)
    if axes:
        place = np.array(axes, np.int32)
        if dtype != HALVES[1]:
            summed = run("ReduceLogSum", x, place, const=[1], keep_dims=keep)
            close(summed, np.log(wide.sum(axis=over, keepdims=keep)), dtype)
        summed = run("ReduceLogSumExp", x, place, const=[1], keep_dims=keep)
        close(summed, np.log(np.exp(wide).sum(axis=over, keepdims=keep)), dtype)
    if axes and dtype != HALVES[1]:
        close(run("SquareSumV1", x, axis=axes, keep_dims=keep), np.square(wide).sum(axis=over, keepdims=keep), dtype)


@pytest.mark.parametrize("scale", [2.0**-100, 2.0**100, 2.0**126])
def test_squares_that_float32_does_not_hold(scale: float) -> None:
    x = (np.array([[1, 2, 3.5], [1, 1, 1]]) * scale).astype(np.float32)
    want = x.astype(float).std(axis=1, ddof=1)
    close(run("ReduceStd", x, dim=[1])[0], want, np.float32)
    mean = x.mean(axis=1, keepdims=True, dtype=float).astype(np.float32)
    close(run("ReduceStdWithMean", x, mean, dim=[1])[:1], want[:1], np.float32)


def test_what_is_not_finite() -> None:
    x = np.array([[1, np.inf], [-np.inf, -np.inf], [np.nan, 1], [-np.inf, 2], [80000, 80001]], np.float32)
    got = run("ReduceLogSumExp", x, np.array([1], np.int32), const=[1])
    np.testing.assert_allclose(got, [np.inf, -np.inf, np.nan, 2, 80001 + np.log1p(np.exp(-1))], rtol=1e-7)
    assert np.isnan(run("ReduceStd", x, dim=[1])[0][:3]).all()
    assert run("ReduceLogSum", np.array([[0, 0], [-1, 0]], np.float32), np.array([1], np.int32), const=[1])[0] == -np.inf
    assert run("ReduceStd", np.ones((2, 1), np.float16), dim=[1])[0].tolist() == pytest.approx([np.nan] * 2, nan_ok=True)


def test_saturating_products() -> None:
    x = np.full((1, 4), 60000, np.float16)
    assert np.isinf(run("SquareSumV1", x, axis=[1])).all()
    with override(soc="Ascend310P"):
        assert run("SquareSumV1", x, axis=[1]).tolist() == [65504]


def test_a_result_in_the_memory_of_x() -> None:
    x = np.arange(6, dtype=np.float16)
    assert run("SquareSumV1", x.reshape(1, 6), axis=[0]).tolist() == np.square(np.arange(6.0)).tolist()
