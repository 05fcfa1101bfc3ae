"""The gathering step of deformable convolutions, and its gradients."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product as product_of
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hostacl.ops import dims
from hostacl.ops.batches import Cut, evenly
from hostacl.ops.call import Call
from hostacl.ops.conv_adjoint import Geometry
from hostacl.ops.conv_axes import attribute_order, back, checked_geometry, data_letters, geometry_of, given_format, to
from hostacl.ops.dims import Dim, Shape
from hostacl.ops.registry import kernel
from hostacl.ops.run import Out
from hostacl.ops.shapes import equal_dims, rank_is
from hostacl.tensors import formats as layouts

Array = NDArray[Any]

PART_BYTES = 16 << 20
"""What the channels may take that are worked on at a time."""


def taps_of(call: Call) -> tuple[int, int]:
    """Height and width of the filter: ksize."""
    values = list(call.attr("ksize"))
    if len(values) != 2 or min(values) < 1:
        raise call.refuse("HA508", f"ksize = {values}; allowed: two numbers of 1 or more.")
    return values[0], values[1]


def gathered(call: Call) -> dict[str, Dim]:
    """The sizes of the image that is gathered: (N, C, kh·oh, kw·ow); refuses tensors and attributes that do not fit."""
    data = data_letters(call.format("x"), call.attr("data_format"), 4)
    x = dict(zip(data, rank_is(call, "x", 4), strict=True))
    order = data_letters(call.format("offsets"), data, 4)
    offsets = dict(zip(order, rank_is(call, "offsets", 4), strict=True))
    kernel, groups = taps_of(call), call.attr("deformable_groups")
    planes = groups * (3 if call.attr("modulated") else 2) * kernel[0] * kernel[1]
    if groups < 1 or (isinstance(x["C"], int) and x["C"] % groups):
        raise call.refuse("HA508", f"deformable_groups = {groups}; allowed: a divisor of the {x['C']} channels of x.")
    wanted = {"N": x["N"], "C": planes}
    geometry = checked_geometry(call, attribute_order(given_format(call), data))
    for place, letter in enumerate("HW"):
        extent, reach = x[letter], (kernel[place] - 1) * geometry.dilation[place] + 1
        if isinstance(extent, int):
            room = extent + sum(geometry.pads[place]) - reach
            wanted[letter] = room // geometry.stride[place] + 1 if room >= 0 else 0
    for letter, size in wanted.items():
        if dims.known(size, offsets[letter]) and size != offsets[letter]:
            told = f"offsets = {dims.text(call.shape('offsets'))} has {offsets[letter]} at {letter}; allowed: {size}."
            raise call.refuse("HA504", told)
    return {"N": x["N"], "C": x["C"], "H": offsets["H"] * kernel[0], "W": offsets["W"] * kernel[1]}


def deformable_shape(call: Call) -> Shape:
    """The image (N, C, kh·oh, kw·ow), in the axis order of y's format; offsets are (N, groups·(2 or 3)·kh·kw, oh, ow)."""
    sizes, data = gathered(call), data_letters(call.format("x"), call.attr("data_format"), 4)
    letters = layouts.axes_of(call.output_format("y", 0, call.shape("x")), 4) or data
    return tuple(sizes[letter] for letter in letters)


def image_cuts(call: Call) -> Iterator[Cut]:
    """By images, and by channels that share their offsets."""
    data = data_letters(call.format("x"), call.attr("data_format"), 4)
    y = layouts.axes_of(call.outputs["y"].specs[0].format, 4) or data
    offsets = data_letters(call.format("offsets"), data, 4)
    yield from evenly(call, {"x": data.index("N"), "offsets": offsets.index("N"), "y": y.index("N")})
    if call.attr("deformable_groups") == 1:
        yield from evenly(call, {"x": data.index("C"), "y": y.index("C")})


