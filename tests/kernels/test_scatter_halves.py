"""Halves combined with the rows of a target of their own type: in float32 one after the other, rounded once at the end."""

from __future__ import annotations

from collections.abc import Callable
from math import inf, nan
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from hostacl import _kernels

Array = Any
HALVES = [np.dtype(np.float16), np.dtype(ml_dtypes.bfloat16)]
STEPS: dict[str, Callable[[Any, Any], Any]] = {
    "scatter_add": np.add, "scatter_subtract": np.subtract, "scatter_max": np.maximum, "scatter_min": np.minimum,
}  # fmt: skip
WIDTHS = [1, 7, 8, 17, 64, 131, 600]
"""Rows that are widened all, rows that are grouped; whole vectors of every level, and some more; more than a block."""


def one_by_one(name: str, target: Array, rows: Array, updates: Array) -> Array:
    """What float32 gives, update by update, and then the half type."""
    wide = target.astype(np.float32)
    for row, update in zip(rows.tolist(), updates.astype(np.float32), strict=True):
        wide[row] = STEPS[name](wide[row], update)
    return wide.astype(target.dtype)


def special(rng: Any, shape: tuple[int, ...], dtype: Any) -> Array:
    """Ordinary numbers, with some that are not."""
    values = rng.standard_normal(shape).astype(np.float32) * 100
    odd = np.array([nan, inf, -inf, 0.0, -0.0, 65504, -65504, 6e-8, -6e-8, 3e38], np.float32)
    return np.where(rng.random(shape) < 0.1, rng.choice(odd, shape), values).astype(dtype)


def equal(got: Array, want: Array) -> tuple[Array, Array]:
    """The same values; both as float32."""
    one, other = got.astype(np.float32), want.astype(np.float32)
    np.testing.assert_array_equal(one, other)
    return one, other


def equal_bits(got: Array, want: Array) -> None:
    """The same values, the signs of zeros too; any NaN for a NaN."""
    one, other = equal(got, want)
    np.testing.assert_array_equal(np.signbit(one)[one == 0], np.signbit(other)[one == 0])


@pytest.mark.usefixtures("level")
@pytest.mark.parametrize("dtype", HALVES, ids=str)
@pytest.mark.parametrize("name", STEPS)
@pytest.mark.parametrize("width", WIDTHS)
def test_rows_with_several_updates_or_none(name: str, width: int, dtype: Any) -> None:
    rng = np.random.default_rng(width)
    target, updates = special(rng, (9, width), dtype), special(rng, (20, width), dtype)
    rows = rng.integers(1, 8, 20)  # the first and the last stay as they are
    want, before, out = one_by_one(name, target, rows, updates), target.copy(), np.zeros_like(target)
    loop = getattr(_kernels, name)
    same = equal if name in ("scatter_max", "scatter_min") else equal_bits  # which zero is the larger one is nobody's to say
    assert loop(target, rows, updates, out) is True
    same(out, want)
    equal_bits(target, before)
    loop(target, (rows - 9).astype(np.int32), updates, target)
    same(target, want)


@pytest.mark.usefixtures("level")
@pytest.mark.parametrize("dtype", HALVES, ids=str)
@pytest.mark.parametrize("width", [1, 12])
def test_targets_side_by_side_are_changed_at_the_same_rows(width: int, dtype: Any) -> None:
    rng = np.random.default_rng(width)
    target, updates = special(rng, (4, 5, width), dtype), special(rng, (4, 9, width), dtype)
    rows, out = rng.integers(0, 5, 9), np.zeros((4, 5, width), dtype)
    assert _kernels.scatter_add(target, rows, updates, out, 64, True) is True
    for got, each, more in zip(out, target, updates, strict=True):
        equal_bits(got, one_by_one("scatter_add", each, rows, more))
    with pytest.raises(ValueError, match=r"scatter_add\(\): updates .*a row for each of rows"):
        _kernels.scatter_add(target, rows, updates[:3], out)


