"""Images and volumes sampled at the positions that a grid names, and the gradients."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product as product_of
from math import prod
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hostacl.ops import dims
from hostacl.ops.call import Call
from hostacl.ops.dims import Shape
from hostacl.ops.registry import kernel
from hostacl.ops.run import Out
from hostacl.ops.shapes import equal_dims, rank_is
from hostacl.tensors import formats as layouts

Array = NDArray[Any]

CUBIC_A = -0.75
NOWHERE = -100.0
"""A position outside of every image."""

BLOCK = 1 << 19
"""Elements of one sampled block: channels times positions."""

FIRST = {4: "NCHW", 5: "NCDHW"}
INTERPOLATIONS = {4: ("bilinear", "nearest", "bicubic"), 5: ("bilinear", "nearest")}
PADDINGS = ("zeros", "border", "reflection")


class Tap(NamedTuple):
    """One element that a sample is made of, along one axis: its place, its weight, and the weight's derivative."""

    place: Array
    weight: Array
    slope: Array


class Sampling(NamedTuple):
    """How samples are taken."""

    mode: str
    padding: str
    align: bool


def letters_of(code: int, call: Call, rank: int) -> str:
    """The axis letters of x: by its format, else by data_format, else channels first."""
    told = call.attrs.get("data_format")
    return layouts.axes_of(code, rank) or (told if told and len(told) == rank else FIRST[rank])


def checked(call: Call, rank: int) -> tuple[str, Shape, Shape]:
    """The letters of x, x and grid; refuses modes and shapes that do not fit."""
    x, grid = rank_is(call, "x", rank), rank_is(call, "grid", rank)
    for name, allowed in (("interpolation_mode", INTERPOLATIONS[rank]), ("padding_mode", PADDINGS)):
        if call.attr(name) not in allowed:
            raise call.refuse("HA508", f"{name} = {call.attr(name)!r}; allowed: {', '.join(map(repr, allowed))}.")
    letters = letters_of(call.format("x"), call, rank)
    if sorted(letters) != sorted(FIRST[rank]):
        raise call.refuse("HA508", f"data_format = {letters!r}; allowed: {FIRST[rank]!r}, or its axes in another order.")
    both = f"x = {dims.text(x)} ({letters}), grid = {dims.text(grid)}"
    equal_dims(call, x[letters.index("N")], grid[0], f"{both}: the first dim of grid must be the number of images.")
    equal_dims(call, grid[-1], rank - 2, f"{both}: the last dim of grid must be {rank - 2}, one number for each axis.")
    if 0 in [x[letters.index(letter)] for letter in FIRST[rank][2:]]:
        raise call.refuse("HA504", f"x = {dims.text(x)} ({letters}) has no pixels to take samples of.")
    return letters, x, grid


def sampled_shape(call: Call) -> Shape:
    """The images with the grid's height and width (and depth), in the order of y's format."""
    rank = 5 if "3D" in call.op_type else 4
    letters, x, grid = checked(call, rank)
    sizes = dict(zip(FIRST[rank], (x[letters.index("N")], x[letters.index("C")], *grid[1:-1]), strict=True))
    order = layouts.axes_of(call.output_format("y", 0, x), rank) or letters
    return tuple(sizes[letter] for letter in order)


def reordered(array: Array, source: str, target: str) -> Array:
    """The array with its axes in another order of the letters."""
    return np.transpose(array, [source.index(letter) for letter in target])


@kernel("GridSampler2D", "GridSampler3D", shape=sampled_shape)
def grid_sampler(
    x: Array, grid: Array, interpolation_mode: str, padding_mode: str, align_corners: bool, call: Call,
    formats: dict[str, int], out: tuple[Out, ...],
) -> Array:  # fmt: skip
    """x between its pixels, at the positions in grid: its last axis holds (x, y) or (x, y, z), each from -1 to 1.

    -1 and 1 are the outer edges of the image, with align_corners the middles of the outer pixels. Outside: 0 (zeros), the
    nearest pixel of the edge (border), or the image mirrored at its edge (reflection); what is no number gives 0. nearest
    rounds halves to even; bicubic, for images only, has the coefficient -0.75 and pads each of its 16 pixels. The format of x
    says where its channels are; NCHW (NCDHW) when it says nothing.
    """
    letters = letters_of(formats["x"], call, x.ndim)
    images = reordered(x, letters, FIRST[x.ndim])
    sampling = Sampling(interpolation_mode, padding_mode, align_corners)
    result = np.empty((*images.shape[:2], *grid.shape[1:-1]), x.dtype)
    flat = result.reshape(*result.shape[:2], prod(result.shape[2:]))
    for image, channels, places in blocks(flat.shape):
        planes = planes_of(images, image, channels)
        taps = taps_of(positions_of(grid, image, places), images.shape[2:], sampling)
        flat[image, channels, places] = sum_of(planes, taps, images.shape[2:])
    return reordered(result, FIRST[x.ndim], layouts.axes_of(out[0].format, x.ndim) or letters)


