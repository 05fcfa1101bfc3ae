"""Windows over the last three axes against a loop over places in float64."""

from itertools import product
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from numpy.typing import NDArray

from hostacl import _kernels

pytestmark = pytest.mark.usefixtures("level")

Array = NDArray[Any]
BF16 = np.dtype(ml_dtypes.bfloat16)
DTYPES = [np.dtype(np.float16), BF16, np.dtype(np.float32)]
ROUNDING = {np.dtype(np.float16): 2.0**-11, BF16: 2.0**-8, np.dtype(np.float32): 2.0**-22}

CASES = {
    "3x3": ((5, 1, 13, 17), (5, 1, 13, 17), (1, 3, 3), (1, 1, 1), (1, 1, 1), (0, 1, 1)),
    "3x3 by 2": ((5, 1, 23, 70), (5, 1, 12, 35), (1, 3, 3), (1, 2, 2), (1, 1, 1), (0, 1, 1)),
    "2x2 by 2": ((3, 1, 8, 8), (3, 1, 4, 4), (1, 2, 2), (1, 2, 2), (1, 1, 1), (0, 0, 0)),
    "beyond the end": ((3, 1, 7, 9), (3, 1, 4, 4), (1, 3, 4), (1, 2, 3), (1, 1, 1), (0, 0, 2)),
    "dilations": ((2, 1, 20, 40), (2, 1, 18, 13), (1, 3, 2), (1, 1, 3), (1, 2, 4), (0, 1, 1)),
    "three axes": ((2, 6, 7, 8), (2, 3, 6, 8), (3, 2, 3), (2, 1, 1), (1, 1, 1), (1, 0, 1)),
    "strides beyond the windows": ((2, 1, 20, 21), (2, 1, 4, 3), (1, 2, 1), (1, 6, 9), (1, 1, 1), (0, 0, 0)),
    "a long line": ((2, 1, 1, 3000), (2, 1, 1, 1500), (1, 1, 3), (1, 1, 2), (1, 1, 1), (0, 0, 1)),
    "many lines": ((1, 1, 4000, 3), (1, 1, 4000, 1), (1, 3, 3), (1, 1, 1), (1, 1, 1), (0, 1, 0)),
    "a long line, every place": ((1, 1, 1, 2100), (1, 1, 1, 2102), (1, 1, 5), (1, 1, 1), (1, 1, 1), (0, 0, 3)),
    "one column": ((2, 1, 37, 1), (2, 1, 19, 1), (1, 3, 3), (1, 2, 2), (1, 1, 1), (0, 1, 1)),
    "windows larger than the image": ((3, 1, 4, 5), (3, 1, 4, 5), (1, 9, 11), (1, 1, 1), (1, 1, 1), (0, 4, 5)),
    "wide padding": ((2, 1, 5, 40), (2, 1, 5, 40), (1, 5, 13), (1, 1, 1), (1, 1, 1), (0, 2, 6)),
    "wide padding by 2": ((2, 1, 5, 90), (2, 1, 3, 46), (1, 5, 13), (1, 2, 2), (1, 1, 1), (0, 2, 7)),
    "2x2 by 2, wide": ((2, 1, 6, 71), (2, 1, 3, 35), (1, 2, 2), (1, 2, 2), (1, 1, 1), (0, 0, 0)),
    "4 by 2": ((2, 1, 3, 75), (2, 1, 2, 38), (1, 2, 4), (1, 2, 2), (1, 1, 1), (0, 0, 1)),
    "5 by 2": ((2, 1, 3, 75), (2, 1, 2, 38), (1, 2, 5), (1, 2, 2), (1, 1, 1), (0, 0, 2)),
    "1 by 2": ((2, 1, 3, 75), (2, 1, 2, 38), (1, 1, 1), (1, 2, 2), (1, 1, 1), (0, 0, 0)),
    "dilated by 2": ((2, 1, 9, 75), (2, 1, 3, 36), (1, 3, 3), (1, 2, 2), (1, 2, 2), (0, 0, 1)),
    "3x3 by 3": ((2, 1, 10, 65), (2, 1, 4, 22), (1, 3, 3), (1, 3, 3), (1, 1, 1), (0, 1, 1)),
    "many rows in a window": ((1, 1, 65, 800), (1, 1, 2, 400), (1, 64, 1), (1, 1, 2), (1, 1, 1), (0, 0, 0)),
    "one element": ((4, 1, 1, 1), (4, 1, 1, 1), (1, 1, 1), (1, 1, 1), (1, 1, 1), (0, 0, 0)),
}


