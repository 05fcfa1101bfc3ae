"""Coordinates of the elements that are not 0."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from hostacl.ops import precision
from hostacl.tensors import dtypes

Array = NDArray[Any]

SIGNLESS = {dtypes.FLOAT16: 0x7FFF, dtypes.BF16: 0x7FFF, dtypes.COMPLEX32: 0x7FFF7FFF}
"""The bits that all are 0 in a zero of either sign."""


def not_zero(x: Array, code: int) -> Array:
    """Which elements are not 0 (NaN is not), of a tensor that arrived as bits."""
    if code in SIGNLESS:
        return np.asarray(x & x.dtype.type(SIGNLESS[code])) != 0
    return np.asarray((precision.widen(x, code) if code in dtypes.SMALL_FLOATS else x) != 0)


def coordinates_of(truth: Array) -> Array:
    """A row of coordinates for each true element, in row-major order."""
    flat = np.flatnonzero(truth)
    result = np.empty((flat.size, truth.ndim), np.int64)
    for axis in range(truth.ndim - 1, 0, -1):
        above = flat // truth.shape[axis]
        np.subtract(flat, above * truth.shape[axis], out=result[:, axis])
        flat = above
    if truth.ndim:
        result[:, 0] = flat
    return result
