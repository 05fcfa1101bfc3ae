"""Pooling: the last axes of float32 and halves by native loops, others in passes over whole arrays.

A pass puts together one axis, of so many planes at a time that they stay in a cache.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from math import prod
from typing import Any

import ml_dtypes
import numpy as np
from numpy.typing import NDArray

from hostacl import _kernels
from hostacl.config import settings
from hostacl.ops.call import Call
from hostacl.ops.pooling import Window
from hostacl.ops.reductions import lowest
from hostacl.tensors import dtypes, formats

Array = NDArray[Any]
Windows = Callable[[Call], tuple[str, list[Window]]]
Direct = Callable[[Call], Callable[..., None] | None]
Lines = tuple[int, int, int]
Each = tuple[int, ...]
Planes = tuple[Array, Array, Each, Each, Each, Each]
Index = tuple[slice, ...]

BLOCK_BYTES = 2 << 20
"""How much of a tensor goes through all passes at a time."""

SHORT = 1024
"""Windows of up to so many elements are added up in float32, which then is as good as the result's own rounding."""

DENSE_STRIDE = 6
"""Up to this stride of the last axis it is faster to combine everywhere, in one run, and then to pick."""

LARGE = 1 << 18
"""From so many elements on the native loops use several threads."""

NATIVE: dict[np.ufunc, Callable[..., None]] = {np.maximum: _kernels.maximum, np.add: _kernels.add}

HALVES = (np.dtype(np.float16), np.dtype(ml_dtypes.bfloat16))


def plain_windows(call: Call, windows_of: Windows) -> list[Window] | None:
    """The windows of a call whose arrays can be worked on as they lie: floats, y in x's axis order; else None."""
    x, y = call.spec("x"), call.outputs["y"].specs[0]
    if x.dtype not in dtypes.FLOATS or settings().saturate:
        return None
    data, windows = windows_of(call)
    return windows if formats.axes_of(y.format, len(y.shape)) in (None, data) else None


def max_into(x: Array, out: Array, windows: Sequence[Window]) -> None:
    """Writes the largest element of each window, NaN when there is one."""
    lines = whole_lines(x, out, windows)
    if lines is not None:
        _kernels.axis_max(x.reshape(lines), out.reshape(lines[0], lines[2]))
        return
    planes = last_axes(x, out, windows)
    if planes is not None and _kernels.pool_max(*planes):
        return
    for part, result, moved in blocks(x, out, windows):
        piece = widened(part)
        for one in moved:
            piece = combined(np.maximum, piece, one, lowest(piece.dtype))
        stored(piece, result)


def mean_into(x: Array, out: Array, windows: Sequence[Window], padding: bool, divisor: int) -> None:
    """Writes the mean of each window: over its elements (with the padding or without), or over a divisor."""
    lines = whole_lines(x, out, windows)
    if lines is not None:
        _kernels.axis_sum(x.reshape(lines), out.reshape(lines[0], lines[2]), float(divisor or lines[1]))
        return
    counts = divisors(x, windows, padding, divisor)
    x = x.copy() if np.may_share_memory(x, out) else x  # the native loop writes before it knows whether a sum is too large
    planes = last_axes(x, out, windows)
    if planes is not None:
        each = np.broadcast_to(counts.astype(np.float32), out.shape[min(one.axis for one in windows) :])
        if _kernels.pool_mean(*planes, each):
            return
    single = x.dtype != np.float64 and prod(one.size for one in windows) <= SHORT
    narrow = counts.astype(np.float32)
    for part, result, moved in blocks(x, out, windows):
        piece = sums(widened(part), moved) if single else None
        if piece is None or not finite(piece):  # a sum may be too large where the mean is not
            stored(sums(part.astype(np.float64), moved) / counts, result)
        elif result.dtype == np.float32:
            np.divide(piece, narrow, out=result)
        else:
            stored(piece / narrow, result)


def finite(array: Array) -> bool:
    """Whether all elements are finite, and not so large that their squares add up to something that is not."""
    line = array.reshape(-1)
    return bool(np.isfinite(np.dot(line, line)))


