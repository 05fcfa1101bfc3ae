"""Exponentials of float64 arguments at float32's speed: what activations in single precision are made of."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from hostacl import _kernels

Array = NDArray[Any]

FAR = 80.0
"""Beyond, on both sides, float32's exponential overflows or comes near its denormals and loses digits."""


def wide(x: Array) -> Array:
    """The array in float64."""
    return x if x.dtype == np.float64 else x.astype(np.float64)


def exp(t: Array, single: bool) -> Array:
    """e^t of a float64 t. ``single``: within 1 ulp of float32, by its native loop and the rest of t to first order."""
    if not single:
        return np.asarray(np.exp(t))
    t = np.asarray(t)
    head = np.asarray(t.astype(np.float32))
    rough = np.empty(head.shape, np.float32)
    _kernels.exp(head, rough)
    rest = np.where(np.isfinite(head), t - head, 0)
    rest += 1
    rest *= rough
    far = np.abs(t) > FAR
    if far.any():
        rest[far] = np.exp(t[far])
    return rest


def gated(x: Array, t: Array) -> Array:
    """x·sigmoid(t), as x / (1 + e^-t); t in float64, to about 1.5 ulp of x's type."""
    bottom = exp(np.negative(t), x.dtype == np.float32)
    bottom += 1
    return np.asarray(np.divide(x, bottom))
