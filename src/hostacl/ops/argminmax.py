"""Positions of the largest and smallest elements."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from hostacl.ops import dims
from hostacl.ops.call import Call
from hostacl.ops.dims import Shape
from hostacl.ops.registry import kernel
from hostacl.ops.shapes import axis, drop_axes

Array = NDArray[Any]


def without_dimension(call: Call) -> Shape:
    """The shape of x without the axis; refuses an empty one."""
    shape = call.shape("x")
    place = axis(call, call.scalar("dimension"), len(shape), "dimension")
    if shape and shape[place] == 0:
        raise call.refuse(
            "HA504", f"x = {dims.text(shape)} is empty along dimension {place}; there is nothing to find the position of."
        )
    return drop_axes(shape, (place,), keep=False)


@kernel("ArgMaxV2", shape=without_dimension, values=("dimension",))
def arg_max_v2(x: Array, dimension: Any) -> Array:
    """The position of the first largest element along the dimension; a NaN counts as the largest."""
    return np.argmax(np.atleast_1d(x), axis=int(np.asarray(dimension).reshape(())))
