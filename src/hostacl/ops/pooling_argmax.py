"""Pooling that also tells where the largest elements are, and pooling to a given size."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hostacl.ops import dims
from hostacl.ops.axes import letters
from hostacl.ops.call import Call
from hostacl.ops.dims import Shape
from hostacl.ops.pooling import Spec, Window, in_order, pooled, tiles, window
from hostacl.ops.pooling_cuts import leading_cuts, plane_cuts
from hostacl.ops.pooling_max import max_pool_3d_shape, max_pool_3d_windows, max_pooled_with_places
from hostacl.ops.registry import kernel
from hostacl.ops.run import Out
from hostacl.ops.shapes import rank_is
from hostacl.tensors import dtypes

Array = NDArray[Any]


def argmax_windows(call: Call) -> tuple[str, list[Window]]:
    """The windows of MaxPoolWithArgmaxV1: lists are [1, h, w, 1] whatever the format of x, or [1, 1, h, w]."""
    x = rank_is(call, "x", 4)
    data, size = letters(call.format("x"), 4, "NCHW"), list(call.attr("ksize"))
    first = 2 if len(size) == 4 and size[1] == 1 and size[3] != 1 else 1
    lists = [_pair(call, name, first, 0 if name == "pads" else 1) for name in ("ksize", "strides", "dilation", "pads")]
    found = []
    for place, letter in enumerate("HW"):
        k, s, d, p = (one[place] for one in lists)
        axis = data.index(letter)
        found.append(window(call, Spec(letter, k, s, d, p, p), axis, x[axis], "CALCULATED", call.attr("ceil_mode")))
    return data, found


def _pair(call: Call, name: str, first: int, least: int) -> tuple[int, int]:
    values = list(call.attr(name))
    if len(values) != 4 or min(values) < least:
        raise call.refuse("HA508", f"{name} = {values}; allowed: [1, height, width, 1], numbers of {least} or more.")
    return values[first], values[first + 1]


def argmax_v1_dtype(call: Call) -> tuple[int, ...]:
    """int32 for indices, uint16 for masks; what attribute dtype says comes first."""
    masks_first = call.attr("dtype") == dtypes.UINT16
    return (dtypes.UINT16, dtypes.INT32) if masks_first else (dtypes.INT32, dtypes.UINT16)


def argmax_v1_shape(call: Call) -> list[Shape]:
    """The pooled shape for both; masks have (window elements, ceil(windows / 16) + 1) in the place of height and width."""
    data, windows = argmax_windows(call)
    y = pooled(call.shape("x"), windows)
    code = call.outputs["argmax"].specs[0].dtype if call.outputs["argmax"].given else argmax_v1_dtype(call)[0]
    if code != dtypes.UINT16:
        return [y, y]
    masks = list(y)
    masks[data.index("H")] = windows[0].size * windows[1].size
    masks[data.index("W")] = (windows[0].places * windows[1].places + 15) // 16 + 1
    return [y, tuple(masks)]


@kernel("MaxPoolWithArgmaxV1", shape=argmax_v1_shape, dtype={"argmax": argmax_v1_dtype}, dtype_attrs={},
        cuts=plane_cuts("NCHW"))  # fmt: skip
def max_pool_with_argmax_v1(x: Array, call: Call, out: tuple[Out, ...]) -> tuple[Array, Array]:
    """The largest element of each window along H and W, and where it is: the first one, or the first NaN.

    argmax int32: the flat index in the plane of height · width. uint16: for each window element a mask over the windows,
    bit i of word w for window 16·w + i, set where that element is the largest. ksize, strides and pads are [1, h, w, 1].
    """
    data, windows = argmax_windows(call)
    y, places = max_pooled_with_places(x, windows)
    return y, masks_of(places, x.shape, data, windows) if out[1].code == dtypes.UINT16 else places


def masks_of(places: Array, shape: tuple[int, ...], data: str, windows: Sequence[Window]) -> Array:
    """Indices within a plane as masks: for each element of a window, 16 windows a word."""
    height, width = windows
    planes = places.transpose([data.index(letter) for letter in "NCHW"])
    row, column = np.divmod(planes, max(shape[width.axis], 1))
    row -= (np.arange(height.number, dtype=row.dtype) * height.stride - height.before).reshape(-1, 1)
    column -= np.arange(width.number, dtype=column.dtype) * width.stride - width.before
    down = row if height.dilation == 1 else row // height.dilation
    taps = down * width.size + (column if width.dilation == 1 else column // width.dilation)
    taps = taps.reshape(*planes.shape[:2], height.number * width.number)
    words = -(-taps.shape[-1] // 16) + 1
    masks = np.zeros((*taps.shape[:2], height.size * width.size, words * 16), bool)
    for tap in range(height.size * width.size):
        masks[:, :, tap, : taps.shape[-1]] = taps == tap
    packed = np.packbits(masks, axis=-1, bitorder="little").view("<u2")
    return packed.transpose(["NCHW".index(letter) for letter in data])


def argmax_3d_dtype(call: Call) -> tuple[int, ...]:
    """int32 or int64, as attribute dtype says or as described."""
    return (dtypes.INT64, dtypes.INT32) if call.attr("dtype") == dtypes.INT64 else (dtypes.INT32, dtypes.INT64)


@kernel(
    "MaxPool3DWithArgmaxV2",
    shape=lambda call: [max_pool_3d_shape(call)] * 2,
    dtype={"argmax": argmax_3d_dtype},
    dtype_attrs={"argmax": "dtype"},
    cuts=plane_cuts("NCDHW"),
)
def max_pool_3d_with_argmax_v2(x: Array, call: Call, out: tuple[Out, ...]) -> tuple[Array, Array]:
    """The largest element of each window along D, H and W, and its flat index in depth · height · width.

    Of equal ones the first; of NaN the first.
    """
    data, windows = max_pool_3d_windows(call)
    y, places = max_pooled_with_places(x, windows)
    return in_order(y, data, out[0].format), in_order(places, data, out[1].format)


def adaptive_size(call: Call) -> tuple[int, int]:
    """The output's height and width: output_size with one or two numbers."""
    values = list(call.attr("output_size"))
    if len(values) not in (1, 2) or min(values) < 0:
        raise call.refuse("HA508", f"output_size = {values}; allowed: one or two numbers of 0 or more.")
    return values[0], values[-1]