def sums(piece: Array, windows: Sequence[Window]) -> Array:
    """The sum of each window."""
    for one in windows:
        piece = combined(np.add, piece, one, piece.dtype.type(0))
    return piece


def divisors(x: Array, windows: Sequence[Window], padding: bool, divisor: int) -> Array:
    """What sums are divided by, float64, in a shape that broadcasts to a block; a scalar where that does."""
    if divisor:
        return np.asarray(float(divisor))
    first = min(one.axis for one in windows)
    counts = np.ones((), np.float64)
    for one in windows:
        along = one.members(x.shape[one.axis], padding)
        each = along[:1] if along.size and (along == along[0]).all() else along
        counts = counts * each.reshape([-1 if axis == one.axis else 1 for axis in range(first, x.ndim)])
    return counts


def whole_lines(x: Array, out: Array, windows: Sequence[Window]) -> Lines | None:
    """(before, along, after) where one window takes all of neighbouring axes, for the native loops; else None."""
    axes = [one.axis for one in windows]
    first, count = min(axes), prod(x.shape[axis] for axis in axes)
    whole = all((one.number, one.size, one.before) == (1, x.shape[one.axis], 0) for one in windows)
    plain = x.flags.c_contiguous and out.flags.c_contiguous and not np.may_share_memory(x, out)
    if not (whole and plain and count and max(axes) - first < len(axes)) or x.dtype not in (np.float32, *HALVES):
        return None
    return prod(x.shape[:first]), count, prod(x.shape[max(axes) + 1 :])


MOST = 2**31 - 1
"""The largest size, stride, dilation or padding that the native loops take."""


def last_axes(x: Array, out: Array, windows: Sequence[Window]) -> Planes | None:
    """x and out as (planes, D, H, W) with sizes, strides, dilations and padding in front, for the native loops; else None."""
    along = sorted(windows, key=lambda one: one.axis)
    first = x.ndim - len(along)
    if x.dtype not in (np.float32, *HALVES) or not out.flags.c_contiguous or out.dtype != x.dtype or len(along) > 3:
        return None
    if not x.flags.c_contiguous or [one.axis for one in along] != list(range(first, x.ndim)):
        return None
    if any(max(one.size, one.stride, one.dilation, one.before) > MOST for one in along):
        return None
    shapes = [(prod(one.shape[:first]), *(1,) * (3 - len(along)), *one.shape[first:]) for one in (x, out)]
    lists = [(least,) * (3 - len(along)) + tuple(each) for least, each in (
        (1, (one.size for one in along)), (1, (one.stride for one in along)),
        (1, (one.dilation for one in along)), (0, (one.before for one in along)),
    )]  # fmt: skip
    return x.reshape(shapes[0]), out.reshape(shapes[1]), lists[0], lists[1], lists[2], lists[3]


