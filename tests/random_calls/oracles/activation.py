"""Activation functions in float64."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import special

from hostacl.tensors import dtypes
from random_calls.dice import Dice
from random_calls.oracle import Within, oracle


@oracle("Relu")
def relu(x: Any) -> Any:
    return np.where(x < 0, 0, x)


@oracle("Sigmoid")
def sigmoid(x: Any, dice: Dice | None = None) -> Any:
    if not np.iscomplexobj(x):
        return special.expit(x)
    result = 1 / (1 + np.exp(-x))  # near its poles the argument's own rounding counts
    slack = np.abs(result) * np.abs(1 - result) * np.abs(x) * 2.0 ** (-51 if dice.dtype == dtypes.COMPLEX128 else -22)
    return Within(result, np.nan_to_num(slack, posinf=0))


@oracle("Tanh")
def tanh(x: Any) -> Any:
    if np.iscomplexobj(x):  # (t + is) / (1 + its), with t the tanh of the real part and s the tangent of the imaginary one
        t, s = np.tanh(x.real), np.sin(x.imag) / np.cos(x.imag)
        return (t * (1 + s * s) + 1j * s * (1 - t * t)) / (1 + t * t * s * s)
    return np.copysign(-special.expm1(-2 * np.abs(x)) / (1 + np.exp(-2 * np.abs(x))), x)


@oracle("Gelu")
def gelu(x: Any) -> Any:
    """x·sigmoid(2u) = x/2·(1 + tanh(u)) with u of the tanh approximation; the exponent 2u is held in single precision."""
    u = np.sqrt(2 / np.pi) * (x + 0.044715 * x**3)
    result = x * special.expit(2 * u)
    return Within(result, np.nan_to_num(np.abs(result), posinf=0) * np.nan_to_num(np.abs(2 * u), posinf=0) * 2.0**-22)
