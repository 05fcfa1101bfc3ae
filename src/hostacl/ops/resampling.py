"""Resampling along one axis: which elements each new one is made of, with which weights, and the way back."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import prod
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hostacl.ops.pooling import tiles

Array = NDArray[Any]


BLOCK_BYTES = 1 << 20
"""How much is resampled at a time: what stays in a cache."""


class Taps(NamedTuple):
    """How one axis is resampled: each new element is the weighted sum of the old ones at ``places`` (new, taps)."""

    axis: int
    length: int
    places: Array
    weight: Array | None


def nearest(axis: int, old: int, index: Array) -> Taps:
    """Each new element is an old one; places beyond the ends are the ends."""
    return Taps(axis, old, np.clip(index, 0, max(old - 1, 0)).astype(np.int64)[:, None], None)


def linear(axis: int, old: int, low: Array, part: Array) -> Taps:
    """Each new element lies ``part`` of the way from an old one to the next; positions beyond the ends are the ends."""
    last = max(old - 1, 0)
    part = np.where((low < 0) | (low >= last), 0.0, part)
    low = np.clip(low, 0, last).astype(np.int64)
    return Taps(axis, old, np.stack([low, np.minimum(low + 1, max(old - 1, 0))], 1), np.stack([1 - part, part], 1))


def resampled(x: Array, taps: Sequence[Taps]) -> Array:
    """The tensor resampled along some axes; weights in float64, elements that are only moved keep their type."""
    if all(one.weight is None for one in taps):
        for one in taps:
            x = np.take(x, one.places[:, 0], axis=one.axis)
        return x
    shape = list(x.shape)
    for one in taps:
        shape[one.axis] = len(one.places)
    result = np.empty(shape, x.dtype if x.dtype.kind == "f" else np.float64)
    first = min(one.axis for one in taps)
    flat, target = (array.reshape(prod(x.shape[:first]), *array.shape[first:]) for array in (x, result))
    order = sorted(taps, key=lambda one: (len(one.places) / max(one.length, 1), -one.axis))  # what grows least comes first
    step = max(1, len(target) * BLOCK_BYTES // max(8 * max(x.size, target.size), 1))
    for start in range(0, len(target), step):
        piece = flat[start : start + step].astype(np.float64)
        for one in order:
            piece = _forward(piece, one._replace(axis=one.axis - first + 1))
        target[start : start + step] = piece
    return result


def pieces(result: Array, taps: Sequence[Taps]) -> Iterable[slice]:
    """Parts of the first axis, or all of it when that is resampled itself."""
    return (slice(None),) if any(one.axis == 0 for one in taps) else tiles(result)


def _forward(x: Array, one: Taps) -> Array:
    """One axis of a piece; a weight of 0 leaves nothing of an infinity or NaN."""
    if one.weight is None:
        return np.take(x, one.places[:, 0], axis=one.axis)
    column = [1] * x.ndim
    column[one.axis] = len(one.places)
    careful = bool((one.weight == 0).any()) and not np.isfinite(np.sum(x))
    total: Any = None
    for tap in range(one.places.shape[1]):
        weight = one.weight[:, tap].reshape(column)
        if not weight.any() and total is not None:
            continue
        term = np.take(x, one.places[:, tap], axis=one.axis)
        np.multiply(term, weight, out=term)
        if careful:
            term[np.broadcast_to(weight == 0, term.shape)] = 0
        total = term if total is None else np.add(total, term, out=total)
    return np.asarray(total)


def spread(grads: Array, taps: Sequence[Taps]) -> Array:
    """The adjoint of ``resampled``: each gradient added to the elements it came from. Integers add up in their type."""
    shape = list(grads.shape)
    for one in taps:
        shape[one.axis] = one.length
    whole = grads.dtype.kind in "iu"
    result = np.empty(shape, grads.dtype)
    for part in pieces(result, taps):
        piece = grads[part] if whole else grads[part].astype(np.float64)
        for one in reversed(taps):
            piece = _backward(piece, one)
        result[part] = piece
    return result


def _backward(grads: Array, one: Taps) -> Array:
    """One axis of a piece, equal places together."""
    moved = np.moveaxis(grads, one.axis, -1)
    result = np.zeros((*moved.shape[:-1], one.length), grads.dtype)
    for tap in range(one.places.shape[1] if one.length else 0):
        scaled = moved if one.weight is None else weighted(moved, one.weight[:, tap])
        order = np.argsort(one.places[:, tap], kind="stable")
        places, first = np.unique(one.places[order, tap], return_index=True)
        if places.size:
            result[..., places] += np.add.reduceat(scaled[..., order], first, axis=-1)
    return np.moveaxis(result, -1, one.axis)


def weighted(grads: Array, weight: Array) -> Array:
    """Gradients times the weights of a tap, 0 where that is 0; integers have no others than 0 and 1."""
    return np.where(weight != 0, grads if grads.dtype.kind in "iu" else grads * weight, grads.dtype.type(0))


def ratio_index(old: int, new: int, align_corners: bool, half_pixel_centers: bool) -> Array:
    """TensorFlow's nearest places: floor(i·old/new), of centres with half pixels, rounded half up with aligned corners."""
    place = np.arange(new, dtype=np.int64)
    if align_corners and new > 1:
        return (2 * place * (old - 1) + (new - 1)) // (2 * (new - 1))
    return (2 * place + 1) * old // (2 * new) if half_pixel_centers else place * old // max(new, 1)


def ratio_position(old: int, new: int, align_corners: bool, half_pixel_centers: bool) -> tuple[Array, Array]:
    """TensorFlow's positions, as whole part and rest: i·old/new; of centres with half pixels; i·(old-1)/(new-1) aligned."""
    place = np.arange(new, dtype=np.int64)
    if align_corners and new > 1:
        top, bottom = place * (old - 1), new - 1
    elif half_pixel_centers:
        top, bottom = (2 * place + 1) * old - new, 2 * max(new, 1)
    else:
        top, bottom = place * old, max(new, 1)
    return top // bottom, (top % bottom) / bottom
