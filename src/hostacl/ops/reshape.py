"""Operators that move elements into another shape: transpose, slice, broadcast."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hostacl import _kernels
from hostacl.ops import dims, runtime
from hostacl.ops.call import Call, Unknown
from hostacl.ops.dims import Between, Dim, Shape
from hostacl.ops.reading import Reads
from hostacl.ops.registry import BOOL_TOO, kernel
from hostacl.ops.shapes import axes, broadcast_dim

Array = NDArray[Any]


def permutation(call: Call, rank: int) -> tuple[int, ...]:
    """The axes of perm; refuses what is no permutation of the axes of x."""
    values = call.ints("perm")
    for place, value in enumerate(values):
        if not -rank <= value < rank:
            raise call.refuse("HA509", f"perm[{place}] = {value}; allowed: 0 to {rank - 1}, for x has rank {rank}.")
    if len(values) != rank:
        raise call.refuse(
            "HA509", f"perm = {list(values)} has {len(values)} entries; x has rank {rank}: one entry for each axis."
        )
    return axes(call, values, rank, "perm") if rank else ()


def transposed(call: Call) -> Shape:
    """The shape of x in the order of perm; before perm is known any dim may stand anywhere."""
    shape = call.shape("x")
    if "perm" not in call.attrs and not call.known("perm"):
        low = [dims.bounds(dim)[0] for dim in shape]
        high = [dims.bounds(dim)[1] for dim in shape]
        any_dim = Between(
            min(low, default=0), None if None in high else max((size for size in high if size is not None), default=0)
        )
        return (any_dim,) * len(shape)
    return tuple(shape[place] for place in permutation(call, len(shape)))


def direct_transpose(call: Call) -> Any:
    """The native blocked copy, when perm is known."""
    if not call.exact:
        return None
    perm = permutation(call, call.rank("x"))
    copy = _kernels.copy
    return lambda x, *rest: copy(x, rest[-1], perm)


@kernel("Transpose", "TransposeD", shape=transposed, values=("perm",), bits=True, direct=direct_transpose, dtypes=BOOL_TOO)
def transpose(x: Array, perm: Any) -> Array:
    """x with its axes in the order of perm."""
    return np.transpose(x, tuple(int(place) for place in np.ravel(perm)))


def sliced(call: Call) -> Shape:
    """The sizes, -1 meaning to the end; refuses what reaches outside x."""
    shape = call.shape("x")
    if "size" not in call.attrs and not call.known("offsets", "size"):
        return tuple(Between(0, dims.bounds(dim)[1]) for dim in shape)
    offsets, wanted = call.ints("offsets"), call.ints("size")
    for name, listed in (("offsets", offsets), ("size", wanted)):
        if len(listed) != len(shape):
            raise call.refuse(
                "HA519", f"{name} = {list(listed)} has {len(listed)} entries; x has rank {len(shape)}: one entry for each axis."
            )
    return tuple(_slice_size(call, place, *one) for place, one in enumerate(zip(shape, offsets, wanted, strict=True)))


def _slice_size(call: Call, place: int, dim: Dim, offset: int, size: int) -> Dim:
    high = dims.bounds(dim)[1]
    if offset < 0 or (high is not None and offset > high):
        raise call.refuse("HA519", f"offsets[{place}] = {offset}; allowed: 0 to {high}, the size of x along axis {place}.")
    if size < -1 or (high is not None and offset + size > high):
        raise call.refuse(
            "HA519",
            f"size[{place}] = {size} from offset {offset}; x has {high} along axis {place}. Allowed: what fits, or -1.",
        )
    return dim - offset if size == -1 else size


@kernel("Slice", "SliceD", shape=sliced, values=("offsets", "size"), bits=True, dtypes=BOOL_TOO, reads={"x": Reads.PARTS})
def slice_(x: Array, offsets: Any, size: Any) -> Array:
    """x[offset : offset + size] along each axis; size -1 is to the end."""
    ranges = zip(runtime.whole(offsets), runtime.whole(size), strict=True)
    return x[tuple(slice(start, None if length == -1 else start + length) for start, length in ranges)]


def broadcast_target(call: Call, x: Shape, target: Sequence[Dim]) -> Shape:
    """The shape that x is broadcast to; refuses a dim that neither is 1 nor agrees, naming it."""
    if len(target) < len(x):
        raise call.refuse("HA504", f"shape = {dims.text(target)} has fewer dims than x = {dims.text(x)}.")
    lead = len(target) - len(x)
    for place, dim in enumerate(x):
        if broadcast_dim(dim, target[lead + place]) is None or (
            dims.known(dim, target[lead + place]) and dim not in (1, target[lead + place])
        ):
            raise call.refuse(
                "HA504",
                f"x = {dims.text(x)} does not broadcast to {dims.text(target)}: "
                f"dim {lead + place} is {dim} against {target[lead + place]}.",
            )
    return tuple(target)


def broadcast_to_shape(call: Call) -> Shape:
    """The shape named; -1 keeps the dim of x."""
    x = call.shape("x")
    if "shape" not in call.attrs and not call.known("shape"):
        length = dims.count(call.shape("shape"))
        if not isinstance(length, int):
            raise Unknown("shape")
        return tuple(Between(0, None) for _ in range(length))
    wanted = call.ints("shape")
    lead = len(wanted) - len(x)
    if any(size < (-1 if place >= lead else 0) for place, size in enumerate(wanted)):
        raise call.refuse(
            "HA519", f"shape = {list(wanted)}; allowed: 0 or more, or -1 to keep a dim that x = {dims.text(x)} has."
        )
    kept = [x[place - lead] if size == -1 else size for place, size in enumerate(wanted)]
    return broadcast_target(call, x, kept)


@kernel("BroadcastTo", "BroadcastToD", shape=broadcast_to_shape, values=("shape",), bits=True)
def broadcast_to(x: Array, shape: Any) -> Array:
    """x repeated to a shape by NumPy's rule; -1 keeps a dim."""
    wanted = [int(size) for size in np.asarray(shape).ravel()]
    lead = len(wanted) - x.ndim
    return np.broadcast_to(x, [x.shape[place - lead] if size == -1 else size for place, size in enumerate(wanted)])
