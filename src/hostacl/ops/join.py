"""Joining tensors along an axis."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from hostacl.ops import dims
from hostacl.ops.call import Call
from hostacl.ops.dims import Between, Dim, Shape
from hostacl.ops.registry import BOOL_TOO, kernel
from hostacl.ops.shapes import axis as checked_axis
from hostacl.ops.shapes import equal_dims

Array = NDArray[Any]


def joined(call: Call) -> Shape:
    """The shape of the first, the sizes along the axis added up; refuses others that differ elsewhere."""
    shapes = call.shapes("x")
    first = shapes[0]
    for number, shape in enumerate(shapes):
        if len(shape) != len(first) or not shape:
            raise call.refuse(
                "HA516", f"x{number} = {dims.text(shape)}, x0 = {dims.text(first)}: all need one rank, 1 or more."
            )
    if "concat_dim" not in call.attrs and not call.known("concat_dim"):
        return unknown_join(shapes)
    place = checked_axis(call, call.scalar("concat_dim"), len(first), "concat_dim")
    return tuple(_joined_dim(call, shapes, at, at == place) for at in range(len(first)))


def _joined_dim(call: Call, shapes: list[Shape], at: int, along: bool) -> Dim:
    """One dim of the joined shape: the sum along the axis, else the one that all have."""
    size = shapes[0][at]
    for number, shape in enumerate(shapes[1:], 1):
        told = f"x{number} = {dims.text(shape)}, x0 = {dims.text(shapes[0])} differ in dim {at}, not the axis of joining."
        size = size + shape[at] if along else equal_dims(call, size, shape[at], told)
    return size


def unknown_join(shapes: list[Shape]) -> Shape:
    """What is known before the axis is: each dim lies between one tensor's and the sum of all."""
    totals = []
    for column in zip(*shapes, strict=True):
        highs = [dims.bounds(dim)[1] for dim in column]
        totals.append(
            Between(dims.bounds(column[0])[0], None if None in highs else sum(one for one in highs if one is not None))
        )
    return tuple(totals)


@kernel("Concat", "ConcatD", "ConcatV2", shape=joined, values=("concat_dim",), bits=True, dtypes=BOOL_TOO)
def concat(x: list[Array], concat_dim: Any) -> Array:
    """The tensors one after the other along an axis."""
    return np.concatenate(x, axis=int(np.asarray(concat_dim).reshape(())))
