"""Boxes of images, cut out and resized."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from hostacl.errors import Failed
from hostacl.ops import dims
from hostacl.ops.call import Call
from hostacl.ops.dims import Between, Dim, Shape
from hostacl.ops.registry import kernel
from hostacl.ops.shapes import equal_dims, rank_is
from hostacl.tensors import dtypes
from hostacl.tensors import formats as layouts

Array = NDArray[Any]

METHODS = ("bilinear", "nearest")

TILE_BYTES = 32 << 20
"""What the pixels around the new ones may take at a time."""


def letters_of(layout: int) -> str:
    """The axes of x and y: by the format, NHWC when that has none."""
    return layouts.axes_of(layout, 4) or "NHWC"


def crop_shape(call: Call) -> Shape:
    """One image for each box, with the height and width of crop_size."""
    x, (count, corners) = rank_is(call, "x", 4), rank_is(call, "boxes", 2)
    (boxes,) = rank_is(call, "box_index", 1)
    if call.attr("method") not in METHODS:
        raise call.refuse("HA508", f"method = {call.attr('method')!r}; allowed: {', '.join(METHODS)}.")
    equal_dims(call, corners, 4, f"boxes = {dims.text((count, corners))}; allowed: [boxes,4], y1, x1, y2, x2 of each.")
    equal_dims(call, count, boxes, f"boxes has {count} boxes, box_index {boxes} entries; they must be equal.")
    letters = letters_of(call.format("x"))
    sizes: dict[str, Dim] = dict(zip(letters, x, strict=True))
    height, width = crop_size(call)
    empty = sizes["H"] == 0 or sizes["W"] == 0
    if empty and count != 0 and dims.known(count):
        raise call.refuse("HA504", f"x = {dims.text(x)} has no pixels to cut boxes out of.")
    sizes |= {"N": count, "H": height, "W": width}
    return tuple(sizes[letter] for letter in letters)


def crop_size(call: Call) -> tuple[Dim, Dim]:
    """crop_size: height and width, each 1 or more."""
    if "crop_size" not in call.attrs and not call.known("crop_size"):
        return Between(), Between()
    values = call.ints("crop_size")
    if len(values) != 2 or min(values) < 1:
        raise call.refuse("HA519", f"crop_size = {list(values)}; allowed: height and width, each 1 or more.")
    return values


def crop_dtype(call: Call) -> tuple[int, ...]:
    """CropAndResizeV2: what dtype says. Else float32, or x's own type where that is float16."""
    if "dtype" in call.given:
        return (int(call.attr("dtype")),)
    allowed = call.outputs["y"].decl.dtypes
    code = call.dtype("x")
    first = code if code in allowed and code != dtypes.UINT8 else dtypes.FLOAT
    return (first, *(one for one in allowed if one != first))


@kernel("CropAndResize", "CropAndResizeD", "CropAndResizeV2", shape=crop_shape, values=("crop_size",), mixed=("boxes",),
        dtype={"y": crop_dtype}, dtype_attrs={})  # fmt: skip
def crop_and_resize(
    x: Array, boxes: Array, box_index: Array, crop_size: Any, extrapolation_value: float, method: str, call: Call,
    formats: dict[str, int],
) -> Array:  # fmt: skip
    """For each box the part of image box_index that it covers, as an image of crop_size, as TensorFlow does.

    method bilinear or nearest (halves up). A box is y1, x1, y2, x2, where 0 is the first pixel and 1 the last; y1 > y2 mirrors.
    Places outside of the image (and those of a box with NaN) give extrapolation_value. A single row (column) is taken from the
    middle of the box.
    """
    letters = letters_of(formats["x"])
    images = x.transpose([letters.index(one) for one in "NHWC"])
    height, width = (int(one) for one in np.ravel(crop_size))
    index = np.asarray(box_index, np.int64)
    wrong = (index < 0) | (index >= len(images))
    if wrong.any():
        first = int(np.argmax(wrong))
        told = f"box_index[{first}] = {int(index[first])}; allowed: 0 to {len(images) - 1}, the images of x"
        raise Failed("HA510", f"{call.op_type}: {told}.")
    wide = boxes.astype(np.float64)
    rows, row_in = places(wide[:, 0], wide[:, 2], images.shape[1], height)
    columns, column_in = places(wide[:, 1], wide[:, 3], images.shape[2], width)
    result = np.empty((len(index), height, width, images.shape[3]), np.float32 if x.dtype != np.float64 else np.float64)
    step = max(1, TILE_BYTES // max(1, 8 * height * width * images.shape[3]))
    for start in range(0, len(index), step):
        part = slice(start, start + step)
        inside = row_in[part, :, None] & column_in[part, None, :]
        pixels = sampled(images, index[part], rows[part], columns[part], method == "nearest")
        result[part] = np.where(inside[..., None], pixels, extrapolation_value)
    return result.transpose(["NHWC".index(one) for one in letters])


def places(first: Array, last: Array, old: int, new: int) -> tuple[Array, Array]:
    """Where the new pixels of each box lie along an axis, held inside, and which of them do lie inside."""
    if new > 1:
        at = first[:, None] * (old - 1) + np.arange(new) * ((last - first) * (old - 1) / (new - 1))[:, None]
    else:
        at = (0.5 * (first + last) * (old - 1))[:, None]
    inside = (at >= 0) & (at <= old - 1)
    return np.where(inside, at, 0.0), inside


def sampled(images: Array, index: Array, rows: Array, columns: Array, nearest: bool) -> Array:
    """The pixels (boxes, rows, columns, channels) at these places."""
    def take(at_rows: Array, at_columns: Array) -> Array:
        return images[index[:, None, None], at_rows.astype(np.int64)[:, :, None], at_columns.astype(np.int64)[:, None, :]]

    if nearest:
        return take(np.floor(rows + 0.5), np.floor(columns + 0.5))
    top, left = np.floor(rows), np.floor(columns)
    bottom, right = np.ceil(rows), np.ceil(columns)
    across, down = (columns - left)[:, None, :, None], (rows - top)[:, :, None, None]
    upper = mixed(take(top, left), take(top, right), across)
    return mixed(upper, mixed(take(bottom, left), take(bottom, right), across), down)


def mixed(one: Array, other: Array, part: Array) -> Array:
    """What lies between two values; a part of 0 takes the first alone."""
    return np.where(part == 0, one, one * (1 - part) + other * part)
