"""Rows of few elements, which are reduced many at a time: every length, against float64 and exact arithmetic."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from hostacl import _kernels

pytestmark = pytest.mark.usefixtures("level")

Array = Any
BF16 = np.dtype(ml_dtypes.bfloat16)
HALVES = [np.dtype(np.float16), BF16]
NARROW = [*HALVES, np.dtype(np.float32)]
LENGTHS = range(1, 71)
EPS = {np.dtype(np.float16): 2.0**-11, BF16: 2.0**-8, np.dtype(np.float32): 2.0**-24}
EXTREMES: dict[str, Callable[..., Any]] = {"axis_max": np.max, "axis_min": np.min}


def reduced(name: str, x: Array, *divisor: float) -> Array:
    """The results of rows, as float64."""
    out = np.full((len(x), 1), 77, x.dtype)
    getattr(_kernels, name)(x[:, :, None], out, *divisor)
    return out[:, 0].astype(np.float64)


def rows(length: int, dtype: Any, count: int = 37) -> Array:
    rng = np.random.default_rng(length)
    return (rng.choice([-1, 1], (count, length)) * rng.uniform(0.5, 1.5, (count, length))).astype(np.float32).astype(dtype)


@pytest.mark.parametrize("dtype", NARROW, ids=str)
@pytest.mark.parametrize("length", LENGTHS)
def test_every_length(length: int, dtype: Any) -> None:
    x = rows(length, dtype)
    wide = x.astype(np.float64)
    for name, function in EXTREMES.items():
        np.testing.assert_array_equal(reduced(name, x), function(wide, axis=1))
    rtol, atol = EPS[dtype] * 1.01 + 1e-7, length * 2e-7
    np.testing.assert_allclose(reduced("axis_sum", x), wide.sum(axis=1), rtol=rtol, atol=atol)
    np.testing.assert_allclose(reduced("axis_sum", x, float(length)), wide.mean(axis=1), rtol=rtol, atol=atol)
    np.testing.assert_allclose(reduced("axis_product", x), wide.prod(axis=1), rtol=EPS[dtype] * 1.01)


@pytest.mark.parametrize("dtype", NARROW, ids=str)
@pytest.mark.parametrize("count", [1, 2, 15, 16, 17, 31, 600])
def test_any_number_of_rows(count: int, dtype: Any) -> None:
    for length in (2, 3, 8, 13, 33):
        x = np.random.default_rng(count).integers(-3, 4, (count, length)).astype(dtype)
        wide = x.astype(np.float64)
        np.testing.assert_array_equal(reduced("axis_sum", x), wide.sum(axis=1))
        for name, function in EXTREMES.items():
            np.testing.assert_array_equal(reduced(name, x), function(wide, axis=1))


@pytest.mark.parametrize("dtype", NARROW, ids=str)
@pytest.mark.parametrize("length", range(1, 41))
def test_a_nan_and_infinities_at_every_place(length: int, dtype: Any) -> None:
    for odd in (np.nan, -np.nan, np.inf, -np.inf):
        x = rows(length, dtype, length + 1)
        x[range(length), range(length)] = odd  # the last row has none
        wide = x.astype(np.float64)
        for name, function in EXTREMES.items():
            np.testing.assert_array_equal(reduced(name, x), function(wide, axis=1))
        np.testing.assert_allclose(reduced("axis_sum", x), wide.sum(axis=1), rtol=EPS[dtype] * 1.01 + 1e-7, atol=length * 2e-7)
        np.testing.assert_allclose(reduced("axis_product", x), wide.prod(axis=1), rtol=EPS[dtype] * 1.01)
    x = np.full((3, length), -np.inf, dtype)
    x[1] = np.inf
    np.testing.assert_array_equal(reduced("axis_max", x), [-np.inf, np.inf, -np.inf])
    np.testing.assert_array_equal(reduced("axis_min", x), [-np.inf, np.inf, -np.inf])
    x[2, -1] = np.inf
    want = np.nan if length > 1 else np.inf
    np.testing.assert_array_equal(reduced("axis_sum", x), [-np.inf, np.inf, want])


@pytest.mark.parametrize("dtype", NARROW, ids=str)
@pytest.mark.parametrize("length", [2, 3, 4, 7, 8, 12, 16, 31, 32, 33, 64])
def test_zeros(length: int, dtype: Any) -> None:
    """A sum of -0 is +0, as that of an empty row; a product has the sign of its factors; an extreme is a zero."""
    x = np.full((20, length), -0.0, dtype)
    x[5:, 0] = 0.0
    got = reduced("axis_sum", x)
    assert (got == 0).all()
    assert not np.signbit(got).any()
    for name in EXTREMES:
        assert (reduced(name, x) == 0).all()
    x[:, 1:] = -2.0
    got = reduced("axis_product", x)
    assert (got == 0).all()
    np.testing.assert_array_equal(np.signbit(got), np.signbit(x.astype(np.float64).prod(axis=1)))


@pytest.mark.parametrize("dtype", HALVES, ids=str)
@pytest.mark.parametrize("length", [2, 3, 5, 8, 13, 16, 24, 32, 33, 60])
def test_results_all_over_the_type_are_rounded_once(length: int, dtype: Any) -> None:
    """Bits at random: products and means that are subnormal, halfway between two, beyond the type."""
    rng = np.random.default_rng(length)
    bits = rng.integers(0, 1 << 16, (300, length), np.uint16).view(dtype)
    x = np.where(np.isfinite(bits.astype(np.float64)), bits, dtype.type(1.5))
    near = rng.choice([1, 1, 1, 1 + 2 * EPS[dtype], 1.5, 0.75, 2.0**-4], (300, length)).astype(dtype)
    for source in (x, near, (near * dtype.type(2.0**-5)).astype(dtype)):
        factors = source.astype(np.longdouble)
        want = np.empty(len(source), dtype)
        _kernels.convert(factors.prod(axis=1).astype(np.float64), want)  # tested apart
        np.testing.assert_array_equal(reduced("axis_product", source), want.astype(np.float64))
    total = near.astype(np.float64).sum(axis=1)  # exact in float32
    mean = np.empty(len(near), dtype)
    _kernels.convert(total / length, mean)
    np.testing.assert_array_equal(reduced("axis_sum", near, float(length)), mean.astype(np.float64))


@pytest.mark.parametrize("dtype", NARROW, ids=str)
def test_memory_ends_with_the_last_row(dtype: Any) -> None:
    """What lies behind the rows has no part in the results."""
    few = np.arange(16) % 4
    for length in (2, 3, 5, 8, 21, 40):
        room = np.full(16 * length + 200, np.nan, dtype)
        x = room[: 16 * length].reshape(16, length)
        x[:] = few[:, None]
        np.testing.assert_array_equal(reduced("axis_max", x), few)
        np.testing.assert_array_equal(reduced("axis_sum", x), few * length)


def test_every_level_gives_the_same_bits() -> None:
    before = _kernels.simd_level()
    for dtype in NARROW:
        for length in LENGTHS:
            x, found = rows(length, dtype), set()
            for name in _kernels.simd_levels():
                _kernels.use_simd_level(name)
                found.add(b"".join(reduced(loop, x).tobytes() for loop in ("axis_sum", "axis_product")))
            assert len(found) == 1
    _kernels.use_simd_level(before)