@kernel("DeformableOffsets", shape=deformable_shape, cuts=image_cuts)
def deformable_offsets(
    x: Array, offsets: Array, deformable_groups: int, modulated: bool, call: Call, formats: dict[str, int], out: tuple[Out, ...]
) -> Array:  # fmt: skip
    """What each filter element of a deformable convolution meets, laid out as an image of (kh·oh, kw·ow).

    Element (i, j) of window (h, w) is x between pixels (bilinear, 0 outside) at h·stride + i·dilation - pad + its offset,
    times its mask when modulated. The planes of offsets are all x (horizontal) offsets, then all y offsets, then all masks,
    each by group and filter element.
    """
    parts = Parts.of(x, offsets, deformable_groups, modulated, call, formats)
    high, wide = parts.planes.shape[2:]
    result = np.empty((*parts.images.shape[:2], high, parts.kernel[0], wide, parts.kernel[1]), x.dtype)
    for one in parts.taps():
        found = between_pixels(parts.images[one.image, one.channels], *one.places)
        result[one.image, one.channels, :, one.tap[0], :, one.tap[1]] = found if one.mask is None else found * one.mask
    y = result.reshape(*parts.images.shape[:2], high * parts.kernel[0], wide * parts.kernel[1])
    return back(y[:, :, None], layouts.axes_of(out[0].format, 4) or parts.data)


class Tap(NamedTuple):
    """One filter element of one group in one image: where all windows meet it."""

    image: int
    channels: slice
    tap: tuple[int, int]
    planes: tuple[int, int, int]
    places: tuple[Array, Array]
    mask: Array | None


class Parts(NamedTuple):
    """A call's tensors with the channels in front, and its geometry."""

    images: Array
    planes: Array
    kernel: tuple[int, int]
    geometry: Geometry
    groups: int
    modulated: bool
    data: str

    @staticmethod
    def of(x: Array, offsets: Array, groups: int, modulated: bool, call: Call, formats: dict[str, int]) -> Parts:
        """Those of a call."""
        data = data_letters(formats["x"], call.attr("data_format"), 4)
        images = np.ascontiguousarray(to(x, data, "NCDHW")[:, :, 0])
        planes = to(offsets, data_letters(formats["offsets"], data, 4), "NCDHW")[:, :, 0]
        order = attribute_order(given_format(call), data)
        geometry = geometry_of(call.attr("strides"), call.attr("dilations"), call.attr("pads"), order)
        return Parts(images, planes, taps_of(call), geometry, groups, modulated, data)

    def taps(self) -> Iterator[Tap]:
        """Every filter element of every group and image."""
        count, each = self.groups * self.kernel[0] * self.kernel[1], self.images.shape[1] // self.groups
        out = (self.planes.shape[2], self.planes.shape[3])
        for image, group, i, j in product_of(range(len(self.images)), range(self.groups), *map(range, self.kernel)):
            plane = (group * self.kernel[0] + i) * self.kernel[1] + j
            rows, columns = positions(self.geometry, out, (i, j))
            down, across = (self.planes[image, at].astype(np.float64) for at in (count + plane, plane))
            places = rows + down, columns + across
            mask = self.planes[image, 2 * count + plane].astype(np.float64) if self.modulated else None
            channels = slice(group * each, (group + 1) * each)
            yield Tap(image, channels, (i, j), (plane, count + plane, 2 * count + plane), places, mask)


def positions(geometry: Geometry, out: tuple[int, int], tap: tuple[int, int]) -> tuple[Array, Array]:
    """Where a filter element of each window lies without its offset: rows as a column, columns as a row."""
    starts = [
        np.arange(size) * geometry.stride[at] + tap[at] * geometry.dilation[at] - geometry.pads[at][0]
        for at, size in enumerate(out)
    ]
    return starts[0][:, None], starts[1][None, :]


def between_pixels(planes: Array, rows: Array, columns: Array) -> Array:
    """The planes (C, H, W) at broken positions (h, w): bilinear, 0 outside."""
    total = np.zeros((planes.shape[0], *rows.shape), np.float64)
    for corner in corners(planes.shape[1:], rows, columns):
        weight = corner.down * corner.across
        for part in some_channels(total):
            total[part] += np.where(corner.inside, planes[part, corner.row, corner.column] * weight, 0)
    return total


