"""Regions of interest by loops over regions, bins and points."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from hostacl.tensors import formats
from random_calls.dice import Dice
from random_calls.oracle import finite, oracle, shapes, summed
from random_calls.oracles.conv import LETTERS, ordered


@shapes("ROIAlign", "ROIAlignGrad")
def regions(d: Dice) -> None:
    one = d.wants("one element")
    batch, channels, height, width = (1, 1, 1, 1) if one else (d.int(1, 2), d.int(1, 3), d.int(1, 6), d.int(1, 6))
    count = 1 if one else 0 if d.wants("empty") else d.int(30, 40) if d.wants("long") else d.int(1, 4)
    layout = d.choose(formats.NCHW, formats.ND, formats.NHWC)
    letters = LETTERS.get(layout, "NCHW")
    pooled = (1, 1) if one else (d.int(1, 3), d.int(1, 3))
    sizes = {"N": batch, "C": channels, "H": height, "W": width}
    x = tuple(sizes[letter] for letter in letters)
    results = {"N": count, "C": channels, "H": pooled[0], "W": pooled[1]}
    if d.prototype.op_type == "ROIAlign":
        d.tensor("features", x, format=layout)
    else:
        d.tensor("ydiff", tuple(results[letter] for letter in letters), format=layout)
        d.attrs["xdiff_shape"] = ("list_int", list(x))
        d.values["xdiff_shape"] = list(x)
    corners = np.sort(d.rng.uniform(-2, 12, (count, 2, 2)), axis=1).reshape(count, 4)
    # positions that a half type holds, and that are no ties between pixels
    corners = np.round(corners * 16) / 16 + 1 / 64
    d.tensor("rois", np.concatenate([d.rng.integers(0, batch, (count, 1)), corners], axis=1))
    if d.optional("rois_n"):
        d.tensor("rois_n", (count,))
    d.attrs.update(pooled_height=("int", pooled[0]), pooled_width=("int", pooled[1]), spatial_scale=("float", 0.5))
    d.values.update(pooled=pooled, letters=letters, scale=0.5)
    d.attr("sample_num", 0, 1, 3)
    d.attr("roi_end_mode", 0, 2, 3)
    if "pool_mode" in d.generation.attrs:
        d.attr("pool_mode", "avg", "max")
    d.output("y" if d.prototype.op_type == "ROIAlign" else "xdiff", d.dtype, format=layout)


def samples(roi: Any, d: Any, size: tuple[int, int]) -> Iterator[tuple[tuple[int, int], int, dict[tuple[int, int], float]]]:
    """For each point: its bin, how many points the bin has, and the weights of the pixels it takes."""
    mode, scale, pooled = d.values["roi_end_mode"], d.values["scale"], d.values["pooled"]
    start, length = [], []
    for low, high in ((roi[2], roi[4]), (roi[1], roi[3])):
        first = low * scale - (0.5 if mode == 2 else 0)
        last = (high + (1 if mode in (1, 3) else 0)) * scale - (0.5 if mode == 2 else 0)
        start.append(first)
        length.append(last - first if mode == 2 else max(last - first, 0 if mode == 3 else 1))
    grid = [d.values["sample_num"] or max(math.ceil(length[i] / pooled[i]), 0) for i in (0, 1)]
    for place in itertools.product(range(pooled[0]), range(pooled[1])):
        for point in itertools.product(range(grid[0]), range(grid[1])):
            at = [start[i] + (place[i] + (point[i] + 0.5) / grid[i]) * length[i] / pooled[i] for i in (0, 1)]
            yield place, grid[0] * grid[1], neighbours(at, size)


def neighbours(at: list[float], size: tuple[int, int]) -> dict[tuple[int, int], float]:
    if any(not -1 <= one <= size[i] for i, one in enumerate(at)):
        return {}
    sides = []
    for one, length in zip(at, size, strict=True):
        held = min(max(one, 0.0), length - 1.0)
        low = int(held)
        sides.append([(low, 1 - (held - low)), (min(low + 1, length - 1), held - low)])
    found: dict[tuple[int, int], float] = {}
    for (y, down), (x, across) in itertools.product(*sides):
        if down * across:
            found[y, x] = found.get((y, x), 0.0) + down * across
    return found


@oracle("ROIAlign")
def align(features: Any, rois: Any, dice: Any) -> Any:
    letters, pooled = dice.values["letters"], dice.values["pooled"]
    source = ordered(features, letters, "NCHW")
    largest = dice.values.get("pool_mode") == "max"
    y = np.zeros((len(rois), source.shape[1], *pooled))
    size = np.zeros(y.shape)
    for k, roi in enumerate(rois):
        image = source[int(roi[0])]
        seen: dict[tuple[int, int], list[Any]] = {}
        for place, count, weights in samples(roi, dice, image.shape[1:]):
            value = sum((image[:, one[0], one[1]] * weight for one, weight in weights.items()), np.zeros(len(image)))
            seen.setdefault(place, []).append(value)
            size[(k, slice(None), *place)] += sum(
                (finite(image[:, one[0], one[1]]) * weight for one, weight in weights.items()), np.zeros(len(image))
            ) / (1 if largest else count)
        for place, values in seen.items():
            y[(k, slice(None), *place)] = np.max(values, axis=0) if largest else np.sum(values, axis=0) / len(values)
    back = ["NCHW".index(letter) for letter in letters]
    return summed(np.transpose(y, back), np.transpose(size, back), 200)


@oracle("ROIAlignGrad")
def align_grad(ydiff: Any, rois: Any, xdiff_shape: Any, dice: Any) -> Any:
    letters = dice.values["letters"]
    grads = ordered(ydiff, letters, "NCHW")
    shape = tuple(xdiff_shape[letters.index(letter)] for letter in "NCHW")
    total, size = np.zeros(shape), np.zeros(shape)
    for k, roi in enumerate(rois):
        for place, count, weights in samples(roi, dice, shape[2:]):
            part = grads[(k, slice(None), *place)]
            for one, weight in weights.items():
                total[(int(roi[0]), slice(None), *one)] += part * weight / count
                size[(int(roi[0]), slice(None), *one)] += finite(part) * weight / count
    back = ["NCHW".index(letter) for letter in letters]
    return summed(np.transpose(total, back), np.transpose(size, back), 400)
