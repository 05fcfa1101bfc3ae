"""Activations: relu, sigmoid, tanh, gelu."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from hostacl import _kernels
from hostacl.config import settings
from hostacl.ops.call import Call
from hostacl.ops.declare import codes, direct_unary, unary
from hostacl.tensors import dtypes

Array = NDArray[Any]


def relu(x: Array) -> Array:
    """x where positive, else 0; NaN stays."""
    return np.maximum(x, x.dtype.type(0))


def direct_relu(call: Call) -> Any:
    """The native loop for floats."""
    return _kernels.relu if codes(call)[0] in dtypes.FLOATS and not settings().saturate else direct_unary(call, relu)


def sigmoid(x: Array) -> Array:
    """1 / (1 + e^-x); where e^-x overflows the result is below every normal number, and 0."""
    return 1 / (1 + np.exp(-x))


def gelu(x: Array) -> Array:
    """x/2·(1 + tanh(√(2/π)·(x + 0.044715·x³))), as x·sigmoid of twice the inner term: no cancellation for negative x."""
    one = x.dtype.type
    inner = one(2 * np.sqrt(2 / np.pi)) * (x + one(0.044715) * (x * x * x))
    return x / (1 + np.exp(-inner))


unary("Relu", relu, direct=direct_relu)
unary("Sigmoid", sigmoid)
unary("Tanh", np.tanh)
unary("Gelu", gelu)
