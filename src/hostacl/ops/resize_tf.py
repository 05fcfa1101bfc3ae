"""Resizing images as TensorFlow does: bicubic, with its gradient, and by area."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hostacl.ops.call import Call
from hostacl.ops.dims import Shape
from hostacl.ops.registry import kernel
from hostacl.ops.resampling import Taps, ratio_position, resampled, spread
from hostacl.ops.resize import check_modes, new_size, original_shape
from hostacl.ops.shapes import rank_is
from hostacl.tensors import dtypes
from hostacl.tensors import formats as layouts

Array = NDArray[Any]

PLAIN, HALF_PIXEL = -0.75, -0.5
"""The cubic's coefficient without and with half_pixel_centers."""


def plane(layout: int) -> tuple[int, int]:
    """The height and width axes: by the format, NHWC when that has none."""
    letters = layouts.axes_of(layout, 4) or "NHWC"
    return letters.index("H"), letters.index("W")


def image_shape(call: Call) -> Shape:
    """images with the height and width that size gives."""
    shape = list(rank_is(call, "images", 4))
    check_modes(call)
    for axis, one in zip(plane(call.format("images")), new_size(call), strict=True):
        if shape[axis] == 0 and one != 0:
            raise call.refuse("HA504", "images have no pixels to make larger ones of.")
        shape[axis] = one
    return tuple(shape)


def bicubic_dtype(call: Call) -> tuple[int, ...]:
    """What dtype says: float32 or uint8."""
    code = call.attrs.get("dtype")
    return (int(code),) if "dtype" in call.given and code is not None else (dtypes.FLOAT, dtypes.UINT8)


@kernel("ResizeBicubic", shape=image_shape, values=("size",), dtype={"y": bicubic_dtype}, dtype_attrs={"y": "dtype"})
def resize_bicubic(
    images: Array, size: Array, align_corners: bool, half_pixel_centers: bool, formats: dict[str, int]
) -> Array:  # fmt: skip
    """Each new pixel is made of 4 · 4 old ones by Keys' cubic, at i·old/new along each axis.

    half_pixel_centers: at (i + 0.5)·old/new - 0.5, with the coefficient -0.5 instead of -0.75; pixels outside do not count, and
    the weights of the others add up to 1; without it those outside are the edge's. align_corners: at i·(old-1)/(new-1). uint8
    is held and cut off. H and W by the format of images, NHWC when it has none.
    """
    new = [int(one) for one in np.ravel(size)]
    return resampled(images, cubic_taps(plane(formats["images"]), images.shape, new, align_corners, half_pixel_centers))


def cubic_taps(axes: tuple[int, int], old: Sequence[int], new: Sequence[int], align: bool, half: bool) -> list[Taps]:
    """How both axes of the plane are resampled."""
    found = []
    for axis, size in zip(axes, new, strict=True):
        low, part = ratio_position(old[axis], size, align, half)
        found.append(cubic(axis, old[axis], low, part, half))
    return found


@kernel("ResizeBicubicGrad", shape=lambda call: original_shape(call, plane(call.format("grads"))), mixed=("original_image",),
        dtype={"y": lambda call: call.dtype("original_image")})  # fmt: skip
def resize_bicubic_grad(
    grads: Array, original_image: Array, align_corners: bool, half_pixel_centers: bool, formats: dict[str, int]
) -> Array:
    """The gradient of ResizeBicubic: each one shared among the pixels it came from. original_image only gives its shape.

    The result has the type of original_image. H and W by the format of grads, NHWC when it has none.
    """
    axes = plane(formats["grads"])
    new = [grads.shape[axis] for axis in axes]
    taps = cubic_taps(axes, original_image.shape, new, align_corners, half_pixel_centers)
    return spread(grads.astype(original_image.dtype), taps)


def cubic(axis: int, old: int, low: Array, part: Array, inside_only: bool) -> Taps:
    """Four pixels around each place."""
    a = HALF_PIXEL if inside_only else PLAIN
    away = np.abs(part[:, None] - np.arange(-1, 3))
    near = ((a + 2) * away - (a + 3)) * away * away + 1
    weight = np.where(away <= 1, near, np.where(away < 2, ((a * away - 5 * a) * away + 8 * a) * away - 4 * a, 0.0))
    places = low[:, None] + np.arange(-1, 3)
    if inside_only:
        weight = np.where((places >= 0) & (places < old), weight, 0.0)
        weight = weight / weight.sum(axis=1, keepdims=True)
    return joined(Taps(axis, old, np.clip(places, 0, max(old - 1, 0)).astype(np.int64), weight))


def joined(taps: Taps) -> Taps:
    """The same with one weight for a pixel that stands several times, so that an infinite one does not meet itself negated."""
    weight = np.array(taps.weight)
    for tap in range(1, weight.shape[1]):
        same = taps.places[:, tap] == taps.places[:, tap - 1]
        weight[:, tap] += np.where(same, weight[:, tap - 1], 0.0)
        weight[:, tap - 1] = np.where(same, 0.0, weight[:, tap - 1])
    return taps._replace(weight=weight)


@kernel("ResizeArea", shape=image_shape, values=("size",))
def resize_area(images: Array, size: Array, align_corners: bool, formats: dict[str, int]) -> Array:
    """Each new pixel is the mean of the area of old ones that it covers: from i·old/new to (i + 1)·old/new along each axis.

    align_corners: (old-1)/(new-1) stands for old/new; what reaches beyond the last pixel is the last one. H and W by the format
    of images, NHWC when it has none.
    """
    taps = []
    for axis, new in zip(plane(formats["images"]), (int(one) for one in np.ravel(size)), strict=True):
        taps.append(area(axis, images.shape[axis], new, align_corners))
    return resampled(images, taps)


def area(axis: int, old: int, new: int, align: bool) -> Taps:
    """How much of each old pixel a new one covers, as a share."""
    top, bottom = (old - 1, new - 1) if align and new > 1 else (old, new)
    start = np.arange(new, dtype=np.int64) * top
    first = start // bottom
    count = -(-(start + top) // bottom) - first
    places = first[:, None] + np.arange(max(int(count.max(initial=1)), 1))
    covered = np.minimum((places + 1) * bottom, (start + top)[:, None]) - np.maximum(places * bottom, start[:, None])
    weight = np.maximum(covered, 0) / max(top, 1)
    if top == 0:
        weight = (np.arange(places.shape[1]) == 0) * np.ones((new, 1))
    return Taps(axis, old, np.clip(places, 0, max(old - 1, 0)), weight)
