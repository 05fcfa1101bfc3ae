"""The two adjoints of a grouped convolution over D, H and W: by BLAS on blocks of columns, in bounded memory."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import product as product_of
from math import prod
from typing import Any, NamedTuple

import numpy as np
from numpy.lib.stride_tricks import as_strided
from numpy.typing import NDArray

from hostacl import _kernels
from hostacl.ops.matmul import product

Array = NDArray[Any]

TILE_BYTES = 16 << 20
"""What the columns of one tile may take."""

FEW = 4096
"""Elements of a gradient that is so small that one product for each image is faster."""

LONG = 8192
"""How many output places one product adds up over: few long ones beat many short ones, whose threads wait for each other."""


class Geometry(NamedTuple):
    """How a filter moves along D, H and W: strides, dilations, and (before, after) pads of each."""

    stride: tuple[int, ...]
    dilation: tuple[int, ...]
    pads: tuple[tuple[int, int], ...]

    def in_3d(self) -> Geometry:
        """The same with a D axis in front when there are only H and W."""
        if len(self.stride) == 3:
            return self
        return Geometry((1, *self.stride), (1, *self.dilation), ((0, 0), *self.pads))


def in_order(view: Array, room: Callable[..., Array] = np.empty) -> Array:
    """The array with its elements in order: itself, or a copy in the room that ``room(shape, dtype)`` gives."""
    if view.flags.c_contiguous:
        return view
    copy = room(view.shape, view.dtype)
    _kernels.copy(view, copy)
    return copy


def filter_gradient(x: Array, dy: Array, size: Sequence[int], geometry: Geometry, groups: int) -> Array:
    """The gradient (O, C/groups, kd, kh, kw) of x (N, C, D, H, W) and dy (N, O, …); ``size`` is (kd, kh, kw)."""
    batch, channels = x.shape[:2]
    filters, taps = dy.shape[1], channels // groups * prod(size)
    total = np.zeros((groups, filters // groups, taps), dy.dtype)
    padded = np.pad(x, ((0, 0), (0, 0), *geometry.pads))
    if padded.size == 0 or dy.size == 0:
        return total.reshape(filters, channels // groups, *size)
    view = _patches(padded, size, dy.shape[2:], geometry)
    together = min(LONG, TILE_BYTES // (channels * prod(size) * x.dtype.itemsize)) // prod(dy.shape[2:])
    if together > 1 and filters // groups * taps > FEW:
        for first in range(0, batch, together):
            total += _of_images(view[first : first + together], dy[first : first + together], groups)
        return total.reshape(filters, channels // groups, *size)
    for image, depth, rows in _tiles(batch, dy.shape[2:], channels * prod(size) * x.dtype.itemsize):
        tile = in_order(view[image, :, :, :, :, depth, rows])
        part = dy[image, :, depth, rows].reshape(groups, filters // groups, -1)
        total += np.matmul(part, tile.reshape(groups, taps, -1).swapaxes(1, 2))
    return total.reshape(filters, channels // groups, *size)


def _of_images(view: Array, dy: Array, groups: int) -> Array:
    """The part (groups, O/groups, taps) of the filter's gradient that whole images give, by one long product."""
    columns = in_order(view.transpose(1, 2, 3, 4, 0, 5, 6, 7))
    part = np.ascontiguousarray(dy.swapaxes(0, 1))
    places = part[0].size
    taps = columns.size // (groups * places)
    return np.matmul(columns.reshape(groups, taps, places), part.reshape(groups, -1, places).swapaxes(1, 2)).swapaxes(1, 2)


