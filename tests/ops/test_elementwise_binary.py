"""Arithmetic: division by zero, numbers and one-element tensors, promotion, refusals."""

from __future__ import annotations

import numpy as np
import pytest

from hostacl.errors import Refused
from hostacl.tensors import dtypes
from tests.ops.calling import bind, run, spec, values

F32, I32 = np.float32, np.int32


def test_muls_of_integers_goes_through_float32():
    assert run("Muls", np.array([7, -7, 2**24 + 1], I32), value=0.5).tolist() == [3, -3, 2**23]
    assert run("Muls", np.array([30000], np.int16), value=2.0).tolist() == [32767]


def test_adds_of_integers_cuts_off():
    assert run("Adds", np.array([2**30 + 1, -3], I32), value=1.5).tolist() == [2**30 + 2, -1]
    assert run("Adds", np.array([1, 2], np.float16), value=0.5).tolist() == [1.5, 2.5]
    with pytest.raises(Refused, match=r"HA505.*value"):
        bind("Adds", [np.ones(2, F32)])


@pytest.mark.parametrize(
    ("op", "x1", "x2", "wanted"),
    [
        ("FloorDiv", [7, -7, 7, 5], [2, 2, -2, 0], [3, -4, -4, 0]),
        ("FloorMod", [7, -7, 7, 5], [3, 3, -3, 0], [1, 2, -2, 5]),
        ("Mod", [7, -7, 7, 5], [3, 3, -3, 0], [1, -1, 1, 5]),
        ("DivNoNan", [7, -7, 7, 5], [2, 2, -2, 0], [3, -3, -3, 0]),
    ],
)
def test_integer_division(op, x1, x2, wanted):
    assert run(op, np.array(x1, I32), np.array(x2, I32)).tolist() == wanted


def test_float_division():
    x1, x2 = np.array([1, -7, 0, 1], F32), np.array([0, 3, 0, 0.1], F32)
    assert run("DivNoNan", x1, x2).tolist()[:1] == [0]
    assert np.isnan(run("Mod", x1, x2)[[0, 2]]).all()
    assert run("FloorMod", x1, x2)[1] == 2
    assert run("FloorDiv", x1, x2)[3] == 10  # the quotient is rounded to float32 first


def test_zero_times_log_of_anything():
    zero, other = np.zeros(4, F32), np.array([0, -1, np.nan, np.inf], F32)
    assert run("Xlogy", zero, other).tolist() == [0, 0, 0, 0]
    assert run("Xdivy", zero, other).tolist() == [0, 0, 0, 0]


def test_int64_is_exact():
    big = np.array([2**62 + 1], np.int64)
    assert run("FloorMod", big, np.array([10], np.int64)).tolist() == [(2**62 + 1) % 10]
    one, two, three, much = (np.array([number], np.int64) for number in (1, 2, 3, 2**61 + 3))
    assert run("Addcmul", big, two, three, one).tolist() == [2**62 + 7]
    assert run("Addcdiv", big, much, two, one).tolist() == [2**62 + 2**60 + 2]


def test_add_v2_promotes():
    result = run("AddV2", np.ones(2, np.float16), np.ones(2, F32))
    assert result.dtype == F32


def test_clip_with_scalars_keeps_nan():
    x = np.array([-5, 0.5, np.nan, 5], F32)
    for op in ("ClipByValue", "ClipByValueV2"):
        np.testing.assert_array_equal(run(op, x, np.array(0, F32), np.array([1], F32)), [0, 0.5, np.nan, 1])


@pytest.mark.parametrize(("op", "count", "result"), [("AxpyV2", 2, 4), ("Addcmul", 3, 4), ("Sxpy", 2, -2)])
def test_factor_has_one_element(op, count, result):
    tensors = [np.ones(2, F32)] * count
    with pytest.raises(Refused, match=r"HA504.*allowed: one element"):
        bind(op, [*tensors, np.ones(2, F32)])
    assert run(op, *tensors, np.array([3], F32)).tolist() == [result] * 2


@pytest.mark.parametrize("dtype", [np.float16, F32, np.float64, np.int64, np.uint16, np.complex64])
def test_sxpy_without_a_factor_is_a_difference(dtype):
    x1, x2 = np.array([[7], [9]], dtype), np.array([2, 3], dtype)
    for absent in ((), (None,)):
        np.testing.assert_array_equal(run("Sxpy", x1, x2, *absent), np.array([[5, 4], [7, 6]], dtype))


def test_sxpy_of_large_integers_is_exact():
    x1, x2 = np.array([2**62 + 1, 5], np.int64), np.array([3, 7], np.int64)
    assert run("Sxpy", x1, x2, np.array(-2, np.int64)).tolist() == [2**62 + 7, 19]
    assert run("Sxpy", x1[1:], x2[1:], np.array([2], np.int64)).tolist() == [-9]


def test_sxpy_of_many_halves_rounds_once():
    x1, x2 = (values(dtypes.FLOAT16, (40000,), seed) for seed in (1, 2))
    exact = x1.astype(np.float64) - 3 * x2.astype(np.float64)
    assert np.count_nonzero(run("Sxpy", x1, x2, np.array(3, np.float16)) != exact.astype(np.float16)) == 0


def test_axpy_v2_of_scalars_stays_a_scalar():
    assert run("AxpyV2", np.array(1, F32), np.array(2, F32), np.array([3], F32)).shape == ()


def test_add_mat_mat_elements_in_place():
    c = np.full((2, 2), 10, F32)
    call = bind("AddMatMatElements", [c, c * 0.1, c * 0.2, np.array([0.5], F32), np.array([2], F32)], [spec(c)])
    call.function()(c, c * 0.1, c * 0.2, np.array([0.5], F32), np.array([2], F32), c)
    assert c.tolist() == [[9, 9], [9, 9]]
    with pytest.raises(Refused, match=r"HA504.*do not broadcast onto c"):
        bind("AddMatMatElements", [c[:1], c, c, np.array(1, F32), np.array(1, F32)])


def test_log_add_exp_without_overflow():
    x = np.array([1000, -np.inf, np.inf], F32)
    np.testing.assert_array_equal(run("LogAddExp", x, x), np.array([1000 + np.log(2), -np.inf, np.inf], F32))
    assert run("LogAddExp", np.array([3], F32), np.array([3], F32), base=2.0).tolist() == [4]
    with pytest.raises(Refused, match=r"HA508.*base = 1"):
        bind("LogAddExp", [x, x], base=1.0)


def test_add_n_sums_all_and_wants_equal_shapes():
    ones = np.ones((2, 3), np.int8)
    assert run("AddN", ones, ones * 100, ones * 100, N=3).tolist() == [[-55] * 3] * 2
    with pytest.raises(Refused, match=r"HA504.*\[2,3\] and \[3\]"):
        bind("AddN", [ones, ones[0]], N=2)
    assert run("AccumulateNV2", ones, N=1).tolist() == ones.tolist()


def test_halves_are_summed_in_float32():
    parts = [np.full(1, one, np.float16) for one in (2048, 1, 1)]
    assert run("AddN", *parts, N=3).tolist() == [2050]


def test_mixed_types_without_promotion():
    with pytest.raises(Refused, match=r"HA503.*x1 DT_FLOAT16.*x2 DT_FLOAT differ"):
        bind("Xdivy", [np.ones(2, np.float16), np.ones(2, F32)])
    assert bind("Addcdiv", [np.ones(2, np.float16)] * 3 + [np.ones(1, F32)]).infer()[0].dtype == dtypes.FLOAT16
