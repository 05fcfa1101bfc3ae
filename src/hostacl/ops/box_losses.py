"""Overlaps of boxes that say how far apart they are (GIoU, DIoU, CIoU), and their gradients."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hostacl.ops import dims
from hostacl.ops.call import Call
from hostacl.ops.dims import Shape
from hostacl.ops.registry import kernel
from hostacl.ops.shapes import equal_dims, rank_is

Array = NDArray[Any]

EPS = 1e-9
"""Added to what is divided by."""


def checked(call: Call) -> Shape:
    """(boxes of gtboxes or 1, boxes of bboxes); refuses what is no list of boxes."""
    bboxes, gtboxes = rank_is(call, "bboxes", 2), rank_is(call, "gtboxes", 2)
    for name, shape in (("bboxes", bboxes), ("gtboxes", gtboxes)):
        equal_dims(call, shape[0], 4, f"{name} = {dims.text(shape)}; allowed: [4,boxes].")
    if call.attr("mode") != "iou":
        raise call.refuse("HA508", f"mode = {call.attr('mode')!r}; allowed: 'iou'.")
    if call.attr("is_cross"):
        return (gtboxes[1], bboxes[1])
    told = f"bboxes = {dims.text(bboxes)}, gtboxes = {dims.text(gtboxes)}: without is_cross both must have as many boxes."
    return (1, equal_dims(call, bboxes[1], gtboxes[1], told))


class Pairs(NamedTuple):
    """What an overlap is made of, for each pair: a box's corners, sizes, and the box around both."""

    box: Array
    other: Array
    size: Array
    other_size: Array
    inner: Array
    outer: Array

    @property
    def common(self) -> Array:
        """The common area."""
        return np.asarray(np.prod(np.maximum(self.inner, 0), axis=0))

    @property
    def union(self) -> Array:
        """The area of both together."""
        return np.asarray(np.prod(self.size, axis=0) + np.prod(self.other_size, axis=0) - self.common)

    @property
    def apart(self) -> Array:
        """The way between the centers: its parts along x and y."""
        return np.asarray((self.box[:2] + self.box[2:] - self.other[:2] - self.other[2:]) / 2)


def corners(boxes: Array, trans: bool) -> Array:
    """(x0, y0, x1, y1); of centers and sizes with ``trans``."""
    wide = boxes.astype(np.float64)
    return np.concatenate([wide[:2] - wide[2:] / 2, wide[:2] + wide[2:] / 2]) if trans else wide


def pairs_of(bboxes: Array, gtboxes: Array, trans: bool, is_cross: bool) -> Pairs:
    """Each box with its partner, or with each of gtboxes (rows)."""
    box, other = corners(bboxes, trans)[:, None, :], corners(gtboxes, trans)[:, None, :]
    other = np.swapaxes(other, 1, 2) if is_cross else other
    inner = np.minimum(box[2:], other[2:]) - np.maximum(box[:2], other[:2])
    outer = np.maximum(box[2:], other[2:]) - np.minimum(box[:2], other[:2])
    return Pairs(box, other, box[2:] - box[:2], other[2:] - other[:2], inner, outer)


@kernel("GIoU", shape=checked)
def giou(bboxes: Array, gtboxes: Array, trans: bool, is_cross: bool) -> Array:
    """The common area over that of both (IoU), less the part of the box around both that neither covers: from -1 to 1.

    Boxes are columns (x0, y0, x1, y1), with trans (center x, center y, width, height). is_cross: rows are gtboxes, columns
    bboxes; else one row of pairs.
    """
    pairs = pairs_of(bboxes, gtboxes, trans, is_cross)
    around = np.prod(pairs.outer, axis=0)
    return np.asarray(pairs.common / (pairs.union + EPS) - (around - pairs.union) / (around + EPS))


def distance(pairs: Pairs) -> Array:
    """The squared way between the centers over the squared diagonal of the box around both."""
    return np.asarray(np.sum(pairs.apart**2, axis=0) / (np.sum(pairs.outer**2, axis=0) + EPS))


