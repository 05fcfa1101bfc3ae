"""Gradients against differences of their functions."""

from __future__ import annotations

import numpy as np
import pytest

from hostacl.errors import Refused
from tests.ops.calling import bind, run

X = np.array([0.25, 0.5, 1.5, 3.0])
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


def test_abs_grad_at_zero_is_zero():
    assert run("AbsGrad", np.zeros(2, np.float16), np.ones(2, np.float16)).tolist() == [0, 0]


def test_rsqrt_grad_of_integers_is_cut_off():
    assert run("RsqrtGrad", np.array([1, 2, -3], np.int32), np.array([3, 3, 1], np.int32)).tolist() == [-1, -12, 13]


def test_types_must_agree():
    with pytest.raises(Refused, match=r"HA503"):
        bind("SqrtGrad", [np.ones(2, np.float32), np.ones(2, np.float16)])
