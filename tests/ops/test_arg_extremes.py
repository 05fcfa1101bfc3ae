"""Positions of extremes: ties, NaN, both widths, refusals."""

from __future__ import annotations

import numpy as np
import pytest

from hostacl.errors import Failed, Refused
from hostacl.tensors import dtypes
from hostacl.tensors.spec import TensorSpec
from tests.ops.calling import bind, run, spec

F32 = np.float32


@pytest.mark.parametrize("dtype", [dtypes.INT32, dtypes.INT64])
def test_first_minimum_in_both_widths(dtype):
    x = np.array([3, 1, 1, 2], F32)
    result = run("ArgMin", x, np.array([0], np.int32), outputs=[TensorSpec(dtype, (1,))], const=[1], dtype=dtype)
    assert result.tolist() == [1]


def test_nan_is_the_extreme():
    x = np.array([[1, np.nan, 0], [5, 7, 7]], np.float16)
    assert run("ArgMaxD", x, dimension=-1).tolist() == [1, 1]
    assert run("ArgMinD", x, dimension=1).tolist() == [1, 0]


def test_with_value_gives_the_position_first():
    x = np.array([[1, 9, 3], [4, 2, 4]], F32)
    place, value = run("ArgMaxWithValue", x, dimension=1)
    assert (place.dtype, place.tolist(), value.tolist()) == (np.int32, [1, 0], [9, 4])
    place, value = run("ArgMinWithValue", x, dimension=0, keep_dims=True)
    assert (place.tolist(), value.tolist()) == ([[0, 1, 0]], [[1, 2, 3]])
    place, value = run("ArgMaxWithValue", np.array(5, F32), dimension=0)
    assert (place.shape, value.tolist()) == ((), 5)


def test_an_empty_dimension_has_no_extreme():
    with pytest.raises(Refused, match=r"HA504.*empty along dimension 0"):
        bind("ArgMaxWithValue", [np.ones((0, 2), F32)], dimension=0)


def test_dimension_in_device_memory():
    x = np.array([[3, 1], [0, 2]], F32)
    call = bind("ArgMin", [spec(x), spec(np.array(0, np.int32))], [TensorSpec(dtypes.INT32, (2,))])
    out = np.zeros(2, np.int32)
    call.function()(x, np.array(1, np.int32), out)
    assert out.tolist() == [1, 0]
    with pytest.raises(Failed, match=r"HA509"):
        call.function()(x, np.array(2, np.int32), out)


def test_gradient_is_written_where_the_extreme_was():
    var = np.zeros((2, 3), F32)
    indices, updates = np.array([2, 0], np.int32), np.array([5, 6], F32)
    assert run("ArgMaxGrad", var, indices, updates, dimension=1).tolist() == [[0, 0, 5], [6, 0, 0]]
    with pytest.raises(Failed, match=r"HA510.*ArgMaxGrad.*indices\[1\] = 3"):
        run("ArgMaxGrad", var, np.array([0, 3], np.int32), updates, dimension=1)
    with pytest.raises(Refused, match=r"HA504.*updates = \[3\]"):
        bind("ArgMaxGrad", [var, indices, np.ones(3, F32)], dimension=1)
