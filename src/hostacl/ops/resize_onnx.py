"""Resizing in ONNX's modes."""

from __future__ import annotations

from collections.abc import Sequence
from math import floor
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hostacl import _kernels
from hostacl.ops import dims
from hostacl.ops.call import Call
from hostacl.ops.dims import Between, Dim, Shape
from hostacl.ops.registry import kernel
from hostacl.ops.resampling import resampled
from hostacl.ops.resize_grad import regions_of
from hostacl.ops.resize_modes import COORDINATES, Axis, axes_of, check_modes, numbers_at, taps_of, without_line
from hostacl.ops.schema import with_any_kind

Array = NDArray[Any]


def resize_shape(call: Call) -> Shape:
    """x with the sizes that are given: all of them, or those of H and W (and D); without any, floor(old · scale)."""
    x = call.shape("x")
    check_modes(call)
    if not (call.known("sizes") or "sizes" in call.attrs) or not (call.known("scales") or "scales" in call.attrs):
        return tuple(Between() for _ in x)
    sizes, scales = numbers(call, "sizes"), numbers(call, "scales")
    if not sizes and not scales:
        raise call.refuse("HA513", "neither sizes nor scales say the new size; allowed: numbers in one of them.")
    if sizes:
        told = numbers_at(call, "sizes", sizes, len(x), call.format("x"))
        shape: Shape = tuple(int(told[axis]) if axis in told else size for axis, size in enumerate(x))
    else:
        factors = numbers_at(call, "scales", scales, len(x), call.format("x"))
        shape = tuple(scaled(size, factors.get(axis, 1.0)) for axis, size in enumerate(x))
    if any(isinstance(one, int) and one < 0 for one in shape) or any(one < 0 for one in scales):
        raise call.refuse("HA519", f"sizes = {sizes}, scales = {scales}; allowed: 0 or more for each.")
    if 0 in x and any(isinstance(new, int) and new and old == 0 for old, new in zip(x, shape, strict=True)):
        raise call.refuse("HA504", f"x = {dims.text(x)} has no elements to make {dims.text(shape)} of.")
    return shape


def final_shape(call: Call) -> Shape:
    """That shape, or without an axis of 1 where y is described so."""
    return without_line(call, resize_shape(call))


def numbers(call: Call, name: str) -> list[float]:
    """The numbers of an attribute or a value input; none where it is left out."""
    if name in call.attrs:
        return [float(one) for one in call.attrs[name] or ()]
    return [float(one) for one in np.ravel(call.value(name))] if call.has(name) else []


def scaled(size: Dim, scale: float) -> Dim:
    """floor(size · scale)."""
    return floor(size * float(np.float32(scale))) if isinstance(size, int) else Between()


@kernel("ResizeD", shape=final_shape, forms=(with_any_kind("ResizeD", "roi"),))
@kernel("Resize", shape=final_shape, values=("scales", "sizes"), mixed=("roi",))
def resize(
    x: Array, roi: Any, scales: Any, sizes: Any, coordinate_transformation_mode: str, extrapolation_value: float, call: Call,
    formats: dict[str, int],
) -> Array:  # fmt: skip
    """ONNX's Resize: each new element is made of the old ones around its place, along each axis that changes.

    mode nearest, linear or cubic (cubic_coeff_a, exclude_outside); places by coordinate_transformation_mode and nearest_mode.
    sizes and scales have a number for each axis, or one for H and W (and D) alone. A scale counts for the places even where
    sizes say the size; 0, or none, is the new size over the old one. roi (starts, then ends, from 0 to 1) is for
    tf_crop_and_resize, which gives extrapolation_value outside of x. Integers are computed with in float64 and cut off.
    """
    pairs = (("scales", scales), ("sizes", sizes))
    given = {name: np.asarray(one) for name, one in pairs if name in call.inputs and one is not None}
    told_values = call.with_values(given)
    new: Any = resize_shape(told_values)
    final: Any = final_shape(told_values)
    crop = coordinate_transformation_mode == "tf_crop_and_resize"
    told = [float(one) for one in np.ravel(scales)] if scales is not None else []
    factors = numbers_at(call, "scales", told, x.ndim, formats["x"]) if told else {}
    regions = regions_of(call, [float(one) for one in np.ravel(roi)] if roi is not None and crop else [], x.ndim, formats["x"])
    changed = axes_of(x.shape, new, factors, regions, crop)
    taps = [taps_of(one, dict(call.attrs)) for one in changed]
    if call.attr("mode") == "nearest":  # elements are moved as they are; what lies outside is set afterwards
        taps = [one._replace(weight=None) for one in taps]
    if not taps or 0 in new:
        return x.reshape(final) if not taps else np.zeros(final, x.dtype)
    y = resampled(x, taps)
    return (outside_set(y, changed, extrapolation_value) if crop else y).reshape(final)


def outside_set(y: Array, changed: Sequence[Axis], value: float) -> Array:
    """The result with a value where a place lies outside of x along any axis."""
    if y.dtype.kind in "iu":
        held = np.empty((), y.dtype)
        _kernels.convert(np.asarray(value, np.float64), held)
        value = held.item()
    for one in changed:
        place = COORDINATES["tf_crop_and_resize"](np.arange(one.new, dtype=np.float64), one)
        outside = (place < 0) | (place > one.old - 1)
        if outside.any():
            np.moveaxis(y, one.axis, 0)[outside] = value
    return y
