"""Tensors filled with one value."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from hostacl.ops import dims
from hostacl.ops.call import Call
from hostacl.ops.dims import Shape
from hostacl.ops.registry import kernel
from hostacl.ops.shapes import sizes, unknown_sizes

Array = NDArray[Any]


def filled(call: Call) -> Shape:
    """The dims named; the value has one element."""
    value = call.shape("value")
    if dims.known(*value) and dims.count(value) != 1:
        raise call.refuse("HA504", f"value = {dims.text(value)}; allowed: one element.")
    if "dims" in call.attrs or call.known("dims"):
        return sizes(call, "dims")
    return unknown_sizes(call, "dims")


@kernel("Fill", "FillD", shape=filled, values=("dims",), bits=True)
def fill(dims: Any, value: Array) -> Array:
    """A tensor of these dims, each element the value."""
    return np.broadcast_to(value.reshape(()), tuple(int(size) for size in np.asarray(dims).ravel()))
