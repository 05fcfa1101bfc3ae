"""Gathers and scatters by loops over indices."""

from __future__ import annotations

from typing import Any

import numpy as np

from hostacl.tensors import dtypes
from random_calls.dice import Dice
from random_calls.oracle import oracle, shapes, summed


@shapes("GatherV2")
def gathering(d: Dice) -> None:
    """A tensor, indices within its axis (negative ones too), the axis, and batch dims that both share."""
    shape = d.shape(1, empty=d.chance())
    axis = d.axis(len(shape))
    place = axis % len(shape)
    batch = d.attr("batch_dims", d.int(0, place))
    tail = d.shape(0, 2, long=False) if d.kind != "8-d" else (2,)
    count = shape[place]
    tail = tail if count else (0,)
    indices = d.rng.integers(-count, max(count, 1), (*shape[:batch], *tail))
    d.tensor("x", shape)
    d.tensor("indices", indices)
    d.value("axis", np.array(axis))
    for name in ("is_preprocessed", "negative_index_support"):
        d.attr(name, True, False)


@oracle("GatherV2")
def gather_v2(x: Any, indices: Any, axis: Any, batch_dims: int) -> Any:
    at = int(np.asarray(axis).ravel()[0]) % x.ndim
    inner = indices.ndim - batch_dims
    shape = (*x.shape[:at], *indices.shape[batch_dims:], *x.shape[at + 1 :])
    result = np.empty(shape, x.dtype)
    for place in np.ndindex(shape):
        which = indices[(*place[:batch_dims], *place[at : at + inner])]
        result[place] = x[(*place[:at], int(which), *place[at + inner :])]
    return result


@shapes("ScatterElements")
def scattering(d: Dice) -> None:
    """Data, indices of no larger a shape, updates of theirs; no index twice when it matters which write wins."""
    shape = d.shape(1, empty=d.chance())
    axis = d.attr("axis", d.axis(len(shape)))
    place = axis % len(shape)
    reduction = d.attr("reduction", "none", "add", "mul") or "none"
    small = tuple(size if d.chance() else d.int(min(1, size), size) for size in shape)
    if d.wants("empty"):
        small = (*small[:-1], 0)
    indices = np.empty(small, np.int64)
    lines = np.moveaxis(indices, place, -1)
    for line in np.ndindex(lines.shape[:-1]):
        lines[line] = (
            d.rng.permutation(shape[place])[: small[place]]
            if reduction == "none"
            else d.rng.integers(0, max(shape[place], 1), small[place])
        )
    indices = np.where(d.rng.random(small) < 0.2, indices - shape[place], indices)
    d.tensor("data", shape)
    d.tensor("indices", indices)
    d.tensor("updates", small)


@oracle("ScatterElements")
def scatter_elements(data: Any, indices: Any, updates: Any, axis: int, reduction: str, dice: Dice) -> Any:
    result, at = data.copy(), axis % data.ndim
    size = np.abs(data) if data.dtype != bool else None
    for place in np.ndindex(indices.shape):
        target = (*place[:at], int(indices[place]), *place[at + 1 :])
        if reduction in (None, "none"):
            result[target] = updates[place]
        elif reduction == "add":
            result[target] = result[target] | updates[place] if data.dtype == bool else result[target] + updates[place]
            size[target] += abs(updates[place])
        else:
            result[target] = result[target] * updates[place]
            size[target] = abs(result[target])
    if reduction in (None, "none") or data.dtype in (object, bool):
        return result
    return summed(
        result, np.nan_to_num(size, posinf=0), 8 + indices.size, 53 if dice.dtype in (dtypes.DOUBLE, dtypes.COMPLEX128) else 24
    )
