"""Scatters along an axis: element by element, whole slices, and the positions of a key-value cache."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hostacl.errors import Failed
from hostacl.ops import accumulate, dims
from hostacl.ops.accumulate import Combine
from hostacl.ops.call import Call
from hostacl.ops.dims import Shape
from hostacl.ops.index import checked_indices
from hostacl.ops.reading import Reads
from hostacl.ops.registry import kernel
from hostacl.ops.scatter import same_dims
from hostacl.ops.scattering import ELEMENTS, ROWS, Way, scatter_into
from hostacl.ops.shapes import axis as checked_axis
from hostacl.ops.shapes import equal_dims, rank_is

Array = NDArray[Any]

REDUCTIONS: dict[str, Combine] = {"none": accumulate.update, "add": accumulate.add, "mul": accumulate.multiply}


def elements(call: Call, name: str) -> Shape:
    """The shape of the tensor; indices and updates are no larger than it but along the axis, and have one shape."""
    data, indices, updates = call.shape(name), call.shape("indices"), call.shape("updates")
    place = checked_axis(call, call.attr("axis") or 0, len(data))
    told = f"indices = {dims.text(indices)}, {name} = {dims.text(data)}, axis {place}"
    if len(indices) != len(data) and (data or indices != (1,)):
        raise call.refuse("HA504", f"{told}: both need one rank.")
    for at, (one, other) in enumerate(zip(indices, data, strict=False)):
        if at != place and dims.known(one, other) and dims.bounds(one)[0] > dims.bounds(other)[0]:
            raise call.refuse("HA504", f"{told}: indices must be no larger than {name} but along the axis.")
    same_dims(call, "updates", updates, indices, f"indices = {dims.text(indices)}")
    return data


def reduction_of(call: Call) -> Combine:
    """What attribute reduction says."""
    reduction = call.attrs.get("reduction") or "none"
    if reduction not in REDUCTIONS:
        raise call.refuse("HA508", f"reduction = {reduction!r}; allowed: {', '.join(REDUCTIONS)}.")
    return REDUCTIONS[reduction]


def scattered(op: str, data: Array, indices: Array, updates: Array, axis: int, combine: Combine) -> Array:
    """data with updates combined at indices along the axis, all other coordinates being the updates' own."""
    full, at = np.atleast_1d(data), axis % max(data.ndim, 1)
    found = np.atleast_1d(checked_indices(op, indices, full.shape[at])).astype(np.int64)
    places = found * prod(full.shape[at + 1 :])
    for other, size in enumerate(found.shape):
        if other != at:
            steps = np.arange(size) * prod(full.shape[other + 1 :])
            places += steps.reshape((-1,) + (1,) * (found.ndim - 1 - other))
    result = combine(full.reshape(-1, 1), places.reshape(-1), np.ascontiguousarray(updates).reshape(-1, 1))
    return result.reshape(data.shape)


def direct_elements(name: str, sums: bool = False) -> Callable[[Call], Any]:
    """The ``direct`` of scatters of elements: the native loop of sums, or of what attribute reduction says."""

    def direct(call: Call) -> Any:
        axis, rank = call.attr("axis") or 0, call.rank(name)
        if rank == 0:
            return None
        place, combine = axis % rank, accumulate.add if sums else reduction_of(call)

        def arguments(var: Array, indices: Array, updates: Array, out: Array) -> tuple[Any, ...]:
            return var, accumulate.numbers(indices), updates, place, out

        def check(var: Array, indices: Array) -> None:
            checked_indices(call.op_type, indices, var.shape[place])

        def general(var: Array, indices: Array, updates: Array) -> Array:
            return scattered(call.op_type, var, indices, updates, axis, combine)

        return scatter_into(ELEMENTS, combine, call.dtype(name), Way(arguments, check, general))

    return direct


def reduced_elements(call: Call) -> Shape:
    """The shape of data; the reduction is checked."""
    reduction_of(call)
    return elements(call, "data")


@kernel("ScatterElements", shape=reduced_elements, direct=direct_elements("data"))
def scatter_elements(data: Array, indices: Array, updates: Array, axis: int, call: Call) -> Array:
    """data with updates written at indices along the axis (all other coordinates are the updates' own), added or multiplied.

    reduction: none (of several updates for one place the last wins), add, mul. Negative indices count from the end.
    """
    return scattered(call.op_type, data, indices, updates, axis or 0, reduction_of(call))


def reduced_var(call: Call) -> Shape:
    """The shape of var; the reduction is checked."""
    reduction_of(call)
    return elements(call, "var")


def overwritten(call: Call) -> Mapping[str, Reads]:
    """Nothing of var is read, unless the reduction takes in what is there."""
    return {"var": Reads.NOTHING} if reduction_of(call) is REDUCTIONS["none"] else {}


@kernel("ScatterElementsV2", shape=reduced_var, direct=direct_elements("var"), reads=overwritten)
def scatter_elements_v2(var: Array, indices: Array, updates: Array, axis: int, call: Call) -> Array:
    """ScatterElements in place."""
    return scattered(call.op_type, var, indices, updates, axis or 0, reduction_of(call))