@pytest.mark.parametrize("dtype", [np.int8, np.int64, np.float32, np.float64, np.bool_, np.complex64])
@pytest.mark.parametrize("name", ["scatter_add", "scatter_multiply", "scatter_assign"])
def test_other_types_side_by_side(name: str, dtype: Any) -> None:
    if name != "scatter_assign" and np.dtype(dtype).kind in "bc":
        return
    rng = np.random.default_rng(3)
    target, updates = (rng.integers(0, 3, shape).astype(dtype) for shape in ((6, 4, 2), (6, 7, 2)))
    rows, out, want = np.array([3, 0, -1, 1, 1, 1, -4], np.int32), np.empty_like(target), target.copy()
    step = {"scatter_add": lambda a, b: a + b, "scatter_multiply": lambda a, b: a * b, "scatter_assign": lambda a, b: b}[name]
    for each, more in zip(want, updates, strict=True):
        for row, update in zip(rows.tolist(), more, strict=True):
            each[row] = step(each[row], update)
    assert getattr(_kernels, name)(target, rows, updates, out) is True
    np.testing.assert_array_equal(out, want)


@pytest.mark.usefixtures("level")
@pytest.mark.parametrize("dtype", [*HALVES, np.dtype(np.float32)], ids=str)
@pytest.mark.parametrize("name", STEPS)
def test_small_targets_of_single_elements(name: str, dtype: Any) -> None:
    """So many and so long as whole vectors of every level, and some more or less."""
    rng = np.random.default_rng(4)
    loop, step = getattr(_kernels, name), STEPS[name]
    same = equal if name in ("scatter_max", "scatter_min") else equal_bits
    sizes = (7, 5, 9), (8, 16, 16), (9, 1, 20), (16, 33, 5), (40, 100, 100), (21, 512, 64), (10, 513, 7), (8, 4, 0)
    for outer, length, count in sizes:
        target, updates = special(rng, (outer, length, 1), dtype), special(rng, (outer, count, 1), dtype)
        rows = rng.integers(0, length, count)
        wide = target.astype(np.float32)
        for i, row in enumerate(rows.tolist()):
            wide[:, row] = step(wide[:, row], updates[:, i].astype(np.float32))
        out = np.full_like(target, 77)
        assert loop(target, rows, updates, out) is True
        same(out, wide.astype(dtype))
        assert loop(target, rows, updates, target) is True
        same(target, out)


@pytest.mark.usefixtures("two_threads")
@pytest.mark.parametrize("dtype", [*HALVES, np.dtype(np.float32)], ids=str)
@pytest.mark.parametrize("shape", [(5000, 64), (8, 5000, 1), (3, 5000, 24)])
def test_two_threads_give_the_same(shape: tuple[int, ...], dtype: Any) -> None:
    rng = np.random.default_rng(len(shape))
    rows = rng.integers(0, 5000, 9000)
    target, updates = (rng.standard_normal(one).astype(dtype) for one in (shape, (*shape[:-2], 9000, shape[-1])))
    both, alone = np.empty_like(target), np.empty_like(target)
    _kernels.scatter_add(target, rows, updates, both)
    before = _kernels.use_threads(1)
    _kernels.scatter_add(target, rows, updates, alone)
    _kernels.use_threads(before)
    equal_bits(both, alone)


