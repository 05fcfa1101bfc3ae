"""Windows of an image as columns, and columns added up to an image again."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import prod
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hostacl.ops import dims, runtime
from hostacl.ops.batches import Cut, Piece, divides, evenly, shorter
from hostacl.ops.call import Call
from hostacl.ops.dims import Between, Dim, Shape
from hostacl.ops.registry import kernel
from hostacl.ops.shapes import rank_is
from hostacl.tensors import formats

Array = NDArray[Any]


class Windows(NamedTuple):
    """How windows lie: size, stride, dilation as (height, width), pads as (top, bottom, left, right)."""

    size: tuple[int, int]
    stride: tuple[int, int]
    dilation: tuple[int, int]
    pads: tuple[int, int, int, int]

    def places(self, image: Sequence[Dim]) -> tuple[Dim, Dim]:
        """How many windows there are along height and width."""
        found: list[Dim] = []
        for at in (0, 1):
            reach = self.dilation[at] * (self.size[at] - 1) + 1
            total = image[at] + (self.pads[2 * at] + self.pads[2 * at + 1] - reach)
            count = total // self.stride[at] + 1
            found.append(count.at_least(0) if isinstance(count, Between) else max(count, 0))
        return found[0], found[1]

    def taps(self, grid: tuple[int, int]) -> Iterator[tuple[int, int, slice, slice]]:
        """For each element of a window: its row and column, and which rows and columns of the padded image it meets."""
        for row in range(self.size[0]):
            for column in range(self.size[1]):
                top, left = row * self.dilation[0], column * self.dilation[1]
                rows = slice(top, top + grid[0] * self.stride[0], self.stride[0])
                yield row, column, rows, slice(left, left + grid[1] * self.stride[1], self.stride[1])


def pair(call: Call, name: str, low: int) -> tuple[int, int]:
    """Two numbers of a list attribute of one or two."""
    values = list(call.attr(name))
    if len(values) not in (1, 2) or min(values) < low:
        raise call.refuse("HA508", f"{name} = {values}; allowed: one or two numbers of {low} or more.")
    return values[0], values[-1]


def four(call: Call) -> tuple[int, int, int, int]:
    """The pads: one for all sides, (height, width), or top, bottom, left, right."""
    values = list(call.attr("pads"))
    if len(values) not in (1, 2, 4) or min(values) < 0:
        raise call.refuse("HA508", f"pads = {values}; allowed: 1, 2 or 4 numbers of 0 or more.")
    if len(values) == 4:
        return values[0], values[1], values[2], values[3]
    return values[0], values[0], values[-1], values[-1]


def windows_of(call: Call, image: Sequence[Dim]) -> Windows:
    """The windows of Im2col: pads as given, or by padding_mode SAME or VALID."""
    mode, size = call.attr("padding_mode"), pair(call, "ksizes", 1)
    stride, dilation = pair(call, "strides", 1), pair(call, "dilations", 1)
    if mode == "CALCULATED":
        return Windows(size, stride, dilation, four(call))
    if mode not in ("SAME", "VALID"):
        raise call.refuse("HA508", f"padding_mode = {mode!r}; allowed: CALCULATED, SAME, VALID.")
    pads = [0, 0, 0, 0]
    for at in (0, 1):
        extent, reach = image[at], dilation[at] * (size[at] - 1) + 1
        if mode == "SAME" and isinstance(extent, int):
            total = max((-(-extent // stride[at]) - 1) * stride[at] + reach - extent, 0)
            pads[2 * at : 2 * at + 2] = total // 2, total - total // 2
        elif mode == "SAME":
            pads[2 * at] = reach - 1  # whatever the extent, as many windows as SAME has
    return Windows(size, stride, dilation, (pads[0], pads[1], pads[2], pads[3]))


def columns(call: Call) -> Shape:
    """(N, C·kh·kw, windows); with the windows in two dims when the output is so described."""
    x = rank_is(call, "x", 4)
    if formats.split(call.format("x")).primary == formats.NHWC:
        raise call.refuse("HA504", "x has format NHWC; allowed: NCHW or ND. Transpose it first.")
    windows = windows_of(call, x[2:])
    high, wide = windows.places(x[2:])
    channels = x[1] * (windows.size[0] * windows.size[1])
    described = call.outputs["y"].specs
    if described and not described[0].absent and len(described[0].shape) == 4:
        return (x[0], channels, high, wide)
    return (x[0], channels, dims.count((high, wide)))


def column_cuts(call: Call) -> Iterator[Cut]:
    """By images, by channels, and by rows of windows."""
    (_, channels, height, width), y = call.spec("x").shape, call.outputs["y"].specs[0]
    windows = windows_of(call, (height, width))
    high, wide = (int(one) for one in windows.places((height, width)))  # type: ignore[arg-type]
    each, reach = windows.size[0] * windows.size[1], windows.dilation[0] * (windows.size[0] - 1) + 1
    yield from evenly(call, {"x": 0, "y": 0})
    if not (divides(call, {"x": 1, "y": 1}) and divides(call, {"x": 2, "y": 2})):
        return
    yield Cut(channels, lambda part: shorter(call, {"x": {1: part}, "y": {1: slice(part.start * each, part.stop * each)}}))

    def rows(part: slice) -> Piece:
        low = part.start * windows.stride[0] - windows.pads[0]
        past = (part.stop - 1) * windows.stride[0] - windows.pads[0] + reach
        start = min(max(low, 0), height)
        seen = slice(start, min(max(past, start), height))
        before = min(max(-low, 0), past - low)
        pads = [before, past - low - before - (seen.stop - seen.start), *windows.pads[2:]]
        grid = part if len(y.shape) == 4 else slice(part.start * wide, part.stop * wide)
        return shorter(call, {"x": {2: seen}, "y": {2: grid}}, {"padding_mode": "CALCULATED", "pads": pads})

    yield Cut(high, rows)


@kernel("Im2col", shape=columns, cuts=column_cuts)
def im2col(x: Array, call: Call) -> Array:
    """The windows of an image (N, C, H, W) as columns: (N, C·kh·kw, windows), channels outermost, zeros where they are padded.

    ksizes, strides and dilations hold one or two numbers, pads one, two (height, width) or four (top, bottom, left, right).
    """
    windows = windows_of(call, x.shape[2:])
    high, wide = (int(one) for one in windows.places(x.shape[2:]))  # type: ignore[arg-type]
    top, bottom, left, right = windows.pads
    padded = np.pad(x, ((0, 0), (0, 0), (top, bottom), (left, right))) if any(windows.pads) else x
    result = np.empty((*x.shape[:2], *windows.size, high, wide), x.dtype)
    for row, column, rows, across in windows.taps((high, wide)):
        result[:, :, row, column] = padded[:, :, rows, across]
    flat = result.reshape(x.shape[0], x.shape[1] * windows.size[0] * windows.size[1], high * wide)
    shape = columns(call)
    return flat.reshape(*flat.shape[:2], high, wide) if len(shape) == 4 else flat


def kernel_pair(call: Call) -> tuple[int, int]:
    """The size of a window, an attribute or (Col2ImV2) a value input."""
    if "kernel_size" in call.attrs:
        return pair(call, "kernel_size", 1)
    values = call.ints("kernel_size")
    if len(values) != 2 or min(values) < 1:
        raise call.refuse("HA519", f"kernel_size = {list(values)}; allowed: two numbers of 1 or more.")
    return values[0], values[1]


def image_windows(call: Call) -> Windows:
    """The windows of Col2im."""
    high, wide = pair(call, "padding", 0)
    return Windows(kernel_pair(call), pair(call, "stride", 1), pair(call, "dilation", 1), (high, high, wide, wide))


def image(call: Call) -> Shape:
    """(N, C, H, W): H and W are output_size; x is (N, C·kh·kw, windows) or (N, C, kh·kw, windows)."""
    x = rank_is(call, "x", 3, 4)
    known = "kernel_size" in call.attrs or call.known("kernel_size")
    channels: Dim = x[1]
    if len(x) == 3 and not known:
        channels = runtime.up_to(x[1])
    elif len(x) == 3:
        channels = _channels(call, x[1])
    if not call.known("output_size") or not known:
        return (x[0], channels, Between(0, None), Between(0, None))
    return (x[0], channels, *_checked_size(call, x))


def _channels(call: Call, size: Dim) -> Dim:
    area = kernel_pair(call)[0] * kernel_pair(call)[1]
    if isinstance(size, int) and size % area:
        told = f"x = {dims.text(call.shape('x'))}: dim 1 must be a multiple of the {area} elements of a window."
        raise call.refuse("HA504", told)
    return size // area


def _checked_size(call: Call, x: Shape) -> tuple[int, int]:
    wanted = call.ints("output_size")
    if len(wanted) != 2 or min(wanted) < 1:
        raise call.refuse("HA519", f"output_size = {list(wanted)}; allowed: two numbers of 1 or more.")
    windows = image_windows(call)
    count = dims.count(windows.places(wanted))
    area = windows.size[0] * windows.size[1]
    if (dims.known(x[-1]) and x[-1] != count) or (len(x) == 4 and dims.known(x[2]) and x[2] != area):
        told = f"x = {dims.text(x)}; an image of {list(wanted)} has {count} windows of {area} elements."
        raise call.refuse("HA504", told)
    return wanted[0], wanted[1]


def image_cuts(call: Call) -> Iterator[Cut]:
    """By images, and by channels."""
    yield from evenly(call, {"x": 0, "y": 0})
    high, wide = kernel_pair(call)
    each = high * wide if call.rank("x") == 3 else 1
    if divides(call, {"x": 1, "y": 1}):
        yield Cut(call.outputs["y"].specs[0].shape[1], lambda part: shorter(
            call, {"x": {1: slice(part.start * each, part.stop * each)}, "y": {1: part}}
        ))  # fmt: skip


@kernel("Col2im", "Col2ImV2", shape=image, values=("output_size", "kernel_size"), cuts=image_cuts)
def col2im(x: Array, output_size: Any, kernel_size: Any, call: Call) -> Array:
    """An image (N, C, H, W) from the columns of its windows, elements of several windows added up: the gradient of Im2col.

    x is (N, C·kh·kw, windows) or (N, C, kh·kw, windows). Half types are added in float32, float32 in float64.
    """
    named = {"output_size": np.asarray(output_size)}
    if "kernel_size" in call.inputs:
        named["kernel_size"] = np.asarray(kernel_size)
    full = call.with_values(named)
    windows, (height, width) = image_windows(full), runtime.whole(output_size)
    high, wide = (int(one) for one in windows.places((height, width)))  # type: ignore[arg-type]
    channels = x.shape[1] if x.ndim == 4 else x.shape[1] // prod(windows.size)
    parts = x.reshape(x.shape[0], channels, *windows.size, high, wide)
    top, _, left, _ = windows.pads
    total = np.zeros((*parts.shape[:2], height + 2 * top, width + 2 * left), np.float64)
    for row, column, rows, across in windows.taps((high, wide)):
        total[:, :, rows, across] += parts[:, :, row, column]
    return total[:, :, top : top + height, left : left + width]
