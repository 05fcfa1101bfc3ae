"""Gradients against differences of their functions."""

from __future__ import annotations

import numpy as np
import pytest

from hostacl.errors import Refused
from tests.ops.calling import bind, run

X = np.array([0.25, 0.5, 1.5, 3.0])
INSIDE = X / 4
DY = np.array([1.0, -2.0, 0.5, 4.0])
STEP = 1e-6


@pytest.mark.parametrize(
    ("op", "function", "takes_output"),
    [
        ("AbsGrad", np.abs, False),
        ("AtanGrad", np.arctan, False),
        ("ReciprocalGrad", lambda x: 1 / x, True),
        ("RsqrtGrad", lambda x: x**-0.5, True),
        ("SqrtGrad", np.sqrt, True),
    ],
)
def test_gradient_is_the_slope(op, function, takes_output):
    slope = (function(X + STEP) - function(X - STEP)) / (2 * STEP)
    source = function(X) if takes_output else X
    result = run(op, source.astype(np.float32), DY.astype(np.float32))
    np.testing.assert_allclose(result, slope * DY, rtol=1e-5)


@pytest.mark.parametrize(
    ("op", "function", "source", "takes_output"),
    [
        ("AcosGrad", np.arccos, INSIDE, False),
        ("AsinGrad", np.arcsin, INSIDE, False),
        ("AcoshGrad", np.arccosh, X + 1, True),
        ("AsinhGrad", np.arcsinh, X, True),
        ("InvGrad", lambda x: 1 / x, X, True),
    ],
)
def test_inverse_functions_have_the_slope_of_theirs(op, function, source, takes_output):
    slope = (function(source + STEP) - function(source - STEP)) / (2 * STEP)
    given = function(source) if takes_output else source
    np.testing.assert_allclose(run(op, given.astype(np.float32), DY.astype(np.float32)), slope * DY, rtol=1e-5)


def test_inverse_functions_at_their_ends():
    ends, ones = np.array([1, -1, 2], np.float32), np.ones(3, np.float32)
    assert run("AcosGrad", ends, ones).tolist()[:2] == [-np.inf, -np.inf]
    assert np.isnan(run("AsinGrad", ends, ones)[2])
    assert run("AsinGrad", np.array([0, 1, -1, 1, 2], np.int32), np.array([7, 7, -7, 0, 7], np.int32)).tolist() == [
        7, 2**31 - 1, -(2**31), 0, 0,
    ]  # fmt: skip
    assert run("InvGrad", np.array([2, -128], np.int8), np.array([3, 1], np.int8)).tolist() == [-12, 0]


def test_abs_grad_at_zero_is_zero():
    assert run("AbsGrad", np.zeros(2, np.float16), np.ones(2, np.float16)).tolist() == [0, 0]


def test_rsqrt_grad_of_integers_is_cut_off():
    assert run("RsqrtGrad", np.array([1, 2, -3], np.int32), np.array([3, 3, 1], np.int32)).tolist() == [-1, -12, 13]


def test_types_must_agree():
    with pytest.raises(Refused, match=r"HA503"):
        bind("SqrtGrad", [np.ones(2, np.float32), np.ones(2, np.float16)])


def test_asin_grad_of_integers_keeps_64_bits():
    y, dy = np.array([0, 0, 1, -1, 1, 5]), np.array([2**53 + 1, -(2**63), 3, -3, 0, 7])
    assert run("AsinGrad", y, dy).tolist() == [2**53 + 1, -(2**63), 2**63 - 1, -(2**63), 0, 0]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_gradients_of_roots_reach_to_the_ends_of_their_type(dtype):
    info = np.finfo(dtype)
    tiny, huge = info.smallest_subnormal, info.max
    y, dy = np.array([0, huge, 0.5, 2], dtype), np.array([tiny, huge, huge / 2, tiny * 4], dtype)
    np.testing.assert_array_equal(run("SqrtGrad", y, dy), np.array([np.inf, 0.5, huge / 2, tiny], dtype))
    y, dy = np.array([1, 2, 0.5, 5], dtype), np.array([huge, huge / 8, tiny * 64, tiny], dtype)
    wanted = np.array([-huge / 2, -huge / 2, -tiny * 4, -tiny * 62], dtype)  # 62.5, the even one
    np.testing.assert_array_equal(run("RsqrtGrad", y, dy), wanted)
