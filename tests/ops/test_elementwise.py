"""Arithmetic against exact integers and float64, every dtype of the prototypes."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from hostacl.errors import Refused
from hostacl.ops.schema import prototype
from hostacl.tensors import dtypes
from hostacl.tensors.spec import TensorSpec as Spec
from tests.ops.calling import bind, eps, run, values, wide

BINARY = {
    "Add": lambda a, b: a + b,
    "Sub": lambda a, b: a - b,
    "Mul": lambda a, b: a * b,
    "Maximum": np.maximum,
    "Minimum": np.minimum,
}
UNARY = {"Abs": abs, "Neg": lambda a: -a, "Sqrt": np.sqrt, "Exp": np.exp, "Log": np.log}


def codes(op: str) -> list[int]:
    return [code for code in prototype(op).inputs[0].dtypes if dtypes.has_arrays(code)]


def cases(ops):
    return [(op, code) for op in ops for code in codes(op)]


def same(got, expected, code: int, ulps: float = 1.0):
    """Equal for integers (wrapped), else within some units in the last place."""
    if got.dtype.kind in "iu":
        bits = 8 * got.dtype.itemsize
        wrapped = [int(value) & ((1 << bits) - 1) for value in np.asarray(expected, object).ravel()]
        assert [int(value) & ((1 << bits) - 1) for value in got.ravel()] == wrapped
    elif got.dtype.kind == "b":
        np.testing.assert_array_equal(got, expected)
    else:
        np.testing.assert_allclose(
            wide(got), np.asarray(expected), rtol=ulps * eps(code), atol=1e-7 if code != dtypes.DOUBLE else 1e-15
        )


@pytest.mark.parametrize(("op", "code"), cases(BINARY))
@pytest.mark.parametrize("shapes", [((7,), (7,)), ((2, 1, 3), (4, 1)), ((), (3,)), ((), ()), ((1,) * 8, (2,) * 8)])
def test_binary(op, code, shapes):
    x, y = (values(code, shape, seed) for seed, shape in enumerate(shapes))
    if dtypes.numpy_dtype(code).kind in "iu":
        x = (x * 37).astype(x.dtype)  # so that narrow types wrap
    same(run(op, x, y), BINARY[op](wide(x), wide(y)), code)


@pytest.mark.parametrize(("op", "code"), cases(UNARY))
@pytest.mark.parametrize("shape", [(5,), (), (3, 5000)])
def test_unary(op, code, shape):
    x = values(code, shape, low=1 if op in ("Sqrt", "Log") else -8)
    exact = wide(x)
    if exact.dtype == object and op == "Log":
        exact = exact.astype(np.float64)
    out = dtypes.FLOAT if op == "Log" and x.dtype.kind in "iub" else code
    with np.errstate(all="ignore"):
        same(run(op, x), UNARY[op](exact), out, ulps=2)


@pytest.mark.parametrize(
    ("one", "other", "out"),
    [
        ("float16", "float32", "float32"),
        ("bfloat16", "float32", "float32"),
        ("bfloat16", "float16", "float32"),
        ("int32", "float16", "float16"),
        ("int8", "int32", "int32"),
    ],
)
@pytest.mark.parametrize("op", ["Add", "Mul"])
def test_mixed_types_promote(op, one, other, out):
    x, y = values(dtypes.code_of(one), (3, 1)), values(dtypes.code_of(other), (4,), 1)
    result = run(op, x, y)
    assert result.dtype == dtypes.numpy_dtype(dtypes.code_of(out))
    same(result, BINARY[op](wide(x).astype(np.float64), wide(y).astype(np.float64)), dtypes.code_of(out))


def test_bool_addition_is_or_and_multiplication_is_and():
    x, y = np.array([True, True, False, False]), np.array([True, False, True, False])
    np.testing.assert_array_equal(run("Add", x, y), [True, True, True, False])
    np.testing.assert_array_equal(run("Mul", x, y), [True, False, False, False])


@pytest.mark.parametrize("code", [code for code in codes("Div") if code in dtypes.INTEGERS])
@pytest.mark.parametrize(("op", "rounding"), [("Div", math.floor), ("RealDiv", math.trunc)])
def test_integer_division(op, rounding, code):
    dtype = dtypes.numpy_dtype(code)
    x = np.array([7, 200 if dtype.kind == "u" else -7, 100, 5, np.iinfo(dtype).max], dtype)
    y = np.array([2, 3, 7 if dtype.kind == "u" else -7, 0, 3], dtype)
    expected = [rounding(Fraction(int(a), int(b))) if b else 0 for a, b in zip(x, y, strict=True)]
    np.testing.assert_array_equal(run(op, x, y), np.array(expected, dtype))


def test_division_of_64_bits_is_exact():
    x = np.array([2**62 + 1, -(2**62) - 1], np.int64)
    np.testing.assert_array_equal(run("RealDiv", x, np.array([1, 2], np.int64)), [2**62 + 1, -(2**61)])


@pytest.mark.parametrize("code", [code for code in codes("RealDiv") if code not in dtypes.INTEGERS])
@pytest.mark.parametrize("op", ["Div", "RealDiv"])
def test_float_division(op, code):
    x, y = values(code, (3, 1)), values(code, (4,), 1, low=1)
    same(run(op, x, y), wide(x) / wide(y), code)


def test_real_div_of_bool_gives_float32():
    result = run("RealDiv", np.array([True, False]), np.array([True, True]))
    assert result.dtype == np.float32
    np.testing.assert_array_equal(result, [1, 0])


@pytest.mark.parametrize("code", codes("Pow"))
def test_power(code):
    x, y = values(code, (4, 1), low=1, high=3), values(code, (3,), 1, low=0, high=3)
    exact = wide(x) ** wide(y)
    same(run("Pow", x, y), exact, code, ulps=4)


def test_integer_power_with_negative_exponents_keeps_the_whole_part():
    x, y = np.array([2, 1, -1, -1, 0], np.int32), np.array([-1, -5, -3, -4, 0], np.int32)
    np.testing.assert_array_equal(run("Pow", x, y), [0, 1, -1, 1, 1])


@pytest.mark.parametrize("dtype", [np.float32, np.float16])
def test_exp_and_log_with_base_scale_and_shift(dtype):
    x = np.array([0.5, 1, 2], dtype)
    wide_x = x.astype(np.float64)
    tolerance = 1e-6 if dtype is np.float32 else 1e-3
    np.testing.assert_allclose(
        run("Exp", x, base=2.0, scale=0.5, shift=1.0).astype(float), 2 ** (0.5 * wide_x + 1), rtol=tolerance
    )
    logarithm = np.log(3 * wide_x + 1) / np.log(10)
    np.testing.assert_allclose(run("Log", x, base=10.0, scale=3.0, shift=1.0).astype(float), logarithm, rtol=tolerance)


def test_exp_attributes_do_not_count_for_float64():
    np.testing.assert_allclose(run("Exp", np.array([1.0]), base=2.0), [math.e])


def test_nan_and_infinity():
    x, y = np.array([np.nan, 1, np.inf], np.float32), np.array([0, 2, 0], np.float32)
    np.testing.assert_array_equal(run("Mul", x, y), np.array([np.nan, 2, np.nan], np.float32))
    np.testing.assert_array_equal(run("Maximum", x, y), np.array([np.nan, 2, np.inf], np.float32))


@pytest.mark.parametrize("op", ["Sqrt", "Exp", "Log", "Abs", "Neg"])
@pytest.mark.parametrize("code", [dtypes.FLOAT16, dtypes.BF16])
def test_every_half_value_is_within_one_ulp(op, code):
    x = np.arange(65536, dtype=np.uint16).view(dtypes.numpy_dtype(code))
    with np.errstate(all="ignore"):
        exact = UNARY[op](x.astype(np.float64)).astype(np.float32).astype(x.dtype)
    got = run(op, x)
    np.testing.assert_array_equal(np.isnan(got.astype(np.float32)), np.isnan(exact.astype(np.float32)))
    finite = ~np.isnan(exact.astype(np.float32))
    distance = np.abs(got[finite].view(np.int16).astype(np.int64) - exact[finite].view(np.int16).astype(np.int64))
    assert distance[got[finite] != exact[finite]].max(initial=0) <= 1


def test_a_large_and_a_small_call_give_the_same_bits():
    x = values(dtypes.FLOAT16, (9000,))
    large = run("Tanh", x)
    np.testing.assert_array_equal(large[:10], run("Tanh", x[:10].copy()))


def test_an_operator_that_numpy_lacks_half_types_for_never_uses_them():
    call = bind("Mul", (Spec(dtypes.BF16, (2,)), Spec(dtypes.BF16, (2,))), [Spec(dtypes.BF16, (2,))])
    assert call.function() is not np.multiply


def test_int8_is_taken_by_neg_as_clients_send_it() -> None:
    x = np.arange(-128, 128, dtype=np.int8)
    np.testing.assert_array_equal(run("Neg", x), (-x.astype(int)).astype(np.int8))


@pytest.mark.parametrize("base", [0.0, -2.0, math.inf, math.nan])
@pytest.mark.parametrize(("op", "count"), [("Exp", 1), ("Log", 1), ("LogAddExp", 2)])
def test_a_base_without_logarithms_is_refused(op, count, base):
    x = [np.ones(2, np.float32)] * count
    with pytest.raises(Refused, match=rf"HA508: {op}: base = {base}; allowed: -1 \(for e\), or more than 0, finite"):
        bind(op, x, base=base)
    assert run(op, *x, base=-1.0).shape == (2,)


def test_one_is_a_base_of_powers_only():
    assert run("Exp", np.array([5, -3], np.float32), base=1.0).tolist() == [1, 1]
    for op, count in (("Log", 1), ("LogAddExp", 2)):
        with pytest.raises(Refused, match=f"HA508: {op}: base = 1.0; .*finite and not 1"):
            bind(op, [np.ones(2, np.float32)] * count, base=1.0)
