"""Gathering elements by index."""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hostacl.errors import Failed
from hostacl.ops import dims
from hostacl.ops.axes import described_or
from hostacl.ops.call import Call
from hostacl.ops.dims import Between, Shape
from hostacl.ops.reading import Reads
from hostacl.ops.registry import kernel
from hostacl.ops.shapes import axis as checked_axis
from hostacl.ops.shapes import equal_dims
from hostacl.tensors import dtypes

Array = NDArray[Any]


def checked_indices(op: str, indices: Array, size: int, name: str = "indices", entry: int | None = None) -> Array:
    """Indices counted from the front, negative ones from the end; Failed names the first one out of range.

    ``entry`` says which number of each coordinate they are, and so the dim that they count along.
    """
    if indices.size == 0 or indices.view(f"u{indices.dtype.itemsize}").max() < size:  # a negative one is a huge one there
        return indices
    wrong = (indices < -size) | (indices >= size)
    if wrong.any():
        place = tuple(int(one) for one in np.argwhere(wrong)[0])
        value, axis = int(indices[place]), "that axis" if entry is None else f"dim {entry}"
        element = element_name(name, place, entry)
        if not size:
            raise Failed("HA510", f"{op}: {element} = {value}; allowed: none, for {axis} is empty.")
        allowed = f"allowed: {-size} to {size - 1}, for {axis} has {size} elements."
        raise Failed("HA510", f"{op}: {element} = {value}; {allowed}")
    return np.where(indices < 0, indices + size, indices)


def element_name(name: str, place: tuple[int, ...], entry: int | None = None) -> str:
    """How a text names an element: indices[1, 0], or indices[1][0] for the first number of the coordinate at 1."""
    return name + (str(list(place)) if place else "") + ("" if entry is None else f"[{entry}]")


def gather_shape(call: Call) -> Shape:
    """x's dims before the axis, those of indices without its batch dims, x's dims after the axis."""
    x, indices = call.shape("x"), call.shape("indices")
    batch = batch_dims(call, len(x), len(indices))
    if not call.known("axis"):
        return unknown_gather(call, x, indices)
    place = checked_axis(call, call.scalar("axis"), len(x) or 1)
    if not x:  # torch-npu: one element along axis 0, and y a scalar, too
        return described_or(call, "y", indices)
    if batch > place:
        raise call.refuse("HA508", f"batch_dims = {batch} lies behind axis {place}; it must be at most the axis.")
    for at in range(batch):
        equal_dims(call, x[at], indices[at], f"x = {dims.text(x)}, indices = {dims.text(indices)}: batch dim {at} differs.")
    return (*x[:place], *indices[batch:], *x[place + 1 :])


def batch_dims(call: Call, rank: int, index_rank: int) -> int:
    """The batch dims, counted from the front; refuses more than either tensor has."""
    batch: int = call.attr("batch_dims")
    if not -index_rank <= batch <= min(rank, index_rank):
        raise call.refuse("HA508", f"batch_dims = {batch}; allowed: {-index_rank} to {min(rank, index_rank)}.")
    return batch % index_rank if batch < 0 else batch


def unknown_gather(call: Call, x: Shape, indices: Shape) -> Shape:
    """What is known before the axis is: the rank, and that no dim is larger than the largest there is."""
    highs = [dims.bounds(dim)[1] for dim in (*x, *indices)]
    high = None if None in highs else max((one for one in highs if one is not None), default=0)
    return (Between(0, high),) * (len(x) - 1 + len(indices) - call.attr("batch_dims"))


def batch_rows(x: Array, found: Array, batch: int, place: int) -> tuple[Array, Array]:
    """x as rows of what one index names, and the row of each result, when each batch has indices of its own."""
    size, lines = x.shape[place], prod(x.shape[:place])
    first = (np.arange(lines) * size).reshape(*x.shape[:batch], prod(x.shape[batch:place]), 1)
    rows = first + found.reshape(*x.shape[:batch], 1, prod(found.shape[batch:]))
    return x.reshape(lines * size, prod(x.shape[place + 1 :])), rows.reshape(-1)


def direct_gather(call: Call) -> Any:
    """NumPy's take into the output, once the axis is known."""
    if not call.known("axis") or call.dtype("x") == dtypes.COMPLEX32:
        return None
    place, bits, op = call.scalar("axis") % (call.rank("x") or 1), dtypes.bit_type(call.dtype("x")), call.op_type
    if call.rank("x") == 0:
        return None
    batch = batch_dims(call, call.rank("x"), call.rank("indices"))

    def run(*arrays: Array) -> None:
        x, indices, y = arrays[0].view(bits), arrays[1], arrays[-1].view(bits)
        found = checked_indices(op, indices, x.shape[place])
        if np.may_share_memory(y, x):
            x = x.copy()
        if np.may_share_memory(y, found):
            found = found.copy()
        if batch == 0:
            np.take(x, found, axis=place, out=y, mode="clip")
        else:
            source, rows = batch_rows(x, found, batch, place)
            np.take(source, rows, axis=0, out=y.reshape(rows.size, source.shape[1]), mode="clip")

    return run


@kernel("GatherV2", shape=gather_shape, values=("axis",), bits=True, direct=direct_gather, reads={"x": Reads.PARTS})
def gather_v2(x: Array, indices: Array, axis: Any, batch_dims: int) -> Array:
    """Elements of x at indices along the axis, batch by batch; a negative index counts from the end, one out of range fails.

    A scalar x is one element along axis 0.
    """
    x = np.atleast_1d(x)
    place = int(np.asarray(axis).reshape(())) % x.ndim
    batch = batch_dims % indices.ndim if batch_dims < 0 else batch_dims
    found = checked_indices("GatherV2", indices, x.shape[place])
    if batch == 0:
        return np.take(x, found, axis=place)
    source, rows = batch_rows(x, found, batch, place)
    return np.take(source, rows, axis=0).reshape(*x.shape[:place], *indices.shape[batch:], *x.shape[place + 1 :])
