"""Sums of slices along any axis, against loops in exact or double arithmetic."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from hostacl.config import override
from hostacl.errors import Failed
from tests.ops.calling import run

Array = Any
SLICES = ["IndexAdd", "InplaceIndexAdd", "ScatterAddWithAxis"]


def summed(var: Array, indices: Array, updates: Array, axis: int) -> Array:
    """var and updates' slices in float64, or wrapping integers."""
    wide = var.astype(np.float64) if var.dtype.kind == "f" else var.copy()
    lines = np.moveaxis(wide, axis, 0)
    for row, update in zip(indices.tolist(), np.moveaxis(updates, axis, 0), strict=True):
        lines[row] += update.astype(wide.dtype)
    return wide.astype(var.dtype)


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.int8, np.int32])
@pytest.mark.parametrize("axis", [0, 1, 2, -1])
@pytest.mark.parametrize("op_type", SLICES)
def test_slices_along_any_axis(op_type: str, axis: int, dtype: Any) -> None:
    rng = np.random.default_rng(abs(axis))
    shape = [5, 6, 9]
    var = rng.integers(-99, 100, shape).astype(dtype)
    shape[axis] = 11
    updates, size = rng.integers(-99, 100, shape).astype(dtype), var.shape[axis]
    indices = rng.integers(-size, size, 11).astype(np.int32)
    np.testing.assert_array_equal(run(op_type, var, indices, updates, axis=axis), summed(var, indices, updates, axis))
    with pytest.raises(Failed, match=rf"{op_type}: indices\[3\] = {size}; allowed: -{size} to {size - 1}"):
        run(op_type, var, np.where(np.arange(11) == 3, size, indices).astype(np.int32), updates, axis=axis)


@pytest.mark.parametrize("op_type", SLICES)
@pytest.mark.parametrize("shape", [(0,), (3, 0), (0, 3), (1,), (1,) * 7 + (9,)])
def test_empty_and_thin_targets(op_type: str, shape: tuple[int, ...]) -> None:
    var = np.ones(shape, np.float16)
    none = np.zeros(0, np.int32)
    np.testing.assert_array_equal(run(op_type, var, none, np.ones((0, *shape[1:]), np.float16), axis=0), var)
    if shape[0]:
        got = run(op_type, var, np.array([0, 0], np.int32), np.ones((2, *shape[1:]), np.float16), axis=0)
        np.testing.assert_array_equal(got, summed(var, np.array([0, 0]), np.ones((2, *shape[1:])), 0))


@pytest.mark.parametrize("dtype", [np.float16, np.float32])
@pytest.mark.parametrize(("shape", "axis"), [((3, 40), 0), ((2, 3, 40), 1), ((4, 3), 1)])
def test_sums_of_many_are_rounded_once(shape: tuple[int, ...], axis: int, dtype: Any) -> None:
    rng = np.random.default_rng(5)
    var = rng.standard_normal(shape).astype(dtype)
    more = (*shape[:axis], 400, *shape[axis + 1 :])
    updates, indices = rng.random(more).astype(dtype), np.repeat(np.array([0, 2], np.int32), 200)
    want = summed(var, indices, updates, axis)
    np.testing.assert_array_equal(run("IndexAdd", var, indices, updates, axis=axis), want)
    rows = [np.ascontiguousarray(np.moveaxis(one, axis, 0)) for one in (var, updates, want)]
    np.testing.assert_array_equal(run("ScatterAdd", rows[0], indices, rows[1]), rows[2])
    np.testing.assert_array_equal(run("ScatterNdSub", rows[0], indices[:, None], -rows[1]), rows[2])


@pytest.mark.parametrize("width", [1, 40])
def test_saturating_products_keep_to_the_largest_half(width: int) -> None:
    var, updates = np.full((2, width), 60000, np.float16), np.full((1, width), 60000, np.float16)
    var[1] = np.nan
    assert np.isinf(run("ScatterAdd", var, np.zeros(1, np.int32), updates)[0]).all()
    with override(soc="Ascend310P"):
        got = run("ScatterAdd", var, np.zeros(1, np.int32), updates)
    assert (got[0] == 65504).all()
    assert (got[1] == 0).all()


def test_elements_are_added_where_indices_have_the_rank_of_var() -> None:
    var, updates = np.zeros((2, 3), np.float16), np.arange(1, 9, dtype=np.float16).reshape(2, 4)
    indices = np.array([[0, 0, -1, 1], [2, 2, 2, 2]], np.int32)
    assert run("ScatterAddWithAxis", var, indices, updates, axis=1).tolist() == [[3, 4, 3], [0, 0, 26]]
    with pytest.raises(Failed, match=r"ScatterAddWithAxis: indices\[0, 1\] = 3"):
        run("ScatterAddWithAxis", var, indices + 3 * (indices == indices[0, 1]) * (np.arange(4) == 1), updates, axis=1)


def test_a_factor_counts_before_rounding() -> None:
    var, updates = np.zeros((2, 2), np.float16), np.full((1, 2), 60000, np.float16)
    alpha = np.array([0.5], np.float16)
    assert run("InplaceIndexAdd", var, np.array([1], np.int32), updates, alpha, axis=0).tolist() == [[0, 0], [30000, 30000]]
