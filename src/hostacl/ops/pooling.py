"""Pooling windows: how they lie along each axis, and the shape they give."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hostacl.ops import dims
from hostacl.ops.axes import letters
from hostacl.ops.call import Call
from hostacl.ops.dims import Between, Dim, Shape
from hostacl.ops.shapes import rank_is
from hostacl.tensors import formats

Array = NDArray[Any]

TILE_BYTES = 32 << 20
"""How much of a tensor is worked on at a time."""


class Window(NamedTuple):
    """How windows lie along one axis of a tensor: their size, stride and dilation, the padding, the number of windows."""

    axis: int
    size: int
    stride: int
    dilation: int
    before: int
    after: int
    places: Dim

    def taps(self, extent: int) -> Iterator[tuple[int, slice, slice]]:
        """For each element of a window that some have inside the tensor: its place, which windows, which elements they meet."""
        first_met = max(0, -((self.stride * (self.number - 1) - self.before) // self.dilation))
        for tap in range(first_met, min(self.size, (extent - 1 + self.before) // self.dilation + 1)):
            start = tap * self.dilation - self.before
            low = max(0, -(start // self.stride))
            high = min(self.number, (extent - 1 - start) // self.stride + 1)
            if high > low:
                first = low * self.stride + start
                yield tap, slice(low, high), slice(first, (high - 1) * self.stride + start + 1, self.stride)

    @property
    def number(self) -> int:
        """The number of windows, once it is known."""
        assert isinstance(self.places, int)
        return self.places

    def members(self, extent: int, padding: bool) -> Array:
        """How many elements each window has, those in the padding (never those beyond it) counted or not; no dilation."""
        starts = np.arange(self.number, dtype=np.int64) * self.stride - self.before
        if padding:
            return np.minimum(starts + self.size, extent + self.after) - starts
        counts = np.zeros(self.number, np.int64)
        for _, inside, _ in self.taps(extent):
            counts[inside] += 1
        return counts


class Spec(NamedTuple):
    """What the attributes say of one axis."""

    letter: str
    size: int
    stride: int
    dilation: int
    before: int
    after: int


def window(call: Call, spec: Spec, axis: int, extent: Dim, mode: str, ceil: bool) -> Window:
    """The windows along one axis; refuses those that lie outside of what there is."""
    reach = (spec.size - 1) * spec.dilation + 1
    if mode == "SAME":
        before, after = same_padding(extent, reach, spec.stride)
        places = each_bound(extent, lambda size: -(-size // spec.stride))
        return Window(axis, spec.size, spec.stride, spec.dilation, before, after, places)
    before, after = (0, 0) if mode == "VALID" else (spec.before, spec.after)
    if max(before, after) >= reach:
        raise call.refuse(
            "HA508", f"pads of {before}, {after} along {spec.letter}; allowed: less than the {reach} elements of a window."
        )
    if isinstance(extent, int) and extent and extent + before + after < reach:
        told = f"a window reaches over {reach} along {spec.letter}, the padded x has {extent + before + after}; it must fit."
        raise call.refuse("HA504", told)
    places = each_bound(extent, lambda size: window_count(size, reach, spec.stride, before, after, ceil))
    return Window(axis, spec.size, spec.stride, spec.dilation, before, after, places)


def window_count(extent: int, reach: int, stride: int, before: int, after: int, ceil: bool) -> int:
    """How many windows there are; with ``ceil`` one more that is not whole, unless it would start in the padding behind."""
    room = extent + before + after - reach
    if room < 0:
        return 0
    count = -(-room // stride) + 1 if ceil else room // stride + 1
    return count - 1 if ceil and (count - 1) * stride >= extent + before else count


def same_padding(extent: Dim, reach: int, stride: int) -> tuple[int, int]:
    """The padding of SAME: as many windows as strides, the odd element behind."""
    if not isinstance(extent, int):
        return 0, 0
    total = max((-(-extent // stride) - 1) * stride + reach - extent, 0)
    return total // 2, total - total // 2


def each_bound(extent: Dim, function: Any) -> Dim:
    """A monotone function of a dim, of both bounds when it is not known."""
    if isinstance(extent, int):
        return int(function(extent))
    return Between(function(extent.low), None if extent.high is None else function(extent.high))


def data_letters(call: Call, ranks: Sequence[int], default: str) -> str:
    """The axis letters of x: by its format, else by data_format."""
    rank = len(rank_is(call, "x", *ranks))
    named = call.attrs.get("data_format") or default
    if len(named) not in (4, 5) or sorted(named) not in (sorted("NCHW"), sorted("NCDHW")):
        allowed = "NCHW, NHWC" if 5 not in ranks else "NCDHW, NDHWC"
        raise call.refuse("HA508", f"data_format = {named!r}; allowed: {allowed}.")
    return letters(call.format("x"), rank, named)


def attribute_letters(call: Call, data: str, rank: int) -> str:
    """The axis order of list attributes: data_format where it was set, else that of x's format, else the default."""
    if "data_format" not in call.given and formats.axes_of(call.format("x"), rank) is not None:
        return data
    return letters(formats.ND, rank, call.attrs.get("data_format") or data)


