"""The gathering step of deformable convolutions."""

from __future__ import annotations

from itertools import product as product_of
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hostacl.ops import dims
from hostacl.ops.call import Call
from hostacl.ops.conv_adjoint import Geometry
from hostacl.ops.conv_grad import attribute_order, back, checked_geometry, data_letters, geometry_of, given_format, to
from hostacl.ops.dims import Shape
from hostacl.ops.registry import kernel
from hostacl.ops.run import Out
from hostacl.ops.shapes import rank_is
from hostacl.tensors import formats as layouts

Array = NDArray[Any]


def taps_of(call: Call) -> tuple[int, int]:
    """Height and width of the filter: ksize."""
    values = list(call.attr("ksize"))
    if len(values) != 2 or min(values) < 1:
        raise call.refuse("HA508", f"ksize = {values}; allowed: two numbers of 1 or more.")
    return values[0], values[1]


def deformable_shape(call: Call) -> Shape:
    """The image (N, C, kh·oh, kw·ow), in the axis order of y's format; offsets are (N, groups·(2 or 3)·kh·kw, oh, ow)."""
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
    sizes = {"N": x["N"], "C": x["C"], "H": offsets["H"] * kernel[0], "W": offsets["W"] * kernel[1]}
    letters = layouts.axes_of(call.output_format("y", 0, call.shape("x")), 4) or data
    return tuple(sizes[letter] for letter in letters)


@kernel("DeformableOffsets", shape=deformable_shape)
def deformable_offsets(
    x: Array, offsets: Array, deformable_groups: int, modulated: bool, call: Call, formats: dict[str, int], out: tuple[Out, ...]
) -> Array:  # fmt: skip
    """What each filter element of a deformable convolution meets, laid out as an image of (kh·oh, kw·ow).

    Element (i, j) of window (h, w) is x between pixels (bilinear, 0 outside) at h·stride + i·dilation - pad + its offset,
    times its mask when modulated. The planes of offsets are all x (horizontal) offsets, then all y offsets, then all masks,
    each by group and filter element.
    """
    data = data_letters(formats["x"], call.attr("data_format"), 4)
    images = np.ascontiguousarray(to(x, data, "NCDHW")[:, :, 0])
    planes = to(offsets, data_letters(formats["offsets"], data, 4), "NCDHW")[:, :, 0].astype(np.float64)
    kernel = taps_of(call)
    order = attribute_order(given_format(call), data)
    geometry = geometry_of(call.attr("strides"), call.attr("dilations"), call.attr("pads"), order)
    count, (high, wide) = deformable_groups * kernel[0] * kernel[1], planes.shape[2:]
    across, down = planes[:, :count], planes[:, count : 2 * count]
    masks = planes[:, 2 * count :] if modulated else None
    each = images.shape[1] // deformable_groups
    result = np.empty((*images.shape[:2], high, kernel[0], wide, kernel[1]), x.dtype)
    for image, group, i, j in product_of(range(len(images)), range(deformable_groups), *map(range, kernel)):
        plane, channels = (group * kernel[0] + i) * kernel[1] + j, slice(group * each, (group + 1) * each)
        rows, columns = positions(geometry, (high, wide), (i, j))
        found = between_pixels(images[image, channels], rows + down[image, plane], columns + across[image, plane])
        result[image, channels, :, i, :, j] = found if masks is None else found * masks[image, plane]
    y = result.reshape(*images.shape[:2], high * kernel[0], wide * kernel[1])
    return back(y[:, :, None], layouts.axes_of(out[0].format, 4) or data)


def positions(geometry: Geometry, out: tuple[int, int], tap: tuple[int, int]) -> tuple[Array, Array]:
    """Where a filter element of each window lies without its offset: rows as a column, columns as a row."""
    starts = [
        np.arange(size) * geometry.stride[at] + tap[at] * geometry.dilation[at] - geometry.pads[at][0]
        for at, size in enumerate(out)
    ]
    return starts[0][:, None], starts[1][None, :]


def between_pixels(planes: Array, rows: Array, columns: Array) -> Array:
    """The planes (C, H, W) at broken positions (h, w): bilinear, 0 outside."""
    top, left = np.floor(rows), np.floor(columns)
    total = np.zeros((planes.shape[0], *rows.shape), np.float64)
    for down, right in product_of((0, 1), (0, 1)):
        weight = (1 - np.abs(rows - top - down)) * (1 - np.abs(columns - left - right))
        at_row, at_column = top + down, left + right
        inside = (at_row >= 0) & (at_row < planes.shape[1]) & (at_column >= 0) & (at_column < planes.shape[2])
        picked = planes[:, np.where(inside, at_row, 0).astype(np.int64), np.where(inside, at_column, 0).astype(np.int64)]
        total += np.where(inside, picked * weight, 0)
    return total
