"""Running sums, products and extremes: directions, wrapping, NaN, axes."""

from __future__ import annotations

import numpy as np
import pytest

from hostacl.errors import Failed, Refused
from hostacl.tensors import dtypes
from hostacl.tensors.spec import TensorSpec
from tests.ops.calling import bind, run, spec

F32 = np.float32


@pytest.mark.parametrize(
    ("exclusive", "reverse", "wanted"),
    [(False, False, [1, 3, 6]), (True, False, [0, 1, 3]), (False, True, [6, 5, 3]), (True, True, [5, 3, 0])],
)
def test_directions(exclusive, reverse, wanted):
    x = np.array([1, 2, 3], F32)
    assert run("Cumsum", x, np.array(0, np.int32), const=[1], exclusive=exclusive, reverse=reverse).tolist() == wanted
    assert run("CumsumD", x, axis=-1, exclusive=exclusive, reverse=reverse).tolist() == wanted


def test_products_along_the_first_axis():
    x = np.arange(1, 7, dtype=np.int8).reshape(3, 2)
    assert run("CumprodD", x, axis=0).tolist() == [[1, 2], [3, 8], [15, 48]]
    assert run("CumprodD", x * 10, axis=0)[2].tolist() == [(10 * 30 * 50 + 128) % 256 - 128, (20 * 40 * 60 + 128) % 256 - 128]


def test_many_halves_are_summed_precisely():
    x = np.full(30000, 0.1, np.float16)
    last = run("CumsumD", x, axis=0)[-1]
    assert last == np.float16(30000 * float(np.float16(0.1)))


def test_axis_out_of_range():
    x = np.ones((2, 3), F32)
    with pytest.raises(Refused, match=r"HA509.*axis 2 not in \[-2,1\]"):
        bind("CumsumD", [x], axis=2)
    call = bind("Cumsum", [spec(x), spec(np.array(0, np.int32))], [TensorSpec(dtypes.FLOAT, (2, 3))])
    assert call.exact
    with pytest.raises(Failed, match=r"HA509.*axis 7 not in \[-2,1\]"):
        call.function()(x, np.array(7, np.int32), np.empty_like(x))


def test_scalar_and_empty():
    assert run("CumsumD", np.array(5, F32), axis=0, exclusive=True).tolist() == 0
    assert run("CumprodD", np.ones((0, 3), F32), axis=0, exclusive=True).shape == (0, 3)


def test_running_extremes_take_the_last_of_equal_ones_and_keep_nan():
    x = np.array([2, 3, 3, 1, np.nan, 9, np.nan], F32)
    best, where = run("Cummax", x, dim=0)
    np.testing.assert_array_equal(best, [2, 3, 3, 3, np.nan, np.nan, np.nan])
    assert where.tolist() == [0, 1, 2, 2, 4, 4, 6]
    best, where = run("Cummin", x[:4], axis=0, outputs=[TensorSpec(dtypes.FLOAT, (4,)), TensorSpec(dtypes.INT32, (4,))])
    assert (best.tolist(), where.tolist(), where.dtype) == ([2, 2, 2, 1], [0, 0, 0, 3], np.int32)


def test_positions_are_integers():
    with pytest.raises(Refused, match=r"HA512.*indices.*DT_INT64, DT_INT32"):
        bind("Cummax", [np.ones(2, F32)], [TensorSpec(dtypes.FLOAT, (2,)), TensorSpec(dtypes.FLOAT, (2,))], dim=0)
