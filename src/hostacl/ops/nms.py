"""Suppressing boxes that cover better ones."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from hostacl.errors import Failed
from hostacl.ops import dims
from hostacl.ops.call import Call
from hostacl.ops.dims import Between, Shape
from hostacl.ops.registry import kernel
from hostacl.ops.shapes import equal_dims, one_element, rank_is
from hostacl.tensors import dtypes

Array = NDArray[Any]


def survivors(boxes: Array, most: int, threshold: float) -> Array:
    """Places of boxes, best first, that no better survivor covers by more than the threshold; ``most`` at most.

    A box is given by two opposite corners; two without an area cover each other by nothing.
    """
    low, high = np.minimum(boxes[:, :2], boxes[:, 2:]), np.maximum(boxes[:, :2], boxes[:, 2:])
    area = np.prod(high - low, axis=1)
    left = np.arange(len(boxes))
    kept: list[int] = []
    while left.size and len(kept) < most:
        best, left = left[0], left[1:]
        kept.append(int(best))
        common = np.prod(np.maximum(np.minimum(high[best], high[left]) - np.maximum(low[best], low[left]), 0), axis=1)
        whole = area[best] + area[left] - common
        left = left[~(common > threshold * whole)]
    return np.array(kept, np.int64)


def batch_shape(call: Call) -> list[Shape]:
    """Room for max_total_size boxes of each image."""
    boxes, scores = rank_is(call, "boxes", 4), rank_is(call, "scores", 3)
    count, per_class, four = (boxes[3], boxes[1], boxes[2]) if call.attr("transpose_box") else boxes[1:]
    told = f"boxes = {dims.text(boxes)}, scores = {dims.text(scores)}"
    layout = "[images,1 or classes,4,boxes]" if call.attr("transpose_box") else "[images,boxes,1 or classes,4]"
    equal_dims(call, four, 4, f"{told}; allowed for boxes: {layout}.")
    equal_dims(call, boxes[0], scores[0], f"{told}: the images must be as many.")
    equal_dims(call, count, scores[1], f"{told}: the boxes must be as many.")
    if per_class != 1:
        equal_dims(call, per_class, scores[2], f"{told}: each class has boxes of its own, or all share them (1).")
    for name, want in (("clip_window", (boxes[0], 4)), ("num_valid_boxes", (boxes[0],))):
        if call.has(name):
            given = call.shape(name)
            text = f"{name} = {dims.text(given)}; allowed: {dims.text(want)}."
            equal_dims(call, len(given), len(want), text)
            for one, other in zip(given, want, strict=True):
                equal_dims(call, one, other, text)
    check_limits(call)
    total = call.attr("max_total_size")
    return [(boxes[0], total, 4), (boxes[0], total), (boxes[0], total), (boxes[0],)]


def check_limits(call: Call) -> None:
    """Refuses numbers of boxes below 0, and what is not published."""
    for name in ("max_size_per_class", "max_total_size"):
        if call.attr(name) < 0:
            raise call.refuse("HA508", f"{name} = {call.attr(name)}; allowed: 0 or more.")
    if call.attr("image_size"):
        told = f"image_size = {list(call.attr('image_size'))}; allowed: none. What it does is not published."
        raise call.refuse("HA508", told)
    if call.attr("change_coordinate_frame") and not call.has("clip_window"):
        raise call.refuse("HA513", "change_coordinate_frame is set without a clip_window; give the window of each image.")


@kernel("BatchMultiClassNonMaxSuppression", shape=batch_shape, attrs={"image_size": []})
def batch_multi_class_non_max_suppression(
    boxes: Array, scores: Array, clip_window: Array | None, num_valid_boxes: Array | None, score_threshold: float,
    iou_threshold: float, max_size_per_class: int, max_total_size: int, change_coordinate_frame: bool, transpose_box: bool,
) -> tuple[Array, ...]:  # fmt: skip
    """The best boxes of each image: those of a class that no better one of it covers by more than iou_threshold (IoU).

    Only boxes with a score above score_threshold count, of each class max_size_per_class at most; the max_total_size best of
    all classes follow each other by score, of equal ones the lower class first. Rows beyond nmsed_num are 0. clip_window (the
    two corners of a window) cuts the boxes, those with no area left drop out; change_coordinate_frame then measures them in
    the window. num_valid_boxes: how many boxes of an image count. transpose_box: boxes are [images, 1 or classes, 4, boxes].
    """
    wide = np.moveaxis(boxes, 3, 1) if transpose_box else boxes
    images, (count, classes) = len(boxes), scores.shape[1:]
    results: list[Array] = [np.zeros((images, max_total_size, 4)), *np.zeros((2, images, max_total_size))]
    results.append(np.zeros(images, np.int64))
    for image in range(images):
        valid = count if num_valid_boxes is None else min(max(int(num_valid_boxes[image]), 0), count)
        window = None if clip_window is None else clip_window[image].astype(np.float64)
        cut, alive = in_window(wide[image, :valid].astype(np.float64), window)
        found: list[tuple[Array, Array, Array]] = []
        for label in range(classes):
            group, score = label % cut.shape[1], scores[image, :valid, label]
            best = np.flatnonzero((score > score_threshold) & alive[:, group])
            best = best[np.argsort(-score[best], kind="stable")]
            best = best[survivors(cut[best, group], max_size_per_class, iou_threshold)]
            found.append((cut[best, group], score[best], np.full(best.size, label)))
        if not found:
            continue
        columns = [np.concatenate(parts) for parts in zip(*found, strict=True)]
        order = np.argsort(-columns[1], kind="stable")[:max_total_size]
        for target, part in zip(results, columns, strict=False):
            target[image, : order.size] = part[order]
        if window is not None and change_coordinate_frame:
            results[0][image, : order.size] = measured(results[0][image, : order.size], window)
        results[3][image] = order.size
    return tuple(results)


def in_window(boxes: Array, window: Array | None) -> tuple[Array, Array]:
    """The boxes (…, 4) cut to a window, and which of them are left."""
    if window is None:
        return boxes, np.ones(boxes.shape[:-1], np.bool_)
    boxes = np.clip(boxes, np.tile(window[:2], 2), np.tile(window[2:], 2))
    return boxes, np.prod(boxes[..., 2:] - boxes[..., :2], axis=-1) > 0


def measured(boxes: Array, window: Array) -> Array:
    """Boxes (…, 4) as shares of a window; after the others were chosen, so that no rounding changes what they cover."""
    low, high = np.tile(window[:2], 2), np.tile(window[2:], 2)
    return np.asarray((boxes - low) / np.where(high == low, 1, high - low))


def selected_shape(call: Call) -> list[Shape]:
    """Up to max_output_size places, exactly as many when padded; and how many there are."""
    boxes, scores = rank_is(call, "boxes", 2), rank_is(call, "scores", 1)
    told = f"boxes = {dims.text(boxes)}, scores = {dims.text(scores)}"
    equal_dims(call, boxes[1], 4, f"{told}; allowed: [boxes,4].")
    equal_dims(call, boxes[0], scores[0], f"{told}: the boxes must be as many.")
    one_element(call, "max_output_size", "iou_threshold", "score_threshold")
    if not call.known("max_output_size"):
        return [(Between(0, None),), ()]
    most = call.scalar("max_output_size")
    if most < 0:
        raise call.refuse("HA519", f"max_output_size = {most}; allowed: 0 or more.")
    high = dims.bounds(boxes[0])[1]
    return [(most if call.attr("pad_to_max_output_size") else Between(0, most if high is None else min(high, most)),), ()]


@kernel("NonMaxSuppressionV4", shape=selected_shape, values=("max_output_size",),
        mixed=("iou_threshold", "score_threshold", "scores"))  # fmt: skip
def non_max_suppression_v4(
    boxes: Array, scores: Array, max_output_size: Any, iou_threshold: Array, score_threshold: Array,
    pad_to_max_output_size: bool, call: Call,
) -> tuple[Array, Any]:  # fmt: skip
    """Places of the best boxes, best first, that no better one of them covers by more than iou_threshold (IoU), and how many.

    Only boxes with a score above score_threshold count; of equal scores the first is better. A box is given by two opposite
    corners. pad_to_max_output_size fills the places up with 0.
    """
    most, limit = int(np.ravel(max_output_size)[0]), float(iou_threshold.reshape(()))
    if not 0 <= limit <= 1:
        raise Failed("HA510", f"{call.op_type}: iou_threshold = {limit:g}; allowed: 0 to 1.")
    best = np.flatnonzero(scores > score_threshold.reshape(()))
    best = best[np.argsort(-scores[best], kind="stable")]
    chosen = best[survivors(boxes[best].astype(np.float64), most, limit)]
    result = np.pad(chosen, (0, most - chosen.size)) if pad_to_max_output_size else chosen
    return result, np.int64(chosen.size)


def mask_shape(call: Call) -> list[Shape]:
    """The rows as they are, with a number and a mark for each."""
    rows = rank_is(call, "box_scores", 2)
    equal_dims(call, rows[1], 5, f"box_scores = {dims.text(rows)}; allowed: [boxes,5], each with x0, y0, x1, y1, score.")
    if not 0 < call.attr("iou_threshold") <= 1:
        raise call.refuse("HA508", f"iou_threshold = {call.attr('iou_threshold'):g}; allowed: above 0, at most 1.")
    return [rows, (rows[0],), (rows[0],)]


@kernel("NMSWithMask", shape=mask_shape, dtype={"selected_mask": lambda call: (dtypes.UINT8,)})
def nms_with_mask(box_scores: Array, iou_threshold: float) -> tuple[Array, ...]:
    """The boxes, their numbers, and a mask: 1 for each that no kept one before it covers by more than iou_threshold (IoU).

    Rows (x0, y0, x1, y1, score) are taken in the order in which they come: sort them by score, the best first.
    """
    mask = np.zeros(len(box_scores), np.uint8)
    mask[survivors(box_scores[:, :4].astype(np.float64), len(box_scores), iou_threshold)] = 1
    return box_scores, np.arange(len(box_scores)), mask
