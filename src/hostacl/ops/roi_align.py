"""ROIAlign and its gradient."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hostacl.ops import dims, roi_sampling
from hostacl.ops.call import Call
from hostacl.ops.dims import Shape
from hostacl.ops.registry import kernel
from hostacl.ops.run import Out
from hostacl.ops.shapes import equal_dims, rank_is
from hostacl.tensors import formats as layouts

Array = NDArray[Any]

TILE_BYTES = 32 << 20
"""What the sampled values of one block may take."""

MODES = {0: "the box as it is", 1: "its end 1 further", 2: "half a pixel less", 3: "as mmdet 0.6"}


def letters_of(code: int) -> str:
    """The axis letters of a 4-D tensor, NCHW when its format has none."""
    return layouts.axes_of(code, 4) or "NCHW"


def check_sampling(call: Call, rois: Shape) -> None:
    """Refuses attributes and regions that say nothing."""
    if dims.known(rois[1]) and rois[1] != 5:
        raise call.refuse("HA504", f"rois = {dims.text(rois)}; allowed: [regions,5], each with image, x0, y0, x1, y1.")
    for name, least in (("pooled_height", 1), ("pooled_width", 1), ("sample_num", 0)):
        if call.attr(name) < least:
            raise call.refuse("HA508", f"{name} = {call.attr(name)}; allowed: {least} or more.")
    if (mode := call.attr("roi_end_mode")) not in MODES:
        told = ", ".join(f"{key} ({text})" for key, text in MODES.items())
        raise call.refuse("HA508", f"roi_end_mode = {mode}; allowed: {told}.")


def roi_align_shape(call: Call) -> Shape:
    """One (C, pooled_height, pooled_width) for each region, in the order of y's format."""
    features, rois = rank_is(call, "features", 4), rank_is(call, "rois", 2)
    check_sampling(call, rois)
    if call.attr("pool_mode") not in ("avg", "max"):
        raise call.refuse("HA508", f"pool_mode = {call.attr('pool_mode')!r}; allowed: 'avg', 'max'.")
    channels = features[letters_of(call.format("features")).index("C")]
    sizes = {"N": rois[0], "C": channels, "H": call.attr("pooled_height"), "W": call.attr("pooled_width")}
    return tuple(sizes[letter] for letter in letters_of(call.output_format("y", 0, features)))


@kernel("ROIAlign", shape=roi_align_shape, attrs={"pool_mode": "avg"})
def roi_align(
    features: Array, rois: Array, spatial_scale: float, pooled_height: int, pooled_width: int, sample_num: int,
    roi_end_mode: int, pool_mode: str, formats: dict[str, int], out: tuple[Out, ...],
) -> Array:  # fmt: skip
    """For each region (image, x0, y0, x1, y1) the features bilinearly sampled in pooled_height · pooled_width bins.

    sample_num² points a bin (0: as many as it has pixels, rounded up), averaged, or the largest one with pool_mode max.
    roi_end_mode 0: the box times spatial_scale, at least 1 wide; 1: its end 1 further before scaling; 2: half a pixel less, any
    width (torch's aligned); 3: like 1, but at least 0 wide (mmdet 0.6). Points more than a pixel outside count 0, as do NaN.
    rois_n is not needed. An image number out of range fails.
    """
    pixels = np.transpose(features, [letters_of(formats["features"]).index(letter) for letter in "NHWC"])
    images, height, width, channels = pixels.shape
    flat = np.ascontiguousarray(pixels).reshape(-1, channels)
    pooled = (pooled_height, pooled_width)
    found = roi_sampling.boxes("ROIAlign", rois, images, spatial_scale, pooled, sample_num, roi_end_mode)
    result = np.zeros((len(rois), *pooled, channels), features.dtype)
    for places, points in roi_sampling.groups(found):
        if 0 in points or flat.size == 0:
            continue
        for part, lanes in blocks(places, pooled, points, channels, features.dtype.itemsize):
            rows, columns = axes_of(found, part, pooled, points, (height, width))
            share = 1 if pool_mode == "max" else 1 / (points[0] * points[1])  # first, so that sums do not overflow
            values: Any = 0
            for index, weight in roi_sampling.corners(found.image[part], rows, columns, (height, width)):
                values = values + weighted(flat[index, lanes], (weight * share)[..., None].astype(flat.dtype))
            bins = values.reshape(len(part), pooled_height, points[0], pooled_width, points[1], -1)
            result[part, ..., lanes] = bins.max(axis=(2, 4)) if pool_mode == "max" else bins.sum(axis=(2, 4))
    return np.transpose(result, ["NHWC".index(letter) for letter in letters_of(out[0].format)])


