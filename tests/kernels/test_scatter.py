"""Rows of updates combined with rows of a target, against loops over Python numbers."""

from __future__ import annotations

from collections.abc import Callable
from math import inf, isnan, nan
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from hostacl import _kernels

DTYPES = [np.float32, np.float64, np.int8, np.uint8, np.int16, np.uint16, np.int32, np.uint32, np.int64, np.uint64]
MEANINGS: dict[str, Callable[[Any, Any], Any]] = {
    "scatter_add": lambda a, b: a + b, "scatter_subtract": lambda a, b: a - b, "scatter_multiply": lambda a, b: a * b,
    "scatter_max": max, "scatter_min": min, "scatter_assign": lambda a, b: b,
}  # fmt: skip


def wrapped(value: Any, dtype: Any) -> Any:
    kind = np.dtype(dtype)
    if kind.kind == "f":
        return value
    low = int(np.iinfo(kind).min)
    return (int(value) - low) % (1 << 8 * kind.itemsize) + low


HALVES = [np.dtype(np.float16), np.dtype(ml_dtypes.bfloat16)]


@pytest.mark.usefixtures("level")
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", MEANINGS)
@pytest.mark.parametrize("width", [1, 3, 64])
def test_one_after_the_other(name: str, width: int, dtype: Any) -> None:
    rng = np.random.default_rng(width)
    low, high = (-9, 9) if np.dtype(dtype).kind == "f" else (np.iinfo(dtype).min, np.iinfo(dtype).max)
    whole = np.int64 if np.dtype(dtype).kind == "f" else dtype
    target, updates = (rng.integers(low, high, (size, width), whole, endpoint=True).astype(dtype) for size in (5, 12))
    rows = rng.integers(0, 5, 12)
    want = target.tolist()
    for row, update in zip(rows.tolist(), updates.tolist(), strict=True):
        want[row] = [wrapped(MEANINGS[name](a, b), dtype) for a, b in zip(want[row], update, strict=True)]
    before, out = target.copy(), np.empty_like(target)
    assert getattr(_kernels, name)(target, rows, updates, out) is True
    assert out.tolist() == want
    assert np.array_equal(target, before)
    negative = np.where(rows % 2, rows - 5, rows).astype(np.int32)
    assert getattr(_kernels, name)(target, negative, updates, target) is True
    assert target.tolist() == want


@pytest.mark.usefixtures("level")
@pytest.mark.parametrize("dtype", HALVES, ids=str)
@pytest.mark.parametrize("name", [name for name in MEANINGS if name != "scatter_assign"])
@pytest.mark.parametrize("width", [1, 37, 64])
def test_halves_are_widened_into_float32(name: str, width: int, dtype: Any) -> None:
    rng = np.random.default_rng(width)
    target, updates = (rng.standard_normal((size, width)).astype(dtype) for size in (5, 300))
    rows, out, want = rng.integers(0, 5, 300), np.empty((5, width), np.float32), np.empty((5, width), np.float32)
    getattr(_kernels, name)(target, rows, updates, out)
    getattr(_kernels, name)(target.astype(np.float32), rows, updates.astype(np.float32), want)
    np.testing.assert_array_equal(out, want)


@pytest.mark.usefixtures("level")
@pytest.mark.parametrize("dtype", [*HALVES, np.dtype(np.float32)], ids=str)
@pytest.mark.parametrize("name", [name for name in MEANINGS if name != "scatter_assign"])
@pytest.mark.parametrize("width", [0, 1, 37, 1500])
def test_floats_are_widened_into_float64(name: str, width: int, dtype: Any) -> None:
    rng = np.random.default_rng(width)
    target, updates = (rng.standard_normal((size, width)).astype(dtype) for size in (5, 60))
    rows, out, want = rng.integers(0, 5, 60), np.empty((5, width)), np.empty((5, width))
    getattr(_kernels, name)(target, rows, updates, out)
    getattr(_kernels, name)(target.astype(np.float64), rows, updates.astype(np.float64), want)
    np.testing.assert_array_equal(out, want)
    if width == 1:
        getattr(_kernels, name.replace("scatter", "elements"))(target, rows[:, None], updates, 0, out)
        np.testing.assert_array_equal(out, want)


@pytest.mark.usefixtures("level")
@pytest.mark.parametrize("dtype", [np.float32, np.int8])
@pytest.mark.parametrize("name", MEANINGS)
@pytest.mark.parametrize("axis", [0, 1, 2])
def test_elements_at_their_own_coordinates_but_for_one(name: str, axis: int, dtype: Any) -> None:
    rng = np.random.default_rng(axis)
    shape = [4, 10, 8]
    shape[axis] *= 4
    target, indices = rng.integers(-9, 9, (5, 10, 9)).astype(dtype), rng.integers(-4, 5, shape)
    updates = rng.integers(-2, 3, shape).astype(dtype)
    want = target.tolist()
    for place in np.ndindex(*shape):
        at = list(place)
        at[axis] = int(indices[place])
        line = want[at[0]][at[1]]
        line[at[2]] = wrapped(MEANINGS[name](line[at[2]], updates[place].item()), dtype)
    loop = getattr(_kernels, name.replace("scatter", "elements"))
    for numbers in (indices, indices.astype(np.int32)):
        out = np.empty_like(target)
        assert loop(target, numbers, updates, axis, out) is True
        assert out.tolist() == want


