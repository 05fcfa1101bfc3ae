"""Reductions, places of extremes and running results along the middle of three axes, against exact arithmetic."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from itertools import accumulate
from math import isnan, prod
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from numpy.typing import NDArray

from hostacl import _kernels

pytestmark = pytest.mark.usefixtures("level")

Array = NDArray[Any]
BF16 = np.dtype(ml_dtypes.bfloat16)
NARROW = [np.dtype(np.float16), BF16, np.dtype(np.float32)]
FLOATS = [*NARROW, np.dtype(np.float64)]
SHAPES = [
    (1, 1, 1), (3, 7, 1), (2, 63, 1), (2, 64, 1), (3, 100, 1), (2, 1030, 1), (1, 5, 3), (2, 64, 5), (1, 1500, 3), (2, 600, 17),
    (1, 3, 63), (2, 130, 64), (2, 4, 515), (1, 67, 1025), (700, 5, 1), (5, 1, 9), (1, 0, 4), (0, 3, 2), (2, 3, 0),
    (2, 8, 70), (1, 16, 1030), (3, 31, 1), (3, 33, 1), (2, 300, 1), (5, 15, 1), (4, 16, 1),
]  # fmt: skip
EPS = {np.dtype(np.float16): 2.0**-11, BF16: 2.0**-8, np.dtype(np.float32): 2.0**-24, np.dtype(np.float64): 2.0**-46}


def lines(shape: tuple[int, ...], dtype: Any) -> Array:
    rng = np.random.default_rng(prod(shape) + 1)
    return (1 + rng.standard_normal(shape) / 16).astype(np.float32).astype(dtype)


def results(shape: tuple[int, ...], dtype: Any) -> Array:
    return np.full((shape[0], shape[2]), 77, dtype)


def exact(x: Array, combine: Callable[[list[Fraction]], Any]) -> Array:
    """A function of each line as exact fractions, as float64."""
    columns = x.astype(np.float64).transpose(0, 2, 1).reshape(x.shape[0] * x.shape[2], x.shape[1])
    found = [float(combine([Fraction(one) for one in line])) for line in columns.tolist()]
    return np.array(found).reshape(x.shape[0], x.shape[2])


@pytest.mark.parametrize("dtype", NARROW, ids=str)
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_sums_and_means(shape: tuple[int, ...], dtype: Any) -> None:
    x, out = lines(shape, dtype), results(shape, dtype)
    want = exact(x, sum)
    _kernels.axis_sum(x, out)
    np.testing.assert_allclose(out.astype(np.float64), want, rtol=EPS[dtype] * 1.01 + 1e-6)
    if shape[1]:
        wide = results(shape, np.float32)
        _kernels.axis_sum(x, wide, float(shape[1]))
        np.testing.assert_allclose(wide, want / shape[1], rtol=1e-6)


@pytest.mark.parametrize("dtype", NARROW, ids=str)
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_products(shape: tuple[int, ...], dtype: Any) -> None:
    x, out = lines(shape, dtype), results(shape, dtype)
    _kernels.axis_product(x, out)
    want = np.prod(x.astype(np.longdouble), axis=1)
    np.testing.assert_allclose(out.astype(np.float64), want.astype(dtype).astype(np.float64), rtol=2 * EPS[dtype] * 1.01)


@pytest.mark.parametrize("dtype", NARROW, ids=str)
@pytest.mark.parametrize("shape", [shape for shape in SHAPES if shape[1]], ids=str)
def test_extremes_and_their_places(shape: tuple[int, ...], dtype: Any) -> None:
    x = np.random.default_rng(1).integers(-5, 6, shape).astype(dtype)
    for loop, place, better in (
        (_kernels.axis_max, _kernels.axis_argmax, max), (_kernels.axis_min, _kernels.axis_argmin, min)
    ):  # fmt: skip
        out, found = results(shape, dtype), results(shape, np.int64)
        loop(x, out)
        place(x, found)
        for i in range(shape[0]):
            for j in range(shape[2]):
                line = x[i, :, j].astype(float).tolist()
                assert float(out[i, j]) == better(line)
                assert found[i, j] == line.index(better(line))


@pytest.mark.parametrize("dtype", NARROW, ids=str)
@pytest.mark.parametrize(("length", "inner"), [(5, 1), (100, 1), (70, 3), (9, 40), (6, 70), (40, 70)])
def test_a_nan_is_every_extreme_and_the_first_one_has_the_place(length: int, inner: int, dtype: Any) -> None:
    x = np.zeros((2, length, inner), dtype)
    x[:, length - 2 :, 0] = np.nan
    for loop, place in ((_kernels.axis_max, _kernels.axis_argmax), (_kernels.axis_min, _kernels.axis_argmin)):
        out, found = results(x.shape, dtype), results(x.shape, np.int64)
        loop(x, out)
        place(x, found)
        assert np.isnan(out[:, 0].astype(float)).all()
        assert (found[:, 0] == length - 2).all()
        assert (out[:, 1:].astype(float) == 0).all()


@pytest.mark.parametrize("shape", [(1, 4, 1), (1, 200, 1), (2, 4, 3), (1, 200, 600), (1, 8, 600)], ids=str)
def test_a_sum_that_overflows_on_the_way_is_right(shape: tuple[int, ...]) -> None:
    x = np.full(shape, 3e38, np.float32)
    x[:, shape[1] // 2 :] = -3e38
    x[:, 0] = 1.0
    out = results(shape, np.float32)
    _kernels.axis_sum(x, out)
    assert (out == np.float32(1.0 - np.float64(np.float32(3e38)))).all()
    x[:, 1] = np.inf
    _kernels.axis_sum(x, out)
    assert np.isposinf(out).all()


@pytest.mark.parametrize("dtype", NARROW, ids=str)
@pytest.mark.parametrize("inner", [1, 3])
@pytest.mark.parametrize("halves", [0, 1, 7])
def test_long_products_of_the_ends_of_a_type_come_back(dtype: Any, inner: int, halves: int) -> None:
    """The smallest number so often that float64 has long no room for the product, then as large ones: 1, and some halves."""
    info = ml_dtypes.finfo(dtype)
    down, up = -int(np.log2(float(info.smallest_subnormal))), int(info.maxexp) - 1
    line = np.repeat([2.0**-down, 2.0**up, 0.5], [up * 80, down * 80, halves]).astype(dtype)
    out = np.empty((1, 1, inner), dtype)
    _kernels.axis_product(np.repeat(line[None, :, None], inner, axis=2), out)
    assert (out.astype(np.float64) == 2.0**-halves).all()


def test_products_neither_overflow_nor_vanish_on_the_way() -> None:
    x = np.array([1e30, 1e30, 1e-30, 1e-30, 3], np.float32)
    for shape in ((1, 5, 1), (1, 5, 2), (1, 5, 70)):
        out = results(shape, np.float32)
        _kernels.axis_product(np.broadcast_to(x[None, :, None], shape), out)
        np.testing.assert_allclose(out, 3, rtol=1e-6)
    for shape in ((1, 3001, 1), (2, 3001, 3)):
        line = np.full(3001, 1.5, np.float32)
        line[::2], line[-1] = 2 / 3, 0.75
        line[:300], line[-301:-1] = 2.0**-60, 2.0**60
        out = results(shape, np.float32)
        _kernels.axis_product(np.broadcast_to(line[None, :, None], shape), out)
        np.testing.assert_allclose(out, 0.75, rtol=1e-4)
        for last, want in ((0, 0), (np.inf, np.inf), (np.nan, np.nan)):
            line[-1] = last
            _kernels.axis_product(np.broadcast_to(line[None, :, None], shape), out)
            np.testing.assert_array_equal(out, np.full(out.shape, want, np.float32))
    many = np.full((1, 256, 1), 65504, np.float16)
    many[0, ::2] = np.float16(2.0**-16)
    out = results(many.shape, np.float32)
    _kernels.axis_product(many, out)
    assert float(out[0, 0]) == pytest.approx((65504 / 65536) ** 128, rel=1e-6)


@pytest.mark.parametrize("dtype", NARROW, ids=str)
@pytest.mark.parametrize("rows", [1, 2, 3, 7, 8, 16])
def test_few_long_rows_are_rounded_once(rows: int, dtype: Any) -> None:
    """Values all over the type, so that many results are subnormal, halfway between two or out of range."""
    rng = np.random.default_rng(rows)
    word = np.dtype(f"u{dtype.itemsize}")
    x = rng.integers(0, np.iinfo(word).max, (1, rows, 4099), word).view(dtype)
    near = rng.integers(1, 60, (1, rows, 4099)).astype(np.float32).astype(dtype)  # exact ties
    plain = (rng.choice([-1, 1], x.shape) * rng.uniform(0.5, 2, x.shape)).astype(np.float32).astype(dtype)
    tiny = np.minimum(np.abs(x), dtype.type(3e-38))
    for source in (x, near, near * dtype.type(2.0**-20), plain, plain * dtype.type(2.0**-16), tiny):
        finite = np.isfinite(source.astype(np.float64)).all(axis=1)
        wide = source.astype(np.float64)
        out, mean, product = results(source.shape, dtype), results(source.shape, dtype), results(source.shape, dtype)
        _kernels.axis_sum(source, out)
        _kernels.axis_sum(source, mean, float(rows))
        _kernels.axis_product(source, product)
        total = np.add.reduce(source.astype(np.float32), axis=1)
        total = np.where(np.isfinite(total), total, wide.sum(axis=1)).astype(np.float64)
        for found, want in ((out, total), (mean, total / rows), (product, wide.prod(axis=1))):
            rounded = np.empty(want.shape, dtype)
            _kernels.convert(want, rounded)  # tested apart
            if dtype.itemsize == 2:
                np.testing.assert_array_equal(found[finite].view(word), rounded[finite].view(word))
            else:
                np.testing.assert_allclose(found[finite], rounded[finite], rtol=1e-6, atol=1e-45)


def so_far(line: list[float], better: Callable[[float, float], bool]) -> tuple[list[float], list[int]]:
    """The extreme so far of a line of Python numbers, and the place of its last occurrence."""
    values, places = [line[0]], [0]
    for place, one in enumerate(line[1:], 1):
        taken = isnan(one) or not (isnan(values[-1]) or better(values[-1], one))
        values.append(one if taken else values[-1])
        places.append(place if taken else places[-1])
    return values, places


@pytest.mark.parametrize("dtype", NARROW, ids=str)
@pytest.mark.parametrize("shape", [(2, 9, 1), (1, 700, 1), (1, 1, 1), (2, 5, 3), (1, 40, 530), (2, 0, 3)], ids=str)
@pytest.mark.parametrize("with_nan", [False, True])
def test_running_extremes_and_their_last_places(shape: tuple[int, ...], with_nan: bool, dtype: Any) -> None:
    x = np.random.default_rng(5).integers(-20, 20, shape).astype(np.float32)
    if with_nan:
        x[:, 1::3] = np.nan
    x = x.astype(dtype)
    for loop, better in ((_kernels.running_max, lambda a, b: a > b), (_kernels.running_min, lambda a, b: a < b)):
        values, places = np.full(shape, 77, dtype), np.full(shape, 77)
        loop(x, values, places)
        for i, j in np.ndindex(shape[0], shape[2] if shape[1] else 0):
            want, where = so_far(x[i, :, j].astype(float).tolist(), better)
            np.testing.assert_array_equal(values[i, :, j].astype(float), want)
            assert places[i, :, j].tolist() == where
        again = x.copy()
        loop(again, again, places)
        np.testing.assert_array_equal(again.view(np.uint8), values.view(np.uint8))


@pytest.mark.usefixtures("level")
@pytest.mark.parametrize("dtype", NARROW, ids=str)
@pytest.mark.parametrize("kind", ["up", "down", "zeros", "late NaN", "infinite"])
def test_running_extremes_of_whole_vectors(kind: str, dtype: Any) -> None:
    line = np.arange(100.0) / 4
    line = {
        "up": line, "down": -line, "zeros": np.where(np.arange(100) % 3 == 1, -0.0, 0.0),
        "late NaN": np.where(np.isin(np.arange(100), (40, 77)), np.nan, 5 + line % 3),
        "infinite": np.where(line == 7, np.inf, -np.inf),
    }[kind]  # fmt: skip
    x = line.astype(dtype).reshape(1, -1, 1)
    for loop, better in ((_kernels.running_max, lambda a, b: a > b), (_kernels.running_min, lambda a, b: a < b)):
        values, places = np.empty_like(x), np.empty(x.shape, np.int64)
        loop(x, values, places)
        want, where = so_far(line.tolist(), better)
        got = values.reshape(-1).astype(float)
        np.testing.assert_array_equal(got, want)
        assert places.reshape(-1).tolist() == where
        np.testing.assert_array_equal(np.signbit(got), np.signbit(line[where]))


@pytest.mark.parametrize("dtype", NARROW, ids=str)
@pytest.mark.parametrize("length", [*range(1, 41), 100, 133])
def test_running_extremes_of_every_length_with_a_nan_anywhere(length: int, dtype: Any) -> None:
    rng = np.random.default_rng(length)
    x = rng.choice([-np.inf, -2.5, -1, -0.0, 0.0, 1, 6e-8, -6e-8, np.inf], (length + 3, length)).astype(dtype)
    x[range(length), range(length)] = np.nan  # the last three rows have none
    x[-1] = np.sort(x[-1])
    lines = x.astype(float)
    for loop, better in ((_kernels.running_max, lambda a, b: a > b), (_kernels.running_min, lambda a, b: a < b)):
        values, places = np.full(x.shape, 77, dtype), np.full(x.shape, 77)
        loop(x[:, :, None], values[:, :, None], places[:, :, None])
        for row, line in enumerate(lines):
            want, where = so_far(line.tolist(), better)
            np.testing.assert_array_equal(values[row].astype(float), want)
            assert places[row].tolist() == where
            ordered = ~np.isnan(want)
            got = np.signbit(values[row].astype(float))
            np.testing.assert_array_equal(got[ordered], np.signbit(line[where])[ordered])
        again = x.copy()
        loop(again[:, :, None], again[:, :, None], places[:, :, None])
        np.testing.assert_array_equal(again.view(np.uint8), values.view(np.uint8))


def running(x: Array, operation: Callable[[Any, Any], Any], first: int, exclusive: bool, reverse: bool) -> Array:
    """The running result of exact fractions, line by line, as float64."""
    out = np.empty(x.shape)
    for i in range(x.shape[0]):
        for j in range(x.shape[2]):
            line = [Fraction(float(one)) for one in x[i, :, j]][:: -1 if reverse else 1]
            found = list(accumulate(line, operation, initial=Fraction(first)))
            out[i, :, j] = [float(one) for one in (found[:-1] if exclusive else found[1:])][:: -1 if reverse else 1]
    return out


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
@pytest.mark.parametrize("exclusive", [False, True])
@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize(
    "shape", [(2, 9, 1), (3, 16, 1), (3, 300, 1), (1, 1, 1), (2, 5, 3), (1, 40, 600), (2, 0, 3), (0, 3, 1)], ids=str
)
def test_running_sums_and_products(shape: tuple[int, ...], reverse: bool, exclusive: bool, dtype: Any) -> None:
    x = lines(shape, dtype)
    for loop, operation, first in (
        (_kernels.running_sum, lambda a, b: a + b, 0), (_kernels.running_product, lambda a, b: a * b, 1)
    ):  # fmt: skip
        if operation(1, 2) == 2 and x.size > 500:
            x = np.round(x.astype(np.float32) * 2).astype(dtype) / dtype.type(2)  # few digits: fractions stay short
        want, out = running(x, operation, first, exclusive, reverse), np.full(shape, 77, dtype)
        loop(x, out, exclusive, reverse)
        np.testing.assert_allclose(out.astype(np.float64), want, rtol=EPS[dtype] * 1.01 + (0 if dtype.itemsize > 2 else 2e-5))
        again = x.copy()
        loop(again, again, exclusive, reverse)
        np.testing.assert_array_equal(again.view(np.uint8), out.view(np.uint8))


def test_infinities_and_nan_stay_in_running_sums() -> None:
    x = np.zeros((1, 20, 1), np.float16)
    x[0, 3], x[0, 12] = np.inf, -np.inf
    out = np.empty_like(x)
    _kernels.running_sum(x, out, False, False)
    assert out[0, :, 0].astype(float).tolist()[:12] == [0.0] * 3 + [np.inf] * 9
    assert np.isnan(out[0, 12:]).all()


def test_results_have_the_same_bits_with_two_threads(two_threads: None) -> None:
    x = np.random.default_rng(3).standard_normal((600, 700, 2)).astype(np.float32)
    out, one = results(x.shape, np.float32), results(x.shape, np.float32)
    _kernels.axis_sum(x, out)
    _kernels.use_threads(1)
    _kernels.axis_sum(x, one)
    np.testing.assert_array_equal(out, one)


def test_every_level_gives_the_same_bits() -> None:
    x = np.random.default_rng(4).standard_normal((3, 777, 19)).astype(np.float32)
    row = np.ascontiguousarray(x.transpose(0, 2, 1)).reshape(57, 777, 1)
    before = _kernels.simd_level()
    few = np.random.default_rng(5).standard_normal((2, 7, 1029)).astype(np.float32)
    wide = [x, row, row[:, :37].copy(), row[:, :20].copy(), few]
    for source in (*wide, *(one.astype(np.float16) for one in wide)):
        for loop in (_kernels.axis_sum, _kernels.axis_product):
            found = set()
            for name in _kernels.simd_levels():
                _kernels.use_simd_level(name)
                out = results(source.shape, np.float32)
                loop(source, out)
                found.add(out.tobytes())
            assert len(found) == 1
    _kernels.use_simd_level(before)


def test_refusals() -> None:
    x, out = np.ones((2, 3, 4), np.float32), np.empty((2, 4), np.float32)
    with pytest.raises(ValueError, match=r"axis_sum\(\): x .*three axes"):
        _kernels.axis_sum(x[0], out)
    with pytest.raises(ValueError, match=r"axis_max\(\): x .*not empty"):
        _kernels.axis_max(x[:, :0], out)
    with pytest.raises(TypeError, match=r"axis_min\(\): x has dtype float64; allowed: float16, bfloat16, float32"):
        _kernels.axis_min(x.astype(np.float64), out)
    with pytest.raises(ValueError, match=r"axis_product\(\): out .*one contiguous element for each line"):
        _kernels.axis_product(x, out[:1])
    with pytest.raises(TypeError, match=r"axis_argmax\(\): out has dtype float32; allowed: int64"):
        _kernels.axis_argmax(x, out)
    with pytest.raises(TypeError, match=r"running_max\(\): places has dtype int32; allowed: int64"):
        _kernels.running_max(x, x.copy(), np.empty(x.shape, np.int32))
    with pytest.raises(ValueError, match=r"running_min\(\): values .*the shape of x, contiguous"):
        _kernels.running_min(x, x[:1].copy(), np.empty(x.shape, np.int64))
    with pytest.raises(TypeError, match=r"running_sum\(\): out has dtype float16; allowed: the dtype of x"):
        _kernels.running_sum(x, np.empty(x.shape, np.float16), False, False)
