"""Images turned by any angle."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import isfinite
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hostacl.ops import dims
from hostacl.ops.call import Call
from hostacl.ops.dims import Between, Shape
from hostacl.ops.registry import kernel
from hostacl.ops.shapes import rank_is

Array = NDArray[Any]

ALMOST = 1e-9
"""How far from a whole number a sum of shares of uint8 may lie by rounding alone."""

PADDINGS = ("constant", "edge", "reflect", "symmetric")


def rotated_shape(call: Call) -> Shape:
    """The shape of x; with expand the height and width that hold all of the turned image."""
    x = rank_is(call, "x", 3)
    for name, allowed in (("data_format", ("HWC", "CHW")), ("interpolation", ("nearest", "bilinear")),
                          ("padding_mode", PADDINGS)):  # fmt: skip
        if call.attr(name) not in allowed:
            raise call.refuse("HA508", f"{name} = {call.attr(name)!r}; allowed: {', '.join(allowed)}.")
    if not isfinite(angle := call.attr("angle")):
        raise call.refuse("HA508", f"angle = {angle}; allowed: a finite number.")
    if len(call.attr("center")) not in (0, 2):
        raise call.refuse("HA508", f"center = {list(call.attr('center'))}; allowed: x and y, or nothing, the middle.")
    letters = call.attr("data_format")
    sizes = dict(zip(letters, x, strict=True))
    if call.attr("expand"):
        known = dims.known(sizes["H"], sizes["W"])
        sizes["H"], sizes["W"] = expanded(sizes["H"], sizes["W"], angle) if known else (Between(), Between())
    elif 0 in x:
        return x
    return tuple(sizes[letter] for letter in letters)


def turn(angle: float) -> tuple[float, float]:
    """Cosine and sine of degrees, exact for quarter turns."""
    quarter = angle / 90
    if quarter == round(quarter):
        return ((1.0, 0.0), (0.0, 1.0), (-1.0, 0.0), (0.0, -1.0))[int(quarter) % 4]
    return float(np.cos(np.deg2rad(angle))), float(np.sin(np.deg2rad(angle)))


def expanded(height: Any, width: Any, angle: float) -> tuple[int, int]:
    """The least height and width that hold a turned image."""
    cos, sin = (abs(one) for one in turn(angle))
    return int(np.ceil(height * cos + width * sin - 1e-6)), int(np.ceil(width * cos + height * sin - 1e-6))


@kernel("Rotate", shape=rotated_shape)
def rotate(
    x: Array, angle: float, center: Sequence[int], interpolation: str, padding_mode: str, padding_value: float,
    data_format: str, expand: bool,
) -> Array:  # fmt: skip
    """The image turned counter-clockwise by angle degrees around center (x, y of a pixel; nothing: its middle).

    With expand y is large enough for all of it, and the middle stays the middle. interpolation nearest (halves up) or bilinear.
    What lies outside of x is padding_value, the nearest edge, or mirrored at the outer pixels (reflect) or edges (symmetric).
    uint8 is cut off.
    """
    letters = data_format
    image = x.transpose([letters.index(one) for one in "HWC"])
    height, width = image.shape[:2]
    size = expanded(height, width, angle) if expand else (height, width)
    if x.size == 0:
        nothing = np.full((*size, image.shape[2]), padding_value if padding_mode == "constant" else 0)
        return np.transpose(nothing, ["HWC".index(one) for one in letters])
    middle = ((width - 1) / 2, (height - 1) / 2) if len(center) == 0 or expand else (center[0], center[1])
    shift = ((size[1] - 1) / 2, (size[0] - 1) / 2) if expand else middle
    cos, sin = turn(angle)
    across, down = np.arange(size[1]) - shift[0], (np.arange(size[0]) - shift[1])[:, None]
    columns, rows = cos * across - sin * down + middle[0], sin * across + cos * down + middle[1]
    taps = nearest(rows, columns) if interpolation == "nearest" else bilinear(rows, columns)
    y = np.zeros((*size, image.shape[2]), np.float64 if interpolation == "bilinear" else x.dtype)
    for at_row, at_column, weight in taps:
        pixels = pixels_at(image, at_row, at_column, padding_mode, padding_value)
        y += np.where(weight[..., None] != 0, pixels * weight[..., None], 0).astype(y.dtype)
    if x.dtype == np.uint8 and interpolation == "bilinear":  # shares of one value add up to it but for the last bits
        whole = np.rint(y)
        y = np.where(np.abs(y - whole) < ALMOST, whole, y)
    return y.transpose(["HWC".index(one) for one in letters])


def nearest(rows: Array, columns: Array) -> list[tuple[Array, Array, Array]]:
    """The nearest pixel to each place, halves up."""
    return [(np.floor(rows + 0.5), np.floor(columns + 0.5), np.ones(rows.shape))]


def bilinear(rows: Array, columns: Array) -> list[tuple[Array, Array, Array]]:
    """The four pixels around each place, and their shares."""
    top, left = np.floor(rows), np.floor(columns)
    down, across = rows - top, columns - left
    return [
        (top + one, left + other, (down if one else 1 - down) * (across if other else 1 - across))
        for one in (0, 1) for other in (0, 1)
    ]  # fmt: skip


def mirrored(at: Array, size: int) -> Array:
    """Places mirrored at the middles of the outer pixels."""
    period = max(2 * (size - 1), 1)
    folded = at % period
    return np.minimum(folded, period - folded) if size > 1 else np.zeros_like(at)


def mirrored_at_edges(at: Array, size: int) -> Array:
    """Places mirrored at the outer edges."""
    folded = at % (2 * size)
    return np.minimum(folded, 2 * size - 1 - folded)


def held(at: Array, size: int) -> Array:
    """Places held within the image."""
    return np.clip(at, 0, max(size - 1, 0))


PIXELS: dict[str, Callable[[Array, int], Array]] = {
    "constant": held, "edge": held, "reflect": mirrored, "symmetric": mirrored_at_edges
}  # fmt: skip


def pixels_at(image: Array, rows: Array, columns: Array, mode: str, value: float) -> Array:
    """The pixels at whole places; outside of the image by the padding mode."""
    height, width = image.shape[:2]
    place = PIXELS[mode]
    found = image[place(rows, height).astype(np.int64), place(columns, width).astype(np.int64)]
    if mode != "constant":
        return found
    inside = (rows >= 0) & (rows < height) & (columns >= 0) & (columns < width)
    return np.where(inside[..., None], found, np.float64(value) if found.dtype != np.float32 else np.float32(value))
