"""Functions of one tensor: what is special about them. Values are checked by the random calls."""

from __future__ import annotations

import numpy as np
import pytest

from hostacl.errors import Refused
from hostacl.tensors import dtypes
from hostacl.tensors.spec import TensorSpec
from tests.ops.calling import bind, run

F32 = np.float32


def test_isinf_of_halves_is_exact():
    x = np.array([np.inf, -np.inf, np.nan, 65504, 0], np.float16)
    assert run("IsInf", x).tolist() == [True, True, False, False, False]
    assert run("IsFinite", x).tolist() == [False, False, False, True, True]
    assert run("IsNan", x).tolist() == [False, False, True, False, False]


@pytest.mark.parametrize("op", ["Reciprocal", "Inv"])
def test_integers_are_inverted_toward_zero(op):
    assert run(op, np.array([0, 1, -1, 2, -7], np.int32)).tolist() == [0, 1, -1, 0, 0]


def test_inv_keeps_the_type_of_its_input():
    assert run("Inv", np.array([4.0])).tolist() == [0.25]
    with pytest.raises(Refused, match=r"HA512"):
        bind("Inv", [np.array([4.0])], [TensorSpec(dtypes.FLOAT, (1,))])


@pytest.mark.parametrize(
    ("x", "decimals", "wanted"),
    [
        (np.array([0.5, 1.5, 2.5, -0.5], F32), 0, [0, 2, 2, -0.0]),
        (np.array([0.125, 2.675, 1e30, np.inf]), 2, [0.12, 2.68, 1e30, np.inf]),
        (np.array([15, 25, -15, 1234], np.int64), -1, [20, 20, -20, 1230]),
        (np.array([2**62 + 1], np.int64), 0, [2**62 + 1]),
        (np.array([2**62], np.int64), -30, [0]),
        (np.array([2.5 + 3.5j]), 0, [2 + 4j]),
    ],
)
def test_round(x, decimals, wanted):
    assert run("Round", x, decimals=decimals).tolist() == wanted


def test_round_without_decimals():
    assert run("Round", np.array([2.5, 3.5], np.float16)).tolist() == [2, 4]


def test_power_of_caffe():
    x = np.array([-1.0, 0.0, 2.0], F32)
    assert run("Power", x).tolist() == x.tolist()
    assert run("Power", x, power=0.0).tolist() == [1, 1, 1]
    assert run("Power", x, power=2.0, scale=2.0, shift=1.0).tolist() == [1, 1, 25]
    assert np.isnan(run("Power", x, power=0.5)[0])


def test_nan_to_num_needs_all_three():
    x = np.array([np.nan, np.inf, -np.inf, 3], np.float16)
    assert run("NanToNum", x, nan=0.5, posinf=7.0, neginf=-7.0).tolist() == [0.5, 7, -7, 3]
    with pytest.raises(Refused, match=r"HA505.*neginf"):
        bind("NanToNum", [x], nan=0.5, posinf=7.0)


def test_sign_of_complex_has_length_one():
    np.testing.assert_allclose(run("Sign", np.array([3 + 4j, 0, -2j])), [0.6 + 0.8j, 0, -1j])


def test_log1p_and_expm1_of_small_complex():
    x = np.array([1e-12 + 1e-12j, -1e-9j], np.complex64)
    np.testing.assert_allclose(run("Log1p", x), x, rtol=1e-6)
    np.testing.assert_allclose(run("Expm1", x), x, rtol=1e-6)


def test_complex_parts_and_their_type_attribute():
    whole = run("Complex", np.array([1.0, 2.0], F32), np.array([3.0], F32))
    assert whole.dtype == np.complex64
    assert whole.tolist() == [1 + 3j, 2 + 3j]
    assert run("Real", whole).tolist() == [1, 2]
    assert run("Imag", whole, Tout=dtypes.FLOAT).tolist() == [3, 3]
    with pytest.raises(Refused, match=r"HA527.*Tout"):
        bind("Real", [whole], [TensorSpec(dtypes.FLOAT, (2,))], Tout=dtypes.DOUBLE)


def test_erf_of_large_halves_goes_by_table():
    x = np.linspace(-4, 4, 70000).astype(np.float16)
    few = np.concatenate([run("Erf", x[start : start + 1000]) for start in range(0, 70000, 1000)])
    np.testing.assert_array_equal(run("Erf", x), few)


def test_dtypes_beyond_the_prototype_are_refused():
    with pytest.raises(Refused, match=r"HA502.*Floor.*x = DT_INT32.*DT_FLOAT16"):
        bind("Floor", [np.arange(3, dtype=np.int32)])


def test_shapes_of_unknown_dims_pass_through():
    (one,) = bind("Sin", [TensorSpec(dtypes.FLOAT, (-1, 3), ranges=((1, 8), (3, 3)))]).infer()
    assert one.shape == (-1, 3)
    assert one.ranges == ((1, 8), (3, 3))


@pytest.mark.parametrize("decimals", [-(2**63), -400, -3, 3, 400, 2**63 - 1])
def test_round_to_any_number_of_decimals(decimals):
    x = np.array([1234.5, -0.0, np.inf, np.nan, 1e308, 2e-308])
    wanted = {3: [1234.5, -0.0, np.inf, np.nan, 1e308, 0.0], -3: [1000.0, -0.0, np.inf, np.nan, 1e308, 0.0]}
    nothing = [0.0, -0.0, np.inf, np.nan, 0.0, 0.0]
    np.testing.assert_array_equal(
        run("Round", x, decimals=decimals), wanted.get(decimals, x.tolist() if decimals > 0 else nothing)
    )


def test_round_to_tens_is_exact_where_a_tenth_is_not():
    halves = np.arange(-995, 1000, 10.0)
    wanted = [float(round(int(one), -1)) for one in halves]
    np.testing.assert_array_equal(run("Round", halves, decimals=-1), wanted)
