"""The gathering step of deformable convolutions, pixel by pixel."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np

from hostacl.tensors import formats
from random_calls.dice import Dice
from random_calls.oracle import Within, finite, oracle, shapes
from random_calls.oracles.conv import LETTERS, ordered


@shapes("DeformableOffsets", "DeformableOffsetsGrad")
def deformable_call(d: Dice) -> None:
    one = d.wants("one element")
    kernel, stride, dilation = ([1 if one else d.int(1, 2) for _ in range(2)] for _ in range(3))
    if d.kind.startswith("attributes"):
        dilation = [1, 1]
    pads = [0 if one else d.int(0, 1) for _ in range(4)]
    out = [1 if one else d.int(1, 3) for _ in range(2)]
    if d.wants("long"):
        out[1] = d.int(30, 50)
    sizes = [max((n - 1) * s + (k - 1) * g + 1 - pads[2 * i] - pads[2 * i + 1], 1) for i, (n, s, k, g) in
             enumerate(zip(out, stride, kernel, dilation, strict=True))]  # fmt: skip
    out = [(size + pads[2 * i] + pads[2 * i + 1] - (k - 1) * g - 1) // s + 1 for i, (size, s, k, g) in
           enumerate(zip(sizes, stride, kernel, dilation, strict=True))]  # fmt: skip
    groups = 1 if one or d.kind in {"attributes absent", "attributes default"} else d.int(1, 2)
    modulated = True if one else d.attr("modulated", False)
    channels, batch = groups * (1 if one else d.int(1, 2)), 0 if d.wants("empty") else 1
    count = groups * kernel[0] * kernel[1]
    planes = count * (3 if modulated else 2)
    layout = d.choose(formats.NCHW, formats.NHWC)
    letters = LETTERS[layout]
    x = {"N": batch, "C": channels, "H": sizes[0], "W": sizes[1]}
    where = {"N": batch, "C": planes, "H": out[0], "W": out[1]}
    backward = d.prototype.op_type.endswith("Grad")
    if backward:
        y = {**x, "H": out[0] * kernel[0], "W": out[1] * kernel[1]}
        d.tensor("grad", np.asarray(d.rng.uniform(-4, 4, tuple(y[letter] for letter in letters))), format=layout)
    images = tuple(x[letter] for letter in letters)
    d.tensor("x", np.asarray(d.rng.uniform(-4, 4, images)) if backward else images, -4, 4, format=layout)
    shifts = (d.rng.integers(-96, 96, tuple(where[letter] for letter in letters)) + 0.5) / 64  # never a whole pixel
    d.tensor("offsets", shifts, dtype=d.dtype, format=layout)
    for name, numbers in (("strides", stride), ("dilations", dilation)):
        by_letter = {"N": 1, "C": 1, "H": numbers[0], "W": numbers[1]}
        if name == "strides" or max(numbers) > 1 or d.wants("attributes default"):
            d.attrs[name] = ("list_int", [by_letter[letter] for letter in letters])
    d.attrs["pads"], d.attrs["ksize"] = ("list_int", pads), ("list_int", kernel)
    if letters != "NCHW" or d.wants("attributes default"):
        d.attrs["data_format"] = ("string", letters)
    if groups > 1:
        d.attrs["deformable_groups"] = ("int", groups)
    d.values.update(kernel=kernel, stride=stride, dilation=dilation, pads=pads, out=out, groups=groups, modulated=modulated)
    for name in ("grad_x", "grad_offsets") if backward else ("y",):
        d.output(name, format=layout)


@oracle("DeformableOffsets", family="conv")
def deformable(x: Any, offsets: Any, dice: Dice) -> Any:
    v, letters = dice.values, LETTERS[dice.inputs["x"][0].spec.format]
    images, planes = ordered(x, letters, "NCHW"), ordered(offsets, letters, "NCHW")
    (kh, kw), (oh, ow), groups = v["kernel"], v["out"], v["groups"]
    count = groups * kh * kw
    y, slack = np.zeros((*images.shape[:2], oh * kh, ow * kw)), np.zeros((*images.shape[:2], oh * kh, ow * kw))
    spaces = map(range, (*images.shape[:2], oh, ow, kh, kw))
    for n, c, h, w, i, j in itertools.product(*spaces):
        plane = (c // (images.shape[1] // groups) * kh + i) * kw + j
        row = h * v["stride"][0] + i * v["dilation"][0] - v["pads"][0] + planes[n, count + plane, h, w]
        column = w * v["stride"][1] + j * v["dilation"][1] - v["pads"][2] + planes[n, plane, h, w]
        mask = planes[n, 2 * count + plane, h, w] if v["modulated"] else 1.0
        total = size = 0.0
        for r, s in itertools.product((math.floor(row), math.floor(row) + 1), (math.floor(column), math.floor(column) + 1)):
            if 0 <= r < images.shape[2] and 0 <= s < images.shape[3]:
                part = images[n, c, r, s] * max(0.0, 1 - abs(row - r)) * max(0.0, 1 - abs(column - s))
                total, size = total + part, size + float(finite(part))
        y[n, c, h * kh + i, w * kw + j] = total * mask
        slack[n, c, h * kh + i, w * kw + j] = size * abs(mask) * 2.0**-22
    return Within(ordered(y, "NCHW", letters), ordered(slack, "NCHW", letters))


@oracle("DeformableOffsetsGrad", family="conv")
def deformable_grad(grad: Any, x: Any, offsets: Any, dice: Dice) -> Any:
    """Each element's value is a product of three straight lines, so that differences are derivatives."""
    v, letters = dice.values, LETTERS[dice.inputs["x"][0].spec.format]
    grads, images, planes = (ordered(one, letters, "NCHW") for one in (grad, x, offsets))
    (kh, kw), (oh, ow), groups = v["kernel"], v["out"], v["groups"]
    count, step = groups * kh * kw, 1e-4
    dx, moved = np.zeros(images.shape), np.zeros(planes.shape)

    def value(image: Any, row: float, column: float, gradient: Any = None, share: float = 0.0) -> float:
        total = 0.0
        for r, s in itertools.product((math.floor(row), math.floor(row) + 1), (math.floor(column), math.floor(column) + 1)):
            if 0 <= r < image.shape[0] and 0 <= s < image.shape[1]:
                weight = (1 - abs(row - r)) * (1 - abs(column - s))
                total += image[r, s] * weight
                if gradient is not None:
                    gradient[r, s] += share * weight
        return total

    for n, c, h, w, i, j in itertools.product(*map(range, (*images.shape[:2], oh, ow, kh, kw))):
        plane = (c // (images.shape[1] // groups) * kh + i) * kw + j
        row = h * v["stride"][0] + i * v["dilation"][0] - v["pads"][0] + planes[n, count + plane, h, w]
        column = w * v["stride"][1] + j * v["dilation"][1] - v["pads"][2] + planes[n, plane, h, w]
        mask = planes[n, 2 * count + plane, h, w] if v["modulated"] else 1.0
        dy, image = grads[n, c, h * kh + i, w * kw + j], images[n, c]
        here = value(image, row, column, dx[n, c], dy * mask)
        if v["modulated"]:
            moved[n, 2 * count + plane, h, w] += dy * here
        across = (value(image, row, column + step) - value(image, row, column - step)) / (2 * step)
        down = (value(image, row + step, column) - value(image, row - step, column)) / (2 * step)
        moved[n, plane, h, w] += dy * mask * across
        moved[n, count + plane, h, w] += dy * mask * down
    return Within(ordered(dx, "NCHW", letters), 1e-5), Within(ordered(moved, "NCHW", letters), 1e-5)
