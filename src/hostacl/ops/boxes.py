"""Boxes as differences from others and back, and how much each two cover each other."""

from __future__ import annotations

from collections.abc import Sequence
from math import log
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hostacl.ops import dims
from hostacl.ops.call import Call
from hostacl.ops.dims import Shape
from hostacl.ops.registry import kernel
from hostacl.ops.shapes import alike_inputs, equal_dims, rank_is

Array = NDArray[Any]

YOLO_EPS = 1e-6
"""How near a center may come to the edge of its cell."""

BLOCK = 1 << 20
"""Pairs of boxes that are worked out at once."""


def four_wide(call: Call, name: str) -> Shape:
    """The shape of boxes: (boxes, 4)."""
    shape = rank_is(call, name, 2)
    equal_dims(call, shape[1], 4, f"{name} = {dims.text(shape)}; allowed: [boxes,4].")
    return shape


def pairs_shape(call: Call) -> Shape:
    """Both inputs are (boxes, 4)."""
    names = [name for name in call.inputs if name != "stride"]
    for name in names:
        four_wide(call, name)
    for name in ("means", "stds"):
        if name in call.attrs and len(call.attr(name)) != 4:
            raise call.refuse("HA508", f"{name} = {list(call.attr(name))}; allowed: four numbers.")
    if 0 in call.attrs.get("stds", ()):
        raise call.refuse("HA508", f"stds = {list(call.attr('stds'))}; allowed: four numbers other than 0.")
    return alike_inputs(call, *names)


def middles(boxes: Array, more: float) -> tuple[Array, Array]:
    """Center and size of boxes given by corners; ``more`` is what belongs to the size beyond their difference."""
    low, high = boxes[..., :2].astype(np.float64), boxes[..., 2:].astype(np.float64)
    return (low + high) / 2, high - low + more


@kernel("BoundingBoxEncode", shape=pairs_shape)
def bounding_box_encode(anchor_box: Array, ground_truth_box: Array, means: Sequence[float], stds: Sequence[float]) -> Array:
    """(dx, dy, dw, dh) from anchors to boxes, both (x0, y0, x1, y1) with both ends inside: a width is x1 - x0 + 1.

    dx is the way between the centers over the anchor's width, dw the logarithm of the ratio of the widths, without its sign;
    then the means are taken off and all divided by stds.
    """
    (middle, size), (wanted, wide) = middles(anchor_box, 1), middles(ground_truth_box, 1)
    deltas = np.concatenate([(wanted - middle) / size, np.log(np.abs(wide / size))], axis=-1)
    return np.asarray((deltas - np.array(means)) / np.array(stds))


def decode_shape(call: Call) -> Shape:
    """(boxes, 4), as both inputs."""
    if len(call.attr("max_shape")) < 2:
        raise call.refuse("HA508", f"max_shape = {list(call.attr('max_shape'))}; allowed: height and width.")
    if not (clip := call.attr("wh_ratio_clip")) > 0:
        raise call.refuse("HA508", f"wh_ratio_clip = {clip:g}; allowed: above 0.")
    return pairs_shape(call)


@kernel("BoundingBoxDecode", shape=decode_shape)
def bounding_box_decode(
    rois: Array, deltas: Array, means: Sequence[float], stds: Sequence[float], max_shape: Sequence[int], wh_ratio_clip: float
) -> Array:
    """The way back from BoundingBoxEncode: rois moved and scaled by deltas·stds + means, as (x0, y0, x1, y1).

    dw and dh are held within ±|log(wh_ratio_clip)|; the corners are held inside of an image of max_shape (height, width).
    """
    moves = deltas.astype(np.float64) * np.array(stds) + np.array(means)
    most = abs(log(wh_ratio_clip))
    middle, size = middles(rois, 1)
    middle = middle + size * moves[..., :2]
    size = size * np.exp(np.clip(moves[..., 2:], -most, most))
    corners = np.concatenate([middle - size / 2 + 0.5, middle + size / 2 - 0.5], axis=-1)
    height, width = max_shape[0], max_shape[1]
    return np.clip(corners, 0, np.array([width - 1, height - 1] * 2))


def yolo_shape(call: Call) -> Shape:
    """(boxes, 4), with a stride for each."""
    shape = pairs_shape(call)
    stride = call.shape("stride")
    if (mode := call.attr("performance_mode")) not in ("high_precision", "high_performance"):
        raise call.refuse("HA508", f"performance_mode = {mode!r}; allowed: 'high_precision', 'high_performance'.")
    told = f"stride = {dims.text(stride)}; allowed: one for each box of {dims.text(shape)}."
    equal_dims(call, dims.count(stride), shape[0], told)
    return shape


