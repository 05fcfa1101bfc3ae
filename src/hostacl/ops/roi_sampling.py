"""Where regions of interest are sampled: grid points of each bin, and the four neighbours of each point."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hostacl.errors import Failed

Array = NDArray[Any]

LEGACY, ALIGNED, MMDET = 1, 2, 3
"""Values of roi_end_mode; 0 takes the box as it is."""

POINTS = 1 << 24
"""Points of one region from which on it is refused: its box would be millions of times the feature map."""


class Boxes(NamedTuple):
    """Regions on the feature map: image, start and size along (h, w), and points a bin along (h, w)."""

    image: Array
    start: tuple[Array, Array]
    size: tuple[Array, Array]
    points: tuple[Array, Array]


class Axis(NamedTuple):
    """Sampled positions along one axis, (regions, bins · points): the two neighbours and their weights, 0 outside."""

    low: Array
    high: Array
    low_weight: Array
    high_weight: Array


def boxes(op: str, rois: Array, images: int, scale: float, pooled: tuple[int, int], sample_num: int, mode: int) -> Boxes:
    """The regions that ``rois`` (K, 5: image, x0, y0, x1, y1) describe, in pixels of the feature map."""
    wide = rois.astype(np.float64)
    image = wide[:, 0]
    wrong = ~((image >= 0) & (image < images))
    if wrong.any():
        place = int(np.argmax(wrong))
        raise Failed("HA510", f"{op}: rois[{place},0] = {image[place]:g}; allowed: an image from 0 to {images - 1}.")
    offset, longer = 0.5 if mode == ALIGNED else 0.0, 1.0 if mode in (LEGACY, MMDET) else 0.0
    least = {ALIGNED: -np.inf, MMDET: 0.0}.get(mode, 1.0)
    start = tuple(wide[:, place] * scale - offset for place in (2, 1))
    end = tuple((wide[:, place] + longer) * scale - offset for place in (4, 3))
    size = tuple(np.maximum(last - first, least) for first, last in zip(start, end, strict=True))
    points = tuple(_points(extent, bins, sample_num) for extent, bins in zip(size, pooled, strict=True))
    large = points[0] * points[1] * (pooled[0] * pooled[1]) > POINTS
    if large.any():
        place = int(np.argmax(large))
        text = f"rois[{place}] takes {points[0][place]:g} x {points[1][place]:g} points a bin"
        raise Failed("HA519", f"{op}: {text}; give a smaller box or sample_num.")
    return Boxes(image.astype(np.int64), start, size, points)  # type: ignore[arg-type]


def _points(size: Array, bins: int, sample_num: int) -> Array:
    """Points a bin along one axis: as told, or one for each pixel begun."""
    if sample_num > 0:
        return np.full(size.shape, float(sample_num))
    return np.nan_to_num(np.maximum(np.ceil(size / bins), 0), posinf=float(POINTS + 1))


def groups(found: Boxes) -> Iterator[tuple[Array, tuple[int, int]]]:
    """Regions with equal numbers of points together: their places and (points along h, along w)."""
    pairs = np.stack(found.points, axis=1).astype(np.int64)
    kinds, which = np.unique(pairs, axis=0, return_inverse=True)
    for kind, (down, across) in enumerate(kinds):
        yield np.flatnonzero(which.reshape(-1) == kind), (int(down), int(across))


def axis(start: Array, size: Array, bins: int, points: int, length: int) -> Axis:
    """The positions of some regions along one axis of the feature map.

    A position outside [-1, length] counts nothing; one beyond the first or last pixel takes that pixel.
    """
    steps = np.arange(bins)[:, None] + (np.arange(points) + 0.5) / max(points, 1)
    at = start[:, None] + steps.ravel() * (size / bins)[:, None]
    inside = (at >= -1) & (at <= length)
    at = np.where(inside, np.maximum(at, 0), 0)
    low = np.minimum(at.astype(np.int64), length - 1)
    high = np.minimum(low + 1, length - 1)
    part = np.where(low == length - 1, 0, at - low)
    return Axis(low, high, np.where(inside, 1 - part, 0), np.where(inside, part, 0))


def corners(image: Array, rows: Axis, columns: Axis, size: tuple[int, int]) -> Iterator[tuple[Array, Array]]:
    """For each of the four neighbours: its place in the (N · H · W) pixels and its weight, both (regions, rows, columns)."""
    height, width = size
    for row, down in ((rows.low, rows.low_weight), (rows.high, rows.high_weight)):
        for column, across in ((columns.low, columns.low_weight), (columns.high, columns.high_weight)):
            place = (image[:, None] * height + row)[:, :, None] * width + column[:, None, :]
            yield place, down[:, :, None] * across[:, None, :]
