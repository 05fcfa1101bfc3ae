"""Common areas of rotated boxes by cutting one polygon along the edges of the other."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from random_calls.dice import Dice
from random_calls.oracle import Within, oracle, shapes


@shapes("RotatedOverlaps", "RotatedIou")
def boxes_call(d: Dice) -> None:
    one = d.wants("one element")
    batch, count, others = (1, 1, 1) if one else (d.int(1, 2), d.int(1, 4), d.int(1, 4))
    count = 0 if d.wants("empty") else d.int(30, 40) if d.wants("long") else count
    trans = d.attr("trans", True)
    cross = True
    if d.prototype.op_type == "RotatedIou":
        cross = d.attr("is_cross", False)
        d.attr("mode", "iof")
        d.attr("v_threshold", 0.5)
        d.attr("e_threshold", 0.5)
    for name, many in (("boxes", count), ("query_boxes", others if cross else count)):
        place, size = d.rng.uniform(0, 6, (batch, 2, many)), d.rng.uniform(0.5, 5, (batch, 2, many))
        size = place + size if trans else size
        d.tensor(name, np.concatenate([place, size, d.rng.uniform(-180, 180, (batch, 1, many))], axis=1))


def polygon(box: Any, trans: bool) -> tuple[list[tuple[float, float]], float]:
    """The corners and the area of a box."""
    x, y, w, h, angle = (float(one) for one in box)
    if trans:
        x, y, w, h = (x + w) / 2, (y + h) / 2, w - x, h - y
    cos, sin = math.cos(math.radians(angle)), math.sin(math.radians(angle))
    found = []
    for right, down in ((-1, -1), (1, -1), (1, 1), (-1, 1)):
        across, along = right * w / 2, down * h / 2
        found.append((x + across * cos + along * sin, y + along * cos - across * sin))
    return found, abs(w * h)


def shoelace(points: list[tuple[float, float]]) -> float:
    return math.fsum(a[0] * b[1] - b[0] * a[1] for a, b in zip(points, points[1:] + points[:1], strict=True)) / 2


def common(one: list[tuple[float, float]], other: list[tuple[float, float]]) -> float:
    left = one
    other = other if shoelace(other) > 0 else other[::-1]
    for a, b in zip(other, other[1:] + other[:1], strict=True):
        kept = []
        sides = [(b[0] - a[0]) * (p[1] - a[1]) - (b[1] - a[1]) * (p[0] - a[0]) for p in left]
        for k, (p, side) in enumerate(zip(left, sides, strict=True)):
            q, beyond = left[(k + 1) % len(left)], sides[(k + 1) % len(left)]
            if side >= 0:
                kept.append(p)
            if side * beyond < 0:
                part = side / (side - beyond)
                kept.append((p[0] + part * (q[0] - p[0]), p[1] + part * (q[1] - p[1])))
        left = kept
    return abs(shoelace(left)) if left else 0.0


def pairs(boxes: Any, query_boxes: Any, trans: bool, cross: bool) -> Any:
    """For each pair the common area and those of both."""
    shape = (boxes.shape[0], boxes.shape[2], query_boxes.shape[2]) if cross else (boxes.shape[0], boxes.shape[2])
    found = np.zeros((*shape, 3))
    for n, i, *rest in np.ndindex(*shape):
        one, area = polygon(boxes[n, :, i], trans)
        other, last = polygon(query_boxes[n, :, rest[0] if cross else i], trans)
        found[(n, i, *rest)] = common(one, other), area, last
    return found


@oracle("RotatedOverlaps", family="boxes")
def overlaps(boxes: Any, query_boxes: Any, trans: bool) -> Any:
    return Within(pairs(boxes, query_boxes, trans, True)[..., 0], 1e-5)


@oracle("RotatedIou", family="boxes")
def iou(boxes: Any, query_boxes: Any, trans: bool, mode: str, is_cross: bool) -> Any:
    found = pairs(boxes, query_boxes, trans, is_cross)
    area, one, other = found[..., 0], found[..., 1], found[..., 2]
    return Within(area / (one if mode == "iof" else one + other - area), 1e-5)
