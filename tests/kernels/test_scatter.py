"""Rows of updates combined with rows of a target, against loops over Python numbers."""

from __future__ import annotations

from collections.abc import Callable
from math import inf, isnan, nan
from typing import Any

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
    getattr(_kernels, name)(target, rows, updates)
    assert target.tolist() == want


def test_a_nan_is_larger_and_smaller_than_all() -> None:
    for loop, other in ((_kernels.scatter_max, -inf), (_kernels.scatter_min, inf)):
        target = np.array([[nan], [1], [other]], np.float32)
        loop(target, np.array([0, 1, 2, 2]), np.array([[1], [nan], [2], [2]], np.float32))
        assert [isnan(one) for (one,) in target.tolist()] == [True, True, False]
        assert target[2, 0] == 2


@pytest.mark.parametrize("dtype", [np.bool_, np.float16, np.complex64, np.complex128])
def test_bytes_of_any_type_are_assigned(dtype: Any) -> None:
    target, updates = np.zeros((3, 2), dtype), np.arange(1, 5).reshape(2, 2).astype(dtype)
    _kernels.scatter_assign(target, np.array([2, 0]), updates)
    np.testing.assert_array_equal(target, np.array([updates[1], [0, 0], updates[0]], dtype))


def test_updates_of_the_targets_own_memory_are_read_first() -> None:
    memory = np.arange(8, dtype=np.float32).reshape(4, 2)
    _kernels.scatter_add(memory, np.array([1, 2]), memory[:2])
    assert memory.tolist() == [[0, 1], [2, 4], [6, 8], [6, 7]]


def test_a_sum_stops_where_a_row_gets_too_many() -> None:
    target = np.zeros((2, 3), np.float32)
    assert _kernels.scatter_add_up_to(target, np.array([1, 0, 1, 1]), np.ones((4, 3), np.float32), 3) is True
    assert target.tolist() == [[1] * 3, [3] * 3]
    assert _kernels.scatter_add_up_to(target, np.array([1, 0, 1, 1, 1]), np.ones((5, 3), np.float32), 3) is False
    with pytest.raises(ValueError, match="limit = 255; allowed: 1 to 254"):
        _kernels.scatter_add_up_to(target, np.array([1]), np.ones((1, 3), np.float32), 255)


def test_refusals() -> None:
    target, updates = np.zeros((3, 2), np.float32), np.ones((2, 2), np.float32)
    for wrong in (-1, 3):
        with pytest.raises(ValueError, match=rf"scatter_add\(\): rows\[1\] = {wrong}; allowed: 0 to 2"):
            _kernels.scatter_add(target, np.array([0, wrong]), updates)
    with pytest.raises(TypeError, match=r"scatter_max\(\): rows has dtype int32; allowed: int64"):
        _kernels.scatter_max(target, np.array([0, 1], np.int32), updates)
    with pytest.raises(ValueError, match=r"scatter_min\(\): updates .*a row for each of rows"):
        _kernels.scatter_min(target, np.array([0]), updates)
    with pytest.raises(TypeError, match=r"scatter_assign\(\): updates has dtype int8; allowed: the dtype of target"):
        _kernels.scatter_assign(target, np.array([0, 1]), updates.astype(np.int8))
    with pytest.raises(TypeError, match=r"scatter_add\(\): target has dtype bool"):
        _kernels.scatter_add(target != 0, np.array([0, 1]), updates != 0)
    assert not target.any()
