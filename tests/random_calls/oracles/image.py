"""Resizing by a loop over pixels."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np

from hostacl.tensors import dtypes, formats
from random_calls import values
from random_calls.dice import Dice
from random_calls.oracle import Within, finite, oracle, shapes

AXES = {formats.NCHW: (2, 3), formats.NHWC: (1, 2), formats.ND: (2, 3)}


@shapes("ResizeNearestNeighborV2", "ResizeNearestNeighborV2Grad", "ResizeNearestNeighborV2GradD", "ResizeBilinearV2",
        "ResizeNearestNeighborV2D", "ResizeBilinearV2D")  # fmt: skip
def resize_call(d: Dice) -> None:
    one = d.wants("one element")
    layout = d.choose(*AXES)
    shape = [1 if one else d.int(1, 5) for _ in range(4)]
    shape[0] = 0 if d.wants("empty") else shape[0]
    size = [1 if one else d.int(1, 7) for _ in range(2)]
    if d.wants("long"):
        size[1] = d.int(40, 80)
    source = d.generation.inputs[0].name
    d.tensor(source, tuple(shape), format=layout)
    if "size" in d.prototype.attrs:
        d.attrs["size"] = ("list_int", size)
    else:
        d.value("size", np.array(size))
    centred = d.attr("half_pixel_centers", True) if "half_pixel_centers" in d.generation.attrs else False
    if not centred:
        d.attr("align_corners", True)
    d.values.setdefault("align_corners", False)
    d.values.update(axes=AXES[layout], new=size)
    code = d.dtype
    if d.prototype.op_type.startswith("ResizeBilinearV2"):
        code = dtypes.FLOAT
        if "dtype" in d.generation.attrs:
            code = d.attr("dtype", dtypes.FLOAT)
    d.output("y", code, format=layout)


def position(i: int, old: int, new: int, align: bool, half: bool) -> Fraction:
    if align and new > 1:
        return Fraction(i * (old - 1), new - 1)
    return Fraction(2 * i + 1, 2) * Fraction(old, new) - Fraction(1, 2) if half else Fraction(i * old, new)


def nearest_place(i: int, old: int, new: int, align: bool, half: bool) -> int:
    if align and new > 1:
        return min(math.floor(Fraction(i * (old - 1), new - 1) + Fraction(1, 2)), old - 1)
    at = Fraction(2 * i + 1, 2) * Fraction(old, new) if half else Fraction(i * old, new)
    return min(math.floor(at), old - 1)


@oracle("ResizeNearestNeighborV2", "ResizeNearestNeighborV2D")
def nearest(x: Any, align_corners: bool, half_pixel_centers: bool, dice: Dice) -> Any:
    result = x
    for axis, new in zip(dice.values["axes"], dice.values["new"], strict=True):
        old = x.shape[axis]
        picks = [nearest_place(i, old, new, align_corners, half_pixel_centers) for i in range(new)]
        parts = [np.moveaxis(result, axis, 0)[pick] for pick in picks]
        result = np.moveaxis(np.stack(parts), 0, axis)
    return result


@oracle("ResizeNearestNeighborV2Grad", "ResizeNearestNeighborV2GradD")
def nearest_grad(grads: Any, align_corners: bool, half_pixel_centers: bool, dice: Dice) -> Any:
    down, across = dice.values["axes"]
    shape = list(grads.shape)
    shape[down], shape[across] = dice.values["new"]
    order = [axis for axis in range(4) if axis not in (down, across)]
    given = grads.transpose([*order, down, across])
    total = np.zeros((*given.shape[:2], *dice.values["new"]), grads.dtype)
    size = np.zeros(total.shape)
    flags = (align_corners, half_pixel_centers)
    for i, j in np.ndindex(*given.shape[2:]):
        y = nearest_place(i, shape[down], given.shape[2], *flags)
        x = nearest_place(j, shape[across], given.shape[3], *flags)
        total[:, :, y, x] += given[:, :, i, j]
        size[:, :, y, x] += finite(np.asarray(given[:, :, i, j], np.float64))
    back = np.argsort([*order, down, across])
    if values.is_int(dice.dtype):
        return total.transpose(back)
    return Within(total.transpose(back), size.transpose(back) * 1e-12)


def mixed(x: Any, axis: int, new: int, align: bool, half: bool) -> Any:
    moved, old, parts = np.moveaxis(x, axis, 0), x.shape[axis], []
    for i in range(new):
        at = min(max(position(i, old, new, align, half), Fraction(0)), Fraction(old - 1))
        low = math.floor(at)
        share = float(at - low)
        above = moved[min(low + 1, old - 1)] * share if share else 0.0
        parts.append(moved[low] * (1 - share) + above)
    return np.moveaxis(np.stack(parts), 0, axis)


@oracle("ResizeBilinearV2", "ResizeBilinearV2D")
def bilinear(x: Any, align_corners: bool, half_pixel_centers: bool, dice: Dice) -> Any:
    y, size = np.asarray(x, np.float64), finite(np.asarray(x, np.float64))
    for axis, new in zip(dice.values["axes"], dice.values["new"], strict=True):
        y = mixed(y, axis, new, align_corners, half_pixel_centers)
        size = mixed(size, axis, new, align_corners, half_pixel_centers)
    return Within(y, size * 1e-12)


@shapes("ResizeBilinearV2Grad")
def bilinear_grad_call(d: Dice) -> None:
    one = d.wants("one element")
    layout = d.choose(*AXES)
    axes = AXES[layout]
    shape = [1 if one else d.int(1, 5) for _ in range(4)]
    shape[0] = 0 if d.wants("empty") else shape[0]
    grads = [1 if one else d.int(1, 7) if axis in axes else size for axis, size in enumerate(shape)]
    d.tensor("grads", tuple(grads), dtype=dtypes.FLOAT, format=layout)
    d.tensor("original_image", tuple(shape), format=layout)
    if not d.attr("half_pixel_centers", True):
        d.attr("align_corners", True)
    d.values.setdefault("align_corners", False)
    d.values.update(axes=axes, shape=shape)
    d.output("y", dtypes.FLOAT, format=layout)


@oracle("ResizeBilinearV2Grad")
def bilinear_grad(grads: Any, align_corners: bool, half_pixel_centers: bool, dice: Dice) -> Any:
    down, across = dice.values["axes"]
    shape = dice.values["shape"]
    order = [axis for axis in range(4) if axis not in (down, across)]
    given = grads.transpose([*order, down, across])
    total = np.zeros((*given.shape[:2], shape[down], shape[across]))
    size = np.zeros(total.shape)
    flags = (align_corners, half_pixel_centers)
    for i, j in np.ndindex(*given.shape[2:]):
        rows = neighbours(i, shape[down], given.shape[2], *flags)
        columns = neighbours(j, shape[across], given.shape[3], *flags)
        for y, one in rows:
            for x, other in columns:
                total[:, :, y, x] += given[:, :, i, j] * one * other
                size[:, :, y, x] += finite(given[:, :, i, j]) * one * other
    back = np.argsort([*order, down, across])
    return Within(total.transpose(back), size.transpose(back) * 1e-12)


def neighbours(i: int, old: int, new: int, align: bool, half: bool) -> list[tuple[int, float]]:
    at = min(max(position(i, old, new, align, half), Fraction(0)), Fraction(old - 1))
    low = math.floor(at)
    share = float(at - low)
    return [(low, 1 - share)] + ([(low + 1, share)] if share else [])
