"""Gathers beside GatherV2: by rows, by coordinates, element by element, by lists of indices."""

from __future__ import annotations

from collections.abc import Mapping
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hostacl.ops import accumulate as combine
from hostacl.ops import dims
from hostacl.ops.call import Call, Unknown
from hostacl.ops.dims import Shape
from hostacl.ops.index import batch_dims as checked_batch
from hostacl.ops.index import batch_rows, checked_indices
from hostacl.ops.reading import Reads
from hostacl.ops.registry import kernel
from hostacl.ops.scatter import rows_at
from hostacl.ops.shapes import axis as checked_axis
from hostacl.ops.shapes import broadcast_shapes, equal_dims

Array = NDArray[Any]


def gathered(call: Call) -> Shape:
    """x's dims before axis batch_dims, those of indices without its batch dims, x's dims after that axis."""
    x, indices = call.shape("x"), call.shape("indices")
    batch = checked_batch(call, len(x), len(indices))
    if batch >= len(x):
        raise call.refuse("HA516", f"x = {dims.text(x)} has {len(x)} dims; batch_dims = {batch} needs one more at least.")
    for at in range(batch):
        equal_dims(call, x[at], indices[at], f"x = {dims.text(x)}, indices = {dims.text(indices)}: batch dim {at} differs.")
    return (*x[:batch], *indices[batch:], *x[batch + 1 :])


@kernel("Gather", shape=gathered, bits=True, reads={"x": Reads.PARTS})
def gather(x: Array, indices: Array, batch_dims: int, call: Call) -> Array:
    """The rows of x at indices, batch by batch: GatherV2 with axis = batch_dims. Negative indices count from the end."""
    batch = batch_dims % indices.ndim if batch_dims < 0 else batch_dims
    found = checked_indices(call.op_type, indices, x.shape[batch])
    if batch == 0:
        return np.take(x, found, axis=0)
    source, rows = batch_rows(x, found, batch, batch)
    return np.take(source, rows, axis=0).reshape(indices.shape + x.shape[batch + 1 :])


def gathered_axis(call: Call) -> Shape:
    """x with the dims of indices instead of the axis."""
    x, indices = call.shape("x"), call.shape("indices")
    if not x:
        raise call.refuse("HA516", "x is a scalar; allowed: 1 dim or more.")
    place = checked_axis(call, call.attr("axis"), len(x))
    return (*x[:place], *indices, *x[place + 1 :])


@kernel("GatherV2D", shape=gathered_axis, bits=True, reads={"x": Reads.PARTS})
def gather_v2_d(x: Array, indices: Array, axis: int, call: Call) -> Array:
    """Slices of x at indices along the axis. Negative indices count from the end."""
    return np.take(x, checked_indices(call.op_type, indices, x.shape[axis]), axis=axis)


def gathered_nd(call: Call) -> Shape:
    """The dims of indices without the last, and of x without those that a coordinate names."""
    x, indices = call.shape("x"), call.shape("indices")
    depth = indices[-1] if indices else None
    if depth is None:
        raise call.refuse("HA516", "indices is a scalar; its last dim must say the length of a coordinate.")
    if not isinstance(depth, int):
        raise Unknown("indices")
    if depth > len(x):
        told = f"indices = {dims.text(indices)} have {depth} numbers each; x = {dims.text(x)} has {len(x)} dims."
        raise call.refuse("HA504", told)
    return (*indices[:-1], *x[depth:])


@kernel("GatherNd", shape=gathered_nd, bits=True, reads={"x": Reads.PARTS})
def gather_nd(x: Array, indices: Array, call: Call) -> Array:
    """x at the coordinates in the last axis of indices; shorter ones name slices. Negative ones count from the end."""
    depth = indices.shape[-1]
    rows = rows_at(call.op_type, indices, x.shape)
    taken = np.take(x.reshape(prod(x.shape[:depth]), *x.shape[depth:]), rows, axis=0)
    return taken.reshape(indices.shape[:-1] + x.shape[depth:])


def gathered_elements(call: Call) -> Shape:
    """The shape of index, which is no larger than x but along the axis."""
    x, index = call.shape("x"), call.shape("index")
    place = checked_axis(call, call.attr("dim"), len(x), "dim")
    told = f"index = {dims.text(index)}, x = {dims.text(x)}, dim {place}"
    if len(x) != len(index):
        raise call.refuse("HA504", f"{told}: both need one rank.")
    for at, (one, other) in enumerate(zip(index, x, strict=True)):
        if at != place and dims.known(one, other) and dims.bounds(one)[0] > dims.bounds(other)[0]:
            raise call.refuse("HA504", f"{told}: index must be no larger than x but along the axis.")
    return index


@kernel("GatherElements", shape=gathered_elements, bits=True, reads={"x": Reads.PARTS})
def gather_elements(x: Array, index: Array, dim: int, call: Call) -> Array:
    """For each element of index the one of x at that place of the axis, all other coordinates being its own."""
    at = dim % max(x.ndim, 1)
    found = checked_indices(call.op_type, np.atleast_1d(index), np.atleast_1d(x).shape[at], "index")
    window = tuple(slice(None) if place == at else slice(size) for place, size in enumerate(found.shape))
    return np.take_along_axis(np.atleast_1d(x)[window], found, at).reshape(index.shape)


