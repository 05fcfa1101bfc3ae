"""Activation functions in float64."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import special

from random_calls.oracle import oracle


@oracle("Relu")
def relu(x: Any) -> Any:
    return np.where(x < 0, 0, x)


@oracle("Sigmoid")
def sigmoid(x: Any) -> Any:
    return 1 / (1 + np.exp(-x)) if np.iscomplexobj(x) else special.expit(x)


@oracle("Tanh")
def tanh(x: Any) -> Any:
    if np.iscomplexobj(x):
        return np.where(x.real < 0, -1, 1) * -special.expm1(-2 * _right(x)) / (1 + np.exp(-2 * _right(x)))
    return np.copysign(-special.expm1(-2 * np.abs(x)) / (1 + np.exp(-2 * np.abs(x))), x)


def _right(x: Any) -> Any:
    """x or -x, whichever lies in the right half plane, so that exponentials do not overflow."""
    return np.where(x.real < 0, -x, x)


@oracle("Gelu")
def gelu(x: Any) -> Any:
    """x·sigmoid(2u) = x/2·(1 + tanh(u)) with u of the tanh approximation."""
    u = np.sqrt(2 / np.pi) * (x + 0.044715 * x**3)
    return np.where(x == -np.inf, -0.0, x * special.expit(2 * u))
