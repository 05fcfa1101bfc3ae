"""Operators that repeat elements, or take a part: tiles, repeats, crops."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hostacl.ops import dims, runtime
from hostacl.ops.accumulate import sums_of
from hostacl.ops.call import Call, Unknown
from hostacl.ops.dims import Between, Dim, Shape
from hostacl.ops.reading import Reads
from hostacl.ops.registry import BOOL_TOO, kernel
from hostacl.ops.run import Out
from hostacl.ops.shapes import axis as checked_axis
from hostacl.ops.shapes import broadcast_shapes, rank_is

Array = NDArray[Any]

FLAT = 1000
"""The axis that stands for "none": the flat tensor."""


def expanded(call: Call) -> Shape:
    """x and the shape broadcast to each other; -1 keeps a dim of x."""
    x = call.shape("x")
    if "shape" not in call.attrs and not call.known("shape"):
        count = dims.count(call.shape("shape"))
        if not isinstance(count, int):
            raise Unknown("shape")
        return (Between(0, None),) * max(count, len(x))
    return expanded_to(call, x, call.ints("shape"))


def expanded_to(call: Call, x: Shape, wanted: Sequence[int]) -> Shape:
    """The common shape of x and the one named."""
    lead = len(wanted) - len(x)
    if any(size < (-1 if place >= lead else 0) for place, size in enumerate(wanted)):
        told = f"shape = {list(wanted)}; allowed: 0 or more, or -1 to keep a dim that x = {dims.text(x)} has."
        raise call.refuse("HA519", told)
    joined = broadcast_shapes(x, tuple(1 if size == -1 else size for size in wanted))
    if joined is None:
        told = f"x = {dims.text(x)} and shape = {list(wanted)} do not broadcast; each dim, from the last, must be equal or 1."
        raise call.refuse("HA504", told)
    return joined


@kernel("Expand", "ExpandD", shape=expanded, values=("shape",), bits=True)
def expand(x: Array, shape: Any, call: Call) -> Array:
    """x repeated to the shape that it and the named one broadcast to; unlike BroadcastTo a 1 of the named shape keeps a dim."""
    return np.broadcast_to(x, [int(dim) for dim in expanded_to(call, x.shape, runtime.whole(shape))])  # type: ignore[arg-type]


def tiled(call: Call) -> Shape:
    """Each dim times its multiple; more multiples than dims are of dims of 1 in front."""
    x = call.shape("x")
    if "multiples" not in call.attrs and not call.known("multiples"):
        count = dims.count(call.shape("multiples"))
        if not isinstance(count, int):
            raise Unknown("multiples")
        return (Between(0, None),) * count
    return tuple(dim * times for dim, times in zip(*tiles(call, x, call.ints("multiples")), strict=True))


def tiles(call: Call, x: Shape, multiples: Sequence[int]) -> tuple[Shape, Sequence[int]]:
    """Dims and multiples, equally many."""
    if len(multiples) < len(x):
        told = f"multiples = {list(multiples)} has {len(multiples)} entries; one for each dim of x = {dims.text(x)}."
        raise call.refuse("HA519", told)
    if min(multiples, default=0) < 0:
        raise call.refuse("HA519", f"multiples = {list(multiples)}; allowed: 0 or more.")
    return (1,) * (len(multiples) - len(x)) + x, multiples


def repeated(x: Array, multiples: Sequence[int]) -> Array:
    """x so often along each axis, as one copy of a broadcast view."""
    shape = x.shape
    pairs = tuple(size for times, dim in zip(multiples, shape, strict=True) for size in (times, dim))
    apart = x.reshape([size for dim in shape for size in (1, dim)])
    return np.broadcast_to(apart, pairs).reshape([times * dim for times, dim in zip(multiples, shape, strict=True)])


@kernel("Tile", "TileD", shape=tiled, values=("multiples",), bits=True, dtypes=BOOL_TOO)
def tile(x: Array, multiples: Any, call: Call) -> Array:
    """x so often along each axis as multiples says; more multiples than dims repeat it along new dims in front."""
    shape, times = tiles(call, x.shape, runtime.whole(multiples))
    return repeated(x.reshape([int(dim) for dim in shape]), times)  # type: ignore[arg-type]


def tiled_axis(call: Call) -> Shape:
    """One dim times tiles."""
    x, times = call.shape("x"), call.attr("tiles")
    place = checked_axis(call, call.attr("axis"), len(x))
    if times < 0 or not x:
        raise call.refuse("HA508", f"tiles = {times} for x = {dims.text(x)}; allowed: 0 or more, of 1 dim or more.")
    return (*x[:place], x[place] * times, *x[place + 1 :])


@kernel("TileWithAxis", shape=tiled_axis, bits=True)
def tile_with_axis(x: Array, axis: int, tiles: int) -> Array:
    """x so often along one axis."""
    return repeated(x, [tiles if place == axis % x.ndim else 1 for place in range(x.ndim)])


def interleaved(call: Call) -> Shape:
    """The dim of the axis is the sum of the repeats; of the flat tensor when there is no axis."""
    x = call.shape("x")
    whole = call.attr("axis") == FLAT
    place = 0 if whole else checked_axis(call, call.attr("axis"), len(x))
    shape = (dims.count(x),) if whole or not x else x
    if not call.known("repeats"):
        return (*shape[:place], Between(0, None), *shape[place + 1 :])
    times = repeats_of(call, call.ints("repeats"), shape, place)
    size = shape[place] * times[0] if len(times) == 1 else sum(times)
    return (*shape[:place], size, *shape[place + 1 :])


def repeats_of(call: Call, times: Sequence[int], shape: Shape, place: int) -> Sequence[int]:
    """The repeats: one for all, or one for each element along the axis."""
    size = shape[place]
    if min(times, default=0) < 0:
        raise call.refuse("HA519", f"repeats = {list(times)}; allowed: 0 or more.")
    if len(times) != 1 and dims.known(size) and size != len(times):
        raise call.refuse("HA519", f"repeats has {len(times)} entries; allowed: 1, or {size}, one for each along axis {place}.")
    return times


@kernel("RepeatInterleave", shape=interleaved, values=("repeats",), bits=True)
def repeat_interleave(x: Array, repeats: Any, axis: int) -> Array:
    """Each element along the axis so often, one after the other; axis 1000 is the flat tensor."""
    times = np.ravel(repeats).astype(np.int64)
    return np.repeat(np.atleast_1d(x), times[0] if times.size == 1 else times, axis=None if axis == FLAT else axis)


def gathered_shape(call: Call) -> Shape:
    """y_grad with an element along the axis for each of the repeats; with one repeat for all, its size over that."""
    grads = rank_is(call, "y_grad", *range(1, 9))
    if call.attr("axis") == FLAT and len(grads) != 1:
        raise call.refuse("HA516", f"y_grad = {dims.text(grads)}; allowed: 1 dim with axis {FLAT}, the flat tensor.")
    place = 0 if call.attr("axis") == FLAT else checked_axis(call, call.attr("axis"), len(grads))
    if not call.known("repeats"):
        return (*grads[:place], Between(0, None), *grads[place + 1 :])
    times, size = call.ints("repeats"), grads[place]
    told = f"repeats = {list(times)}, y_grad = {dims.text(grads)}"
    if min(times, default=0) < 0:
        raise call.refuse("HA519", f"{told}; allowed: 0 or more each.")
    one = len(times) == 1 and times[0] > 0
    if dims.known(size) and (size % times[0] if one else size != sum(times)):  # type: ignore[operator]
        raise call.refuse("HA519", f"{told}; they must add up to the {size} elements along axis {place}, or divide them.")
    count = size // times[0] if one else described_size(call, place, len(grads)) if list(times) == [0] else len(times)
    return (*grads[:place], count, *grads[place + 1 :])


def described_size(call: Call, place: int, rank: int) -> Dim:
    """What x_grad is described with along an axis, as any number of elements may have been repeated 0 times; else 1."""
    specs = call.outputs["x_grad"].specs
    told = specs[0].shape if specs and not specs[0].absent else ()
    return told[place] if len(told) == rank and told[place] >= 0 else 1


@kernel("RepeatInterleaveGrad", shape=gathered_shape, values=("repeats",))
def repeat_interleave_grad(y_grad: Array, repeats: Any, axis: int, out: tuple[Out, ...]) -> Array:
    """The gradient of RepeatInterleave: each element the sum of those that it was repeated to; axis 1000 is the flat tensor.

    Long sums are in float64; all are rounded once.
    """
    times, place = np.ravel(repeats).astype(np.int64), 0 if axis == FLAT else axis
    moved = np.moveaxis(y_grad, place, 0)
    given = out[0].shape[place] if times.tolist() == [0] else times.size
    count = moved.shape[0] // int(times[0]) if times.size == 1 and times[0] else given
    lines = np.ascontiguousarray(moved).reshape(moved.shape[0], prod(moved.shape[1:]))
    rows = np.repeat(np.arange(count), times[0] if times.size == 1 else times)
    return np.moveaxis(sums_of(rows, lines, count).reshape(count, *moved.shape[1:]), 0, place)


def cropped(call: Call) -> Shape:
    """x with the dims of size from the axis on; refuses what reaches outside x."""
    x, size = call.shape("x"), call.shape("size")
    place = checked_axis(call, call.attr("axis"), len(x))
    if len(x) != len(size):
        raise call.refuse("HA504", f"x = {dims.text(x)}, size = {dims.text(size)} must have one rank.")
    for at, offset in enumerate(crop_offsets(call, len(x), place), place):
        high = dims.bounds(x[at])[1]
        if offset < 0 or (high is not None and offset + dims.bounds(size[at])[0] > high):
            told = f"offsets = {call.attr('offsets')}, size = {dims.text(size)}"
            raise call.refuse("HA508", f"{told}: axis {at} of x = {dims.text(x)} has no {size[at]} elements from {offset} on.")
    return (*x[:place], *size[place:])


def crop_offsets(call: Call, rank: int, place: int) -> Sequence[int]:
    """An offset for each axis from ``place`` on; one for all is allowed."""
    offsets: list[int] = call.attr("offsets")
    if len(offsets) not in (1, rank - place):
        raise call.refuse("HA508", f"offsets = {offsets}; allowed: one, or {rank - place}, one for each axis from {place} on.")
    return offsets * (rank - place) if len(offsets) == 1 else offsets


@kernel("Crop", shape=cropped, bits=True, reads={"x": Reads.PARTS})
def crop(x: Array, size: Array, axis: int, call: Call) -> Array:
    """The part of x from the offsets on that is as large as size along the axes from axis on; only the shape of size counts."""
    place = axis % x.ndim
    offsets = crop_offsets(call, x.ndim, place)
    window = tuple(slice(start, start + length) for start, length in zip(offsets, size.shape[place:], strict=True))
    return x[(slice(None),) * place + window]
