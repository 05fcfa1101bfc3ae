"""Gradients of functions of one tensor."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hostacl.ops.blocks import in_blocks
from hostacl.ops.registry import kernel
from hostacl.ops.shapes import broadcast

Array = NDArray[Any]


def gradient(*op_types: str) -> Callable[[Callable[[Array, Array], Any]], Any]:
    """Declares z of y and dy, which have one shape (or broadcast)."""
    return kernel(*op_types, shape=broadcast("y", "dy"), direct=in_blocks)


@gradient("AbsGrad")
def abs_grad(y: Array, dy: Array) -> Array:
    """dy·sign(y), where y is the input of Abs; 0 at 0, NaN for NaN."""
    return dy * np.sign(y)


@gradient("AtanGrad")
def atan_grad(y: Array, dy: Array) -> Array:
    """dy/(1 + y²), where y is the input of Atan."""
    return dy / (1 + y * y)


@gradient("ReciprocalGrad")
def reciprocal_grad(y: Array, dy: Array) -> Array:
    """-dy·y², where y = 1/x is the output of Reciprocal; of complex numbers with y conjugated."""
    root = np.conj(y)
    return -dy * root * root


@gradient("RsqrtGrad")
def rsqrt_grad(y: Array, dy: Array) -> Array:
    """-dy·y³/2, where y = 1/√x is the output of Rsqrt; y conjugated when complex, integers cut off toward zero."""
    if y.dtype.kind in "iu":
        y, dy = y.astype(np.float64), dy.astype(np.float64)
    root = np.conj(y)
    return dy * root * root * root * y.dtype.type(-0.5)


@gradient("SqrtGrad")
def sqrt_grad(y: Array, dy: Array) -> Array:
    """dy/(2·y), where y = √x is the output of Sqrt, conjugated when complex; ±Inf at 0, NaN where dy is 0 too."""
    return y.dtype.type(0.5) * dy / np.conj(y)
