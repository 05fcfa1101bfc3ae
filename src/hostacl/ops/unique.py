"""Operators whose output size depends on the data."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from hostacl.ops import dims
from hostacl.ops.call import Call
from hostacl.ops.dims import Between, Shape
from hostacl.ops.registry import kernel

Array = NDArray[Any]


def coordinates(call: Call) -> Shape:
    """Up to as many rows as x has elements, a column for each axis; the other way round when transposed."""
    shape = call.shape("x")
    rows: dims.Dim = Between(0, dims.bounds(dims.count(shape))[1])
    return (len(shape), rows) if call.attr("transpose") else (rows, len(shape))


@kernel("NonZero", shape=coordinates)
def non_zero(x: Array, transpose: bool) -> Array:
    """Coordinates of the elements that are not 0 (NaN is not), in row-major order."""
    found = np.argwhere(x)
    return found.T if transpose else found
