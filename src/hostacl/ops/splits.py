"""Taking a tensor apart along an axis, and stacking tensors along a new one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hostacl.ops import dims, runtime
from hostacl.ops.call import Call
from hostacl.ops.dims import Between, Dim, Shape
from hostacl.ops.registry import kernel
from hostacl.ops.shapes import axis as checked_axis
from hostacl.ops.shapes import equal_dims

Array = NDArray[Any]


def packed(call: Call) -> Shape:
    """The shape that all tensors have, with their number as a new dim."""
    shapes = call.shapes("x")
    first: Shape = shapes[0]
    for number, shape in enumerate(shapes[1:], 1):
        told = f"x{number} = {dims.text(shape)}, x0 = {dims.text(shapes[0])} differ; all need one shape."
        if len(shape) != len(first):
            raise call.refuse("HA504", told)
        first = tuple(equal_dims(call, a, b, told) for a, b in zip(first, shape, strict=True))
    if len(first) == 8:
        raise call.refuse("HA516", f"x0 = {dims.text(first)} has 8 dims; allowed: up to 7, for the result has one more.")
    place = checked_axis(call, call.attr("axis"), len(first) + 1)
    return (*first[:place], len(shapes), *first[place:])


@kernel("Pack", shape=packed, attrs={"N": 1}, bits=True)
def pack(x: list[Array], axis: int) -> Array:
    """The tensors stacked along a new axis."""
    return np.stack(x, axis=axis)


def unpacked(call: Call) -> list[list[Shape]]:
    """The shape without the axis, num times."""
    x, number = call.shape("x"), call.attr("num")
    if not x:
        raise call.refuse("HA516", "x is a scalar; allowed: 1 dim or more.")
    place = checked_axis(call, call.attr("axis"), len(x))
    if dims.known(x[place]) and x[place] != number:
        raise call.refuse("HA508", f"num = {number}; x = {dims.text(x)} has {x[place]} along axis {place}.")
    return [[(*x[:place], *x[place + 1 :])] * number]


@kernel("Unpack", shape=unpacked, bits=True)
def unpack(x: Array, axis: int) -> list[Array]:
    """x as many tensors as it has elements along the axis, each without it."""
    return list(np.moveaxis(x, axis, 0))


def number_of(call: Call) -> int:
    """How many parts there are."""
    number: int = call.attr("num_split")
    if number < 1:
        raise call.refuse("HA508", f"num_split = {number}; allowed: 1 or more.")
    if (described := call.outputs_given("y")) and described != number:
        raise call.refuse("HA513", f"{described} outputs y were described; num_split = {number}. They must be as many.")
    return number


def split_evenly(call: Call) -> list[list[Shape]]:
    """Equal parts along split_dim; before that is known, each dim may be the one that is split."""
    x, number = call.shape("x"), number_of(call)
    if "split_dim" not in call.attrs and not call.known("split_dim"):
        return [[tuple(Between((dims.bounds(dim)[0]) // number, dims.bounds(dim)[1]) for dim in x)] * number]
    place = split_axis(call, x)
    size = x[place]
    if isinstance(size, int) and size % number:
        told = f"num_split = {number}; x = {dims.text(x)} has {size} along split_dim {place}: it must divide."
        raise call.refuse("HA508", told)
    return [[(*x[:place], size // number, *x[place + 1 :])] * number]


def split_axis(call: Call, x: Shape) -> int:
    """The axis that is split; a scalar cannot be."""
    if not x:
        raise call.refuse("HA516", "x is a scalar; allowed: 1 dim or more.")
    return checked_axis(call, call.scalar("split_dim"), len(x), "split_dim")


@kernel("Split", "SplitD", shape=split_evenly, values=("split_dim",), bits=True)
def split(x: Array, split_dim: Any, num_split: int) -> list[Array]:
    """x in num_split equal parts along split_dim."""
    return np.split(x, num_split, axis=runtime.one(split_dim))


def split_by_sizes(call: Call) -> list[list[Shape]]:
    """Parts of the named sizes along split_dim; one -1 is what is left."""
    x, number = call.shape("x"), number_of(call)
    if not all(name in call.attrs or call.known(name) for name in ("split_dim", "size_splits")):
        return [[tuple(runtime.up_to(dim) for dim in x)] * number]
    place = split_axis(call, x)
    return [[(*x[:place], size, *x[place + 1 :]) for size in part_sizes(call, x, place, call.ints("size_splits"))]]


def part_sizes(call: Call, x: Shape, place: int, wanted: Sequence[int]) -> list[Dim]:
    """The sizes of all parts; refuses those that do not add up."""
    told = f"size_splits = {list(wanted)} for x = {dims.text(x)} along split_dim {place}"
    if len(wanted) != number_of(call):
        raise call.refuse("HA519", f"{told}: {len(wanted)} sizes; num_split = {number_of(call)}: one for each part.")
    if min(wanted) < -1 or list(wanted).count(-1) > 1:
        raise call.refuse("HA519", f"{told}; allowed: sizes of 0 or more and one -1.")
    rest = x[place] - sum(size for size in wanted if size != -1)
    if isinstance(rest, int) and (rest < 0 or (rest > 0 and -1 not in wanted)):
        raise call.refuse("HA519", f"{told}: the sizes must add up to {x[place]}.")
    return [(rest if isinstance(rest, int) else rest.at_least(0)) if size == -1 else size for size in wanted]


@kernel("SplitV", "SplitVD", shape=split_by_sizes, values=("size_splits", "split_dim"), bits=True)
def split_v(x: Array, size_splits: Any, split_dim: Any, call: Call) -> list[Array]:
    """x in parts of the named sizes along split_dim; one -1 is what is left."""
    place = runtime.one(split_dim) % x.ndim
    sizes = part_sizes(call, x.shape, place, runtime.whole(size_splits))
    return np.split(x, np.cumsum([int(size) for size in sizes])[:-1], axis=place)  # type: ignore[arg-type]
