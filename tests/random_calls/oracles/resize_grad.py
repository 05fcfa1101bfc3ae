"""The gradient of ONNX's Resize, by the matrix of the resizing along each axis."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np

from hostacl.tensors import dtypes
from random_calls import values
from random_calls.dice import Dice
from random_calls.oracle import Within, finite, oracle, shapes

COORDINATES = ("align_corners", "asymmetric", "pytorch_half_pixel", "tf_half_pixel_for_nn", "half_pixel_symmetric",
               "tf_crop_and_resize")  # fmt: skip


@shapes("ResizeGrad", "ResizeGradD")
def resize_grad_call(d: Dice) -> None:
    one, cast = d.wants("one element"), d.prototype.op_type == "ResizeGrad"
    rank = 4
    old = [1 if one else d.int(1, 2), 1 if one else d.int(1, 2), *(1 if one else d.int(1, 5) for _ in range(2))]
    new = [*old[:2], *(1 if one else d.int(1, 5) for _ in range(2))]
    if d.wants("long"):
        new[3] = d.int(40, 60)
    if d.wants("empty"):
        old[0] = new[0] = 0
    whole = values.is_int(d.dtype) or d.dtype == dtypes.BOOL
    d.tensor("grads", tuple(new), *(() if whole else (-4, 4)))
    coordinates = d.attr("coordinate_transformation_mode", *COORDINATES)
    mode = d.attr("mode", *(() if whole else ("linear", "cubic")))
    d.attr("nearest_mode", "round_prefer_ceil", "floor", "ceil")
    d.attr("exclude_outside", 1)
    d.attr("cubic_coeff_a", -0.5)
    d.attr("extrapolation_value", 3.0)
    crop = coordinates == "tf_crop_and_resize"
    scales = [b / a if a else 1.0 for a, b in zip(old, new, strict=True)]
    regions = [(0.0, 1.0)] * rank
    if crop:
        regions = [(0.0, 1.0)] * 2 + [d.choose((0.0, 1.0), (0.25, 1.0), (-1.0, 2.0), (0.0, 0.5)) for _ in range(2)]
    flat = [start for start, _ in regions] + [end for _, end in regions]
    if cast:
        if d.optional("roi"):
            d.tensor("roi", np.array(flat), dtype=dtypes.FLOAT)
        else:
            regions = [(0.0, 1.0)] * rank
        if d.optional("scales"):
            d.tensor("scales", np.array([0.0, 0.0]), dtype=dtypes.FLOAT)
        d.value("original_size", old if d.chance() else old[2:])
    else:
        d.attrs["original_size"] = ("list_int", old if d.chance() else old[2:])
        if crop and all(float(one).is_integer() for one in flat):
            d.attrs["roi"] = ("list_int", [int(one) for one in flat])
        elif crop:
            regions = [(0.0, 1.0)] * rank
        if d.chance():
            d.attrs["scales"] = ("list_float", [0.0, 0.0])
    d.values.update(old=old, new=new, scales=scales, regions=regions, mode=mode)


def place(at: int, old: int, new: int, region: tuple[float, float], how: str) -> Fraction:
    """Where a new element lies, exactly."""
    scale = Fraction(new, old)
    if how == "align_corners":
        return Fraction(at * (old - 1), new - 1) if new > 1 else Fraction(0)
    if how == "tf_crop_and_resize":
        first, last = (Fraction(edge) * (old - 1) for edge in region)
        return first + at * (last - first) / (new - 1) if new > 1 else (first + last) / 2
    if how == "asymmetric":
        return at / scale
    if how == "tf_half_pixel_for_nn":
        return (at + Fraction(1, 2)) / scale
    if how == "pytorch_half_pixel" and new == 1:
        return Fraction(0)
    return (at + Fraction(1, 2)) / scale - Fraction(1, 2)


ROUND = {
    "floor": math.floor, "ceil": math.ceil,
    "round_prefer_floor": lambda at: math.ceil(at - Fraction(1, 2)),
    "round_prefer_ceil": lambda at: math.floor(at + Fraction(1, 2)),
}  # fmt: skip


def row(at: Fraction, old: int, v: Any) -> list[tuple[int, float]]:
    """Old elements and their weights. One at an end may come several times, as in other libraries: infinities tell."""
    last = old - 1
    if v["coordinate_transformation_mode"] == "tf_crop_and_resize" and not 0 <= at <= last:
        return []
    if v["mode"] == "nearest":
        return [(min(max(ROUND[v["nearest_mode"]](at), 0), last), 1.0)]
    low = math.floor(at)
    if v["mode"] == "linear":
        pairs = [(low, float(low + 1 - at)), (low + 1, float(at - low))]
    else:
        pairs = [(pixel, keys(abs(float(at - pixel)), v["cubic_coeff_a"])) for pixel in range(low - 1, low + 3)]
        if v["exclude_outside"]:
            pairs = [pair for pair in pairs if 0 <= pair[0] <= last]
            total = sum(weight for _, weight in pairs)
            pairs = [(pixel, weight / total if total else weight) for pixel, weight in pairs]
    return [(min(max(pixel, 0), last), weight) for pixel, weight in pairs if weight]


def rounding(size: Any) -> Any:
    """What sums of magnitudes may be off by; next to the largest float64 the order of axes says whether one overflows."""
    return np.where(size > 2.0**1000, np.inf, size * 1e-9)


def keys(t: float, a: float) -> float:
    if t <= 1:
        return (a + 2) * t**3 - (a + 3) * t**2 + 1
    return a * t**3 - 5 * a * t**2 + 8 * a * t - 4 * a


@oracle("ResizeGrad", "ResizeGradD", family="image")
def resize_grad(grads: Any, dice: Dice) -> Any:
    v, total = dice.values, grads.astype(np.float64) if grads.dtype == np.bool_ else grads
    size = total if total.dtype == object else finite(total)
    for axis in (2, 3):
        old, new = v["old"][axis], v["new"][axis]
        crop = v["coordinate_transformation_mode"] == "tf_crop_and_resize" and v["regions"][axis] != (0.0, 1.0)
        if old == new and not crop:
            continue
        results = []
        for array in (total, size):
            moved = np.moveaxis(array, axis, -1)
            result = np.zeros((*moved.shape[:-1], old), array.dtype)
            for k in range(new):
                at = place(k, old, new, v["regions"][axis], v["coordinate_transformation_mode"])
                for pixel, weight in row(at, old, v):
                    factor = int(weight) if array.dtype == object else abs(weight) if array is size else weight
                    result[..., pixel] += moved[..., k] * factor
            results.append(np.moveaxis(result, -1, axis))
        total, size = results
    if total.dtype == object:
        return total
    if dice.dtype == dtypes.BOOL:
        return total != 0
    return Within(total, rounding(size))
