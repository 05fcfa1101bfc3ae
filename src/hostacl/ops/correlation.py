"""Grouped cross-correlation over D, H and W: float32 and halves in native code, the rest by BLAS on blocks of columns."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from math import prod
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import as_strided
from numpy.typing import NDArray

from hostacl import _kernels
from hostacl.ops.conv_adjoint import Geometry, in_order
from hostacl.ops.matmul import product

Array = NDArray[Any]

TILE_BYTES = 4 << 20
"""What the columns of one tile may take."""

FIT_INT32 = 1 << 15
"""So many products of 8-bit numbers less an offset add up to what int32 holds."""

PART_BYTES = 4 << 20
"""What the images of a part may take whose results go to another order of axes."""


class _Workspace(threading.local):
    """Memory for the columns of a thread, kept: fresh pages cost more than filling them."""

    flat: Array = np.empty(0, np.uint8)

    def array(self, shape: tuple[int, ...], dtype: np.dtype[Any]) -> Array:
        """An array with any contents; it is the one given before. What is far larger than a tile is not kept."""
        size = prod(shape) * dtype.itemsize
        if size > 2 * TILE_BYTES:
            return np.empty(shape, dtype)
        if self.flat.size < size:
            self.flat = np.empty(max(size, TILE_BYTES), np.uint8)
        return self.flat[:size].view(dtype).reshape(shape)


_workspace = _Workspace()


def correlate(x: Array, weight: Array, geometry: Geometry, groups: int, bias: Array | None = None) -> Array:
    """Grouped cross-correlation of NCDHW images with OIDHW filters, and a bias; integers give int32, others their type.

    Where int32 may not hold them, integers give int64.
    """
    sizes = [
        (extent + before + after - (k - 1) * d - 1) // s + 1
        for extent, k, s, d, (before, after) in zip(x.shape[2:], weight.shape[2:], *geometry, strict=True)
    ]
    whole = np.int32 if prod(weight.shape[1:]) < FIT_INT32 else np.int64
    y = np.empty((x.shape[0], weight.shape[0], *sizes), whole if x.dtype.kind in "iu" else x.dtype)
    if x.dtype == np.float32:
        correlate_into(x, weight, geometry, groups, bias, y)
        return y
    _by_columns(x, np.ascontiguousarray(weight), geometry, groups, y)
    return with_channel_bias(y, bias)


def with_channel_bias(y: Array, bias: Array | None) -> Array:
    """An NCDHW result of ours plus a bias for each channel, in place."""
    if bias is not None:
        y += bias.reshape(-1, 1, 1, 1).astype(y.dtype)
    return y


def correlate_into(x: Array, weight: Array, geometry: Geometry, groups: int, bias: Array | None, y: Array) -> None:
    """The same for float32 and halves, added up in float32, into y of their type or float32, which may share their memory."""
    added = None if bias is None else bias.astype(np.float32).reshape(-1)
    settings = (*geometry[:2], [pad for pair in geometry.pads for pad in pair], groups)
    if y.flags.c_contiguous:
        _kernels.convolve(in_order(x), weight, added, y, *settings)
        return
    if np.may_share_memory(x, y):
        x = x.copy()
    step = max(1, PART_BYTES // max(1, y[:1].nbytes))
    for part in (slice(start, start + step) for start in range(0, y.shape[0], step)):
        dense = np.empty(y[part].shape, y.dtype)
        _kernels.convolve(in_order(x[part]), weight, added, dense, *settings)
        _kernels.copy(dense, y[part])


def _by_columns(x: Array, weight: Array, geometry: Geometry, groups: int, y: Array) -> None:
    """Cross-correlation as products with the columns of what the filters meet, tile by tile."""
    filters, channels, *kernel = weight.shape
    taps = channels * prod(kernel)
    if y.size == 0 or taps == 0:
        y[...] = 0
        return
    matrix = weight.reshape(groups, filters // groups, taps)
    for images, depth, rows in _tiles(x.shape[0], y.shape[2:], x.shape[1] * prod(kernel) * x.dtype.itemsize):
        view = _patches(_slab(x, images, depth, rows, kernel, geometry), kernel, rows, y.shape[4], geometry)
        columns = in_order(view, _workspace.array).reshape(view.shape[0], groups, taps, -1)
        _product_into(y[images, :, depth, rows], matrix, columns)


def _product_into(target: Array, matrix: Array, columns: Array) -> None:
    """Writes the products of each group into (N, filters, rows, width); floats by BLAS, which takes rows that lie apart."""
    place = target.reshape(*columns.shape[:2], matrix.shape[1], -1)
    if matrix.dtype.kind == "f" and np.may_share_memory(place, target):
        np.matmul(matrix, columns, out=place)
    else:
        target[...] = product(matrix, columns).reshape(target.shape)


def _tiles(batch: int, sizes: Sequence[int], bytes_a_place: int) -> Iterator[tuple[slice, int, slice]]:
    """Pieces of the output (images, depth, rows) whose columns stay small: rows of one image, or several images."""
    depth, height, width = sizes
    rows = min(height, max(1, TILE_BYTES // max(1, bytes_a_place * width)))
    images = max(1, TILE_BYTES // max(1, bytes_a_place * width * height)) if rows == height else 1
    for first in range(0, batch, images):
        for plane in range(depth):
            for row in range(0, height, rows):
                yield slice(first, min(first + images, batch)), plane, slice(row, min(row + rows, height))


def _slab(x: Array, images: slice, depth: int, rows: slice, kernel: Sequence[int], geometry: Geometry) -> Array:
    """What a tile of the output sees of x, padding included: (N, C, kd, rows, W)."""
    (sd, sh, _), (dd, dh, _), ((front, _), (top, _), (left, right)) = geometry
    planes = [depth * sd - front + tap * dd for tap in range(kernel[0])]
    low, high = rows.start * sh - top, (rows.stop - 1) * sh - top + (kernel[1] - 1) * dh + 1
    inside = [(at, plane) for at, plane in enumerate(planes) if 0 <= plane < x.shape[2]]
    if len(inside) == len(planes) and low >= 0 and high <= x.shape[3] and left == right == 0:
        return x[images, :, planes[0] : planes[-1] + 1 : dd, low:high]
    count = len(range(*images.indices(x.shape[0])))
    slab = np.zeros((count, x.shape[1], len(planes), high - low, x.shape[4] + left + right), x.dtype)
    first, last = max(low, 0), min(high, x.shape[3])
    for at, plane in inside:
        if last > first:
            slab[:, :, at, first - low : last - low, left : left + x.shape[4]] = x[images, :, plane, first:last]
    return slab


def _patches(slab: Array, kernel: Sequence[int], rows: slice, width: int, geometry: Geometry) -> Array:
    """A view (N, C, kd, kh, kw, rows, ow) of what each filter element meets at each place of a tile."""
    n, c, d, h, w = slab.strides
    (_, sh, sw), (_, dh, dw) = geometry.stride, geometry.dilation
    shape = (*slab.shape[:2], *kernel, rows.stop - rows.start, width)
    return as_strided(slab, shape, (n, c, d, h * dh, w * dw, h * sh, w * sw), writeable=False)
