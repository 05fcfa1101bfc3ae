"""Resampling volumes (N, C, D, H, W) as torch does: nearest and trilinear, with their gradients."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import floor
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hostacl.ops import dims
from hostacl.ops.call import Call
from hostacl.ops.dims import Between, Dim, Shape
from hostacl.ops.registry import kernel
from hostacl.ops.resampling import Taps, linear, nearest, resampled, spread
from hostacl.ops.shapes import equal_dims, rank_is

Array = NDArray[Any]


def new_sizes(call: Call, old: Shape) -> tuple[Dim, ...]:
    """The new D, H and W: output_size, or floor(old · scale)."""
    wanted, scales = call.attr("output_size"), call.attr("scales")
    if (len(wanted), len(scales)) not in ((3, 0), (0, 3)):
        told = f"output_size = {list(wanted)}, scales = {list(scales)}"
        raise call.refuse("HA508", f"{told}; allowed: three numbers in one of them, the other empty.")
    sizes: list[Dim] = list(wanted) or [scaled(size, scale) for size, scale in zip(old, scales, strict=True)]
    if any(isinstance(size, int) and size < 1 for size in sizes):
        told = f"output_size = {list(wanted)}, scales = {list(scales)} give {dims.text(sizes)}"
        raise call.refuse("HA508", f"{told}; allowed: 1 or more for each.")
    return tuple(sizes)


def scaled(size: Dim, scale: float) -> Dim:
    """floor(size · scale)."""
    return floor(size * scale) if isinstance(size, int) else Between()


def forward_shape(call: Call) -> Shape:
    """x with new D, H and W."""
    x = rank_is(call, "x", 5)
    if 0 in x[2:]:
        raise call.refuse("HA504", f"x = {dims.text(x)} has no elements to make a volume of.")
    return (*x[:2], *new_sizes(call, x[2:]))


def gradient_shape(call: Call) -> Shape:
    """input_size; the gradient has the shape that resampling gives."""
    old, grads = call.attr("input_size"), rank_is(call, "grad_output", 5)
    if len(old) != 5 or min(old[2:]) < 1 or min(old) < 0:
        raise call.refuse("HA508", f"input_size = {list(old)}; allowed: 5 numbers, 1 or more for D, H and W.")
    want = (*old[:2], *new_sizes(call, tuple(old[2:])))
    for one, other in zip(grads, want, strict=True):
        equal_dims(call, one, other, f"grad_output = {dims.text(grads)}; resampling gives {dims.text(want)}.")
    return tuple(old)


def steps(old: Sequence[int], new: Sequence[int], scales: Sequence[float]) -> list[Callable[[Array], Array]]:
    """For each axis what a place is multiplied by: old/new, or 1/scale where scales are given."""
    if scales:
        return [lambda place, scale=scale: place / np.float64(scale) for scale in scales]  # type: ignore[misc]
    return [lambda place, a=a, b=b: place * a / b for a, b in zip(old, new, strict=True)]  # type: ignore[misc]


def nearest_taps(old: Sequence[int], new: Sequence[int], scales: Sequence[float]) -> list[Taps]:
    """floor(i · old/new) along each axis."""
    ratios = steps(old, new, scales)
    return [nearest(2 + at, old[at], np.floor(ratios[at](np.arange(new[at], dtype=np.float64)))) for at in range(3)]


def linear_taps(old: Sequence[int], new: Sequence[int], scales: Sequence[float], align: bool) -> list[Taps]:
    """(i + 0.5) · old/new - 0.5 along each axis, with aligned corners i · (old-1)/(new-1)."""
    ratios, found = steps(old, new, scales), []
    for at in range(3):
        place = np.arange(new[at], dtype=np.float64)
        position = place * (old[at] - 1) / max(new[at] - 1, 1) if align else np.maximum(ratios[at](place + 0.5) - 0.5, 0)
        low = np.floor(position)
        found.append(linear(2 + at, old[at], low, position - low))
    return found


@kernel("UpsampleNearest3d", shape=forward_shape)
def upsample_nearest_3d(x: Array, scales: Sequence[float], call: Call) -> Array:
    """Each element of the new volume is one of x: floor(i·old/new) along each axis, with scales floor(i/scale)."""
    new: Any = forward_shape(call)
    return resampled(x, nearest_taps(x.shape[2:], new[2:], scales))


def line_length(call: Call, old: Dim) -> Dim:
    """The new length, which output_size or scales give."""
    wanted, scales = call.attr("output_size"), call.attr("scales")
    if (len(wanted), len(scales)) not in ((1, 0), (0, 1)):
        told = f"output_size = {list(wanted)}, scales = {list(scales)}"
        raise call.refuse("HA508", f"{told}; allowed: one number in one of them, the other empty.")
    return wanted[0] if len(wanted) else scaled(old, scales[0])


def line_taps(old: int, new: int, scales: Sequence[float]) -> Taps:
    """floor(i · old/new) along the lines, with scales floor(i/scale)."""
    return nearest(2, old, np.floor(steps((old,), (new,), scales)[0](np.arange(new, dtype=np.float64))))


def line_shape(call: Call) -> Shape:
    """x with a new length."""
    x = rank_is(call, "x", 3)
    size = line_length(call, x[2])
    if isinstance(size, int) and (size < 1 or x[2] == 0):
        raise call.refuse("HA508", f"x = {dims.text(x)} to a length of {size}; allowed: 1 or more for both.")
    return (*x[:2], size)


@kernel("UpsampleNearest1d", shape=line_shape)
def upsample_nearest_1d(x: Array, scales: Sequence[float], call: Call) -> Array:
    """Each element of the new lines (N, C, L) is one of x: floor(i·old/new), with scales floor(i/scale)."""
    return resampled(x, [line_taps(x.shape[2], int(line_shape(call)[2]), scales)])  # type: ignore[arg-type]


def line_gradient_shape(call: Call) -> Shape:
    """input_size; the gradient has the length that resampling gives."""
    old, grads = call.attr("input_size"), rank_is(call, "grad_output", 3)
    if len(old) != 3 or min(old[2:]) < 1 or min(old) < 0:
        raise call.refuse("HA508", f"input_size = {list(old)}; allowed: 3 numbers, 1 or more for the length.")
    want = (*old[:2], line_length(call, old[2]))
    for one, other in zip(grads, want, strict=True):
        equal_dims(call, one, other, f"grad_output = {dims.text(grads)}; resampling gives {dims.text(want)}.")
    return tuple(old)


@kernel("UpsampleNearest1dGrad", shape=line_gradient_shape)
def upsample_nearest_1d_grad(grad_output: Array, input_size: Sequence[int], scales: Sequence[float]) -> Array:
    """The gradient of UpsampleNearest1d: each one added to the element it came from."""
    return spread(grad_output, [line_taps(input_size[2], grad_output.shape[2], scales)])


@kernel("UpsampleNearest3dGrad", shape=gradient_shape)
def upsample_nearest_3d_grad(grad_output: Array, input_size: Sequence[int], scales: Sequence[float]) -> Array:
    """The gradient of UpsampleNearest3d: each one added to the element it came from."""
    return spread(grad_output, nearest_taps(input_size[2:], grad_output.shape[2:], scales))


@kernel("UpsampleTrilinear3d", shape=forward_shape)
def upsample_trilinear_3d(x: Array, scales: Sequence[float], align_corners: bool, call: Call) -> Array:
    """Each element of the new volume lies between eight of x: at (i + 0.5)·old/new - 0.5 along each axis, at least 0.

    With scales 1/scale stands for old/new; align_corners: i·(old-1)/(new-1).
    """
    new: Any = forward_shape(call)
    return resampled(x, linear_taps(x.shape[2:], new[2:], scales, align_corners))


@kernel("UpsampleTrilinear3dGrad", shape=gradient_shape)
def upsample_trilinear_3d_grad(
    grad_output: Array, input_size: Sequence[int], scales: Sequence[float], align_corners: bool
) -> Array:
    """The gradient of UpsampleTrilinear3d: each one shared among the elements it came from."""
    return spread(grad_output, linear_taps(input_size[2:], grad_output.shape[2:], scales, align_corners))
