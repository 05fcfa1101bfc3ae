"""Activations against their formulas in float64."""

from __future__ import annotations

import numpy as np
import pytest

from hostacl.config import override
from hostacl.ops.schema import prototype
from hostacl.tensors import dtypes
from tests.ops.calling import eps, run, values, wide

FORMULAS = {
    "Relu": lambda x: np.where(x > 0, x, 0),
    "Sigmoid": lambda x: 1 / (1 + np.exp(-x)),
    "Tanh": lambda x: np.sinh(x) / np.cosh(x),
    "Gelu": lambda x: x / 2 * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3))),
}
CASES = [(op, code) for op in FORMULAS for code in prototype(op).inputs[0].dtypes if code in dtypes.PLAIN]


@pytest.mark.parametrize(("op", "code"), CASES)
@pytest.mark.parametrize("shape", [(), (2, 3), (40000,), (0, 2)])
def test_formula(op, code, shape):
    bound = 1.4 if code in dtypes.COMPLEXES else 4  # away from the poles
    x = values(code, shape, low=-bound, high=bound)
    expected = FORMULAS[op](wide(x))
    got = run(op, x)
    if got.dtype.kind in "iu":
        np.testing.assert_array_equal(got, expected.astype(got.dtype))
    else:
        np.testing.assert_allclose(wide(got), expected, rtol=4 * eps(code), atol=4e-7)


@pytest.mark.parametrize("dtype", [np.float32, np.float16])
def test_far_ends(dtype):
    x = np.array([-np.inf, -60000, 60000, np.inf, np.nan], dtype)
    np.testing.assert_array_equal(run("Sigmoid", x), np.array([0, 0, 1, 1, np.nan], dtype))
    np.testing.assert_array_equal(run("Tanh", x), np.array([-1, -1, 1, 1, np.nan], dtype))
    np.testing.assert_array_equal(run("Relu", x), np.array([0, 0, 60000, np.inf, np.nan], dtype))


def test_gelu_of_negative_values_keeps_its_digits():
    x = np.linspace(-5, -2, 50).astype(np.float32)
    inner = np.sqrt(2 / np.pi) * (x.astype(np.float64) + 0.044715 * x.astype(np.float64) ** 3)
    np.testing.assert_allclose(run("Gelu", x), x / (1 + np.exp(-2 * inner)), rtol=5e-6)


def test_gelu_in_float64_when_permissive():
    with override(dtypes="permissive"):
        np.testing.assert_allclose(run("Gelu", np.array([1.0])), [0.8411919906082768], rtol=1e-14)
