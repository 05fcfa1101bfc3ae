"""Maximum pooling, one axis after the other, with and without the places of the largest elements."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hostacl.ops import dims
from hostacl.ops.call import Call
from hostacl.ops.dims import Shape
from hostacl.ops.pooling import (
    Spec,
    Window,
    attribute_letters,
    data_letters,
    extents,
    in_order,
    pads_by_letter,
    pooled,
    reordered,
    spatial_values,
    tiles,
    window,
)
from hostacl.ops.pooling_cuts import plane_cuts
from hostacl.ops.pooling_passes import Direct, Windows, max_into, plain_windows
from hostacl.ops.reductions import lowest
from hostacl.ops.registry import kernel
from hostacl.ops.run import Out

Array = NDArray[Any]


def max_pooled(x: Array, windows: Sequence[Window]) -> Array:
    """The largest element of each window, one axis after the other."""
    y = np.empty(extents(windows, x.shape), x.dtype)
    max_into(x, y, windows)
    return y


def direct_max(windows_of: Windows) -> Direct:
    """The ``direct`` of maximum pooling: halves as they lie in memory, straight into y."""

    def hook(call: Call) -> Callable[..., None] | None:
        windows = plain_windows(call, windows_of)
        return None if windows is None else lambda x, y: max_into(x, y, windows)

    return hook


CACHED_BYTES = 1 << 18
"""What a part of x may take whose places are looked for."""


def first_max_along(values: Array, places: Array, one: Window) -> tuple[Array, Array]:
    """The largest element of each window along an axis and the place it brought along; the first one, the first NaN."""
    shape = (*values.shape[: one.axis], one.number, *values.shape[one.axis + 1 :])
    best, found = np.full(shape, lowest(values.dtype), values.dtype), np.full(shape, -1, places.dtype)
    front, all_met = (slice(None),) * one.axis, False
    for number, (_, inside, source) in enumerate(one.taps(values.shape[one.axis])):
        met, by = (*front, source), (*front, inside)
        new, brought = values[met], places[met]
        if number == 0 and new.shape == shape:  # the first tap meets every window
            best, found, all_met = new.copy(), brought.copy(), True
            continue
        old, where = best[by], found[by]
        better = new > old
        if not all_met:
            better |= where < 0
        if new.dtype.kind == "f":
            better |= np.isnan(new) & ~np.isnan(old)
        old[...], where[...] = np.where(better, new, old), np.where(better, brought, where)
    return best, found


def max_pooled_with_places(x: Array, windows: Sequence[Window]) -> tuple[Array, Array]:
    """The largest element of each window and its flat index among the pooled axes of x."""
    y = np.empty(extents(windows, x.shape), x.dtype)
    sizes = [x.shape[one.axis] for one in windows]
    kind = np.int32 if prod(sizes) < 1 << 31 else np.int64
    places, flat = np.empty(y.shape, kind), np.arange(prod(sizes), dtype=kind).reshape(sizes)
    flat = flat.reshape([x.shape[axis] if axis in [one.axis for one in windows] else 1 for axis in range(x.ndim)])
    for part in tiles(x, CACHED_BYTES):
        piece, where = x[part], np.broadcast_to(flat, x[part].shape)
        for one in reversed(windows):
            piece, where = first_max_along(piece, where, one)
        y[part], places[part] = piece, where
    return y, places


def max_pool_v3_windows(call: Call) -> tuple[str, list[Window]]:
    """The axis letters of x and its windows along H and W."""
    data = data_letters(call, (4,), "NCHW")
    order = attribute_letters(call, data, 4)
    x, spatial = call.shape("x"), [letter for letter in data if letter in "HW"]
    mode, ceil = call.attr("padding_mode"), call.attr("ceil_mode")
    if mode not in ("CALCULATED", "SAME", "VALID"):
        raise call.refuse("HA508", f"padding_mode = {mode!r}; allowed: CALCULATED, SAME, VALID.")
    if call.attr("global_pooling"):
        return data, [whole_axis(call, data.index(letter)) for letter in spatial]
    sizes = spatial_values(call, "ksize", call.attr("ksize"), order, 1)
    strides = spatial_values(call, "strides", call.attr("strides"), order, 1)
    pads = pads_by_letter(call, "pads", spatial)
    specs = [Spec(letter, sizes[letter], strides[letter], 1, *pads[letter]) for letter in spatial]
    places = [data.index(one.letter) for one in specs]
    return data, [window(call, one, at, x[at], mode, ceil) for one, at in zip(specs, places, strict=True)]


def whole_axis(call: Call, axis: int) -> Window:
    """One window over all of an axis."""
    extent = call.shape("x")[axis]
    return Window(axis, extent if isinstance(extent, int) else 1, 1, 1, 0, 0, 1)


def max_pool_v3_shape(call: Call) -> Shape:
    """The pooled shape, in the axis order of y's own format."""
    data, windows = max_pool_v3_windows(call)
    return reordered(call, pooled(call.shape("x"), windows), data, "y")


