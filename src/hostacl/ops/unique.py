"""Operators whose output size depends on the data."""

from __future__ import annotations

from typing import Any

from numpy.typing import NDArray

from hostacl.ops import dims
from hostacl.ops.call import Call
from hostacl.ops.coordinates import coordinates_of, not_zero
from hostacl.ops.dims import Between, Shape
from hostacl.ops.registry import kernel

Array = NDArray[Any]


def coordinates(call: Call) -> Shape:
    """Up to as many rows as x has elements, a column for each axis; the other way round when transposed."""
    shape = call.shape("x")
    rows: dims.Dim = Between(0, dims.bounds(dims.count(shape))[1])
    return (len(shape), rows) if call.attr("transpose") else (rows, len(shape))


@kernel("NonZero", shape=coordinates, bits=True)
def non_zero(x: Array, transpose: bool, call: Call) -> Array:
    """Coordinates of the elements that are not 0 (NaN is not), in row-major order."""
    found = coordinates_of(not_zero(x, call.dtype("x")))
    return found.T if transpose else found
