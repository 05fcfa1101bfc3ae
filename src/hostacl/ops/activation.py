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
    """1 / (1 + e^-x), without overflow for real x."""
    if x.dtype.kind == "c":
        return 1 / (1 + np.exp(-x))
    small = np.exp(-np.abs(x))
    return np.where(x >= 0, x.dtype.type(1), small) / (1 + small)


def gelu(x: Array) -> Array:
    """x/2·(1 + tanh(√(2/π)·(x + 0.044715·x³))), as x·sigmoid of twice the inner term: no cancellation for negative x.

    In float64: the error of a float32 inner term would come out of the exponential many times larger.
    """
    wide = x.astype(np.float64)
    return wide / (1 + np.exp(-2 * np.sqrt(2 / np.pi) * (wide + 0.044715 * (wide * wide * wide))))


unary("Relu", relu, direct=direct_relu)
unary("Sigmoid", sigmoid)
unary("Tanh", np.tanh)
unary("Gelu", gelu)
