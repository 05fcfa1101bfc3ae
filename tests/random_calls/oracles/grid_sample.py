"""Sampling by a grid, one position after another; derivatives by differences."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np

from hostacl.tensors import formats
from random_calls.dice import Dice
from random_calls.oracle import Within, finite, oracle, shapes
from random_calls.oracles.conv import LETTERS, ordered

NAMES = [f"GridSampler{rank}D{side}" for rank in (2, 3) for side in ("", "Grad")]
STEP = 1e-5


@shapes(*NAMES)
def grid_call(d: Dice) -> None:
    rank, backward = (3 if "3D" in d.prototype.op_type else 2), d.prototype.op_type.endswith("Grad")
    one = d.wants("one element")
    batch = 1 if one else 0 if d.wants("empty") else d.int(1, 2)
    channels, sizes, new = 1 if one else d.int(1, 3), *([1 if one else d.int(1, 4) for _ in range(rank)] for _ in range(2))
    if d.wants("long"):
        new[-1] = d.int(30, 60)
    layout = d.choose(formats.ND, *((formats.NCHW, formats.NHWC) if rank == 2 else (formats.NCDHW, formats.NDHWC)))
    first = "NCHW" if rank == 2 else "NCDHW"
    letters = LETTERS.get(layout, first)
    x = dict(zip(first, (batch, channels, *sizes), strict=True))
    y = dict(zip(first, (batch, channels, *new), strict=True))
    if backward:
        d.tensor("grad", np.asarray(d.rng.uniform(-2, 2, tuple(y[letter] for letter in letters))), format=layout)
        d.tensor("x", np.asarray(d.rng.uniform(-2, 2, tuple(x[letter] for letter in letters))), format=layout)
        d.output("dx", format=layout)
    else:
        d.tensor("x", tuple(x[letter] for letter in letters), format=layout)
        d.output("y", format=layout)
    d.tensor("grid", (d.rng.integers(-128, 128, (batch, *new, rank)) + 0.5) / 64)  # between the places where weights bend
    d.attr("interpolation_mode", "nearest", *(["bicubic"] if rank == 2 else []))
    d.attr("padding_mode", "border", "reflection")
    d.attr("align_corners", True)
    if "data_format" in d.generation.attrs:
        d.attr("data_format")
    d.values.update(letters=letters, first=first, sizes=sizes)


def folded(at: float, low: float, high: float) -> float:
    """Mirrored step by step."""
    if low == high:
        return 0.0
    while not low <= at <= high:
        at = 2 * low - at if at < low else 2 * high - at
    return at


def held(at: float, size: int, v: Any) -> float:
    if v["padding_mode"] == "reflection":
        at = folded(at, 0, size - 1) if v["align_corners"] else folded(at, -0.5, size - 0.5)
    return at if v["padding_mode"] == "zeros" else min(max(at, 0.0), size - 1.0)


def along(number: float, size: int, v: Any) -> list[tuple[int, float]]:
    """The pixels along one axis with their weights; those outside are there too, and some twice."""
    at = (number + 1) / 2 * (size - 1) if v["align_corners"] else (number + 1) / 2 * size - 0.5
    found = []
    if v["interpolation_mode"] == "bicubic":
        low = math.floor(at)
        for pixel in range(low - 1, low + 3):
            t, place = abs(at - pixel), int(held(pixel, size, v))
            weight = 1.25 * t**3 - 2.25 * t**2 + 1 if t <= 1 else -0.75 * (t**3 - 5 * t**2 + 8 * t - 4)
            found.append((place, weight))
        return found
    at = held(at, size, v)
    if v["interpolation_mode"] == "nearest":
        return [(round(at), 1.0)]
    low = math.floor(at)
    return [(low, low + 1 - at), (low + 1, at - low)]


def weights(numbers: Any, v: Any) -> list[tuple[tuple[int, ...], float]]:
    """The weights of the pixels that a position is made of."""
    sides = [along(float(number), size, v) for number, size in zip(numbers[::-1], v["sizes"], strict=True)]
    found = []
    for chosen in itertools.product(*sides):
        place = tuple(pixel for pixel, _ in chosen)
        if all(0 <= pixel < size for pixel, size in zip(place, v["sizes"], strict=True)):
            found.append((place, math.prod(weight for _, weight in chosen)))
    return found


@oracle("GridSampler2D", "GridSampler3D", family="conv")
def sampler(x: Any, grid: Any, dice: Dice) -> Any:
    v = dice.values
    images = ordered(x, v["letters"], v["first"])
    y = np.zeros((*images.shape[:2], *grid.shape[1:-1]))
    slack = np.zeros(y.shape)
    for n, *place in np.ndindex(*grid.shape[:-1]):
        spot = (n, slice(None), *place)
        for pixel, weight in weights(grid[(n, *place)], v):
            value = images[(n, slice(None), *pixel)]
            y[spot] += value * weight
            slack[spot] += finite(value * weight) * 1e-12
    return Within(ordered(y, v["first"], v["letters"]), ordered(slack, v["first"], v["letters"]))


@oracle("GridSampler2DGrad", "GridSampler3DGrad", family="conv")
def sampler_grad(grad: Any, x: Any, grid: Any, dice: Dice) -> Any:
    v = dice.values
    images, grads = ordered(x, v["letters"], v["first"]), ordered(grad, v["letters"], v["first"])
    dx, dgrid = np.zeros(images.shape), np.zeros(grid.shape)
    for n, *place in np.ndindex(*grid.shape[:-1]):
        numbers, dy = grid[(n, *place)], grads[(n, slice(None), *place)]
        for pixel, weight in weights(numbers, v):
            dx[(n, slice(None), *pixel)] += dy * weight
        for axis in range(len(numbers)):
            step = np.eye(len(numbers))[axis] * STEP
            for side in (1, -1):
                for pixel, weight in weights(numbers + side * step, v):
                    dgrid[(n, *place, axis)] += side * weight * (dy @ images[(n, slice(None), *pixel)]) / (2 * STEP)
    return Within(ordered(dx, v["first"], v["letters"]), 1e-6), Within(dgrid, 1e-4)
