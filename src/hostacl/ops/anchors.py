"""Anchors of detectors: prior boxes, which cells are responsible, which anchors are positive, and samples of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hostacl.errors import Failed
from hostacl.ops import dims, philox
from hostacl.ops.boxes import four_wide
from hostacl.ops.call import Call
from hostacl.ops.dims import Shape
from hostacl.ops.random_values import next_draw, random_order
from hostacl.ops.reading import Reads
from hostacl.ops.registry import kernel
from hostacl.ops.shapes import alike_inputs, equal_dims, one_element, rank_is
from hostacl.tensors import formats as layouts

Array = NDArray[Any]


def responding_shape(call: Call) -> Shape:
    """One mark for each anchor of each cell."""
    four_wide(call, "gt_bboxes")
    for name in ("featmap_size", "strides"):
        values = call.attr(name)
        if len(values) != 2 or min(values) < 1:
            raise call.refuse("HA508", f"{name} = {list(values)}; allowed: two numbers of 1 or more.")
    if (count := call.attr("num_base_anchors")) < 1:
        raise call.refuse("HA508", f"num_base_anchors = {count}; allowed: 1 or more.")
    return (call.attr("featmap_size")[0] * call.attr("featmap_size")[1] * call.attr("num_base_anchors"),)


@kernel("AnchorResponseFlags", shape=responding_shape)
def anchor_response_flags(
    gt_bboxes: Array, featmap_size: Sequence[int], strides: Sequence[int], num_base_anchors: int, call: Call
) -> Array:
    """1 for every anchor of a cell that holds the center of a box, else 0; num_base_anchors for each cell, row by row.

    featmap_size is (rows, columns) of cells, strides their (width, height); boxes are (x0, y0, x1, y1).
    """
    wide = gt_bboxes.astype(np.float64)
    columns, rows = (np.floor((wide[:, at] + wide[:, at + 2]) / 2 / strides[at]) for at in (0, 1))
    high, across = featmap_size
    outside = ~((rows >= 0) & (rows < high) & (columns >= 0) & (columns < across))
    if outside.any():
        told = f"gt_bboxes[{int(np.argmax(outside))}] has its center outside of the {high} by {across} cells"
        raise Failed("HA510", f"{call.op_type}: {told}; allowed: centers inside.")
    cells = np.zeros(high * across, np.uint8)
    cells[(rows * across + columns).astype(np.int64)] = 1
    return np.repeat(cells, num_base_anchors)


def assigned_shape(call: Call) -> Shape:
    """One for each anchor."""
    anchors = alike_inputs(call, "assigned_gt_inds", "box_responsible_flags", "max_overlaps", "argmax_overlaps")
    boxes = alike_inputs(call, "gt_max_overlaps", "gt_argmax_overlaps")
    if len(anchors) != 1 or len(boxes) != 1:
        told = f"assigned_gt_inds = {dims.text(anchors)}, gt_max_overlaps = {dims.text(boxes)}; allowed: 1 dim each."
        raise call.refuse("HA516", told)
    overlaps = rank_is(call, "overlaps", 2)
    for one, other in zip(overlaps, (boxes[0], anchors[0]), strict=True):
        equal_dims(call, one, other, f"overlaps = {dims.text(overlaps)}; allowed: {dims.text((boxes[0], anchors[0]))}.")
    one_element(call, "num_gts")
    return anchors


@kernel("GridAssignPositive", shape=assigned_shape, mixed=("argmax_overlaps", "gt_argmax_overlaps", "num_gts"))
def grid_assign_positive(
    assigned_gt_inds: Array, overlaps: Array, box_responsible_flags: Array, max_overlaps: Array, argmax_overlaps: Array,
    gt_max_overlaps: Array, gt_argmax_overlaps: Array, num_gts: Array, pos_iou_thr: float, min_pos_iou: float,
    gt_max_assign_all: bool, call: Call,
) -> Array:  # fmt: skip
    """assigned_gt_inds with the numbers (from 1) of the boxes that responsible anchors are positive for.

    First each anchor with max_overlaps above pos_iou_thr gets argmax_overlaps + 1. Then each of the num_gts boxes, one after
    the other, whose best overlap is above min_pos_iou takes the anchors that have it: all of them (gt_max_assign_all), or the
    one in gt_argmax_overlaps. Only anchors with a flag in box_responsible_flags are changed.
    """
    count = int(num_gts.reshape(()))
    if not 0 <= count <= len(gt_max_overlaps):
        raise Failed("HA510", f"{call.op_type}: num_gts = {count}; allowed: 0 to {len(gt_max_overlaps)}, the rows of overlaps.")
    flagged, result = box_responsible_flags != 0, assigned_gt_inds.astype(np.float64)
    result = np.where(flagged & (max_overlaps > pos_iou_thr), argmax_overlaps + 1, result)
    for box in np.flatnonzero(gt_max_overlaps[:count] > min_pos_iou):
        if gt_max_assign_all:
            result[flagged & (overlaps[box] == gt_max_overlaps[box])] = box + 1
        elif 0 <= (anchor := int(gt_argmax_overlaps[box])) < len(result) and flagged[anchor]:
            result[anchor] = box + 1
    return result


def sample_shape(call: Call) -> Shape:
    """The shape of labels."""
    if (size := call.attr("batch_size_per_images")) < 0:
        raise call.refuse("HA508", f"batch_size_per_images = {size}; allowed: 0 or more.")
    if not 0 <= (share := call.attr("positive_fraction")) <= 1:
        raise call.refuse("HA508", f"positive_fraction = {share:g}; allowed: 0 to 1.")
    return rank_is(call, "labels", 1)


@kernel("SubSample", shape=sample_shape)
def sub_sample(labels: Array, batch_size_per_images: int, positive_fraction: float) -> Array:
    """labels with all but batch_size_per_images of them set to -1: a random choice, another one at every call.

    At most batch_size_per_images·positive_fraction positive ones (above 0) stay, and as many zeros as there is room for then.
    """
    result = np.full_like(labels, -1)
    room = batch_size_per_images
    for places, most in ((np.flatnonzero(labels > 0), int(room * positive_fraction)), (np.flatnonzero(labels == 0), room)):
        order = random_order(places.size, philox.key_of(0), philox.counter_of(0, next_draw()))
        chosen = places[order][: min(most, room)]
        result[chosen] = labels[chosen]
        room -= chosen.size
    return result


def prior_boxes(call: Call) -> list[tuple[float, float]]:
    """Width and height of each prior box, in pixels of the image."""
    least, most, found = call.attr("min_size"), call.attr("max_size"), []
    ratios = [1.0]
    for ratio in call.attr("aspect_ratio"):
        for one in (ratio, 1 / ratio) if call.attr("flip") else (ratio,):
            if all(abs(one - other) >= 1e-6 for other in ratios):
                ratios.append(one)
    for place, size in enumerate(least):
        found.append((size, size))
        if most:
            found.append(((size * most[place]) ** 0.5,) * 2)
        found += [(size * ratio**0.5, size / ratio**0.5) for ratio in ratios[1:]]
    return found


def prior_shape(call: Call) -> Shape:
    """(1, 2, numbers of all boxes, 1)."""
    x = rank_is(call, "x", 4)
    rank_is(call, "img", 4)
    least, most, ratios, variance = (call.attr(name) for name in ("min_size", "max_size", "aspect_ratio", "variance"))
    if not least or min(least) <= 0:
        raise call.refuse("HA508", f"min_size = {list(least)}; allowed: numbers above 0.")
    if most and (len(most) != len(least) or any(big <= small for big, small in zip(most, least, strict=True))):
        raise call.refuse("HA508", f"max_size = {list(most)}; allowed: none, or one for each of min_size, larger than it.")
    if any(ratio <= 0 for ratio in ratios):
        raise call.refuse("HA508", f"aspect_ratio = {list(ratios)}; allowed: numbers above 0.")
    if len(variance) not in (1, 4):
        raise call.refuse("HA508", f"variance = {list(variance)}; allowed: one number, or four.")
    letters = layouts.axes_of(call.format("x"), 4) or "NCHW"
    cells = x[letters.index("H")] * x[letters.index("W")]
    return (1, 2, cells * (len(prior_boxes(call)) * 4), 1)


@kernel("PriorBox", shape=prior_shape, reads={"x": Reads.NOTHING, "img": Reads.NOTHING})
def prior_box(x: Array, img: Array, call: Call, formats: dict[str, int]) -> Array:
    """The prior boxes (x0, y0, x1, y1) of every cell of x as parts of the image img, then the variances of each number.

    Cells go row by row, their centers lie at (column + offset)·step. Each of min_size gives a square, with max_size another one
    of the root of both, then one of its area for each aspect_ratio (and 1 / ratio with flip). img_h and img_w, step_h and
    step_w of 0 come from the shapes. clip holds the corners between 0 and 1.
    """
    sizes = []
    for name, array in (("x", x), ("img", img)):
        letters = layouts.axes_of(formats[name], 4) or "NCHW"
        sizes.append([array.shape[letters.index(letter)] for letter in "HW"])
    (rows, columns), (high, wide) = sizes
    high, wide = call.attr("img_h") or high, call.attr("img_w") or wide
    steps = call.attr("step_h") or high / max(rows, 1), call.attr("step_w") or wide / max(columns, 1)
    down, across = ((np.arange(count) + call.attr("offset")) * step for count, step in zip((rows, columns), steps, strict=True))
    priors = np.array(prior_boxes(call))
    boxes = np.empty((rows, columns, len(priors), 4))
    for at, (middle, size) in enumerate(((across[None, :, None], priors[:, 0]), (down[:, None, None], priors[:, 1]))):
        whole = (wide, high)[at]
        boxes[..., at], boxes[..., at + 2] = (middle - size / 2) / whole, (middle + size / 2) / whole
    boxes = np.clip(boxes, 0, 1) if call.attr("clip") else boxes
    variance = np.broadcast_to(np.array(call.attr("variance")), boxes.shape)
    return np.stack([boxes.reshape(-1), variance.reshape(-1)])[None, :, :, None]