def input_gradient(dy: Array, weight: Array, size: Sequence[int], geometry: Geometry, groups: int) -> Array:
    """The gradient (N, C, *size) of dy (N, O, D, H, W) and filters (O, C/groups, kd, kh, kw); int8 gives int32."""
    pads = _pads_of_turned(weight, geometry) if dy.dtype == np.float32 and dy.size and weight.size and 0 not in size else None
    if pads is not None:
        return _by_turned_filter(dy, weight, size, geometry, pads, groups)
    filters, each = weight.shape[:2]
    channels, kernel = each * groups, weight.shape[2:]
    dtype = np.int32 if dy.dtype.kind in "iu" else dy.dtype
    wide = [length + sum(pad) for length, pad in zip(size, geometry.pads, strict=True)]
    padded = np.zeros((dy.shape[0], channels, *wide), dtype)
    if dy.size and weight.size:
        matrix = weight.reshape(groups, filters // groups, -1).swapaxes(1, 2)
        for image, depth, rows in _tiles(dy.shape[0], dy.shape[2:], channels * prod(kernel) * padded.itemsize):
            part = np.ascontiguousarray(dy[image, :, depth, rows])
            columns = product(matrix, part.reshape(groups, filters // groups, -1))
            _add_taps(padded[image], columns.reshape(channels, *kernel, *part.shape[1:]), depth, rows.start, geometry)
    inner = (slice(before, before + length) for (before, _), length in zip(geometry.pads, size, strict=True))
    window = (slice(None), slice(None), *inner)
    return padded[window]


def _pads_of_turned(weight: Array, geometry: Geometry) -> list[int] | None:
    """The pads with which the turned filter, moved over dy, gives the gradient.

    None where a filter moves by more than 1, or is not finite: the pads' zeros would make NaN of that.
    """
    reach = [(taps - 1) * dilation for taps, dilation in zip(weight.shape[2:], geometry.dilation, strict=True)]
    pads = [far - pad for far, pair in zip(reach, geometry.pads, strict=True) for pad in pair]
    turns = set(geometry.stride) == {1} and min(pads) >= 0 and (not any(pads) or bool(np.isfinite(weight).all()))
    return pads if turns else None


def _by_turned_filter(
    dy: Array, weight: Array, size: Sequence[int], geometry: Geometry, pads: Sequence[int], groups: int
) -> Array:
    """The gradient as a convolution of dy with the filter turned around, inputs and outputs exchanged."""
    filters, each = weight.shape[:2]
    apart = weight.reshape(groups, filters // groups, each, *weight.shape[2:]).swapaxes(1, 2)
    turned = apart.reshape(groups * each, filters // groups, *weight.shape[2:])[:, :, ::-1, ::-1, ::-1]
    out = np.empty((dy.shape[0], groups * each, *size), np.float32)
    _kernels.convolve(dy, np.ascontiguousarray(turned), None, out, (1, 1, 1), geometry.dilation, pads, groups)
    return out


def _add_taps(image: Array, columns: Array, depth: int, row: int, geometry: Geometry) -> None:
    """Adds the columns (C, kd, kh, kw, rows, ow) of some output rows to the places their filter elements met."""
    (sd, sh, sw), (dd, dh, dw) = geometry.stride, geometry.dilation
    rows, width = columns.shape[4:]
    for d, h, w in product_of(*map(range, columns.shape[1:4])):
        top, left = row * sh + h * dh, w * dw
        down, across = slice(top, top + (rows - 1) * sh + 1, sh), slice(left, left + (width - 1) * sw + 1, sw)
        image[:, depth * sd + d * dd, down, across] += columns[:, d, h, w]


def _tiles(batch: int, out: Sequence[int], bytes_a_place: int) -> Iterator[tuple[int, int, slice]]:
    """Pieces of the output (image, depth, rows) whose columns stay small."""
    depth, height, width = out
    rows = min(height, max(1, TILE_BYTES // max(1, bytes_a_place * width)))
    for image, plane, row in product_of(range(batch), range(depth), range(0, height, rows)):
        yield image, plane, slice(row, min(row + rows, height))


def _patches(padded: Array, size: Sequence[int], out: Sequence[int], geometry: Geometry) -> Array:
    """A view (N, C, kd, kh, kw, od, oh, ow) of what each filter element meets at each output place."""
    n, c, *axes = padded.strides
    inside = [step * dilation for step, dilation in zip(axes, geometry.dilation, strict=True)]
    between = [step * stride for step, stride in zip(axes, geometry.stride, strict=True)]
    return as_strided(padded, (*padded.shape[:2], *size, *out), (n, c, *inside, *between), writeable=False)
