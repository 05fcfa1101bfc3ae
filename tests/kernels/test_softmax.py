"""Functions over rows against float64 NumPy."""

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
TOLERANCE = {np.dtype(np.float16): 2.0**-11, BF16: 2.0**-8, np.dtype(np.float32): 2.0**-22}
COLUMNS = [1, 5, 16, 63, 64, 65, 1000, 1024, 1025, 2500]


def rows(columns: int, dtype: Any) -> Array:
    return (np.random.default_rng(columns).standard_normal((2, 3, columns)) * 3).astype(dtype)


def softmax(x: Array) -> Any:
    e = np.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("columns", COLUMNS)
def test_softmax(columns: int, dtype: Any) -> None:
    x = rows(columns, dtype)
    want = softmax(x.astype(np.float64))
    for to in {dtype, np.dtype(np.float32)}:
        out = np.empty(x.shape, to)
        _kernels.softmax(x, out)
        np.testing.assert_allclose(out.astype(np.float64), want, rtol=TOLERANCE[to] * 1.01, atol=2.0**-25)
        _kernels.log_softmax(x, out)
        np.testing.assert_allclose(out.astype(np.float64), np.log(want), rtol=TOLERANCE[to] * 1.01, atol=1e-6)
    _kernels.softmax(x, x)
    np.testing.assert_allclose(x.astype(np.float64), want, rtol=TOLERANCE[dtype] * 1.01, atol=2.0**-25)


def test_softmax_of_large_and_special_values() -> None:
    x = np.array([[1e4, 1e4 - 1, -1e4], [np.nan, 0, 1], [-np.inf, 0, 0], [-np.inf] * 3, [np.inf, 0, 0]], np.float32)
    out = np.empty_like(x)
    _kernels.softmax(x, out)
    np.testing.assert_allclose(out, softmax(x.astype(np.float64)), rtol=1e-6, equal_nan=True)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("columns", [63, 64, 79, 200])
def test_a_nan_or_a_largest_element_at_every_place(columns: int, dtype: Any) -> None:
    x = np.full((columns, columns), -np.inf, dtype)
    out = np.empty_like(x)
    for value in (np.nan, np.inf, 3.0):
        np.fill_diagonal(x, value)
        _kernels.softmax(x, out)
        with np.errstate(invalid="ignore"):
            want = softmax(x.astype(np.float64))
        np.testing.assert_array_equal(out.astype(np.float64), want)


@pytest.mark.parametrize("dtype", [BF16, np.dtype(np.float32)], ids=str)
@pytest.mark.parametrize("columns", COLUMNS[1:])
def test_log_softmax_of_nearly_all_of_the_sum_is_not_lost(columns: int, dtype: Any) -> None:
    x = np.linspace(-70, -20, 4 * columns).reshape(4, columns).astype(dtype)
    for row, top in enumerate((0, columns // 2, columns - 1, 3)):
        x[row, top] = 5
    others = np.sum(np.exp(x.astype(np.float64) - 5) * (x < 5), -1)
    out = np.empty_like(x)
    _kernels.log_softmax(x, out)
    np.testing.assert_allclose(out.max(-1).astype(np.float64), -np.log1p(others), rtol=TOLERANCE[dtype] + 1e-5)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("columns", COLUMNS)
def test_row_reductions(columns: int, dtype: Any) -> None:
    x = rows(columns, dtype)
    wide = x.astype(np.float64)
    first, second = np.empty((2, 3), np.float32), np.empty((2, 3), np.float32)
    _kernels.row_sum(x, first)
    np.testing.assert_allclose(first, wide.sum(-1), rtol=1e-6, atol=1e-6 * columns)
    _kernels.row_sum_of_squares(x, first)
    np.testing.assert_allclose(first, np.square(wide).sum(-1), rtol=1e-6)
    _kernels.row_max(x, first)
    np.testing.assert_array_equal(first, wide.max(-1))
    _kernels.row_moments(x, first, second)
    np.testing.assert_allclose(first, wide.mean(-1), rtol=1e-6, atol=1e-6)
    np.testing.assert_allclose(second, wide.var(-1), rtol=1e-6, atol=1e-12)


def test_moments_far_from_zero() -> None:
    x = (np.random.default_rng(1).standard_normal((4, 3000)) + 10_000).astype(np.float32)
    mean, variance = np.empty(4, np.float32), np.empty(4, np.float32)
    _kernels.row_moments(x, mean, variance)
    np.testing.assert_allclose(mean, x.astype(np.float64).mean(-1), rtol=1e-7)
    np.testing.assert_allclose(variance, x.astype(np.float64).var(-1), rtol=1e-5)


def test_a_long_sum_keeps_its_accuracy() -> None:
    x = np.full((1, 1_000_003), 0.1, np.float32)
    out = np.empty(1, np.float32)
    _kernels.row_sum(x, out)
    np.testing.assert_allclose(out[0], np.float64(np.float32(0.1)) * 1_000_003, rtol=2e-7)


def test_sums_do_not_depend_on_the_level(level: str) -> None:
    x = rows(3333, np.float32)
    got, want = np.empty((2, 3), np.float32), np.empty((2, 3), np.float32)
    _kernels.row_sum(x, got)
    _kernels.use_simd_level("scalar")
    _kernels.row_sum(x, want)
    np.testing.assert_array_equal(got.view(np.uint32), want.view(np.uint32))


def test_nan_and_strides_and_empty_axes() -> None:
    x = np.array([[1, np.nan, 3], [4, 5, 6]], np.float32)
    out = np.empty(2, np.float32)
    _kernels.row_max(x, out)
    np.testing.assert_array_equal(out, [np.nan, 6])
    strided = np.arange(24, dtype=np.float32).reshape(4, 6).T
    result = np.empty(6, np.float32)
    _kernels.row_sum(strided, result)
    np.testing.assert_array_equal(result, strided.sum(-1))
    _kernels.row_sum(np.empty((2, 0), np.float32), out)
    np.testing.assert_array_equal(out, [0, 0])
    _kernels.softmax(np.empty((0, 4), np.float16), np.empty((0, 4), np.float16))
    with pytest.raises(ValueError, match=r"row_max\(\): x has shape \(2, 0\); allowed: a last axis that is not empty"):
        _kernels.row_max(np.empty((2, 0), np.float32), out)
    with pytest.raises(ValueError, match=r"row_moments\(\): x has shape \(2, 0\)"):
        _kernels.row_moments(np.empty((2, 0), np.float32), out, out.copy())


def test_refusals_name_the_argument() -> None:
    x = np.zeros((2, 3), np.float16)
    with pytest.raises(TypeError, match=r"softmax\(\): out has dtype bfloat16; allowed: the dtype of x, float32"):
        _kernels.softmax(x, np.zeros((2, 3), BF16))
    with pytest.raises(TypeError, match=r"softmax\(\): x has dtype float64"):
        _kernels.softmax(np.zeros((2, 3)), np.zeros((2, 3)))
    with pytest.raises(ValueError, match=r"softmax\(\): out has shape \(3, 2\); allowed: the shape of x"):
        _kernels.softmax(x, np.zeros((3, 2), np.float16))
    with pytest.raises(ValueError, match=r"row_sum\(\): out has shape \(3,\); allowed: one contiguous element for each row"):
        _kernels.row_sum(x, np.zeros(3, np.float32))
    with pytest.raises(ValueError, match=r"softmax\(\): x has shape \(\)"):
        _kernels.softmax(np.zeros((), np.float16), np.zeros((), np.float16))