def weighted(values: Array, weight: Array) -> Array:
    """Values times weights; a weight of 0 leaves nothing of an infinity or NaN."""
    scaled = values * weight
    return scaled if np.isfinite(scaled).all() else np.where(weight != 0, scaled, 0)


def axes_of(
    found: roi_sampling.Boxes, part: Array, pooled: tuple[int, int], points: tuple[int, int], size: tuple[int, int]
) -> tuple[roi_sampling.Axis, ...]:
    """The sampled positions of some regions along h and w."""
    return tuple(
        roi_sampling.axis(found.start[i][part], found.size[i][part], pooled[i], points[i], size[i]) for i in (0, 1)
    )


def blocks(places: Array, pooled: tuple[int, int], points: tuple[int, int], channels: int, itemsize: int) -> Any:
    """Regions, and channels, whose sampled values take bounded memory together."""
    each = pooled[0] * pooled[1] * points[0] * points[1] * itemsize
    lanes = min(channels, max(1, TILE_BYTES // each))
    step = max(1, TILE_BYTES // (each * lanes))
    for start in range(0, len(places), step):
        for lane in range(0, channels, lanes):
            yield places[start : start + step], slice(lane, min(lane + lanes, channels))


def gradient_shape(call: Call) -> Shape:
    """xdiff_shape; ydiff has one region for each of rois, its channels and the pooled sizes."""
    ydiff, rois, shape = rank_is(call, "ydiff", 4), rank_is(call, "rois", 2), call.attr("xdiff_shape")
    check_sampling(call, rois)
    if len(shape) != 4 or min(shape) < 0:
        raise call.refuse("HA508", f"xdiff_shape = {list(shape)}; allowed: 4 numbers, each 0 or more.")
    given = dict(zip(letters_of(call.format("ydiff")), ydiff, strict=True))
    channels = shape[letters_of(call.output_format("xdiff", 0, ydiff)).index("C")]
    wanted = {"N": rois[0], "C": channels, "H": call.attr("pooled_height"), "W": call.attr("pooled_width")}
    for letter, want in wanted.items():
        text = f"ydiff = {dims.text(ydiff)} has {given[letter]} along {letter}; rois, xdiff_shape and pooled sizes give {want}."
        equal_dims(call, given[letter], want, text)
    return tuple(shape)


@kernel("ROIAlignGrad", shape=gradient_shape)
def roi_align_grad(
    ydiff: Array, rois: Array, xdiff_shape: Sequence[int], pooled_width: int, pooled_height: int, spatial_scale: float,
    sample_num: int, roi_end_mode: int, formats: dict[str, int], out: tuple[Out, ...],
) -> Array:  # fmt: skip
    """The gradient of ROIAlign's features (averaged bins): each bin's, shared among its points and their neighbours."""
    order = letters_of(out[0].format)
    images, height, width, channels = (xdiff_shape[order.index(letter)] for letter in "NHWC")
    grads = np.transpose(ydiff, [letters_of(formats["ydiff"]).index(letter) for letter in "NHWC"])
    pooled = (pooled_height, pooled_width)
    found = roi_sampling.boxes("ROIAlignGrad", rois, images, spatial_scale, pooled, sample_num, roi_end_mode)
    total = np.zeros((images * height * width, channels), ydiff.dtype)
    for places, points in roi_sampling.groups(found):
        if 0 in points or total.size == 0:
            continue
        for part, lanes in blocks(places, pooled, points, channels, ydiff.dtype.itemsize):
            rows, columns = axes_of(found, part, pooled, points, (height, width))
            shared = np.repeat(np.repeat(grads[part, :, :, lanes], points[0], axis=1), points[1], axis=2)
            shared = shared / (points[0] * points[1])
            for index, weight in roi_sampling.corners(found.image[part], rows, columns, (height, width)):
                add_rows(total[:, lanes], index.ravel(), weighted(shared, weight[..., None]).reshape(index.size, -1))
    pixels = total.reshape(images, height, width, channels)
    return np.transpose(pixels, ["NHWC".index(letter) for letter in order])


def add_rows(total: Array, index: Array, rows: Array) -> None:
    """Adds rows to those of ``total`` at an index, equal ones together."""
    order = np.argsort(index, kind="stable")
    places, first = np.unique(index[order], return_index=True)
    total[places] += np.add.reduceat(rows[order], first, axis=0).astype(total.dtype)