@kernel("YoloBoxesEncode", shape=yolo_shape)
def yolo_boxes_encode(anchor_boxes: Array, gt_bboxes: Array, stride: Array) -> Array:
    """(x, y, w, h) of boxes in the cells of their anchors, both (x0, y0, x1, y1).

    x is the way between the centers over the stride, plus 0.5, held between 1e-6 and 1 - 1e-6; w the logarithm of the ratio of
    the widths, a ratio of at least 1e-6. Both performance modes give the same.
    """
    (middle, size), (wanted, wide) = middles(anchor_boxes, 0), middles(gt_bboxes, 0)
    cells = (wanted - middle) / stride.reshape(-1, 1).astype(np.float64) + 0.5
    return np.concatenate([np.clip(cells, YOLO_EPS, 1 - YOLO_EPS), np.log(np.maximum(wide / size, YOLO_EPS))], axis=-1)


def rotated_shape(call: Call) -> Shape:
    """(batches, 5, boxes), as both inputs."""
    shape = alike_inputs(call, *call.inputs)
    if len(shape) != 3:
        raise call.refuse("HA516", f"anchor_box = {dims.text(shape)} has {len(shape)} dims; allowed: 3, [batches,5,boxes].")
    equal_dims(call, shape[1], 5, f"anchor_box = {dims.text(shape)}; allowed: [batches,5,boxes].")
    if len(call.attr("weight")) != 5 or 0 in call.attr("weight"):
        raise call.refuse("HA508", f"weight = {list(call.attr('weight'))}; allowed: five numbers other than 0.")
    return shape


def rotated_parts(boxes: Array) -> tuple[Array, Array, Array]:
    """Centers, sizes and tangents of boxes (x0, y0, x1, y1, degrees) along the second axis."""
    wide = boxes.astype(np.float64)
    return (wide[:, :2] + wide[:, 2:4]) / 2, wide[:, 2:4] - wide[:, :2], np.tan(np.radians(wide[:, 4:]))


@kernel("RotatedBoxEncode", shape=rotated_shape)
def rotated_box_encode(anchor_box: Array, gt_box: Array, weight: Sequence[float]) -> Array:
    """(dx, dy, dw, dh, da) from anchors to boxes, both (x0, y0, x1, y1, angle in degrees), times the weights.

    dx is the way between the centers over the anchor's width, dw the logarithm of the ratio of the widths, da the difference of
    the tangents.
    """
    (middle, size, turn), (wanted, wide, turned) = rotated_parts(anchor_box), rotated_parts(gt_box)
    deltas = np.concatenate([(wanted - middle) / size, np.log(wide / size), turned - turn], axis=1)
    return np.asarray(deltas * np.array(weight)[:, None])


@kernel("RotatedBoxDecode", shape=rotated_shape)
def rotated_box_decode(anchor_box: Array, deltas: Array, weight: Sequence[float]) -> Array:
    """The way back from RotatedBoxEncode: anchors moved, scaled and turned by deltas over the weights."""
    middle, size, turn = rotated_parts(anchor_box)
    moves = deltas.astype(np.float64) / np.array(weight)[:, None]
    middle, size = middle + moves[:, :2] * size, size * np.exp(moves[:, 2:4])
    angle = np.degrees(np.arctan(moves[:, 4:] + turn))
    return np.concatenate([middle - size / 2, middle + size / 2, angle], axis=1)


def overlap_shape(call: Call) -> Shape:
    """(boxes of gtboxes, boxes of bboxes)."""
    bboxes, gtboxes = four_wide(call, "bboxes"), four_wide(call, "gtboxes")
    if (mode := call.attr("mode")) not in ("iou", "iof"):
        raise call.refuse("HA508", f"mode = {mode!r}; allowed: 'iou', 'iof'.")
    if call.attr("aligned"):
        raise call.refuse("HA508", "aligned = true; how its result is laid out is not published. Allowed: false.")
    return (gtboxes[0], bboxes[0])


@kernel("Iou", shape=overlap_shape, attrs={"aligned": False})
def iou(bboxes: Array, gtboxes: Array, mode: str, eps: float) -> Array:
    """How much each of gtboxes (rows) and each of bboxes cover each other; boxes are (x0, y0, x1, y1).

    The common area over that of both together, or (iof) over that of the box of gtboxes. A width is x1 - x0 + eps. Where
    neither has an area, 0.
    """
    first, second = gtboxes.astype(np.float64), bboxes.astype(np.float64)
    result = np.empty((len(first), len(second)), bboxes.dtype)
    step = max(1, BLOCK // max(len(second), 1))
    area = np.prod(second[:, 2:] - second[:, :2] + eps, axis=1)
    for start in range(0, len(first), step):
        rows = first[start : start + step, None]
        high, low = np.minimum(rows[..., 2:], second[:, 2:]), np.maximum(rows[..., :2], second[:, :2])
        common = np.prod(np.maximum(high - low + eps, 0), axis=-1)
        own = np.prod(rows[..., 2:] - rows[..., :2] + eps, axis=-1)
        whole = own + area - common if mode == "iou" else own
        result[start : start + step] = np.where(common == 0, 0, common / np.where(whole == 0, 1, whole))
    return result
