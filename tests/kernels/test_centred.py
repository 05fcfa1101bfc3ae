"""Sums of squares and of powers of e about a centre, against float64."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest

from hostacl import _kernels

Array = Any
NARROW = [np.dtype(np.float16), np.dtype(ml_dtypes.bfloat16), np.dtype(np.float32)]
SHAPES = [
    (3, 7, 1), (2, 5000, 1), (90, 60, 1), (2, 40, 3), (1, 33, 130), (2, 9, 1100), (1, 1, 5), (70, 2, 2), (2, 0, 3), (0, 4, 2),
]  # fmt: skip
LOOPS = {"axis_squares": np.square, "axis_exponentials": np.exp}


@pytest.mark.usefixtures("level")
@pytest.mark.parametrize("dtype", NARROW, ids=str)
@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("name", LOOPS)
@pytest.mark.parametrize("about", ["nothing", "one a line", "one each"])
def test_against_float64(about: str, name: str, shape: tuple[int, ...], dtype: Any) -> None:
    rng = np.random.default_rng(len(about))
    x, lines = rng.standard_normal(shape).astype(dtype), (shape[0], 1, shape[2])
    one, every = rng.standard_normal(lines).astype(np.float32), rng.standard_normal(shape).astype(dtype)
    centre: Array = {"nothing": None, "one a line": one, "one each": every}[about]
    out = np.full(shape[0] * shape[2], 77.0)
    getattr(_kernels, name)(x, centre if about != "one a line" else centre.reshape(-1), out)
    apart = x.astype(float) - (0 if centre is None else centre.astype(float))
    want = LOOPS[name](apart).sum(axis=1).reshape(-1)
    np.testing.assert_allclose(out, want, rtol=2e-6)


@pytest.mark.usefixtures("level")
@pytest.mark.parametrize("dtype", NARROW, ids=str)
@pytest.mark.parametrize("shape", [(3, 70, 1), (3, 5, 1), (3, 70, 2)], ids=str)
def test_powers_of_what_is_above_the_centre_far_below_or_not_finite(shape: tuple[int, ...], dtype: Any) -> None:
    for odd in (5.0, -300.0, np.inf, -np.inf, np.nan):
        x = np.full(shape, -1.0, dtype)
        x[1, 3] = odd
        out = np.empty(shape[0] * shape[2])
        for centre in (None, np.full(out.shape, 0.5, np.float32)):
            _kernels.axis_exponentials(x, centre, out)
            want = np.exp(x.astype(float) - (0 if centre is None else 0.5)).sum(axis=1).reshape(-1)
            np.testing.assert_allclose(out, want, rtol=2e-6)


@pytest.mark.usefixtures("two_threads")
@pytest.mark.parametrize("shape", [(3000, 100, 1), (4, 300, 300), (3, 700, 1100)])
def test_two_threads_give_the_same(shape: tuple[int, ...]) -> None:
    x = np.random.default_rng(0).standard_normal(shape).astype(np.float16)
    both, alone = np.empty(shape[0] * shape[2]), np.empty(shape[0] * shape[2])
    _kernels.axis_squares(x, None, both)
    before = _kernels.use_threads(1)
    _kernels.axis_squares(x, None, alone)
    _kernels.use_threads(before)
    np.testing.assert_array_equal(both, alone)


@pytest.mark.parametrize("shape", [(1, 3, 1), (1, 3, 2)])
def test_special_values_and_views(shape: tuple[int, ...]) -> None:
    x = np.zeros(shape, np.float32)
    x[0, 1, 0] = np.inf
    out = np.empty(shape[2])
    _kernels.axis_squares(x, None, out)
    assert out.tolist() == [np.inf, 0][: shape[2]]
    _kernels.axis_squares(x, x, out)
    assert np.isnan(out[0])
    turned = np.arange(24, dtype=np.float32).reshape(4, 3, 2).transpose(2, 1, 0)
    out = np.empty(8)
    _kernels.axis_squares(turned, np.ones(16, np.float32)[::2], out)
    np.testing.assert_array_equal(out, np.square(turned.astype(float) - 1).sum(axis=1).reshape(-1))


def test_refusals() -> None:
    x, out = np.zeros((2, 3, 4), np.float32), np.empty(8)
    with pytest.raises(TypeError, match=r"axis_squares\(\): out has dtype float32; allowed: float64"):
        _kernels.axis_squares(x, None, out.astype(np.float32))
    with pytest.raises(ValueError, match=r"axis_squares\(\): out .*one element for each line of x"):
        _kernels.axis_squares(x, None, out[:7])
    with pytest.raises(TypeError, match=r"axis_exponentials\(\): centre has dtype float64; allowed: float32"):
        _kernels.axis_exponentials(x, out, out)
    with pytest.raises(TypeError, match=r"centre has dtype float16; allowed: the dtype of x"):
        _kernels.axis_exponentials(x, x.astype(np.float16), out)
    with pytest.raises(ValueError, match=r"centre .*one element for each line of x, or x's shape"):
        _kernels.axis_exponentials(x, out[:5].astype(np.float32), out)
    with pytest.raises(TypeError, match=r"x has dtype float64; allowed: float16, bfloat16, float32"):
        _kernels.axis_squares(x.astype(float), None, out)
