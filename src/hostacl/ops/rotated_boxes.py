"""How much rotated boxes cover each other."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from hostacl.ops import dims
from hostacl.ops.call import Call
from hostacl.ops.dims import Shape
from hostacl.ops.registry import kernel
from hostacl.ops.shapes import equal_dims, rank_is

Array = NDArray[Any]

BLOCK = 1 << 14
"""Pairs that are worked out at once: each has 24 points."""

NEAR = 1e-9
"""How far outside of a box a point may lie and still count as on its edge, relative to the sizes of both."""


def check_boxes(call: Call) -> tuple[Shape, Shape]:
    """The shapes of both inputs: (batches, 5, boxes)."""
    boxes, others = rank_is(call, "boxes", 3), rank_is(call, "query_boxes", 3)
    for name, shape in (("boxes", boxes), ("query_boxes", others)):
        equal_dims(call, shape[1], 5, f"{name} = {dims.text(shape)}; allowed: [batches,5,boxes].")
    told = f"boxes = {dims.text(boxes)}, query_boxes = {dims.text(others)}: the batches must be as many."
    equal_dims(call, boxes[0], others[0], told)
    return boxes, others


def overlap_shape(call: Call) -> Shape:
    """(batches, boxes, query boxes)."""
    boxes, others = check_boxes(call)
    return (boxes[0], boxes[2], others[2])


def corners(boxes: Array, trans: bool) -> Array:
    """(…, 4, 2): the corners of boxes (…, 5), one after the other around each."""
    middle, size = boxes[..., :2], boxes[..., 2:4]
    if trans:
        middle, size = (boxes[..., :2] + boxes[..., 2:4]) / 2, boxes[..., 2:4] - boxes[..., :2]
    angle = np.radians(boxes[..., 4])[..., None]
    signs = np.array([[-1, -1], [1, -1], [1, 1], [-1, 1]])
    x, y = signs[:, 0] * size[..., :1] / 2, signs[:, 1] * size[..., 1:] / 2
    cos, sin = np.cos(angle), np.sin(angle)
    return np.stack([middle[..., :1] + x * cos + y * sin, middle[..., 1:] + y * cos - x * sin], axis=-1)


def cross(a: Array, b: Array) -> Array:
    """The signed area that two vectors span."""
    return np.asarray(a[..., 0] * b[..., 1] - a[..., 1] * b[..., 0])


def common_area(one: Array, other: Array) -> Array:
    """The common area of pairs of boxes, (…) of corners (…, 4, 2): the hull of corners inside and of crossing edges."""
    middle = (np.sum(one, axis=-2, keepdims=True) + np.sum(other, axis=-2, keepdims=True)) / 8
    one, other = one - middle, other - middle  # near to 0, where numbers are finer
    points, valid = [one, other], [inside(one, other), inside(other, one)]
    sides, others = np.roll(one, -1, -2) - one, np.roll(other, -1, -2) - other
    for k in range(4):
        start, side = other[..., k : k + 1, :], others[..., k : k + 1, :]
        span = cross(sides, side)
        flat = np.where(span == 0, 1, span)
        along, across = cross(start - one, side) / flat, cross(start - one, sides) / flat
        points.append(one + along[..., None] * sides)
        valid.append((span != 0) & (along >= 0) & (along <= 1) & (across >= 0) & (across <= 1))
    return hull_area(np.concatenate(points, axis=-2), np.concatenate(valid, axis=-1))


def inside(points: Array, box: Array) -> Array:
    """Which points (…, 4, 2) lie in boxes, edges belonging to them; none in a box without an area."""
    start, side, last = box[..., :1, :], box[..., 1:2, :] - box[..., :1, :], box[..., 3:4, :] - box[..., :1, :]
    found = np.ones(points.shape[:-1], np.bool_)
    for edge in (side, last):
        size, place = np.sum(edge * edge, axis=-1), np.sum((points - start) * edge, axis=-1)
        slack = NEAR * (size + np.sum(points * points, axis=-1))
        found &= (size > 0) & (place >= -slack) & (place <= size + slack)
    return found


def hull_area(points: Array, valid: Array) -> Array:
    """The area of the polygon that the valid points are the corners of, in whatever order; fewer than three have none."""
    count = np.sum(valid, axis=-1, keepdims=True)
    middle = np.sum(np.where(valid[..., None], points, 0), axis=-2) / np.maximum(count, 1)
    away = points - middle[..., None, :]
    angle = np.where(valid, np.arctan2(away[..., 1], away[..., 0]), np.inf)
    order = np.argsort(angle, axis=-1, kind="stable")
    away = np.take_along_axis(away, order[..., None], -2)
    first = away[..., :1, :]
    away = np.where(np.take_along_axis(valid, order, -1)[..., None], away, first)  # the rest closes the polygon
    area = np.sum(cross(away, np.roll(away, -1, -2)), axis=-1) / 2
    return np.where(count[..., 0] < 3, 0.0, np.abs(area))


def all_areas(one: Array, other: Array) -> Array:
    """(boxes, others): the common areas of each and each, of corners (boxes, 4, 2)."""
    result = np.zeros((len(one), len(other)))
    step = max(1, BLOCK // max(len(other), 1))
    for start in range(0, len(one), step):
        part = one[start : start + step, None]
        shape = (part.shape[0], len(other), 4, 2)
        result[start : start + step] = common_area(np.broadcast_to(part, shape), np.broadcast_to(other[None], shape))
    return result


def sizes(boxes: Array, trans: bool) -> Array:
    """The areas of boxes (…, 5)."""
    wide = boxes[..., 2:4] - boxes[..., :2] if trans else boxes[..., 2:4]
    return np.asarray(np.abs(wide[..., 0] * wide[..., 1]))


def rows(boxes: Array) -> Array:
    """(batches, boxes, 5) in float64."""
    return np.swapaxes(boxes, 1, 2).astype(np.float64)


@kernel("RotatedOverlaps", shape=overlap_shape)
def rotated_overlaps(boxes: Array, query_boxes: Array, trans: bool) -> Array:
    """The common areas of each of boxes and each of query_boxes.

    Boxes are (center x, center y, width, height, angle), with trans (x0, y0, x1, y1, angle) before they are turned about their
    centers; the angle is in degrees, from x towards -y: counterclockwise where y points down.
    """
    one, other = (corners(rows(side), trans) for side in (boxes, query_boxes))
    return np.array([all_areas(*pair) for pair in zip(one, other, strict=True)]).reshape(
        boxes.shape[0], boxes.shape[2], query_boxes.shape[2]
    )


def iou_shape(call: Call) -> Shape:
    """(batches, boxes, query boxes), of pairs (batches, boxes)."""
    boxes, others = check_boxes(call)
    if (mode := call.attr("mode")) not in ("iou", "iof"):
        raise call.refuse("HA508", f"mode = {mode!r}; allowed: 'iou', 'iof'.")
    if call.attr("is_cross"):
        return (boxes[0], boxes[2], others[2])
    told = f"boxes = {dims.text(boxes)}, query_boxes = {dims.text(others)}: without is_cross both must have as many boxes."
    return (boxes[0], equal_dims(call, boxes[2], others[2], told))


@kernel("RotatedIou", shape=iou_shape)
def rotated_iou(boxes: Array, query_boxes: Array, trans: bool, mode: str, is_cross: bool) -> Array:
    """The common area of each of boxes and each of query_boxes over that of both together, or (iof) over that of the first.

    Boxes as in RotatedOverlaps; those without an area give 0. Without is_cross pairs only. The thresholds v_threshold and
    e_threshold have no part: areas are worked out in float64.
    """
    one, other = rows(boxes), rows(query_boxes)
    first, second = sizes(one, trans), sizes(other, trans)
    if is_cross:
        shape = (boxes.shape[0], boxes.shape[2], query_boxes.shape[2])
        sides = zip(corners(one, trans), corners(other, trans), strict=True)
        common = np.array([all_areas(*pair) for pair in sides]).reshape(shape)
        first, second = first[:, :, None], second[:, None, :]
    else:
        common = common_area(corners(one, trans), corners(other, trans))
    whole = first + second - common if mode == "iou" else np.broadcast_to(first, common.shape)
    return np.where(whole > 0, common / np.where(whole > 0, whole, 1), 0)
