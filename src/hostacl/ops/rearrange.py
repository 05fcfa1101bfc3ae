"""Operators that bring elements into another order: flips, rolls, transposes with a reshape, channel shuffles."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from hostacl.ops import dims, runtime
from hostacl.ops.call import Call, Unknown
from hostacl.ops.dims import Shape
from hostacl.ops.registry import kernel
from hostacl.ops.shapes import axes as checked_axes
from hostacl.ops.views import any_dim, resolved
from hostacl.tensors import formats

Array = NDArray[Any]


def reversed_shape(call: Call) -> Shape:
    """The shape of x; the axes are checked as soon as they are known."""
    x = call.shape("x")
    if "axis" in call.attrs or call.known("axis"):
        runtime.axes(call, call.ints("axis"), len(x), "axis")
    return x


@kernel("ReverseV2", "ReverseV2D", shape=reversed_shape, bits=True)
def reverse_v2(x: Array, axis: Any, call: Call) -> Array:
    """x with the order of its elements turned round along each of the axes."""
    return np.flip(x, runtime.axes(call, axis, x.ndim, "axis"))


def rolled(call: Call) -> Shape:
    """The shape of x; as many shifts as dims, or one shift of the flat tensor."""
    x, shifts, along = call.shape("x"), call.attr("shifts"), call.attr("dims") or []
    roll_axes(call, len(x), shifts, along, "shifts", "dims")
    return x


def roll_axes(
    call: Call, rank: int, shifts: Any, along: Any, first: str, second: str
) -> tuple[list[int], tuple[int, ...] | None]:
    """Shifts and axes of a roll, None for the flat tensor; an axis may come twice."""
    steps, places = runtime.whole(shifts), runtime.whole(along)
    if not places:
        if len(steps) != 1:
            raise call.refuse("HA508", f"{first} = {steps} without {second}; allowed: one shift, of the flat tensor.")
        return steps, None
    if len(steps) != len(places):
        raise call.refuse("HA508", f"{first} = {steps}, {second} = {places}; there must be equally many.")
    return steps, tuple(checked_axes(call, [place], rank, second)[0] for place in places) if rank else ()


@kernel("Roll", shape=rolled, bits=True)
def roll(x: Array, shifts: Any, dims: Any, call: Call) -> Array:
    """x moved on by shifts along dims, what leaves at one end coming in at the other; without dims the flat tensor is moved."""
    return rolled_array(call, x, shifts, dims or [], "shifts", "dims")


def rolled_array(call: Call, x: Array, shifts: Any, along: Any, first: str, second: str) -> Array:
    """np.roll, axes checked."""
    steps, places = roll_axes(call, x.ndim, shifts, along, first, second)
    if places is None:
        return np.roll(x, steps[0])
    return np.roll(x, steps, places) if places else x


def rolled_by_inputs(call: Call) -> Shape:
    """The shape of the input; shift and axes are checked as soon as they are known."""
    x = call.shape("input")
    if call.known("shift", "axes"):
        roll_axes(call, len(x), call.ints("shift"), call.ints("axes"), "shift", "axes")
    return x


@kernel("RollV2", shape=rolled_by_inputs, mixed=("shift", "axes"), bits=True)
def roll_v2(input_: Array, shift: Any, axes: Any, call: Call) -> Array:
    """The input moved on by shift along axes, what leaves at one end coming in at the other; an axis may come twice."""
    return rolled_array(call, input_, shift, axes, "shift", "axes")


def order_of(call: Call, values: list[int], rank: int, name: str) -> tuple[int, ...]:
    """A permutation of all axes."""
    if len(values) != rank:
        told = f"{name} = {values} has {len(values)} entries; the tensor has rank {rank}: one entry for each axis."
        raise call.refuse("HA509", told)
    return checked_axes(call, values, rank, name) if rank else ()


def confused(call: Call) -> Shape:
    """transpose_first: x transposed, in the new shape; else the new shape, transposed."""
    x = call.shape("x")
    if "shape" not in call.attrs and not call.known("shape"):
        count = dims.count(call.shape("shape"))
        if not isinstance(count, int):
            raise Unknown("shape")
        return (any_dim(x),) * count
    if call.attr("transpose_first"):
        order = order_of(call, list(call.attr("perm")), len(x), "perm")
        return resolved(call, tuple(x[place] for place in order), call.ints("shape"))
    shape = resolved(call, x, call.ints("shape"))
    return tuple(shape[place] for place in order_of(call, list(call.attr("perm")), len(shape), "perm"))


@kernel("ConfusionTranspose", "ConfusionTransposeD", shape=confused, values=("shape",), bits=True)
def confusion_transpose(x: Array, perm: Any, shape: Any, transpose_first: bool, call: Call) -> Array:
    """x transposed by perm and then given the shape when transpose_first, else given the shape and then transposed.

    A -1 of the shape is what is left, a 0 keeps a dim.
    """
    listed = runtime.whole(shape)
    if transpose_first:
        turned = np.transpose(x, perm)
        return turned.reshape([int(dim) for dim in resolved(call, turned.shape, listed)])  # type: ignore[arg-type]
    return np.transpose(x.reshape([int(dim) for dim in resolved(call, x.shape, listed)]), perm)  # type: ignore[arg-type]


def permuted(call: Call) -> Shape:
    """The dims of x in the order of ``order``."""
    x = call.shape("x")
    return tuple(x[place] for place in caffe_order(call, len(x)))


def caffe_order(call: Call, rank: int) -> tuple[int, ...]:
    """The named axes, then the others as they come."""
    named = checked_axes(call, call.attr("order") if rank else [], rank, "order")
    return (*named, *(place for place in range(rank) if place not in named))


@kernel("Permute", shape=permuted, bits=True)
def permute(x: Array, call: Call) -> Array:
    """x with its axes in this order; axes that the order does not name follow as they come."""
    return np.transpose(x, caffe_order(call, x.ndim))


def channel_place(call: Call) -> int:
    """The axis of the channels: the last of NHWC, else axis 1."""
    return len(call.shape("x")) - 1 if formats.split(call.format("x")).primary in (formats.NHWC, formats.NDHWC) else 1


def shuffled(call: Call) -> Shape:
    """The shape of x, whose channels divide by group."""
    x, group = call.shape("x"), call.attr("group")
    if len(x) < 2:
        raise call.refuse("HA516", f"x = {dims.text(x)} has {len(x)} dims; allowed: 2 to 8.")
    channels = x[channel_place(call)]
    if group < 1 or (isinstance(channels, int) and channels % group):
        raise call.refuse("HA508", f"group = {group}; allowed: what divides the {channels} channels of x = {dims.text(x)}.")
    return x


@kernel("ShuffleChannel", shape=shuffled, bits=True)
def shuffle_channel(x: Array, group: int, call: Call) -> Array:
    """x with its channels (axis 1, the last of NHWC) dealt out anew: those of all groups in turn."""
    place = channel_place(call)
    split = x.reshape(*x.shape[:place], group, x.shape[place] // group, *x.shape[place + 1 :])
    return np.swapaxes(split, place, place + 1).reshape(x.shape)
