"""Overlaps of boxes as losses: generalized, by distance, complete."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from tests.clients.torch_autograd.support import Case, Draw, gradient, leaf, numpy_of, pulled, torch


def sides(boxes: Any, centred: bool) -> tuple[Any, Any]:
    """The low and high corners of boxes, which are columns."""
    if centred:
        return boxes[:2] - boxes[2:] / 2, boxes[:2] + boxes[2:] / 2
    return boxes[:2], boxes[2:]


def overlap(kind: str, box: Any, other: Any, centred: bool) -> tuple[Any, Any]:
    """The overlap of pairs, and the difference of their angles."""
    (low, high), (other_low, other_high) = sides(box, centred), sides(other, centred)
    common = (torch.minimum(high, other_high) - torch.maximum(low, other_low)).clamp(min=0).prod(0)
    union = (high - low).prod(0) + (other_high - other_low).prod(0) - common
    around = torch.maximum(high, other_high) - torch.minimum(low, other_low)
    iou = common / union
    if kind == "GIoUGrad":
        return iou - (around.prod(0) - union) / around.prod(0), None
    apart = ((low + high - other_low - other_high) / 2).square().sum(0) / around.square().sum(0)
    if kind == "DIoUGrad":
        return iou - apart, None
    (width, height), (other_width, other_height) = high - low, other_high - other_low
    turn = torch.atan(other_width / other_height) - torch.atan(width / height)
    shape = 4 / torch.pi**2 * turn.square()
    share = (shape / (1 - iou + shape)).detach()  # a constant, as in the paper
    return iou - apart - share * shape, turn


@gradient("GIoUGrad", "DIoUGrad", "CIoUGrad")
def pairs(d: Draw) -> Iterator[Case]:
    """Pairs that overlap, and pairs that lie apart."""
    for centred in (False, True):
        for spread in (1.0, 6.0):
            middles, extents = d.rng.uniform(0, spread, (2, 2, 12)), d.rng.uniform(0.5, 3, (2, 2, 12))
            both = np.concatenate([middles, extents], 1) if centred else np.concatenate(
                [middles - extents / 2, middles + extents / 2], 1)  # fmt: skip
            box, other = (d.typed(one) for one in both)
            at, by = leaf(box), leaf(other)
            found, turn = overlap(d.op, at, by, centred)
            dy = d.normal(12)
            extra = [d.typed(numpy_of(turn))] if turn is not None else []
            attrs = {"trans": centred, "is_cross": False, "mode": "iou"}
            yield Case([dy, box, other, *extra], pulled(found, dy, at, by), attrs, rounded=bool(extra), times=8)
