"""Position-sensitive pooling of regions, and its gradient."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import product as product_of
from math import isfinite
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hostacl.errors import Failed
from hostacl.ops import dims
from hostacl.ops.call import Call
from hostacl.ops.conv_axes import axes_like
from hostacl.ops.dims import Shape
from hostacl.ops.grid_sample import reordered
from hostacl.ops.registry import kernel
from hostacl.ops.run import Out
from hostacl.ops.shapes import equal_dims, rank_is
from hostacl.tensors import formats as layouts

Array = NDArray[Any]

LEAST = 0.1
"""What a region is wide and high at least."""


def check_regions(call: Call) -> Shape:
    """The shape of rois: (batches, 5, regions); refuses numbers that make no bins."""
    rois = rank_is(call, "rois", 3)
    equal_dims(call, rois[1], 5, f"rois = {dims.text(rois)}; allowed: [batches,5,regions]: image, x0, y0, x1, y1.")
    for name in ("output_dim", "group_size"):
        if call.attr(name) < 1:
            raise call.refuse("HA508", f"{name} = {call.attr(name)}; allowed: 1 or more.")
    if not isfinite(scale := call.attr("spatial_scale")):
        raise call.refuse("HA508", f"spatial_scale = {scale}; allowed: a finite number.")
    return rois


def pooled_shape(call: Call) -> Shape:
    """(batches·regions, output_dim, group_size, group_size), in the order of y's format."""
    rois, x = check_regions(call), rank_is(call, "x", 4)
    size, out = call.attr("group_size"), call.attr("output_dim")
    letters = axes_like(call.format("x"), "NCHW")
    channels = x[letters.index("C")]
    told = f"x = {dims.text(x)} ({letters}) has {dims.text((channels,))} channels; allowed: output_dim·group_size² = "
    equal_dims(call, channels, out * size * size, f"{told}{out * size * size}.")
    sizes = {"N": rois[0] * rois[2], "C": out, "H": size, "W": size}
    return tuple(sizes[letter] for letter in axes_like(call.output_format("y", 0, x), letters))


def halves_up(x: Array) -> Array:
    """Rounded, halves away from zero."""
    return np.sign(x) * np.floor(np.abs(x) + 0.5)


def bins(rois: Array, images: int, plane: tuple[int, int], size: int, scale: float, op: str) -> Iterator[tuple[Any, ...]]:
    """(region, image, row of the bin, column of the bin, rows, columns) of all bins that hold pixels."""
    rows = np.moveaxis(rois, 1, 2).reshape(-1, 5).astype(np.float64)
    check_corners(op, rows)
    low, high = halves_up(rows[:, 1:3]) * scale, (halves_up(rows[:, 3:]) + 1) * scale
    each = np.maximum(high - low, LEAST) / size
    for region, row in enumerate(rows):
        if not 0 <= row[0] < images:
            raise Failed("HA510", f"{op}: rois names image {row[0]:g}; allowed: 0 to {images - 1}.")
        ends = []
        for axis, length in ((1, plane[0]), (0, plane[1])):
            first = np.floor(np.arange(size) * each[region, axis] + low[region, axis])
            last = np.ceil((np.arange(size) + 1) * each[region, axis] + low[region, axis])
            ends.append([slice(int(a), int(b)) for a, b in np.clip(np.stack([first, last], 1), 0, length)])
        for i, j in product_of(range(size), range(size)):
            if ends[0][i].start < ends[0][i].stop and ends[1][j].start < ends[1][j].stop:
                yield region, int(row[0]), i, j, ends[0][i], ends[1][j]


def check_corners(op: str, rows: Array) -> None:
    """Fails for regions whose corners say no place."""
    if not (finite := np.isfinite(rows)).all():
        region, at = (int(one) for one in np.argwhere(~finite)[0])
        raise Failed("HA510", f"{op}: region {region} of rois holds {rows[region, at]:g}; allowed: finite numbers.")


@kernel("PSROIPoolingV2", shape=pooled_shape)
def ps_roi_pooling_v2(
    x: Array, rois: Array, spatial_scale: float, output_dim: int, group_size: int, call: Call, formats: dict[str, int],
    out: tuple[Out, ...],
) -> Array:  # fmt: skip
    """For each region group_size² bins, each the mean of its pixels in a channel of its own: (c·group_size + i)·group_size + j.

    rois are (image, x0, y0, x1, y1) along the second axis; corners are rounded, the end moved 1 further, then both multiplied
    by spatial_scale; a region is 0.1 wide at least. Bins reach to whole pixels outwards; one without any gives 0.
    """
    letters = axes_like(formats["x"], "NCHW")
    images = reordered(x, letters, "NCHW")
    result = np.zeros((rois.shape[0] * rois.shape[2], output_dim, group_size, group_size))
    parts = images.reshape(len(images), output_dim, group_size, group_size, *images.shape[2:])
    plane = (images.shape[2], images.shape[3])
    for region, image, i, j, rows, columns in bins(rois, len(images), plane, group_size, spatial_scale, call.op_type):
        result[region, :, i, j] = np.mean(parts[image, :, i, j, rows, columns], axis=(1, 2), dtype=np.float64)
    return reordered(result, "NCHW", layouts.axes_of(out[0].format, 4) or letters)


def gradient_shape(call: Call) -> Shape:
    """(batches, output_dim·group_size², height, width), in the order of y's format."""
    rois, grads = check_regions(call), rank_is(call, "x", 4)
    size, out, plane = call.attr("group_size"), call.attr("output_dim"), call.attr("input_size")
    if len(plane) != 2 or min(plane) < 1:
        raise call.refuse("HA508", f"input_size = {list(plane)}; allowed: height and width, each 1 or more.")
    letters = axes_like(call.format("x"), "NCHW")
    sizes = {"N": rois[0] * rois[2], "C": out, "H": size, "W": size}
    want = tuple(sizes[letter] for letter in letters)
    for one, other in zip(grads, want, strict=True):
        equal_dims(call, one, other, f"x = {dims.text(grads)} ({letters}); pooling gives {dims.text(want)}.")
    found = {"N": rois[0], "C": out * size * size, "H": plane[0], "W": plane[1]}
    return tuple(found[letter] for letter in axes_like(call.output_format("y", 0, grads), letters))


@kernel("PSROIPoolingGradV2D", shape=gradient_shape)
def ps_roi_pooling_grad_v2_d(
    x: Array, rois: Array, spatial_scale: float, output_dim: int, group_size: int, input_size: Sequence[int], call: Call,
    formats: dict[str, int], out: tuple[Out, ...],
) -> Array:  # fmt: skip
    """The gradient of PSROIPoolingV2: each of x shared equally among the pixels of its bin.

    There are as many images as rois has batches.
    """
    letters = axes_like(formats["x"], "NCHW")
    grads, images = reordered(x, letters, "NCHW").astype(np.float64), rois.shape[0]
    parts = np.zeros((images, output_dim, group_size, group_size, *input_size))
    plane = (input_size[0], input_size[1])
    for region, image, i, j, rows, columns in bins(rois, images, plane, group_size, spatial_scale, call.op_type):
        count = (rows.stop - rows.start) * (columns.stop - columns.start)
        parts[image, :, i, j, rows, columns] += (grads[region, :, i, j] / count)[:, None, None]
    result = parts.reshape(images, output_dim * group_size**2, *input_size)
    return reordered(result, "NCHW", layouts.axes_of(out[0].format, 4) or letters)
