"""Sums against exact integers and float64."""

from __future__ import annotations

import math

import numpy as np
import pytest

from hostacl.ops.schema import prototype
from hostacl.tensors import dtypes
from tests.ops.calling import eps, run, values, wide

CODES = [code for code in prototype("ReduceSum").inputs[0].dtypes if dtypes.has_arrays(code)]


@pytest.mark.parametrize("code", CODES)
@pytest.mark.parametrize(
    ("shape", "axes", "keep"),
    [
        ((3, 4), [1], False),
        ((3, 4), [0], True),
        ((2, 3, 4), [0, -1], False),
        ((2,) * 8, [7, 1], True),
        ((), [], False),
        ((), [-1], False),
        ((0, 2), [0], False),
    ],
)
def test_sum(code, shape, axes, keep):
    x = values(code, shape)
    got = run("ReduceSum", x, np.array(axes, np.int32), const=[1], keep_dims=keep)
    exact = wide(x)
    expected = exact.sum(axis=tuple(axis for axis in axes if shape), keepdims=keep) if shape else exact
    if got.dtype.kind in "iu":
        np.testing.assert_array_equal(got, np.asarray(expected).astype(np.int64).astype(got.dtype))
    else:
        np.testing.assert_allclose(wide(got), np.asarray(expected), rtol=2 * eps(code), atol=20 * eps(code))


@pytest.mark.parametrize("code", [0, 1, 27])
def test_twin_with_axes_as_attribute(code):
    x = values(code, (3, 4))
    np.testing.assert_array_equal(run("ReduceSumD", x, axes=[-1]), run("ReduceSum", x, np.array([1]), const=[1]))


def test_an_empty_list_of_axes():
    x = np.arange(6, dtype=np.float32).reshape(2, 3)
    np.testing.assert_array_equal(run("ReduceSum", x, np.array([], np.int64)), x)
    assert run("ReduceSum", x, np.array([], np.int64), noop_with_empty_axes=False) == 15


def test_scalar_axes():
    x = np.arange(6, dtype=np.float32).reshape(2, 3)
    np.testing.assert_array_equal(run("ReduceSum", x, np.array(1, np.int32), const=[1]), [3, 12])


@pytest.mark.parametrize("axis", [0, 1])
def test_long_float32_sums_keep_their_digits(axis):
    x = np.random.default_rng(0).uniform(0, 1, (200000, 2)).astype(np.float32)
    x = x if axis == 0 else np.ascontiguousarray(x.T)
    expected = [math.fsum(column) for column in (x.T if axis == 0 else x).tolist()]
    np.testing.assert_allclose(run("ReduceSum", x, np.array([axis]), const=[1]), expected, rtol=3e-7)


def test_half_sums_do_not_saturate_on_the_way():
    x = np.full((1, 4096), 16, np.float16)
    assert run("ReduceSum", x, np.array([1]), const=[1])[0] == np.inf
    assert run("ReduceSum", np.full((1, 4096), 0.25, np.float16), np.array([1]), const=[1])[0] == 1024


def test_integers_wrap_and_64_bits_are_exact():
    assert run("ReduceSum", np.array([100, 100], np.int8), np.array([0]), const=[1]) == -56
    assert run("ReduceSum", np.array([2**62, 1]), np.array([0]), const=[1]) == 2**62 + 1
