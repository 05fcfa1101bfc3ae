"""Operators that give the same elements another shape, or only say the shape."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hostacl import _kernels
from hostacl.ops import dims
from hostacl.ops.call import Call, Unknown
from hostacl.ops.dims import Between, Dim, Shape
from hostacl.ops.reading import Reads
from hostacl.ops.registry import kernel
from hostacl.ops.shapes import axes as checked_axes
from hostacl.ops.shapes import axis as checked_axis
from hostacl.tensors import dtypes

Array = NDArray[Any]


def direct_copy(call: Call) -> Any:
    """The native copy of all elements in order."""
    return flat_copy


def flat_copy(x: Array, out: Array) -> None:
    """Copies all elements in order; the shapes differ."""
    if x.dtype == dtypes.PAIR16 or not (x.flags.c_contiguous and out.flags.c_contiguous):
        out[...] = x.reshape(out.shape)
    else:
        _kernels.copy(x.reshape(-1), out.reshape(-1))


def reshaped(call: Call) -> Shape:
    """The dims of x with num_axes of them, from axis on, replaced by shape; one -1 is what is left, 0 keeps a dim."""
    x = call.shape("x")
    first, last = replaced(call, len(x))
    if "shape" not in call.attrs and not call.known("shape"):
        length = dims.count(call.shape("shape"))
        if not isinstance(length, int):
            raise Unknown("shape")
        return (*x[:first], *(any_dim(x),) * length, *x[last:])
    wanted = call.ints("shape")
    return (*x[:first], *resolved(call, x[first:last], wanted), *x[last:])


def any_dim(x: Shape) -> Between:
    """What a dim of a tensor of as many elements as x can be: of none at all, any."""
    return Between(0, dims.bounds(dims.count(x))[1] or None)


def replaced(call: Call, rank: int) -> tuple[int, int]:
    """Where the replaced dims begin and end."""
    axis, count = call.attr("axis") or 0, call.attr("num_axes")
    count = -1 if count is None else count
    first = axis + rank + 1 if axis < 0 else axis
    if not 0 <= first <= rank:
        raise call.refuse("HA508", f"axis = {axis}; allowed: {-rank - 1} to {rank} for x of rank {rank}.")
    last = rank if count == -1 else first + count
    if count < -1 or last > rank:
        told = f"num_axes = {count} from axis {first}; allowed: -1, or 0 to {rank - first} for x of rank {rank}."
        raise call.refuse("HA508", told)
    return first, last


def resolved(call: Call, x: Shape, wanted: Sequence[int]) -> Shape:
    """The new dims for old ones. A 0 keeps a dim, or is an empty one where only that fits."""
    total = dims.count(x)
    unsure = isinstance(total, Between) and dims.may_be(total, 0)
    old = [Between(0, dims.bounds(dim)[1]) if unsure else dim for dim in x]
    kept: list[Dim] = [old[place] if size == 0 and place < len(x) else size for place, size in enumerate(wanted)]
    if total == 0 and dims.count(size for size in kept if size != -1) != 0:
        kept = list(wanted)
    if min(wanted, default=0) < -1 or wanted.count(-1) > 1:
        raise call.refuse("HA519", f"shape = {list(wanted)}; allowed: sizes of 0 or more and one -1.")
    rest = dims.count(size for size in kept if size != -1)
    if -1 not in wanted:
        if dims.known(total, rest) and total != rest:
            raise call.refuse("HA504", f"shape = {list(wanted)} has {rest} elements; x = {dims.text(x)} has {total}.")
        return tuple(kept)
    return tuple(_left(call, x, wanted, total, rest) if size == -1 else size for size in kept)


def _left(call: Call, x: Shape, wanted: Sequence[int], total: Dim, rest: Dim) -> Dim:
    """What a -1 stands for."""
    if not isinstance(rest, int):
        return Between(0, dims.bounds(total)[1])
    if isinstance(total, int) and (total % rest if rest else total):
        told = f"shape = {list(wanted)}: the {total} elements of x = {dims.text(x)} do not divide by {rest}."
        raise call.refuse("HA504", told)
    return total // rest if rest else 0


@kernel("Reshape", shape=reshaped, values=("shape",), bits=True)
def reshape(x: Array, shape: Any, axis: int, num_axes: int, call: Call) -> Array:
    """x with another shape: -1 is what is left, 0 keeps a dim (and is an empty one where only that fits).

    axis and num_axes limit what the shape replaces: num_axes dims from axis on, -1 all of them.
    """
    full = call.with_values({"shape": np.asarray(shape)})
    return x.reshape([int(dim) for dim in reshaped(full)])  # type: ignore[arg-type]


def squeezed(call: Call, values: Sequence[int] | None, name: str) -> Shape:
    """x without the named axes of size 1, without all of them where none is named."""
    x = call.shape("x")
    if not x:
        checked_axes(call, values or (), 0, name)
        return x
    if not values:
        if not dims.known(*x):
            raise Unknown("x")
        return tuple(dim for dim in x if dim != 1)
    over = checked_axes(call, values, len(x), name)
    for place in over:
        if not dims.may_be(x[place], 1):
            raise call.refuse("HA504", f"{name} = {list(values)}: axis {place} of x = {dims.text(x)} has not size 1.")
    return tuple(dim for place, dim in enumerate(x) if place not in over)


def squeezed_by_input(call: Call) -> Shape:
    """The same where the axes are an optional value input."""
    return squeezed(call, call.ints("axes") if call.has("axes") else None, "axes")


@kernel("Squeeze", "SqueezeV2", shape=lambda call: squeezed(call, call.attr("axis"), "axis"), bits=True, direct=direct_copy)
def squeeze(x: Array, axis: Any, call: Call) -> Array:
    """x without the named axes of size 1; without all of size 1 where none is named."""
    return x.reshape([int(dim) for dim in squeezed(call, axis, "axis")])  # type: ignore[arg-type]


@kernel("SqueezeV3", shape=squeezed_by_input, values=("axes",), bits=True)
def squeeze_v3(x: Array, axes: Any, call: Call) -> Array:
    """x without the named axes of size 1; without all of size 1 where none is named."""
    listed = None if axes is None else [int(place) for place in np.ravel(axes)]
    return x.reshape([int(dim) for dim in squeezed(call, listed, "axes")])  # type: ignore[arg-type]


def unsqueezed(call: Call, values: Sequence[int], name: str) -> Shape:
    """The dims of x with a 1 at each of these places of the result."""
    x = call.shape("x")
    rank = len(x) + len(values)
    places = checked_axes(call, values, rank, name)
    rest = iter(x)
    return tuple(1 if place in places else next(rest) for place in range(rank))


def unsqueezed_by_input(call: Call, name: str) -> Shape:
    """The same where the axes are a value input; before they are known, only the rank and the sizes are."""
    x = call.shape("x")
    if call.known(name):
        return unsqueezed(call, call.ints(name), name)
    count = dims.count(call.shape(name))
    if not isinstance(count, int):
        raise Unknown(name)
    lows, highs = zip(*(dims.bounds(dim) for dim in (1, *x)), strict=True)
    return (Between(min(lows), None if None in highs else max(highs)),) * (len(x) + count)


def in_order(x: Array, shape: Shape) -> Array:
    """x in another shape of as many elements."""
    return x.reshape([int(dim) for dim in shape])  # type: ignore[arg-type]


@kernel("Unsqueeze", shape=lambda call: unsqueezed(call, call.attr("axes"), "axes"), bits=True, direct=direct_copy)
def unsqueeze(x: Array, axes: Any, call: Call) -> Array:
    """x with a dim of 1 at each of the named places of the result."""
    return in_order(x, unsqueezed(call, axes, "axes"))


@kernel("UnsqueezeV2", shape=lambda call: unsqueezed(call, call.attr("axis"), "axis"), bits=True, direct=direct_copy)
def unsqueeze_v2(x: Array, axis: Any, call: Call) -> Array:
    """x with a dim of 1 at each of the named places of the result."""
    return in_order(x, unsqueezed(call, axis, "axis"))


@kernel("UnsqueezeV3", shape=lambda call: unsqueezed_by_input(call, "axes"), values=("axes",), bits=True)
def unsqueeze_v3(x: Array, axes: Any, call: Call) -> Array:
    """x with a dim of 1 at each of the named places of the result."""
    return in_order(x, unsqueezed(call, [int(one) for one in np.ravel(axes)], "axes"))


@kernel("ExpandDims", shape=lambda call: unsqueezed_by_input(call, "axis"), values=("axis",), bits=True)
def expand_dims(x: Array, axis: Any, call: Call) -> Array:
    """x with a dim of 1 at the named place of the result."""
    return in_order(x, unsqueezed(call, [int(one) for one in np.ravel(axis)], "axis"))


def flattened(call: Call) -> Shape:
    """Two dims: the product of those before the axis, and of the others."""
    x, axis = call.shape("x"), call.attr("axis")
    if not -len(x) <= axis <= len(x):
        raise call.refuse("HA509", f"axis = {axis}: not in [{-len(x)},{len(x)}] for rank {len(x)}.")
    place = axis + len(x) if axis < 0 else axis
    return (dims.count(x[:place]), dims.count(x[place:]))


@kernel("Flatten", shape=flattened, bits=True, direct=direct_copy)
def flatten(x: Array, axis: int) -> Array:
    """x as a matrix: the dims before the axis as one, those from it on as the other."""
    place = axis + x.ndim if axis < 0 else axis
    return x.reshape(int(np.prod(x.shape[:place], dtype=np.int64)), int(np.prod(x.shape[place:], dtype=np.int64)))


def flattened_range(call: Call) -> Shape:
    """The dims from axis to end_axis as one; a scalar becomes one element."""
    x = call.shape("x")
    first = checked_axis(call, call.attr("axis"), len(x)) if x or call.attr("axis") not in (1,) else 0
    last = checked_axis(call, call.attr("end_axis"), len(x), "end_axis")
    if not x:
        return (1,)
    if first > last:
        raise call.refuse("HA509", f"axis = {first} lies behind end_axis = {last}.")
    return (*x[:first], dims.count(x[first : last + 1]), *x[last + 1 :])


@kernel("FlattenV2", shape=flattened_range, bits=True, direct=direct_copy)
def flatten_v2(x: Array, call: Call) -> Array:
    """x with the dims from axis to end_axis (both included) as one."""
    return in_order(x, flattened_range(call))


def either_width(call: Call) -> tuple[int, ...]:
    """int32 unless attribute dtype (or the described output) says int64."""
    wanted = call.attrs.get("dtype") if "dtype" in call.given else dtypes.INT32
    return (dtypes.INT64, dtypes.INT32) if wanted == dtypes.INT64 else (dtypes.INT32, dtypes.INT64)


@kernel("Shape", shape=lambda call: (len(call.shape("x")),), dtype={"y": either_width}, bits=True, reads={"x": Reads.NOTHING})
def shape_of(x: Array) -> Array:
    """The dims of x."""
    return np.array(x.shape, np.int64)


def shape_of_each(call: Call) -> list[list[Shape]]:
    """A vector for each tensor."""
    return [[(len(shape),) for shape in call.shapes("x")]]


@kernel("ShapeN", shape=shape_of_each, dtype={"y": either_width}, mixed=("x", "y"), bits=True, reads={"x": Reads.NOTHING})
def shape_n(x: list[Array]) -> list[Array]:
    """The dims of each tensor."""
    return [np.array(one.shape, np.int64) for one in x]


@kernel("Size", shape=lambda call: (), dtype={"y": either_width}, bits=True, reads={"x": Reads.NOTHING})
def size_of(x: Array) -> Array:
    """How many elements x has."""
    return np.array(x.size, np.int64)


@kernel("Rank", shape=lambda call: (), bits=True, reads={"x": Reads.NOTHING})
def rank_of(x: Array) -> Array:
    """How many dims x has."""
    return np.array(x.ndim, np.int32)
