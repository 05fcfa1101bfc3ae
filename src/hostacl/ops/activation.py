"""Activations: relu, sigmoid, tanh, and those made of the sigmoid."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from hostacl import _kernels
from hostacl.config import settings
from hostacl.ops import exponential
from hostacl.ops.axis_cuts import broadcast_cuts
from hostacl.ops.call import Call
from hostacl.ops.declare import codes, direct_unary, unary, with_attributes
from hostacl.ops.registry import kernel
from hostacl.ops.shapes import same_as
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


def fast_gelu(x: Array) -> Array:
    """x·sigmoid(1.702·x), the quick approximation of GELU; NaN at -Inf."""
    return exponential.gated(x, 1.702 * exponential.wide(x))


@kernel("Swish", cuts=broadcast_cuts(), shape=same_as("x"), direct=with_attributes)
def swish(x: Array, scale: float) -> Array:
    """x·sigmoid(scale·x); NaN at -Inf."""
    return exponential.gated(x, scale * exponential.wide(x))


unary("Relu", relu, direct=direct_relu)
unary("Sigmoid", sigmoid)
unary("Tanh", np.tanh, "The hyperbolic tangent.")
unary("FastGelu", fast_gelu)