def elements(x: Array, place: tuple[int, ...], windows: Any) -> Array:
    """What each plane has inside one window, as (planes, elements)."""
    sizes, strides, dilations, before = windows
    axes = [
        [at for at in range(p * s - b, p * s - b + size * d, d) if 0 <= at < extent]
        for p, size, s, d, b, extent in zip(place, sizes, strides, dilations, before, x.shape[1:], strict=True)
    ]
    return x[np.ix_(range(x.shape[0]), *axes)].reshape(x.shape[0], -1).astype(np.float64)


def places(shape: tuple[int, ...]) -> Any:
    return product(*map(range, shape[1:]))


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("case", CASES)
def test_largest(case: str, dtype: Any) -> None:
    shape, to, *windows = CASES[case]
    x, out = np.random.default_rng(1).standard_normal(shape).astype(dtype), np.zeros(to, dtype)
    x.reshape(-1)[:: max(7, x.size // 20)] = np.nan
    assert _kernels.pool_max(x, out, *windows) is True
    for place in places(to):
        np.testing.assert_array_equal(out[(slice(None), *place)].astype(np.float64), elements(x, place, windows).max(-1))


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("stride", [1, 2, 3])
def test_a_nan_at_every_place(dtype: Any, stride: int) -> None:
    x, windows = np.zeros((1, 1, 3, 41), dtype), ((1, 2, 3), (1, 1, stride), (1, 1, 1), (0, 1, 1))
    out = np.zeros((1, 1, 3, 40 // stride + 1), dtype)
    for place in places(x.shape):
        x[(0, *place)] = np.nan
        assert _kernels.pool_max(x, out, *windows) is True
        want = [np.isnan(elements(x, one, windows)).any() for one in places(out.shape)]
        np.testing.assert_array_equal(np.isnan(out.astype(np.float64)).reshape(-1), want)
        x[(0, *place)] = 0


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("stride", [1, 2, 3])
def test_the_first_of_equal_elements(dtype: Any, stride: int) -> None:
    values, chances = [-1.0, -0.0, 0.0, np.inf, -np.inf], [0.4, 0.2, 0.2, 0.01, 0.19]
    x = np.random.default_rng(4).choice(values, (2, 1, 9, 80), p=chances).astype(dtype)
    out, windows = np.zeros((2, 1, 9, 79 // stride + 1), dtype), ((1, 3, 3), (1, 1, stride), (1, 1, 1), (0, 1, 1))
    assert _kernels.pool_max(x, out, *windows) is True
    for place in places(out.shape):
        part = elements(x, place, windows)
        want = part[np.arange(2), part.argmax(-1)]
        np.testing.assert_array_equal(out[(slice(None), *place)].astype(np.float64), want)
        np.testing.assert_array_equal(np.signbit(out[(slice(None), *place)]), np.signbit(want))


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("case", CASES)
def test_mean(case: str, dtype: Any) -> None:
    shape, to, *windows = CASES[case]
    x, out = np.random.default_rng(1).standard_normal(shape).astype(dtype), np.zeros(to, dtype)
    divisors = np.random.default_rng(2).uniform(1, 9, to[1:]).astype(np.float32)
    assert _kernels.pool_mean(x, out, *windows, divisors) is True
    for place in places(to):
        part, divisor = elements(x, place, windows), float(divisors[place])
        want, size = part.sum(-1) / divisor, abs(part).sum(-1) / divisor
        allowed = abs(want) * ROUNDING[out.dtype] + size * 2.0**-22 + 2.0**-25
        assert np.all(abs(out[(slice(None), *place)].astype(np.float64) - want) <= allowed)


def test_infinities_and_negative_zeros() -> None:
    x, windows = np.full((1, 1, 3, 3), -np.inf, np.float32), ((1, 2, 2), (1, 1, 1), (1, 1, 1), (0, 1, 1))
    out = np.zeros((1, 1, 4, 4), np.float32)
    assert _kernels.pool_max(x, out, *windows) is True
    assert (out == -np.inf).all()
    x[...] = -0.0
    assert _kernels.pool_max(x, out, *windows) is True
    assert np.signbit(out).all()


@pytest.mark.parametrize("value", [np.nan, np.inf, 3e38])
def test_sums_that_are_not_finite_are_told(value: float) -> None:
    x, out = np.ones((2, 1, 9, 40), np.float32), np.zeros((2, 1, 8, 39), np.float32)
    x[1, 0, 8, 38:] = value
    assert _kernels.pool_mean(x, out, (1, 2, 2), (1, 1, 1), (1, 1, 1), (0, 0, 0), np.ones((1, 8, 39), np.float32)) is False


def test_windows_that_are_too_large_are_not_done() -> None:
    x, out = np.ones((1, 1, 20, 20), np.float32), np.zeros((1, 1, 1, 1), np.float32)
    assert _kernels.pool_max(x, out, (1, 20, 20), (1, 1, 1), (1, 1, 1), (0, 0, 0)) is False


def test_threads_overlaps_strides_and_nothing() -> None:
    windows = ((1, 3, 3), (1, 1, 1), (1, 1, 1), (0, 1, 1))
    x = np.random.default_rng(3).standard_normal((70, 1, 30, 31)).astype(np.float32)
    want, out = np.empty_like(x), np.empty_like(x)
    before = _kernels.use_threads(1)
    _kernels.pool_max(x, want, *windows)
    _kernels.use_threads(3)
    _kernels.pool_max(np.asfortranarray(x), out, *windows)
    _kernels.use_threads(before)
    np.testing.assert_array_equal(out, want)
    _kernels.pool_max(x, x, *windows)
    np.testing.assert_array_equal(x, want)
    assert _kernels.pool_max(np.empty((0, 1, 3, 3), np.float32), np.empty((0, 1, 3, 3), np.float32), *windows) is True


def test_refusals_name_the_argument() -> None:
    x, windows = np.zeros((1, 1, 3, 3), np.float32), [(1, 3, 3), (1, 1, 1), (1, 1, 1), (0, 1, 1)]
    with pytest.raises(TypeError, match=r"pool_max\(\): x has dtype float64; allowed: float16, bfloat16, float32"):
        _kernels.pool_max(x.astype(np.float64), x, *windows)
    with pytest.raises(TypeError, match=r"pool_max\(\): out has dtype float16; allowed: the dtype of x"):
        _kernels.pool_max(x, x.astype(np.float16), *windows)
    with pytest.raises(ValueError, match=r"pool_max\(\): x has shape \(3, 3\); allowed: four dims"):
        _kernels.pool_max(x[0, 0], x, *windows)
    with pytest.raises(ValueError, match=r"pool_mean\(\): out has shape"):
        _kernels.pool_mean(x, np.zeros((2, 1, 3, 3), np.float32), *windows, np.ones(9, np.float32))
    with pytest.raises(ValueError, match=r"pool_max\(\): strides = \(1, 0, 1\); allowed: 3 numbers, each 1 or more"):
        _kernels.pool_max(x, x.copy(), windows[0], (1, 0, 1), *windows[2:])
    with pytest.raises(ValueError, match=r"pool_mean\(\): divisors has shape \(4,\); allowed: one element for each place"):
        _kernels.pool_mean(x, x.copy(), *windows, np.ones(4, np.float32))