@kernel("DIoU", shape=checked)
def diou(bboxes: Array, gtboxes: Array, trans: bool, is_cross: bool) -> Array:
    """IoU less the squared way between the centers over the squared diagonal of the box around both.

    Boxes are columns (x0, y0, x1, y1), with trans (center x, center y, width, height). is_cross: rows are gtboxes, columns
    bboxes; else one row of pairs.
    """
    pairs = pairs_of(bboxes, gtboxes, trans, is_cross)
    return np.asarray(pairs.common / (pairs.union + EPS) - distance(pairs))


def slopes(pairs: Pairs) -> Array:
    """The difference of the angles atan(width / height), that of gtboxes first."""
    angle, other = (np.arctan(size[0] / (size[1] + EPS)) for size in (pairs.size, pairs.other_size))
    return np.asarray(other - angle)


def weight_of(shape: Array, overlap: Array) -> Array:
    """How much the shapes count: v / (1 - IoU + v)."""
    return np.asarray(shape / (1 - overlap + shape + EPS))


def ciou_shape(call: Call) -> list[Shape]:
    """The overlap and the difference of angles."""
    shape = checked(call)
    return [shape, shape]


@kernel("CIoU", shape=ciou_shape)
def ciou(bboxes: Array, gtboxes: Array, trans: bool, is_cross: bool, atan_sub_flag: bool) -> tuple[Any, ...]:
    """DIoU less a·v: v is 4/π² times the squared difference of the angles atan(width / height), a is v / (1 - IoU + v).

    atan_sub, written with atan_sub_flag, is that difference: of gtboxes less that of bboxes. Boxes are columns (x0, y0, x1,
    y1), with trans (center x, center y, width, height). is_cross: rows are gtboxes, columns bboxes; else one row of pairs.
    """
    pairs = pairs_of(bboxes, gtboxes, trans, is_cross)
    overlap, turn = pairs.common / (pairs.union + EPS), slopes(pairs)
    shape = 4 / np.pi**2 * turn**2
    return overlap - distance(pairs) - weight_of(shape, overlap) * shape, turn if atan_sub_flag else None


def gradient_shape(call: Call) -> list[Shape]:
    """Each gradient as its boxes; dy has one number for each pair."""
    shape = checked(call)
    if call.attr("is_cross"):
        raise call.refuse("HA508", "is_cross = true; allowed: false. There are gradients of pairs only.")
    for name in ("dy", "atan_sub"):
        if call.has(name):
            told = f"{name} = {dims.text(call.shape(name))}; allowed: one number for each of {dims.text(shape)}."
            equal_dims(call, dims.count(call.shape(name)), shape[1], told)
    return [call.shape("bboxes"), call.shape("gtboxes")]


