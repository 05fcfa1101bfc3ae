"""The gradient of resizing in ONNX's modes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hostacl.ops import dims
from hostacl.ops.call import Call
from hostacl.ops.dims import Between, Shape
from hostacl.ops.registry import kernel
from hostacl.ops.resampling import spread
from hostacl.ops.resize_modes import axes_of, check_modes, numbers_at, places_of, taps_of, without_line
from hostacl.ops.run import Out
from hostacl.ops.schema import with_any_kind

Array = NDArray[Any]


TURNED = "HWNC"
"""The order in which torch-npu sends cubic gradients and reads the result, whose numbers it gives as NCHW."""


def in_front(values: Any, call: Call) -> Any:
    """A shape in the order of original_size."""
    return tuple(values[place] for place in (2, 3, 0, 1)) if call.attr("data_format") == TURNED and len(values) == 4 else values


def with_line(sizes: Sequence[int], grads: Shape) -> tuple[int, ...]:
    """Sizes of images of one line, which may come without their height."""
    lines = len(grads) == 4 and len(sizes) == 3 and grads[2] == 1
    return (*sizes[:2], 1, *sizes[2:]) if lines else tuple(sizes)


def resize_grad_shape(call: Call) -> Shape:
    """grads with the sizes that original_size gives: all of them, or those of H and W (and D)."""
    grads = in_front(call.shape("grads"), call)
    check_modes(call)
    if (letters := call.attr("data_format")) not in ("", "ND", "NCHW", "NHWC", TURNED):
        raise call.refuse("HA508", f"data_format = {letters!r}; allowed: 'NCHW', 'NHWC', {TURNED!r}.")
    if not ("original_size" in call.attrs or call.known("original_size")):
        return tuple(Between() for _ in grads)
    wanted = with_line(call.ints("original_size"), grads)
    places = places_of(call, "original_size", len(wanted), len(grads), call.format("grads"))
    if places is None or min(wanted, default=0) < 0:
        rank = len(grads)
        told = f"{rank} numbers (or up to {max(rank - 2, 0)} for H, W …), each 0 or more"
        raise call.refuse("HA519", f"original_size = {list(wanted)}; allowed: {told}, for grads = {dims.text(grads)}.")
    sizes = dict(zip(places, wanted, strict=True))
    shape = tuple(sizes.get(axis, size) for axis, size in enumerate(grads))
    if 0 in shape and dims.known(*grads) and 0 not in grads:
        told = f"original_size = {list(wanted)} has no elements; allowed: 1 or more, for grads = {dims.text(grads)}."
        raise call.refuse("HA519", told)
    return shape


def gradient_shape(call: Call) -> Shape:
    """That shape, or without an axis of 1 where y is described so."""
    return without_line(call, resize_grad_shape(call))


def regions_of(call: Call, roi: Sequence[float], rank: int, layout: int) -> dict[int, tuple[float, float]]:
    """The region along each axis: starts, then ends; none given is the whole."""
    if not roi:
        return {}
    half = len(roi) // 2
    if len(roi) % 2:
        raise call.refuse("HA508", f"roi = {list(roi)}; allowed: as many starts as ends, for {rank} axes or those of H, W ….")
    starts, ends = (numbers_at(call, "roi", part, rank, layout) for part in (roi[:half], roi[half:]))
    return {axis: (float(starts[axis]), float(ends[axis])) for axis in starts}


@kernel("ResizeGradD", shape=gradient_shape, attrs={"data_format": ""}, forms=(with_any_kind("ResizeGradD", "roi"),))
@kernel("ResizeGrad", shape=gradient_shape, attrs={"data_format": ""}, values=("original_size",))
def resize_grad(
    grads: Array, roi: Any, scales: Any, original_size: Any, coordinate_transformation_mode: str, data_format: str, call: Call,
    formats: dict[str, int], out: tuple[Out, ...],
) -> Array:  # fmt: skip
    """The gradient of ONNX's Resize: each of grads shared among the elements of the original that it was made of.

    mode nearest, linear or cubic (cubic_coeff_a, exclude_outside); places by coordinate_transformation_mode and nearest_mode.
    original_size and scales have a number for each axis, or for the last ones of H and W (and D) alone; a scale of 0, or none,
    is the new size over the old one; an axis that keeps its size stays as it is. roi (starts, then ends, from 0 to 1) counts
    for tf_crop_and_resize only: what was extrapolated there gives nothing. Integers are added up exactly for nearest, else in
    float64 and cut off. data_format HWNC: grads come in this order, and so does the result, in a shape of NCHW.
    """
    layout, crop = formats["grads"], coordinate_transformation_mode == "tf_crop_and_resize"
    grads = np.transpose(grads, (2, 3, 0, 1)) if data_format == TURNED else grads
    whole = with_line([int(one) for one in np.ravel(original_size)], grads.shape)
    sizes = numbers_at(call, "original_size", whole, grads.ndim, layout)
    shape = tuple(int(sizes.get(axis, size)) for axis, size in enumerate(grads.shape))
    given = [float(one) for one in np.ravel(scales)] if scales is not None else []
    told = numbers_at(call, "scales", given, grads.ndim, layout) if given else {}
    numbers = [float(one) for one in np.ravel(roi)] if roi is not None and crop else []
    regions = regions_of(call, numbers, grads.ndim, layout)
    taps = [taps_of(one, call.attrs) for one in axes_of(shape, grads.shape, told, regions, crop)]
    final: Any = tuple(out[0].shape) if len(out[0].shape) < len(shape) else shape
    if 0 in shape:
        return np.zeros(final, grads.dtype)
    if grads.dtype.kind == "c":
        y: Array = spread(grads.real, taps) + 1j * spread(grads.imag, taps)
    else:
        exact = grads.dtype.kind == "f" or all(one.weight is None or np.isin(one.weight, (0, 1)).all() for one in taps)
        y = spread(grads if exact and grads.dtype.kind in "iuf" else grads.astype(np.float64), taps)
    return (np.transpose(y, (2, 3, 0, 1)) if data_format == TURNED else y).reshape(final)
