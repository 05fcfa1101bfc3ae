"""Normalisation by statistics that are given, one element a channel: one or two float32 passes over the tensor."""

from __future__ import annotations

from math import gcd, prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hostacl import _kernels
from hostacl.ops.axes import per_channel
from hostacl.ops.moments import inverse_root, rescaled
from hostacl.ops.pooling_passes import BLOCK_BYTES, stored, widened

Array = NDArray[Any]

NEAR = 4.0
"""Up to so many standard deviations from 0 a mean costs no digits when it goes into the shift."""

MODERATE = 1e30
"""Parameters of up to this size (factors of no less than its inverse, too) do as well in float32 as in float64."""

PIXELS = 64
"""Where channels are last, up to so many pixels make a row, so that rows are long."""


def normalised(
    x: Array, mean: Array, variance: Array, epsilon: float, scale: Array, offset: Array, over: tuple[int, ...]
) -> Array:
    """scale·(x - mean)/√(variance + epsilon) + offset for each channel."""
    y = np.empty(x.shape, x.dtype)
    normalise_into(x, y, mean, variance, epsilon, scale, offset, over)
    return y


def normalise_into(
    x: Array, y: Array, mean: Array, variance: Array, epsilon: float, scale: Array, offset: Array, over: tuple[int, ...]
) -> None:
    """Writes scale·(x - mean)/√(variance + epsilon) + offset for each channel.

    x·factor + shift with both made in float64; where the mean is far from 0, (x - mean)·factor + offset.
    """
    centre, spread, gain, shift = (np.ravel(one).astype(np.float64) for one in (mean, variance, scale, offset))
    root = inverse_root(spread, epsilon)
    factor = root * gain
    if x.size == 0:
        return
    x = x.copy() if np.may_share_memory(x, y) and not _same(x, y) else x
    if len(over) != 1 or x.dtype == np.float64 or not y.flags.c_contiguous or not _moderate(factor, centre, shift):
        each = [per_channel(one, x.shape, over) for one in (centre, factor, shift)]
        stored(rescaled(widened(x), *each), y)
    elif (np.abs(centre) * root <= NEAR).all():
        _passes(x, y, over[0], [(_scaled, (factor, shift - centre * factor))])
    else:
        _passes(x, y, over[0], [(_kernels.subtract, (centre,)), (_scaled, (factor, shift))])


def _scaled(x: Array, factor: Array, shift: Array, out: Array) -> None:
    """x·factor + shift, each rounded."""
    _kernels.add_product(shift, x, factor, 1.0, out)


def _same(x: Array, y: Array) -> bool:
    """Whether two arrays are the same memory, element by element."""
    return x.ctypes.data == y.ctypes.data and x.strides == y.strides and x.dtype == y.dtype


def _moderate(factor: Array, centre: Array, shift: Array) -> bool:
    """Whether nothing overflows or loses digits for being float32 in between."""
    largest = np.abs(np.concatenate((factor, centre, shift, centre * factor))).max(initial=0)
    return bool(largest < MODERATE) and bool(((np.abs(factor) > 1 / MODERATE) | (factor == 0)).all())


def _passes(x: Array, y: Array, axis: int, steps: list[tuple[Any, tuple[Array, ...]]]) -> None:
    """Each step's function of x and of the channel's elements, on rows of one channel, or of all where they are last."""
    before, after = prod(x.shape[:axis]), prod(x.shape[axis + 1 :])
    last = after == 1
    together = gcd(before, PIXELS) if last else 1
    size = (before // together, x.shape[axis] * together) if last else (before * x.shape[axis], after)
    rows, result = x.reshape(size), y.reshape(size)
    times = together if last else before
    each = [(function, [_repeated(one, times, last) for one in parameters]) for function, parameters in steps]
    step = max(1, size[0] * BLOCK_BYTES // max(rows.nbytes, 1))
    for start in range(0, size[0], step):
        part = slice(start, start + step)
        piece = result[part] if result.dtype == np.float32 else np.empty(result[part].shape, np.float32)
        source = widened(rows[part])
        for function, columns in each:
            function(source, *(column if last else column[part] for column in columns), piece)
            source = piece
        if result.dtype != np.float32:
            stored(piece, result[part])


def _repeated(parameter: Array, times: int, last: bool) -> Array:
    """A parameter as float32, so many times over, as a row or as a column."""
    return np.tile(parameter.astype(np.float32), times).reshape((1, -1) if last else (-1, 1))
