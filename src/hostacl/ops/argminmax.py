"""Positions of the largest and smallest elements."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hostacl import _kernels
from hostacl.ops import dims
from hostacl.ops.call import Call
from hostacl.ops.dims import Shape
from hostacl.ops.registry import kernel
from hostacl.ops.scan import lines_of, place_of
from hostacl.ops.shapes import axis, drop_axes, without_some
from hostacl.tensors import dtypes

Array = NDArray[Any]


def without_dimension(call: Call) -> Shape:
    """The shape of x without the axis; refuses an empty one."""
    shape = call.shape("x")
    if not ("dimension" in call.attrs or call.known("dimension")):
        return without_some(shape, min(len(shape), 1))
    place = axis(call, call.scalar("dimension"), len(shape), "dimension")
    if shape and shape[place] == 0:
        raise call.refuse(
            "HA504", f"x = {dims.text(shape)} is empty along dimension {place}; there is nothing to find the position of."
        )
    return drop_axes(shape, (place,), keep=False)


Loop = Callable[..., None]


def find_along(loop: Loop, function: Callable[..., Any], x: Array, place: int) -> Array:
    """Positions of extremes along an axis: by the native loop for float32, else by NumPy's function."""
    line = np.atleast_1d(x)
    if x.dtype != np.float32:
        return np.asarray(function(line, axis=place))
    found = np.empty((*line.shape[:place], *line.shape[place + 1 :]), np.int64)
    loop(lines_of(np.ascontiguousarray(line), place), found)
    return found


def direct_search(loop: Loop) -> Callable[[Call], Any]:
    """The ``direct`` of a search: the native loop on halves as they lie in memory, once the dimension is known."""

    def direct(call: Call) -> Any:
        if call.dtype("x") not in dtypes.HALVES or 0 in call.shape("x") or not call.known("dimension"):
            return None
        place = place_of(call.scalar("dimension"), call.rank("x"))

        def run(*arrays: Array) -> None:
            found = np.empty(arrays[-1].shape, np.int64)
            loop(lines_of(arrays[0], place), found)
            np.copyto(arrays[-1], found, casting="unsafe")

        return run

    return direct


@kernel("ArgMaxV2", shape=without_dimension, values=("dimension",), direct=direct_search(_kernels.axis_argmax))
def arg_max_v2(x: Array, dimension: Any) -> Array:
    """The position of the first largest element along the dimension; a NaN counts as the largest."""
    return find_along(_kernels.axis_argmax, np.argmax, x, place_of(dimension, x.ndim))