@pytest.mark.usefixtures("level")
@pytest.mark.parametrize("dtype", [*HALVES, np.dtype(np.float32)], ids=str)
@pytest.mark.parametrize("name", ["scatter_add", "scatter_subtract"])
@pytest.mark.parametrize("width", [8, 37, 300])
def test_crowded_rows_are_added_in_double(name: str, width: int, dtype: Any) -> None:
    rng = np.random.default_rng(width)
    target, updates = rng.standard_normal((4, width)).astype(dtype), rng.standard_normal((90, width)).astype(dtype)
    target[2], updates[-2], updates[-1] = -0.0, 1, -1
    target[3, 0], updates[0, 1], updates[0, 2] = inf, nan, inf
    rows = np.array([0] * 70 + [1] * 18 + [2] * 2)
    rows[:3] = 0
    sign = 1 if name == "scatter_add" else -1
    want = target.astype(np.float64)
    want[0] += sign * updates[:70].astype(np.float64).sum(0)
    out = np.empty_like(target)
    assert getattr(_kernels, name)(target, rows, updates, out, 64) is False
    assert getattr(_kernels, name)(target, rows, updates, out, 64, True) is True
    exact = want[0].astype(dtype).astype(np.float64)
    error = np.abs(out[0].astype(np.float64) - want[0])
    plain = np.isfinite(want[0])
    assert (error[plain] <= np.abs(exact - want[0])[plain] + 1e-14).all()  # rounded once
    np.testing.assert_array_equal(out[0, 1:3].astype(float), want[0, 1:3])
    few = np.empty_like(target)
    getattr(_kernels, name)(target, rows[70:], updates[70:], few)
    equal_bits(out[1:], few[1:])


@pytest.mark.parametrize("dtype", [*HALVES, np.dtype(np.float32)], ids=str)
def test_a_crowded_zero_keeps_its_sign_where_nothing_comes_to_it(dtype: Any) -> None:
    target, updates = np.full((1, 8), -0.0, dtype), np.zeros((6, 8), dtype)
    assert _kernels.scatter_add(target, np.zeros(6, np.int64), updates, target, 5, True) is True
    assert np.signbit(target.astype(np.float32)).all()


@pytest.mark.parametrize("width", [0, 1, 8])
@pytest.mark.parametrize("dtype", HALVES, ids=str)
def test_nothing_to_do(width: int, dtype: Any) -> None:
    target, none, out = np.ones((3, width), dtype), np.zeros(0, np.int64), np.zeros((3, width), dtype)
    assert _kernels.scatter_add(target, none, np.ones((0, width), dtype), out, 64, True) is True
    equal_bits(out, target)
    empty = np.ones((0, width), dtype)
    assert _kernels.scatter_max(empty, none, np.ones((0, width), dtype), empty) is True
    with pytest.raises(IndexError, match=r"rows\[0\] = 0"):
        _kernels.scatter_add(empty, np.array([0]), np.ones((1, width), dtype), empty)


@pytest.mark.parametrize("dtype", HALVES, ids=str)
def test_memory_that_is_shared_or_not_aligned(dtype: Any) -> None:
    memory = np.arange(64).astype(dtype).reshape(8, 8)
    want = one_by_one("scatter_add", memory, np.array([1, 2]), memory[:2].copy())
    _kernels.scatter_add(memory, np.array([1, 2]), memory[:2], memory)
    equal_bits(memory, want)
    raw = np.zeros(2 * 3 * 40 + 1, np.uint8)[1:].view(dtype).reshape(3, 40)
    updates = np.ones((2, 80), dtype)[:, ::2]
    _kernels.scatter_add(raw, np.array([2, 2]), updates, raw)
    assert raw.astype(float).sum(1).tolist() == [0, 0, 80]


def test_refusals() -> None:
    target = np.zeros((3, 8), np.float16)
    with pytest.raises(TypeError, match=r"scatter_multiply\(\): out has dtype float16; allowed: float32, float64, an int"):
        _kernels.scatter_multiply(target, np.array([0]), target[:1], target)
    with pytest.raises(IndexError, match=r"rows\[1\] = 3; allowed: -3 to 2"):
        _kernels.scatter_add(target, np.array([0, 3]), target[:2], target, 64, True)
    with pytest.raises(ValueError, match="two axes, or one more in front"):
        _kernels.scatter_add(target.reshape(-1), np.array([0]), target[:1], target.reshape(-1))
