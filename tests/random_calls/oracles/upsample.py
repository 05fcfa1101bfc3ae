"""Resampling volumes by a matrix along each axis."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from random_calls.dice import Dice
from random_calls.oracle import Within, finite, oracle, shapes

NAMES = [f"Upsample{kind}3d{side}" for kind in ("Nearest", "Trilinear") for side in ("", "Grad")]


@shapes(*NAMES)
def volume(d: Dice) -> None:
    one = d.wants("one element")
    old = [1 if one else d.int(1, 4) for _ in range(3)]
    front = (0 if d.wants("empty") else 1, 1 if one else d.int(1, 2))
    if d.chance() or one:
        new, scales = [1 if one else d.int(1, 6) for _ in range(3)], []
        d.attrs["output_size"] = ("list_int", new)
    else:
        scales = [d.choose(1.0, 1.5, 2.0, 2.5) for _ in range(3)]
        new = [math.floor(size * scale) for size, scale in zip(old, scales, strict=True)]
        d.attrs["scales"] = ("list_float", scales)
    d.values.update(old=old, new=new, ratios=scales)
    if d.prototype.op_type.endswith("Grad"):
        d.tensor("grad_output", (*front, *new))
        d.attrs["input_size"] = ("list_int", [*front, *old])
    else:
        d.tensor("x", (*front, *old))
    if "align_corners" in d.generation.attrs:
        d.attr("align_corners", True)


def weights(dice: Any, smooth: bool) -> list[Any]:
    """For each axis the matrix (new, old)."""
    found = []
    for at in range(3):
        old, new = dice.values["old"][at], dice.values["new"][at]
        ratio = 1 / dice.values["ratios"][at] if dice.values["ratios"] else old / new
        matrix = np.zeros((new, old))
        for i in range(new):
            if not smooth:
                matrix[i, min(i * old // new if not dice.values["ratios"] else math.floor(i * ratio), old - 1)] = 1
                continue
            align = dice.values.get("align_corners")
            at_old = (i * (old - 1) / (new - 1) if new > 1 else 0.0) if align else max((i + 0.5) * ratio - 0.5, 0.0)
            low = min(math.floor(at_old + 1e-12), old - 1)
            share = max(at_old - low, 0.0) if low < old - 1 else 0.0
            matrix[i, low] += 1 - share
            if share:
                matrix[i, low + 1] += share
        found.append(matrix)
    return found


def applied(x: Any, matrices: list[Any]) -> Any:
    """Each axis in turn; entries of 0 do not count."""
    for at, matrix in enumerate(matrices):
        moved = np.moveaxis(x, 2 + at, -1)
        rows = [sum((moved[..., j] * row[j] for j in np.flatnonzero(row)), np.zeros(moved.shape[:-1])) for row in matrix]
        x = np.moveaxis(np.stack(rows, -1), -1, 2 + at)
    return x


def both(x: Any, matrices: list[Any]) -> Within:
    return Within(applied(x, matrices), applied(finite(x), matrices) * 1e-11)


@oracle("UpsampleNearest3d", family="image")
def near(x: Any, dice: Dice) -> Any:
    return both(x, weights(dice, False))


@oracle("UpsampleNearest3dGrad", family="image")
def near_grad(grad_output: Any, dice: Dice) -> Any:
    return both(grad_output, [one.T for one in weights(dice, False)])


@oracle("UpsampleTrilinear3d", family="image")
def smooth(x: Any, dice: Dice) -> Any:
    return both(x, weights(dice, True))


@oracle("UpsampleTrilinear3dGrad", family="image")
def smooth_grad(grad_output: Any, dice: Dice) -> Any:
    return both(grad_output, [one.T for one in weights(dice, True)])


@shapes("UpsampleNearest1d", "UpsampleNearest1dGrad")
def line_call(d: Dice) -> None:
    one = d.wants("one element")
    shape = (0 if d.wants("empty") else 1 if one else d.int(1, 3), 1 if one else d.int(1, 3), 1 if one else d.int(1, 6))
    new = 1 if one else d.int(40, 60) if d.wants("long") else d.int(1, 9)
    if d.chance(0.3) and not one:
        scale = d.choose(2.0, 1.5, 0.5) if shape[2] > 1 else 2.0
        new = int(shape[2] * scale)
        d.attrs["scales"], d.attrs["output_size"] = ("list_float", [scale]), ("list_int", [])
        d.values["places"] = [min(int(i / scale), shape[2] - 1) for i in range(new)]
    else:
        d.attrs["output_size"] = ("list_int", [new])
        d.values["places"] = [i * shape[2] // new for i in range(new)]
    if d.prototype.op_type.endswith("Grad"):
        d.attrs["input_size"] = ("list_int", list(shape))
        d.values["old"] = shape[2]
        d.tensor("grad_output", (*shape[:2], new))
        return
    d.tensor("x", shape)
    d.output("y", d.dtype, (*shape[:2], new))


@oracle("UpsampleNearest1d", family="image")
def line(x: Any, dice: Dice) -> Any:
    return np.stack([x[:, :, at] for at in dice.values["places"]], axis=2)


@oracle("UpsampleNearest1dGrad", family="image")
def line_grad(grad_output: Any, dice: Dice) -> Any:
    y, size = np.zeros((2, *grad_output.shape[:2], dice.values["old"]))
    for at, place in enumerate(dice.values["places"]):
        y[:, :, place] += grad_output[:, :, at]
        size[:, :, place] += finite(grad_output[:, :, at])
    return Within(y, size * 1e-12)