def indexed_places(call: Call, rank: int, count: int) -> tuple[int, ...]:
    """The axes that lists of indices are for: where the mask has a 1; without a mask the first ones."""
    by_attr = "indices_mask" in call.attrs
    mask = list(call.attr("indices_mask") or [1] * count) if by_attr else list(call.ints("indexed_sizes"))
    places = tuple(place for place, one in enumerate(mask) if one)
    if len(places) != count or len(mask) > rank:
        name = "indices_mask" if by_attr else "indexed_sizes"
        told = f"{name} = {mask}; allowed: up to {rank} entries, 1 for each of the {count} indices."
        raise call.refuse("HA508" if by_attr else "HA519", told)
    return places


def indexed(call: Call) -> Shape:
    """NumPy's rule: the indices broadcast, and stand where the only group of indexed axes was, else in front."""
    x, listed = call.shape("x"), call.shapes("indices")
    if "indices_mask" not in call.attrs and not call.known("indexed_sizes"):
        raise Unknown("indexed_sizes")
    places = indexed_places(call, len(x), len(listed))
    common: Shape | None = ()
    for shape in listed:
        common = broadcast_shapes(common or (), shape) if common is not None else None
    if common is None:
        raise call.refuse("HA504", f"indices of {', '.join(map(dims.text, listed))} do not broadcast.")
    rest = tuple(dim for place, dim in enumerate(x) if place not in places)
    together = not places or places[-1] - places[0] == len(places) - 1
    lead = places[0] if places and together else 0
    return (*rest[:lead], *common, *rest[lead:])


def index_of(call: Call, x: Array, indices: list[Array], mask: Any) -> tuple[Any, ...]:
    """The NumPy index."""
    named = call if "indices_mask" in call.attrs else call.with_values({"indexed_sizes": np.asarray(mask)})
    found: list[Any] = [slice(None)] * x.ndim
    for number, place in enumerate(indexed_places(named, x.ndim, len(indices))):
        found[place] = checked_indices(call.op_type, indices[number], x.shape[place], f"indices{number}")
    return tuple(found)


@kernel("Index", shape=indexed, values=("indexed_sizes",), bits=True, reads={"x": Reads.PARTS})
def index(x: Array, indexed_sizes: Array, indices: list[Array], call: Call) -> Array:
    """x[i, j, :, k ...]: indexed_sizes has a 1 for each axis that has indices, in order, and 0 for one taken whole.

    The indices broadcast; their dims stand in front when the axes are not side by side. Negative ones count from the end.
    """
    return x[index_of(call, x, indices, indexed_sizes)]


@kernel("IndexByTensor", shape=indexed, bits=True, reads={"x": Reads.PARTS})
def index_by_tensor(x: Array, indices: list[Array], indices_mask: Any, call: Call) -> Array:
    """x[i, j, :, k ...]: indices_mask has a 1 for each axis that has indices; empty, they are for the first axes."""
    return x[index_of(call, x, indices, indices_mask)]


def put(call: Call) -> Shape:
    """The shape of x; value broadcasts to what the indices name."""
    x = call.shape("x")
    if call.known("indexed_sizes"):
        part, value = indexed(call), call.shape("value")
        joined = broadcast_shapes(part, value)
        if joined is None or (dims.known(*joined, *part) and joined != part):
            told = f"value = {dims.text(value)} does not broadcast to {dims.text(part)}, which the indices name."
            raise call.refuse("HA504", told)
    return x


def put_over(call: Call) -> Mapping[str, Reads]:
    """Nothing of x is read, unless value is added."""
    return {} if call.attr("accumulate") else {"x": Reads.NOTHING}


@kernel("IndexPutV2", shape=put, reads=put_over)
def index_put_v2(
    x: Array, value: Array, indexed_sizes: Array, indices: list[Array], accumulate: bool, call: Call
) -> Array:
    """x with value (which broadcasts) written at x[i, j, :, k ...], or added when accumulate; several for one place all count.

    indexed_sizes has a 1 for each axis that has indices. Without accumulate the last of several wins. In place.
    """
    if not indices:
        return x + value if accumulate else np.broadcast_to(value, x.shape)
    where = index_of(call, x, indices, indexed_sizes)
    try:
        places = np.arange(x.size).reshape(x.shape)[where]
        np.broadcast_to(value, places.shape)
    except (IndexError, ValueError):
        told = ", ".join(dims.text(one.shape) for one in indices)
        raise call.refuse("HA504", f"indices of {told} and value = {dims.text(value.shape)} do not broadcast.") from None
    each = np.broadcast_to(value, places.shape).reshape(-1, 1)
    how = combine.add if accumulate else combine.update
    return how(x.reshape(-1, 1), places.reshape(-1), np.ascontiguousarray(each)).reshape(x.shape)