def slices_or_elements(call: Call) -> Shape:
    """The shape of var; indices of its rank count element by element, a vector names slices."""
    var, indices = call.shape("var"), call.shape("indices")
    if len(indices) == len(var) != 1:
        return elements(call, "var")
    return slices(call)


def slices(call: Call) -> Shape:
    """The shape of var; updates have it too, but along the axis as many slices as there are indices."""
    var, updates = call.shape("var"), call.shape("updates")
    (count,) = rank_is(call, "indices", 1) if call.rank("indices") else (1,)
    if not var and call.op_type != "InplaceIndexAdd":
        raise call.refuse("HA516", "var is a scalar; allowed: 1 dim or more.")
    place = checked_axis(call, call.attr("axis"), len(var) or 1)
    if not var:  # torch-npu: one element along axis 0
        size = dims.count(updates)
        if dims.known(size, count) and size != count:
            raise call.refuse("HA504", f"updates = {dims.text(updates)}; allowed for a scalar var: one for each index.")
        return var
    told = f"var = {dims.text(var)}, {dims.text((count,))} indices along axis {place}"
    same_dims(call, "updates", updates, (*var[:place], count, *var[place + 1 :]), told)
    return var


def along(op: str, var: Array, indices: Array, updates: Array, axis: int, combine: Combine) -> Array:
    """var with whole slices of updates combined at indices along the axis."""
    first, each = (np.moveaxis(np.atleast_1d(one), axis, 0) for one in (var, updates))
    rows = checked_indices(op, np.atleast_1d(indices), len(first))
    wide = prod(first.shape[1:])
    result = combine(np.ascontiguousarray(first).reshape(len(first), wide), rows, each.reshape(len(rows), wide))
    return np.moveaxis(result.reshape(first.shape), 0, axis)


def direct_slices(call: Call) -> Any:
    """The ``direct`` of sums of whole slices: the native loop; elements have their own, a factor none."""
    rank = call.rank("var")
    if rank == 0 or call.has("alpha"):
        return None
    if call.op_type == "ScatterAddWithAxis" and call.rank("indices") == rank != 1:
        return direct_elements("var", sums=True)(call)
    axis = call.attr("axis") % rank

    def arguments(var: Array, indices: Array, updates: Array, out: Array) -> tuple[Any, ...]:
        outer, inner = prod(var.shape[:axis]), prod(var.shape[axis + 1 :])
        before = () if outer == 1 else (outer,)
        lines = (*before, var.shape[axis], inner)
        rows = accumulate.numbers(np.atleast_1d(indices))
        return var.reshape(lines), rows, updates.reshape(*before, rows.size, inner), out.reshape(lines)

    def check(var: Array, indices: Array) -> None:
        checked_indices(call.op_type, np.atleast_1d(indices), var.shape[axis])

    def general(var: Array, indices: Array, updates: Array) -> Array:
        return along(call.op_type, var, indices, updates, axis, accumulate.add)

    return scatter_into(ROWS, accumulate.add, call.dtype("var"), Way(arguments, check, general))


@kernel("ScatterAddWithAxis", shape=slices_or_elements, direct=direct_slices)
def scatter_add_with_axis(var: Array, indices: Array, updates: Array, axis: int, call: Call) -> Array:
    """var with updates added at indices along the axis; several for one place all count. In place.

    Indices of the rank of var count element by element (all other coordinates are the updates' own); a vector names slices.
    """
    if indices.ndim == var.ndim != 1:
        return scattered(call.op_type, var, indices, updates, axis, accumulate.add)
    return along(call.op_type, var, indices, updates, axis, accumulate.add)


def scaled_slices(call: Call) -> Shape:
    """The shape of var; alpha is one element."""
    if call.has("alpha"):
        alpha = call.shape("alpha")
        if dims.known(*alpha) and dims.count(alpha) != 1:
            raise call.refuse("HA504", f"alpha = {dims.text(alpha)}; allowed: one element.")
    return slices(call)


@kernel("InplaceIndexAdd", shape=scaled_slices, direct=direct_slices)
def inplace_index_add(
    var: Array, indices: Array, updates: Array, alpha: Array | None, axis: int, call: Call
) -> Array:
    """var with alpha (1 when left out) times the slices of updates added at indices along the axis; several all count.

    Integers wrap; of bool the sum is or, the product and. In place.
    """
    scaled = updates if alpha is None else np.multiply(updates, alpha.reshape(()))
    return along(call.op_type, var, indices, scaled, axis, accumulate.add)


@kernel("IndexAdd", shape=slices, direct=direct_slices)
def index_add(var: Array, indices: Array, updates: Array, axis: int, call: Call) -> Array:
    """var with the slices of updates added at indices along the axis; several for one place all count."""
    return along(call.op_type, var, indices, updates, axis, accumulate.add)


def only_update(call: Call) -> None:
    """Refuses another reduction than update."""
    if call.attr("reduce") not in ("update", "none"):
        raise call.refuse("HA508", f"reduce = {call.attr('reduce')!r}; allowed: update.")