class Sums:
    """Gradients by the corners of both boxes, as they add up."""

    def __init__(self, pairs: Pairs) -> None:
        self.pairs = pairs
        self.box, self.other = np.zeros(pairs.box.shape), np.zeros(pairs.box.shape)

    def by_inner(self, by: Array) -> None:
        """By the sides of the common box: its high ends are the lower of both, its low ends the higher."""
        self._by_ends(by, self.pairs.other, self.pairs.box)

    def by_outer(self, by: Array) -> None:
        """By the sides of the box around both."""
        self._by_ends(by, self.pairs.box, self.pairs.other)

    def _by_ends(self, by: Array, above: Array, below: Array) -> None:
        """By sides whose high ends are ours where ``above``'s lie above ``below``'s, and the low ends where they lie below."""
        share = taken(above[2:] - below[2:])
        self.box[2:] += by * share
        self.other[2:] += by * (1 - share)
        share = taken(below[:2] - above[:2])
        self.box[:2] -= by * share
        self.other[:2] -= by * (1 - share)

    def by_sizes(self, by: Array, other_by: Array) -> None:
        """By the sides of both boxes."""
        for target, part in ((self.box, by), (self.other, other_by)):
            target[2:] += part
            target[:2] -= part

    def by_overlap(self, by: Array, by_union: Array) -> None:
        """By the IoU, and by the area of both together on other ways."""
        pairs, whole = self.pairs, self.pairs.union + EPS
        by_union = by_union - by * pairs.common / whole**2
        open_inside = np.maximum(pairs.inner, 0)
        self.by_inner((by / whole - by_union) * open_inside[::-1] * (pairs.inner > 0))
        self.by_sizes(by_union * pairs.size[::-1], by_union * pairs.other_size[::-1])

    def by_distance(self, by: Array) -> None:
        """By the squared way between the centers over the squared diagonal."""
        pairs = self.pairs
        diagonal = np.sum(pairs.outer**2, axis=0) + EPS
        way = by * pairs.apart / diagonal
        for half in (slice(0, 2), slice(2, 4)):
            self.box[half] += way
            self.other[half] -= way
        self.by_outer(-by * np.sum(pairs.apart**2, axis=0) / diagonal**2 * 2 * pairs.outer)

    def results(self, trans: bool) -> tuple[Array, Array]:
        """The gradients as the boxes were given."""
        box, other = self.box[:, 0], self.other[:, 0]
        if not trans:
            return box, other
        turned = [np.concatenate([one[:2] + one[2:], (one[2:] - one[:2]) / 2]) for one in (box, other)]
        return turned[0], turned[1]


def taken(ahead: Array) -> Array:
    """The box's share in a bound: 1 where it is the bound, 0 where the other one is, half each when both are."""
    return np.asarray((np.sign(ahead) + 1) / 2)


@kernel("GIoUGrad", shape=gradient_shape)
def giou_grad(dy: Array, bboxes: Array, gtboxes: Array, trans: bool) -> tuple[Array, Array]:
    """The gradients of GIoU of pairs by both boxes; where both boxes share a bound, half goes to each."""
    pairs, by = pairs_of(bboxes, gtboxes, trans, False), dy.reshape(1, -1).astype(np.float64)
    sums, around = Sums(pairs), np.prod(pairs.outer, axis=0) + EPS
    sums.by_overlap(by, by / around)
    sums.by_outer(-by * (pairs.union + EPS) / around**2 * pairs.outer[::-1])
    return sums.results(trans)


@kernel("DIoUGrad", shape=gradient_shape)
def diou_grad(dy: Array, bboxes: Array, gtboxes: Array, trans: bool) -> tuple[Array, Array]:
    """The gradients of DIoU of pairs by both boxes; where both boxes share a bound, half goes to each."""
    pairs, by = pairs_of(bboxes, gtboxes, trans, False), dy.reshape(1, -1).astype(np.float64)
    sums = Sums(pairs)
    sums.by_overlap(by, np.zeros_like(by))
    sums.by_distance(-by)
    return sums.results(trans)


@kernel("CIoUGrad", shape=gradient_shape)
def ciou_grad(dy: Array, bboxes: Array, gtboxes: Array, atan_sub: Array, trans: bool) -> tuple[Array, Array]:
    """The gradients of CIoU of pairs by both boxes, its factor a taken as a constant; atan_sub is what CIoU gave.

    Where both boxes share a bound, half goes to each.
    """
    pairs, by = pairs_of(bboxes, gtboxes, trans, False), dy.reshape(1, -1).astype(np.float64)
    sums, turn = Sums(pairs), atan_sub.reshape(1, -1).astype(np.float64)
    overlap = pairs.common / (pairs.union + EPS)
    by_turn = -by * weight_of(4 / np.pi**2 * turn**2, overlap) * 8 / np.pi**2 * turn
    sums.by_overlap(by, np.zeros_like(by))
    sums.by_distance(-by)
    parts = []
    for size, sign in ((pairs.size, -1), (pairs.other_size, 1)):
        wide, high = size[0], size[1] + EPS
        parts.append(sign * by_turn * np.stack([high, -wide]) / (wide**2 + high**2))
    sums.by_sizes(parts[0], parts[1])
    return sums.results(trans)