def some_channels(planes: Array) -> Iterator[slice]:
    """The channels of (C, h, w) in float64, few enough at a time that they stay small."""
    step = max(1, PART_BYTES // max(1, 8 * planes.shape[1] * planes.shape[2]))
    return (slice(start, start + step) for start in range(0, len(planes), step))


class Corner(NamedTuple):
    """One of the four pixels around each position: its place, whether there is one, its weights and how these change."""

    row: Array
    column: Array
    inside: Array
    down: Array
    across: Array
    slopes: tuple[int, int]


def corners(size: tuple[int, ...], rows: Array, columns: Array) -> Iterator[Corner]:
    """The four pixels around each position."""
    top, left = np.floor(rows), np.floor(columns)
    for down, right in product_of((0, 1), (0, 1)):
        at_row, at_column = top + down, left + right
        inside = (at_row >= 0) & (at_row < size[0]) & (at_column >= 0) & (at_column < size[1])
        row, column = (np.where(inside, one, 0).astype(np.int64) for one in (at_row, at_column))
        down_weight, across_weight = 1 - np.abs(rows - at_row), 1 - np.abs(columns - at_column)
        yield Corner(row, column, inside, down_weight, across_weight, (2 * down - 1, 2 * right - 1))


def gradient_shape(call: Call) -> list[Shape]:
    """Each gradient as its tensor; grad has the shape of the gathered image."""
    sizes, data = gathered(call), data_letters(call.format("x"), call.attr("data_format"), 4)
    grad, letters = rank_is(call, "grad", 4), data_letters(call.format("grad"), data, 4)
    want = tuple(sizes[letter] for letter in letters)
    for one, other in zip(grad, want, strict=True):
        equal_dims(call, one, other, f"grad = {dims.text(grad)} ({letters}); the gathered image is {dims.text(want)}.")
    return [call.shape("x"), call.shape("offsets")]


def gradient_cuts(call: Call) -> Iterator[Cut]:
    """By images, and by channels that share their offsets, whose gradients add up."""
    data = data_letters(call.format("x"), call.attr("data_format"), 4)
    letters = {name: data_letters(call.format(name), data, 4) for name in ("grad", "x", "offsets")}
    of_x, of_offsets = call.outputs
    letters |= {of_x: letters["x"], of_offsets: letters["offsets"]}
    yield from evenly(call, {name: axes.index("N") for name, axes in letters.items()})
    if call.attr("deformable_groups") == 1:
        yield from evenly(call, {name: letters[name].index("C") for name in ("grad", "x", of_x)}, adds=True)


@kernel("DeformableOffsetsGrad", shape=gradient_shape, cuts=gradient_cuts)
def deformable_offsets_grad(
    grad: Array, x: Array, offsets: Array, deformable_groups: int, modulated: bool, call: Call, formats: dict[str, int]
) -> tuple[Array, Array]:
    """The gradients of DeformableOffsets, by x and by offsets (and masks), each laid out as its tensor.

    A position between pixels shares its gradient among four of them; the derivative by an offset is the slope towards the
    pixel on the right or below. What lies outside the image gives and gets nothing.
    """
    parts = Parts.of(x, offsets, deformable_groups, modulated, call, formats)
    letters = data_letters(formats["grad"], parts.data, 4)
    (kh, kw), (high, wide) = parts.kernel, parts.planes.shape[2:]
    grads = to(grad, letters, "NCDHW")[:, :, 0].reshape(*parts.images.shape[:2], high, kh, wide, kw)
    dx, moved = np.zeros(parts.images.shape, np.float64), np.zeros(parts.planes.shape, np.float64)
    for one in parts.taps():
        images, dy = parts.images[one.image, one.channels], grads[one.image, one.channels, :, one.tap[0], :, one.tap[1]]
        share_out(one, images, dy.astype(np.float64), dx[one.image, one.channels], moved[one.image])
    dx, moved = back(dx[:, :, None], parts.data), back(moved[:, :, None], data_letters(formats["offsets"], parts.data, 4))
    return dx, moved


def share_out(one: Tap, images: Array, dy: Array, dx: Array, moved: Array) -> None:
    """Adds the gradients of one filter element to those of the image and of its planes."""
    across, down, mask = one.planes
    weight: Any = 1.0 if one.mask is None else one.mask
    size = images.shape[1] * images.shape[2]
    for corner in corners(images.shape[1:], *one.places):
        met = np.zeros(dy.shape[1:])
        for part in some_channels(dy):
            met += np.where(corner.inside, np.sum(dy[part] * images[part, corner.row, corner.column], axis=0), 0)
        moved[down] += met * weight * corner.slopes[0] * corner.across
        moved[across] += met * weight * corner.slopes[1] * corner.down
        if one.mask is not None:
            moved[mask] += met * corner.down * corner.across
        flat, by = (corner.row * images.shape[2] + corner.column)[corner.inside], weight * corner.down * corner.across
        for channel, each in enumerate(dy):
            dx[channel] += np.bincount(flat, (each * by)[corner.inside], size).reshape(dx.shape[1:])
