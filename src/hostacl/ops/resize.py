"""Resizing images to a given height and width: nearest and bilinear, with their gradients."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hostacl.ops import dims
from hostacl.ops.axis_cuts import free_cuts
from hostacl.ops.call import Call
from hostacl.ops.dims import Between, Dim, Shape
from hostacl.ops.registry import kernel
from hostacl.ops.resampling import Taps, linear, nearest, ratio_index, ratio_position, resampled, spread
from hostacl.ops.shapes import equal_dims, rank_is
from hostacl.tensors import formats as layouts

Array = NDArray[Any]


def plane_axes(layout: int) -> tuple[int, int]:
    """The height and width axes of an image: by its format, NCHW when that has none."""
    letters = layouts.axes_of(layout, 4) or "NCHW"
    return letters.index("H"), letters.index("W")


def resized(source: str) -> Callable[[Call], Shape]:
    """The shape rule: the image with the height and width that ``size`` gives."""

    def rule(call: Call) -> Shape:
        x = rank_is(call, source, 4)
        check_modes(call)
        size = new_size(call)
        axes = plane_axes(call.format(source))
        if any(x[axis] == 0 for axis in axes) and all(isinstance(one, int) and one for one in size):
            raise call.refuse("HA504", f"{source} = {dims.text(x)} has no pixels to make a larger image of.")
        shape = list(x)
        for axis, one in zip(axes, size, strict=True):
            shape[axis] = one
        return tuple(shape)

    return rule


def check_modes(call: Call) -> None:
    """Corners cannot be aligned and pixels have centres at once."""
    if call.attr("align_corners") and call.attrs.get("half_pixel_centers"):
        raise call.refuse("HA508", "align_corners and half_pixel_centers are both true; allowed: one of them.")


def new_size(call: Call) -> tuple[Dim, Dim]:
    """size: height and width, each 1 or more."""
    count = len(call.attr("size")) if "size" in call.attrs else dims.count(call.shape("size"))
    if isinstance(count, int) and count != 2:
        raise call.refuse("HA504", f"size has {count} elements; allowed: two, height and width.")
    if "size" not in call.attrs and not call.known("size"):
        return Between(), Between()
    height, width = call.ints("size")
    if min(height, width) < 1:
        raise call.refuse("HA519", f"size = {[height, width]}; allowed: each 1 or more.")
    return height, width


def taps_of(axes: tuple[int, int], old: tuple[int, ...], new: Any, smooth: bool, align: bool, half: bool) -> list[Taps]:
    """How both axes of the plane are resampled."""
    found = []
    for axis, size in zip(axes, (int(one) for one in np.ravel(new)), strict=True):
        if smooth:
            found.append(linear(axis, old[axis], *ratio_position(old[axis], size, align, half)))
        else:
            found.append(nearest(axis, old[axis], ratio_index(old[axis], size, align, half)))
    return found


def planes(call: Call) -> Sequence[int]:
    """The axes that a resize changes; all of them where y has another order."""
    alike = call.outputs["y"].specs[0].format == call.format("x")
    return plane_axes(call.format("x")) if alike else range(call.rank("x"))


@kernel("ResizeNearestNeighborV2", "ResizeNearestNeighborV2D", shape=resized("x"), values=("size",), cuts=free_cuts(planes))
def resize_nearest_neighbor_v2(
    x: Array, size: Any, align_corners: bool, half_pixel_centers: bool, formats: dict[str, int]
) -> Array:
    """Each pixel of the new plane is one of x: floor(i·old/new).

    half_pixel_centers: floor((i + 0.5)·old/new); align_corners: i·(old-1)/(new-1) rounded, halves up. H and W by the format of
    x, NCHW when it has none.
    """
    return resampled(x, taps_of(plane_axes(formats["x"]), x.shape, size, False, align_corners, half_pixel_centers))


@kernel("ResizeNearestNeighborV2Grad", "ResizeNearestNeighborV2GradD", shape=resized("grads"), values=("size",))
def resize_nearest_neighbor_v2_grad(
    grads: Array, size: Any, align_corners: bool, half_pixel_centers: bool, formats: dict[str, int]
) -> Array:
    """The gradient of ResizeNearestNeighborV2: each one added to the pixel it came from; size is that of the old plane."""
    axes = plane_axes(formats["grads"])
    old = list(grads.shape)
    for axis, one in zip(axes, (int(one) for one in np.ravel(size)), strict=True):
        old[axis] = one
    new = [grads.shape[axis] for axis in axes]
    return spread(grads, taps_of(axes, tuple(old), new, False, align_corners, half_pixel_centers))


@kernel("ResizeBilinearV2", "ResizeBilinearV2D", shape=resized("x"), values=("size",), cuts=free_cuts(planes))
def resize_bilinear_v2(
    x: Array, size: Any, align_corners: bool, half_pixel_centers: bool, formats: dict[str, int]
) -> Array:
    """Each pixel of the new plane lies between four of x, at i·old/new along each axis.

    half_pixel_centers: (i + 0.5)·old/new - 0.5; align_corners: i·(old-1)/(new-1). The result is float32, or uint8, cut off.
    H and W by the format of x, NCHW when it has none.
    """
    return resampled(x, taps_of(plane_axes(formats["x"]), x.shape, size, True, align_corners, half_pixel_centers))


def original_shape(call: Call, axes: tuple[int, int]) -> Shape:
    """The shape of original_image; the gradient differs in height and width only."""
    grads, image = rank_is(call, "grads", 4), rank_is(call, "original_image", 4)
    check_modes(call)
    for axis in range(4):
        if axis not in axes:
            text = f"grads = {dims.text(grads)}, original_image = {dims.text(image)}: all but height and width must be equal."
            equal_dims(call, grads[axis], image[axis], text)
    return image


@kernel("ResizeBilinearV2Grad", shape=lambda call: original_shape(call, plane_axes(call.format("grads"))))
def resize_bilinear_v2_grad(
    grads: Array, original_image: Array, align_corners: bool, half_pixel_centers: bool, formats: dict[str, int]
) -> Array:
    """The gradient of ResizeBilinearV2: each one shared among the pixels it came from. original_image only gives its shape."""
    axes = plane_axes(formats["grads"])
    new = [grads.shape[axis] for axis in axes]
    return spread(grads, taps_of(axes, original_image.shape, new, True, align_corners, half_pixel_centers))