@kernel("MaxPoolV3", shape=max_pool_v3_shape, direct=direct_max(max_pool_v3_windows), cuts=plane_cuts("NCHW"))
def max_pool_v3(x: Array, call: Call, out: tuple[Out, ...]) -> Array:
    """The largest element of each window along H and W; NaN when there is one. The padding does not count.

    ksize and strides are in data_format order; padding_mode CALCULATED takes pads [top, bottom, left, right], SAME and VALID
    their own; ceil_mode adds windows that are not whole; global_pooling takes one window over everything.
    """
    data, windows = max_pool_v3_windows(call)
    return in_order(max_pooled(x, windows), data, out[0].format)


def max_pool_windows(call: Call) -> tuple[str, list[Window]]:
    """The windows of MaxPool and MaxPoolV2, whose sizes are attributes or value inputs."""
    data = data_letters(call, (4,), "NHWC")
    order, x, mode = attribute_letters(call, data, 4), call.shape("x"), call.attr("padding")
    if mode not in ("SAME", "VALID"):
        raise call.refuse("HA508", f"padding = {mode!r}; allowed: SAME, VALID.")
    sizes = spatial_values(call, "ksize", call.ints("ksize"), order, 1)
    strides = spatial_values(call, "strides", call.ints("strides"), order, 1)
    specs = [Spec(letter, sizes[letter], strides[letter], 1, 0, 0) for letter in data if letter in "HW"]
    places = [data.index(one.letter) for one in specs]
    return data, [window(call, one, at, x[at], mode, False) for one, at in zip(specs, places, strict=True)]


def max_pool_shape(call: Call) -> Shape:
    """The pooled shape; before the sizes are known H and W are at most those of x."""
    if "ksize" not in call.attrs and not call.known("ksize", "strides"):
        data, x = data_letters(call, (4,), "NHWC"), call.shape("x")
        loose = tuple(
            dims.Between(0, dims.bounds(size)[1]) if letter in "HW" else size for letter, size in zip(data, x, strict=True)
        )
        return reordered(call, loose, data, "y")
    data, windows = max_pool_windows(call)
    return reordered(call, pooled(call.shape("x"), windows), data, "y")


@kernel("MaxPool", "MaxPoolV2", shape=max_pool_shape, values=("ksize", "strides"), cuts=plane_cuts("NHWC"))
def max_pool(x: Array, ksize: Any, strides: Any, call: Call, out: tuple[Out, ...]) -> Array:
    """The largest element of each window along H and W, padding SAME or VALID; NaN when there is one."""
    given = {} if "ksize" in call.attrs else {"ksize": np.asarray(ksize), "strides": np.asarray(strides)}
    data, windows = max_pool_windows(call.with_values(given))
    return in_order(max_pooled(x, windows), data, out[0].format)


def max_pool_3d_windows(call: Call) -> tuple[str, list[Window]]:
    """The windows of MaxPool3D and its form with places."""
    data = data_letters(call, (5,), "NDHWC")
    order, x = attribute_letters(call, data, 5), call.shape("x")
    mode = call.attrs.get("padding", "CALCULATED")
    if mode not in ("CALCULATED", "SAME", "VALID"):
        raise call.refuse("HA508", f"padding = {mode!r}; allowed: CALCULATED, SAME, VALID.")
    spatial = [letter for letter in data if letter in "DHW"]
    size, stride, gap = (spatial_values(call, name, call.attr(name), order, 1) for name in ("ksize", "strides", "dilation"))
    pads = pads_by_letter(call, "pads", spatial)
    specs = [Spec(one, size[one], stride[one], gap[one], *pads[one]) for one in spatial]
    places, ceil = [data.index(one.letter) for one in specs], bool(call.attr("ceil_mode"))
    return data, [window(call, one, at, x[at], mode, ceil) for one, at in zip(specs, places, strict=True)]


def max_pool_3d_shape(call: Call) -> Shape:
    """The pooled shape, in the axis order of y's own format."""
    data, windows = max_pool_3d_windows(call)
    return reordered(call, pooled(call.shape("x"), windows), data, "y")


@kernel("MaxPool3D", shape=max_pool_3d_shape, direct=direct_max(max_pool_3d_windows), cuts=plane_cuts("NDHWC"))
def max_pool_3d(x: Array, call: Call, out: tuple[Out, ...]) -> Array:
    """The largest element of each window along D, H and W; NaN when there is one.

    padding is SAME, VALID or CALCULATED, which takes pads [front, back, top, bottom, left, right].
    """
    data, windows = max_pool_3d_windows(call)
    return in_order(max_pooled(x, windows), data, out[0].format)