def blocks(x: Array, out: Array, windows: Sequence[Window]) -> Iterator[tuple[Array, Array, list[Window]]]:
    """Parts of x and of the result, the axes before the pooled ones as one, and the windows along the axes of a part."""
    if out.size == 0:
        return
    first = min(one.axis for one in windows)
    x = x.copy() if np.may_share_memory(x, out) else x
    rows = x.reshape(prod(x.shape[:first]), *x.shape[first:])
    target = out if out.flags.c_contiguous else np.empty(out.shape, out.dtype)
    results = target.reshape(rows.shape[0], *out.shape[first:])
    moved = [one._replace(axis=one.axis - first + 1) for one in windows]
    step = max(1, rows.shape[0] * BLOCK_BYTES // max(rows.nbytes, 1))
    for start in range(0, rows.shape[0], step):
        part = slice(start, start + step)
        yield rows[part], results[part], moved
    if target is not out:
        np.copyto(out, target)


def widened(part: Array) -> Array:
    """A part of a tensor as it is computed with: halves as float32."""
    if part.dtype not in HALVES:
        return part
    wide = np.empty(part.shape, np.float32)
    _kernels.convert(part, wide)
    return wide


def stored(piece: Array, result: Array) -> None:
    """Writes what was computed, rounded once."""
    if result.dtype in HALVES:
        _kernels.convert(piece, result)
    else:
        np.copyto(result, piece, casting="same_kind")


def combined(function: np.ufunc, x: Array, one: Window, nothing: Any) -> Array:
    """Each window's elements along one axis put together; ``nothing`` for a window that has none."""
    result = np.empty((*x.shape[: one.axis], one.number, *x.shape[one.axis + 1 :]), x.dtype)
    low, high = inner(one, x.shape[one.axis])
    dense = one.size > 1 and one.stride <= DENSE_STRIDE and one.number - (high - low) <= max(2, one.number // 8)
    if one.axis == x.ndim - 1 and dense and high > low and x.flags.c_contiguous:
        combine_dense(function, x, one, result)
    else:
        combine_taps(function, x, one, nothing, result)
    return result


def apply(function: np.ufunc, x1: Array, x2: Array, out: Array) -> None:
    """One pass: by the native loop, which gives the same bits, where it would use several threads."""
    if out.size >= LARGE and out.dtype in (np.float32, np.float64):
        NATIVE[function](x1, x2, out)
    else:
        function(x1, x2, out=out)


def combine_taps(function: np.ufunc, x: Array, one: Window, nothing: Any, result: Array) -> None:
    """One pass for each element of a window, beginning with those that all windows have."""
    full, others = slices(one, x.shape[one.axis])
    if len(full) > 1:
        apply(function, x[full[0]], x[full[1]], result)
    else:
        np.copyto(result, x[full[0]] if full else nothing)
    for source in full[2:]:
        apply(function, result, x[source], result)
    for inside, source in others:
        apply(function, result[inside], x[source], result[inside])


@lru_cache(maxsize=256)
def slices(one: Window, extent: int) -> tuple[list[Index], list[tuple[Index, Index]]]:
    """For the elements of a window that all windows have inside the tensor: what they meet; for the others: windows, too."""
    lead = (slice(None),) * one.axis
    taps = [((*lead, inside), (*lead, source)) for _, inside, source in one.taps(extent)]
    every = slice(0, one.number)
    return [source for inside, source in taps if inside[-1] == every], [tap for tap in taps if tap[0][-1] != every]


@lru_cache(maxsize=256)
def inner(one: Window, extent: int) -> tuple[int, int]:
    """From which window to which all elements are inside the tensor."""
    low = -(-one.before // one.stride)
    room = extent + one.before - (one.size - 1) * one.dilation - 1
    return low, max(low, min(one.number, room // one.stride + 1))


def combine_dense(function: np.ufunc, x: Array, one: Window, result: Array) -> None:
    """Windows along the last axis: put together from every place on in one run across all rows, and then picked.

    What a run gives where a row ends is not picked; windows that reach beyond a row are done one by one.
    """
    extent, reach = x.shape[-1], (one.size - 1) * one.dilation
    flat, every = x.reshape(-1), np.empty(x.shape, x.dtype)
    length = x.size - reach
    run = every.reshape(-1)[:length]
    apply(function, flat[:length], flat[one.dilation : one.dilation + length], run)
    for start in range(2 * one.dilation, reach + 1, one.dilation):
        apply(function, run, flat[start : start + length], run)
    low, high = inner(one, extent)
    first = low * one.stride - one.before
    picked = every[..., first : first + (high - low - 1) * one.stride + 1 : one.stride]
    _kernels.copy(picked, result[..., low:high])
    for place in (*range(low), *range(high, one.number)):
        combine_edge(function, x, one, place, result[..., place])


def combine_edge(function: np.ufunc, x: Array, one: Window, place: int, result: Array) -> None:
    """The elements of one window that are inside the tensor; there is one at least."""
    start = place * one.stride - one.before
    inside = [at for at in range(start, start + one.size * one.dilation, one.dilation) if 0 <= at < x.shape[-1]]
    np.copyto(result, x[..., inside[0]])
    for at in inside[1:]:
        function(result, x[..., at], out=result)