def adaptive_shape(call: Call) -> Shape:
    """x with its last two dims as output_size says."""
    x = rank_is(call, "x", 3, 4)
    if 0 in x[-2:]:
        raise call.refuse("HA504", f"x = {dims.text(x)} has no elements in its plane; allowed: 1 or more rows and columns.")
    return (*x[:-2], *adaptive_size(call))


def bins(extent: int, count: int) -> list[slice]:
    """Slices of an axis that overlap so that there are ``count``: from floor(i·n/count) to ceil((i+1)·n/count)."""
    return [slice(at * extent // count, -(-(at + 1) * extent // count)) for at in range(count)]


def binned(x: Array, count: int, function: Callable[[Array], Array]) -> Array:
    """A reduction of the last axis over each of its bins."""
    parts = [function(x[..., part]) for part in bins(x.shape[-1], count)]
    return np.stack(parts, axis=-1) if parts else np.empty((*x.shape[:-1], 0), x.dtype)


@kernel("AdaptiveAvgPool2d", shape=adaptive_shape, cuts=leading_cuts)
def adaptive_avg_pool_2d(x: Array, call: Call) -> Array:
    """The mean of each of output_size bins of the last two dims, which overlap where the sizes do not divide."""
    high, wide = adaptive_size(call)
    y = np.empty((*x.shape[:-2], high, wide), x.dtype)
    for part in tiles(x):
        rows = binned(x[part].astype(np.float64), wide, lambda one: one.mean(axis=-1))
        y[part] = np.swapaxes(binned(np.swapaxes(rows, -1, -2), high, lambda one: one.mean(axis=-1)), -1, -2)
    return y


def adaptive_argmax_dtype(call: Call) -> tuple[int, ...]:
    """int32, or int64 when so described."""
    return dtypes.INT32, dtypes.INT64


@kernel("AdaptiveMaxPool2d", shape=lambda call: [adaptive_shape(call)] * 2, dtype={"argmax": adaptive_argmax_dtype},
        cuts=leading_cuts)  # fmt: skip
def adaptive_max_pool_2d(x: Array, call: Call) -> tuple[Array, Array]:
    """The largest element of each of output_size bins of the last two dims, and its flat index in the plane.

    Of equal ones the first; of NaN the first.
    """
    high, wide = adaptive_size(call)
    y = np.empty((*x.shape[:-2], high, wide), x.dtype)
    places = np.empty(y.shape, np.int64)
    for part in tiles(x):
        flat = np.broadcast_to(np.arange(x.shape[-2] * x.shape[-1]).reshape(x.shape[-2:]), x[part].shape)
        values, where = first_in_bins(x[part], flat, wide)
        values, where = first_in_bins(np.swapaxes(values, -1, -2), np.swapaxes(where, -1, -2), high)
        y[part], places[part] = np.swapaxes(values, -1, -2), np.swapaxes(where, -1, -2)
    return y, places


def first_in_bins(values: Array, places: Array, count: int) -> tuple[Array, Array]:
    """The largest element in each bin of the last axis, and the place it brought along."""
    best, found = [], []
    for part in bins(values.shape[-1], count):
        at = np.expand_dims(np.argmax(values[..., part], axis=-1), -1)
        best.append(np.take_along_axis(values[..., part], at, -1)[..., 0])
        found.append(np.take_along_axis(places[..., part], at, -1)[..., 0])
    shape = (*values.shape[:-1], 0)
    return (np.stack(best, -1), np.stack(found, -1)) if best else (np.empty(shape, values.dtype), np.empty(shape, np.int64))
