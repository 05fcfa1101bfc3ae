"""Average pooling, one axis after the other."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

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
    window,
)
from hostacl.ops.pooling_cuts import plane_cuts
from hostacl.ops.pooling_max import max_pool_v3_windows
from hostacl.ops.pooling_passes import Direct, Windows, mean_into, plain_windows
from hostacl.ops.registry import kernel
from hostacl.ops.run import Out

Array = NDArray[Any]


def average_pooled(x: Array, windows: Sequence[Window], padding: bool, divisor: int) -> Array:
    """The mean of each window: over its elements (with the padding or without), or over a divisor."""
    y = np.empty(extents(windows, x.shape), x.dtype)
    mean_into(x, y, windows, padding, divisor)
    return y


def direct_mean(windows_of: Windows, padding: Callable[[Call], bool]) -> Direct:
    """The ``direct`` of average pooling: halves as they lie in memory, straight into y."""

    def hook(call: Call) -> Callable[..., None] | None:
        windows = plain_windows(call, windows_of)
        if windows is None:
            return None
        counted, divisor = padding(call), call.attrs.get("divisor_override") or 0
        return lambda x, y: mean_into(x, y, windows, counted, divisor)

    return hook


def divisors(one: Window, extent: int, rank: int, padding: bool) -> Array:
    """What the sums along an axis are divided by, in a shape that broadcasts."""
    counts = one.members(extent, padding)
    return counts.reshape([-1 if axis == one.axis else 1 for axis in range(rank)])


def avg_pool_v2_shape(call: Call) -> Shape:
    """The pooled shape, in the axis order of y's own format."""
    data, windows = max_pool_v3_windows(call)
    return reordered(call, pooled(call.shape("x"), windows), data, "y")


@kernel("AvgPoolV2", shape=avg_pool_v2_shape,
        direct=direct_mean(max_pool_v3_windows, lambda call: not call.attr("exclusive")), cuts=plane_cuts("NCHW"))  # fmt: skip
def avg_pool_v2(x: Array, exclusive: bool, divisor_override: int | None, call: Call, out: tuple[Out, ...]) -> Array:
    """The mean of each window along H and W; exclusive leaves the padding out of the count, divisor_override replaces it.

    ksize and strides are in data_format order; padding_mode CALCULATED takes pads [top, bottom, left, right], SAME and VALID
    their own; ceil_mode adds windows that are not whole; global_pooling takes one window over everything.
    """
    data, windows = max_pool_v3_windows(call)
    return in_order(average_pooled(x, windows, not exclusive, divisor_override or 0), data, out[0].format)


def avg_pool_windows(call: Call) -> tuple[str, list[Window]]:
    """The axis letters of x and its windows along H and W."""
    data = data_letters(call, (4,), "NHWC")
    order, x, mode = attribute_letters(call, data, 4), call.shape("x"), call.attr("padding")
    if mode not in ("SAME", "VALID"):
        raise call.refuse("HA508", f"padding = {mode!r}; allowed: SAME, VALID.")
    sizes, strides = (spatial_values(call, name, call.attr(name), order, 1) for name in ("ksize", "strides"))
    specs = [Spec(letter, sizes[letter], strides[letter], 1, 0, 0) for letter in data if letter in "HW"]
    places = [data.index(one.letter) for one in specs]
    return data, [window(call, one, at, x[at], mode, False) for one, at in zip(specs, places, strict=True)]


def avg_pool_shape(call: Call) -> Shape:
    """The pooled shape, in the axis order of y's own format."""
    data, windows = avg_pool_windows(call)
    return reordered(call, pooled(call.shape("x"), windows), data, "y")


@kernel("AvgPool", shape=avg_pool_shape, direct=direct_mean(avg_pool_windows, lambda call: False), cuts=plane_cuts("NHWC"))
def avg_pool(x: Array, call: Call, out: tuple[Out, ...]) -> Array:
    """The mean of each window along H and W, padding SAME or VALID; the padding does not count."""
    data, windows = avg_pool_windows(call)
    return in_order(average_pooled(x, windows, False, 0), data, out[0].format)


def avg_pool_3d_windows(call: Call) -> tuple[str, list[Window]]:
    """The axis letters of x and its windows along D, H and W."""
    data = data_letters(call, (5,), "NDHWC")
    order, x = attribute_letters(call, data, 5), call.shape("x")
    spatial = [letter for letter in data if letter in "DHW"]
    sizes, strides = (spatial_values(call, name, call.attr(name), order, 1) for name in ("ksize", "strides"))
    pads = pads_by_letter(call, "pads", spatial)
    specs = [Spec(letter, sizes[letter], strides[letter], 1, *pads[letter]) for letter in spatial]
    places, ceil = [data.index(one.letter) for one in specs], call.attr("ceil_mode")
    return data, [window(call, one, at, x[at], "CALCULATED", ceil) for one, at in zip(specs, places, strict=True)]


def avg_pool_3d_shape(call: Call) -> Shape:
    """The pooled shape, in the axis order of y's own format."""
    data, windows = avg_pool_3d_windows(call)
    return reordered(call, pooled(call.shape("x"), windows), data, "y")


@kernel("AvgPool3D", "AvgPool3DD", shape=avg_pool_3d_shape, cuts=plane_cuts("NDHWC"))
def avg_pool_3d(x: Array, count_include_pad: bool, divisor_override: int, call: Call, out: tuple[Out, ...]) -> Array:
    """The mean of each window along D, H and W; count_include_pad counts the padding, divisor_override replaces the count.

    filter and multiplier of AvgPool3DD hold what the attributes say already; they are not looked at.
    """
    data, windows = avg_pool_3d_windows(call)
    return in_order(average_pooled(x, windows, count_include_pad, divisor_override), data, out[0].format)