def spatial_values(call: Call, name: str, values: Sequence[int], order: str, least: int) -> dict[str, int]:
    """The entries of a list attribute by axis letter: one for all, one for each spatial axis, or one for each axis."""
    spatial = [letter for letter in order if letter not in "NC"]
    if min(values, default=-1) < least or len(values) not in (1, len(spatial), len(order)):
        raise call.refuse(
            "HA508", f"{name} = {list(values)}; allowed: {len(order)} numbers of {least} or more, in {order} order."
        )
    if len(values) != len(order):
        return dict(zip(spatial, list(values) * (len(spatial) // len(values)), strict=True))
    found = dict(zip(order, values, strict=True))
    if (found.get("N", 1), found.get("C", 1)) != (1, 1):
        raise call.refuse("HA508", f"{name} = {list(values)} in {order} order; the entries for N and C must be 1.")
    return {letter: found[letter] for letter in spatial}


def pads_by_letter(call: Call, name: str, spatial: Sequence[str]) -> dict[str, tuple[int, int]]:
    """Pads (before, after) by axis letter, from a list with two entries an axis (or one for each, or one for all)."""
    values = list(call.attr(name))
    if min(values, default=-1) < 0 or len(values) not in (1, len(spatial), 2 * len(spatial)):
        raise call.refuse("HA508", f"{name} = {values}; allowed: {2 * len(spatial)} numbers of 0 or more.")
    if len(values) == 2 * len(spatial):
        return {letter: (values[2 * at], values[2 * at + 1]) for at, letter in enumerate(spatial)}
    each = values * (len(spatial) // len(values))
    return {letter: (each[at], each[at]) for at, letter in enumerate(spatial)}


def pooled(shape: Shape, windows: Sequence[Window]) -> Shape:
    """The shape of what the windows give."""
    result = list(shape)
    for one in windows:
        result[one.axis] = one.places
    return tuple(result)


def reordered(call: Call, shape: Shape, data: str, output: str) -> Shape:
    """A shape in the axis order of an output's own format."""
    order = formats.axes_of(call.output_format(output, 0, call.shape("x")), len(shape))
    return shape if order is None else tuple(shape[data.index(letter)] for letter in order)


def in_order(y: Array, data: str, layout: int) -> Array:
    """A result in the axis order of the output's own format."""
    order = formats.axes_of(layout, y.ndim)
    return y if order is None or order == data else y.transpose([data.index(letter) for letter in order])


def tiles(x: Array, most: int = TILE_BYTES) -> Iterator[slice]:
    """Parts of the first axis, each of a bounded number of bytes."""
    if x.ndim == 0 or x.nbytes <= most:
        yield slice(None)
        return
    step = max(1, x.shape[0] * most // x.nbytes)
    for start in range(0, x.shape[0], step):
        yield slice(start, start + step)


def extents(windows: Sequence[Window], shape: Sequence[int]) -> tuple[int, ...]:
    """The shape of a result whose windows are all known."""
    return tuple(dims_known(pooled(tuple(shape), windows)))


def dims_known(shape: Shape) -> list[int]:
    """A shape of known dims as integers."""
    assert dims.known(*shape)
    return [int(one) for one in shape]  # type: ignore[arg-type]