def cached(call: Call) -> Shape:
    """The shape of var; updates are no larger; indices has a position for each of their batches, or for each of their steps."""
    only_update(call)
    var, indices, updates = call.shape("var"), rank_is(call, "indices", 1, 2), call.shape("updates")
    told = f"var = {dims.text(var)}, updates = {dims.text(updates)}, indices = {dims.text(indices)}"
    if len(var) != len(updates) or len(var) < 2:
        raise call.refuse("HA504", f"{told}: var and updates must have one rank, 2 or more.")
    place = checked_axis(call, call.attr("axis"), len(var))
    if place == 0:
        raise call.refuse("HA509", f"axis = {call.attr('axis')} is that of the batches; allowed: 1 to {len(var) - 1}.")
    equal_dims(call, indices[0], updates[0], f"{told}: a position for each batch of updates.")
    if len(indices) == 2:
        equal_dims(call, indices[1], updates[place], f"{told}: a position for each step of updates along axis {place}.")
    for at, (one, other) in enumerate(zip(updates, var, strict=True)):
        if at in (0, place) and dims.known(one, other) and dims.bounds(one)[0] > dims.bounds(other)[0]:
            raise call.refuse("HA504", f"{told}: updates are larger than var along axis {at}.")
        if at not in (0, place):
            equal_dims(call, one, other, f"{told}: dim {at} differs.")
    return var


@kernel("Scatter", shape=cached, bits=True, reads={"var": Reads.NOTHING})
def scatter(var: Array, indices: Array, updates: Array, axis: int, call: Call) -> Array:
    """var with updates[b] written into var[b] from position indices[b] of the axis on: a key-value cache. In place.

    Indices of two dims give the position of each step of updates along the axis instead of the first one's.
    """
    at, steps = axis % var.ndim, updates.shape[axis]
    starts = indices if indices.ndim == 2 else indices[:, None] + np.arange(steps)
    wrong = (starts < 0) | (starts >= var.shape[at])
    if wrong.any():
        batch, step = (int(one) for one in np.argwhere(wrong)[0])
        raise past_the_end(call.op_type, f"indices[{batch}]", int(starts[batch, step]), var.shape[at], at)
    result = var.copy()
    np.moveaxis(result, at, 1)[np.arange(len(indices))[:, None], starts] = np.moveaxis(updates, at, 1)
    return result


def past_the_end(op: str, name: str, position: int, size: int, axis: int) -> Failed:
    """The failure of an update that reaches outside."""
    return Failed("HA510", f"{op}: {name} leads to position {position}; allowed: 0 to {size - 1} along axis {axis}.")


def cached_list(call: Call) -> list[list[Shape]]:
    """The shapes of all var; updates[i] goes into var i."""
    only_update(call)
    shapes, updates = call.shapes("var"), call.shape("updates")
    (count,) = rank_is(call, "indice", 1)
    told = f"{len(shapes)} var, indice = {dims.text((count,))}, updates = {dims.text(updates)}"
    for size in (count, updates[0] if updates else 0):
        equal_dims(call, size, len(shapes), f"{told}: one position and one update for each var.")
    if call.has("mask"):
        many = f"{told}, mask = {dims.text(call.shape('mask'))}: one for each var."
        equal_dims(call, dims.count(call.shape("mask")), len(shapes), many)
    for number, shape in enumerate(shapes):
        place = list_axis(call, len(shape))
        wanted = (*shape[:place], updates[1 + place], *shape[place + 1 :]) if len(updates) == len(shape) + 1 else shape
        same_dims(call, f"updates[{number}]", updates[1:], wanted, f"var{number} = {dims.text(shape)}, axis {place}")
    return [shapes]


def list_axis(call: Call, rank: int) -> int:
    """The axis, of one var: a positive one counts the list as axis 0."""
    axis: int = call.attr("axis")
    if not rank or not -rank <= axis <= rank:
        told = f"axis = {axis}; allowed: {-rank} to {rank}, for var has rank {rank} and the list counts as axis 0."
        raise call.refuse("HA509", told)
    return (axis - 1 if axis > 0 else axis) % max(rank, 1)


@kernel("ScatterList", shape=cached_list, bits=True, reads={"var": Reads.NOTHING})
def scatter_list(var: list[Array], indice: Array, updates: Array, mask: Array | None, call: Call) -> list[Array]:
    """Each var with updates[i] written from position indice[i] of the axis on, unless mask[i] is 0. In place.

    The axis is one of updates: negative, or positive and then counting the list as axis 0.
    """
    results = []
    for number, (one, start) in enumerate(zip(var, indice.tolist(), strict=True)):
        axis = list_axis(call, one.ndim)
        steps = updates.shape[1 + axis]
        if mask is not None and not mask.reshape(-1)[number]:
            results.append(one)
            continue
        if not 0 <= start <= one.shape[axis] - steps:
            raise past_the_end(call.op_type, f"indice[{number}] = {start}", start + steps - 1, one.shape[axis], axis)
        result = one.copy()
        np.moveaxis(result, axis, 0)[start : start + steps] = np.moveaxis(updates[number], axis, 0)
        results.append(result)
    return results