def blocks(shape: tuple[int, ...]) -> Iterator[tuple[int, slice, slice]]:
    """(image, channels, positions) of blocks that are not too large."""
    images, channels, places = shape
    step = max(min(places, 1 << 16), 1)
    group = max(BLOCK // step, 1)
    for image in range(images):
        for start in range(0, places, step):
            for first in range(0, channels, group):
                yield image, slice(first, first + group), slice(start, start + step)


def planes_of(images: Array, image: int, channels: slice) -> Array:
    """Channels of an image as float64 rows."""
    chosen = images[image, channels].astype(np.float64)
    return chosen.reshape(len(chosen), prod(images.shape[2:]))


def positions_of(grid: Array, image: int, places: slice) -> Array:
    """(axes, positions): where to sample, the first axis of the image first."""
    return grid[image].reshape(-1, grid.shape[-1])[places, ::-1].T.astype(np.float64)


def sum_of(planes: Array, taps: list[list[Tap]], sizes: tuple[int, ...]) -> Array:
    """The weighted sum of the taps, those outside left out."""
    total: Any = 0
    for chosen in product_of(*taps):
        index, inside = flat_index(chosen, sizes)
        weight = prod((tap.weight for tap in chosen[1:]), start=chosen[0].weight)
        total = total + np.where(inside, planes[:, index] * weight, 0)
    return np.asarray(total)


def flat_index(chosen: tuple[Tap, ...], sizes: tuple[int, ...]) -> tuple[Array, Array]:
    """Where the element lies in a flat plane (0 when it is outside), and whether it is inside."""
    index, inside = np.zeros(chosen[0].place.shape, np.int64), np.ones(chosen[0].place.shape, np.bool_)
    for tap, size in zip(chosen, sizes, strict=True):
        inside &= (tap.place >= 0) & (tap.place < size)
        index = index * size + np.where(inside, tap.place, 0).astype(np.int64)
    return np.where(inside, index, 0), inside


def taps_of(positions: Array, sizes: tuple[int, ...], how: Sampling) -> list[list[Tap]]:
    """For each axis the taps of all positions; their slopes are derivatives by the grid's numbers."""
    return [axis_taps(one, size, how) for one, size in zip(positions, sizes, strict=True)]


def axis_taps(position: Array, size: int, how: Sampling) -> list[Tap]:
    """The taps along one axis."""
    scale = (size - 1) / 2 if how.align else size / 2
    place = (position + 1) * scale if how.align else ((position + 1) * size - 1) / 2
    if how.mode == "bicubic":
        return cubic_taps(place, size, scale, how)
    place, slope = padded(place, size, how)
    place = np.where(np.abs(place) < 2**31, place, NOWHERE)
    if how.mode == "nearest":
        return [Tap(np.rint(place), np.ones_like(place), np.zeros_like(place))]
    low, slope = np.floor(place), slope * scale
    return [Tap(low, low + 1 - place, -slope), Tap(low + 1, place - low, slope)]


def cubic_taps(place: Array, size: int, scale: float, how: Sampling) -> list[Tap]:
    """Four taps whose places are padded one by one."""
    place = np.where(np.abs(place) < 2**31, place, NOWHERE)
    low = np.floor(place)
    found = []
    for step in range(-1, 3):
        away = place - low - step
        at, _ = padded(low + step, size, how)
        found.append(Tap(np.trunc(at), cubic(np.abs(away)), cubic_slope(np.abs(away)) * np.sign(away) * scale))
    return found


def cubic(away: Array) -> Array:
    """The weight of a pixel at this distance, up to 2."""
    near = ((CUBIC_A + 2) * away - (CUBIC_A + 3)) * away * away + 1
    return np.where(away <= 1, near, ((CUBIC_A * away - 5 * CUBIC_A) * away + 8 * CUBIC_A) * away - 4 * CUBIC_A)


def cubic_slope(away: Array) -> Array:
    """The derivative of that weight."""
    near = (3 * (CUBIC_A + 2) * away - 2 * (CUBIC_A + 3)) * away
    return np.where(away <= 1, near, (3 * CUBIC_A * away - 10 * CUBIC_A) * away + 8 * CUBIC_A)


def padded(place: Array, size: int, how: Sampling) -> tuple[Array, Any]:
    """Positions brought back into the image, and what that does to their derivative: 1, 0 or -1."""
    if how.padding == "zeros":
        return place, 1.0
    slope: Any = 1.0
    if how.padding == "reflection":
        place, slope = mirrored(place, *((0, size - 1) if how.align else (-0.5, size - 0.5)))
    free = (place > 0) & (place < size - 1)
    return np.clip(place, 0, size - 1), np.where(free, slope, 0.0)


def mirrored(place: Array, low: float, high: float) -> tuple[Array, Array]:
    """Positions mirrored at both bounds until they lie between, and the sign of their derivative."""
    if low == high:
        return np.zeros_like(place), np.zeros_like(place)
    away = place - low
    sign, away = np.where(away < 0, -1.0, 1.0), np.abs(away)
    flips, rest = np.floor(away / (high - low)), np.fmod(away, high - low)
    even = flips % 2 == 0
    return np.where(even, rest + low, high - rest), np.where(even, sign, -sign)


def gradient_shape(call: Call) -> list[Shape]:
    """dx as x, dgrid as grid; grad has the shape that sampling gives."""
    rank = 5 if "3D" in call.op_type else 4
    letters, x, grid = checked(call, rank)
    given = rank_is(call, "grad", rank)
    order = layouts.axes_of(call.format("grad"), rank) or letters
    sizes = dict(zip(FIRST[rank], (x[letters.index("N")], x[letters.index("C")], *grid[1:-1]), strict=True))
    want = tuple(sizes[letter] for letter in order)
    for one, other in zip(given, want, strict=True):
        equal_dims(call, one, other, f"grad = {dims.text(given)} ({order}); sampling gives {dims.text(want)}.")
    return [x, grid]


@kernel("GridSampler2DGrad", "GridSampler3DGrad", shape=gradient_shape)
def grid_sampler_grad(
    grad: Array, x: Array, grid: Array, interpolation_mode: str, padding_mode: str, align_corners: bool, call: Call,
    formats: dict[str, int],
) -> tuple[Array, Array]:  # fmt: skip
    """The gradients of GridSampler2D (3D): each of grad shared among the pixels it came from, and by the grid's numbers.

    Where padding holds a position at the edge, at the edge itself too, the grid's gradient is 0; for nearest everywhere.
    """
    letters = letters_of(formats["x"], call, x.ndim)
    images = reordered(x, letters, FIRST[x.ndim])
    grads = reordered(grad, layouts.axes_of(formats["grad"], x.ndim) or letters, FIRST[x.ndim])
    flat = grads.reshape(*grads.shape[:2], prod(grads.shape[2:]))
    sampling, sizes = Sampling(interpolation_mode, padding_mode, align_corners), images.shape[2:]
    dx = np.zeros((*images.shape[:2], prod(sizes)))
    dgrid = np.zeros((grid.shape[0], flat.shape[2], grid.shape[-1]))
    for image, channels, places in blocks(flat.shape):
        dy = flat[image, channels, places].astype(np.float64)
        taps = taps_of(positions_of(grid, image, places), sizes, sampling)
        planes = planes_of(images, image, channels)
        for chosen in product_of(*taps):
            index, inside = flat_index(chosen, sizes)
            add_at(dx[image, channels], index, inside, dy * prod((tap.weight for tap in chosen[1:]), start=chosen[0].weight))
            met = np.where(inside, np.sum(dy * planes[:, index], axis=0), 0)
            for at in range(len(chosen)):
                factors = [tap.slope if place == at else tap.weight for place, tap in enumerate(chosen)]
                dgrid[image, places, -1 - at] += np.where(inside, met * prod(factors[1:], start=factors[0]), 0)
    return reordered(dx.reshape(images.shape), FIRST[x.ndim], letters), dgrid.reshape(grid.shape)


def add_at(rows: Array, index: Array, inside: Array, values: Array) -> None:
    """Adds each column of values to the rows at its index; columns outside are left out."""
    index, values = index[inside], values[:, inside]
    count, width = rows.shape
    places = (np.arange(count)[:, None] * width + index).ravel()
    rows += np.bincount(places, values.ravel(), count * width).reshape(count, width) if places.size else 0