def test_a_nan_is_larger_and_smaller_than_all() -> None:
    for loop, other in ((_kernels.scatter_max, -inf), (_kernels.scatter_min, inf)):
        target = np.array([[nan], [1], [other]], np.float32)
        loop(target, np.array([0, 1, 2, 2]), np.array([[1], [nan], [2], [2]], np.float32), target)
        assert [isnan(one) for (one,) in target.tolist()] == [True, True, False]
        assert target[2, 0] == 2


@pytest.mark.parametrize("dtype", [np.bool_, np.float16, np.complex64, np.complex128])
def test_bytes_of_any_type_are_assigned(dtype: Any) -> None:
    target, updates = np.zeros((3, 2), dtype), np.arange(1, 5).reshape(2, 2).astype(dtype)
    _kernels.scatter_assign(target, np.array([2, 0]), updates, target)
    np.testing.assert_array_equal(target, np.array([updates[1], [0, 0], updates[0]], dtype))


def test_updates_of_the_targets_own_memory_are_read_first() -> None:
    memory = np.arange(8, dtype=np.float32).reshape(4, 2)
    _kernels.scatter_add(memory, np.array([1, 2]), memory[:2], memory)
    assert memory.tolist() == [[0, 1], [2, 4], [6, 8], [6, 7]]
    rows = np.array([1, 0])
    assert _kernels.scatter_assign(np.array([[5], [6]]), rows, np.array([[7], [8]]), rows[:, None]) is True
    assert rows.tolist() == [8, 7]


def test_a_sum_stops_where_a_row_gets_too_many() -> None:
    target = np.zeros((2, 3), np.float32)
    assert _kernels.scatter_add(target, np.array([1, 0, 1, 1]), np.ones((4, 3), np.float32), target, 3) is True
    assert target.tolist() == [[1] * 3, [3] * 3]
    assert _kernels.scatter_add(target, np.array([1, 0, 1, 1, 1]), np.ones((5, 3), np.float32), target, 3) is False
    assert _kernels.elements_add(target, np.ones((5, 3), np.int32), np.ones((5, 3), np.float32), 0, target, 4) is False
    assert target.tolist() == [[1] * 3, [3] * 3]
    large, rows = np.zeros((1 << 17, 1), np.float32), np.arange(0, 1 << 17, 1 << 16)  # two that share a bucket
    for times, limit, done in ((3, 3, True), (3, 2, False), (4, 7, True)):
        many = np.repeat(rows, times)
        assert _kernels.scatter_add(large, many, np.ones((many.size, 1), np.float32), large, limit) is done
    assert large[rows].tolist() == [[7], [7]]
    with pytest.raises(ValueError, match="limit = 255; allowed: 0 to 254"):
        _kernels.scatter_add(target, np.array([1]), np.ones((1, 3), np.float32), target, 255)


def test_refusals() -> None:
    target, updates = np.zeros((3, 2), np.float32), np.ones((2, 2), np.float32)
    out = target.copy()
    for wrong in (-4, 3, 2**62, -(2**62)):
        with pytest.raises(IndexError, match=rf"scatter_add\(\): rows\[1\] = {wrong}; allowed: -3 to 2"):
            _kernels.scatter_add(target, np.array([0, wrong]), updates, out)
        with pytest.raises(IndexError, match=rf"elements_add\(\): indices\[3\] = {wrong}; allowed: -3 to 2"):
            _kernels.elements_add(target, np.array([[0, -3], [2, wrong]]), updates, 0, out)
    with pytest.raises(TypeError, match=r"scatter_max\(\): rows has dtype int16; allowed: int32, int64"):
        _kernels.scatter_max(target, np.array([0, 1], np.int16), updates, out)
    with pytest.raises(ValueError, match=r"scatter_min\(\): updates .*a row for each of rows"):
        _kernels.scatter_min(target, np.array([0]), updates, out)
    with pytest.raises(TypeError, match=r"scatter_assign\(\): updates has dtype int8; allowed: the dtype of target"):
        _kernels.scatter_assign(target, np.array([0, 1]), updates.astype(np.int8), out)
    with pytest.raises(TypeError, match=r"scatter_add\(\): out has dtype bool"):
        _kernels.scatter_add(target != 0, np.array([0, 1]), updates != 0, out != 0)
    with pytest.raises(TypeError, match=r"scatter_add\(\): out has dtype int64; allowed: the dtype of target, or a wider"):
        _kernels.scatter_add(target, np.array([0, 1]), updates, out.astype(np.int64))
    with pytest.raises(ValueError, match=r"elements_add\(\): indices .*no larger than it"):
        _kernels.elements_add(target, np.zeros((4, 2), np.int64), np.ones((4, 2), np.float32), 1, out)
    with pytest.raises(ValueError, match=r"elements_add\(\): axis = 2; allowed: 0 to 1"):
        _kernels.elements_add(target, np.zeros((2, 2), np.int64), updates, 2, out)
    assert not out.any()
