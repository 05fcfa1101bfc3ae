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
