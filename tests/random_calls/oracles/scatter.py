"""Scatters: one update after the other."""

from __future__ import annotations

from typing import Any

import numpy as np

from hostacl.tensors import dtypes
from random_calls.dice import Dice
from random_calls.oracle import Within, finite, oracle, shapes, summed
from random_calls.oracles.gather import coordinates, last_bit

LONG = (dtypes.DOUBLE, dtypes.COMPLEX128)


def quotient(one: Any, other: Any) -> Any:
    if not isinstance(one, int):
        return np.divide(one, other)
    if other == 0:
        return 0
    return abs(one) // abs(other) * (1 if (one < 0) == (other < 0) else -1)


def larger(one: Any, other: Any) -> Any:
    return max(one, other) if isinstance(one, int) else np.maximum(one, other)


def smaller(one: Any, other: Any) -> Any:
    return min(one, other) if isinstance(one, int) else np.minimum(one, other)


HOW = {
    "Update": lambda old, new: new, "Add": lambda old, new: old + new, "Sub": lambda old, new: old - new,
    "Mul": lambda old, new: old * new,
    "Div": quotient, "Max": larger, "Min": smaller,
}  # fmt: skip


def one_by_one(var: Any, places: Any, updates: Any, how: str, code: int) -> Any:
    """var after all updates; with room for rounding where they add up."""
    result = var.copy()
    size = finite(abs(var)).astype(float) if var.dtype not in (object, bool) else None
    for place, value in zip(places, updates, strict=True):
        result[place] = HOW[how](result[place], value)
        if size is not None:
            size[place] = size[place] + finite(abs(value)) if how in ("Add", "Sub") else finite(abs(result[place]))
    if size is None or how in ("Update", "Max", "Min"):
        return result
    value, slack = summed(result, size, 8 + len(updates), 53 if code in LONG else 24)
    return Within(value, slack + last_bit(value, code))


def how_of(dice: Dice) -> str:
    return next(name for name in HOW if dice.prototype.op_type.endswith(name))


def leads(d: Dice, most: int, rank: int) -> tuple[int, ...]:
    """The dims of up to ``most`` indices: none, one, or two where ``rank`` leaves room; none are left when there is nothing."""
    count = d.int(0 if d.chance(0.1) else min(1, most), min(most, 6))
    return d.choose((count,), *([(1, count)] if rank < 8 else []), *([()] if most else []))  # type: ignore[no-any-return]


@shapes("ScatterUpdate", "ScatterAdd", "ScatterSub", "ScatterMul", "ScatterDiv", "ScatterMax", "ScatterMin")
def by_rows(d: Dice) -> None:
    shape = d.shape(1)
    how, rows = how_of(d), shape[0]
    lead = leads(d, rows, len(shape))
    flat = d.rng.permutation(rows)[: int(np.prod(lead))] if how in ("Update", "Div") else d.rng.integers(0, max(rows, 1), lead)
    d.tensor("var", shape)
    d.tensor("indices", np.where(d.rng.random(lead) < 0.2, -rows, 0) + np.reshape(flat, lead))
    d.tensor("updates", (*lead, *shape[1:]))
    d.attr("use_locking", True)


@oracle("ScatterUpdate", "ScatterAdd", "ScatterSub", "ScatterMul", "ScatterDiv", "ScatterMax", "ScatterMin")
def scatter_rows(var: Any, indices: Any, updates: Any, dice: Dice) -> Any:
    places, values = [], []
    for place in np.ndindex(indices.shape + var.shape[1:]):
        places.append((int(indices[place[: indices.ndim]]), *place[indices.ndim :]))
        values.append(updates[place])
    return one_by_one(var, places, values, how_of(dice), dice.dtype)


ND = (
    "ScatterNdUpdate", "ScatterNdAdd", "ScatterNdSub", "ScatterNdMax", "ScatterNdMin", "TensorScatterUpdate",
    "TensorScatterAdd", "TensorScatterSub", "TensorScatterMax", "TensorScatterMin", "ScatterNonAliasingAdd",
)  # fmt: skip


@shapes(*ND)
def by_coordinates(d: Dice) -> None:
    shape = d.shape(1)
    depth, name = d.int(1, len(shape)), d.prototype.inputs[0].name
    lead = leads(d, int(np.prod(shape[:depth])), len(shape) - depth + 1)
    d.tensor(name, shape)
    d.tensor("indices", coordinates(d, shape, lead, depth, unique=how_of(d) == "Update"))
    d.tensor("updates", (*lead, *shape[depth:]))
    d.attr("use_locking", True)


def at_coordinates(var: Any, indices: Any, updates: Any, how: str, code: int) -> Any:
    depth = indices.shape[-1]
    places, values = [], []
    for place in np.ndindex(updates.shape):
        lead = place[: indices.ndim - 1]
        head = [int(one) % size for one, size in zip(indices[lead], var.shape, strict=False)]
        places.append((*head, *place[indices.ndim - 1 :]))
        values.append(updates[place])
    assert depth <= var.ndim
    return one_by_one(var, places, values, how, code)


@oracle("ScatterNdUpdate", "ScatterNdAdd", "ScatterNdSub", "ScatterNdMax", "ScatterNdMin")
def scatter_nd_in_place(var: Any, indices: Any, updates: Any, dice: Dice) -> Any:
    return at_coordinates(var, indices, updates, how_of(dice), dice.dtype)


@oracle("TensorScatterUpdate", "TensorScatterAdd", "TensorScatterSub", "ScatterNonAliasingAdd")
def tensor_scatter(x: Any, indices: Any, updates: Any, dice: Dice) -> Any:
    return at_coordinates(x, indices, updates, how_of(dice), dice.dtype)


@oracle("TensorScatterMax", "TensorScatterMin")
def tensor_scatter_extreme(input_: Any, indices: Any, updates: Any, dice: Dice) -> Any:
    return at_coordinates(input_, indices, updates, how_of(dice), dice.dtype)


@shapes("ScatterNd", "ScatterNdD")
def into_zeros(d: Dice) -> None:
    shape = d.shape(1)
    depth = d.int(1, len(shape))
    lead = leads(d, int(np.prod(shape[:depth])), len(shape) - depth + 1)
    d.tensor("indices", coordinates(d, shape, lead, depth))
    d.tensor("x", (*lead, *shape[depth:]))
    if d.decl("shape") is not None:
        d.value("shape", np.array(shape))
    else:
        d.attr("shape", list(shape))


@oracle("ScatterNd", "ScatterNdD")
def scatter_nd(indices: Any, x: Any, shape: Any, dice: Dice) -> Any:
    return at_coordinates(np.zeros([int(one) for one in shape], x.dtype), indices, x, "Add", dice.dtype)


@shapes("ScatterElementsV2", "ScatterAddWithAxis")
def by_elements(d: Dice) -> None:
    shape = d.shape(1)
    axis = d.attr("axis", d.axis(len(shape)))
    reduction = "add" if "reduction" not in d.prototype.attrs else d.attr("reduction", "none", "add", "mul")
    small = [d.int(min(1, size), size) for size in shape]
    indices = np.empty(small, np.int64)
    lines = np.moveaxis(indices, axis, -1)
    for line in np.ndindex(lines.shape[:-1]):
        count = lines.shape[-1]
        lines[line] = (
            d.rng.permutation(shape[axis])[:count]
            if reduction == "none"
            else d.rng.integers(-shape[axis], max(shape[axis], 1), count)
        )
    d.tensor("var", shape)
    d.tensor("indices", indices)
    d.tensor("updates", tuple(small))


def along_axis(var: Any, indices: Any, updates: Any, axis: int, how: str, code: int) -> Any:
    at = axis % var.ndim
    places = [(*place[:at], int(indices[place]) % var.shape[at], *place[at + 1 :]) for place in np.ndindex(indices.shape)]
    return one_by_one(var, places, list(updates.flat), how, code)


@oracle("ScatterElementsV2")
def scatter_elements_v2(var: Any, indices: Any, updates: Any, axis: int, reduction: str, dice: Dice) -> Any:
    return along_axis(var, indices, updates, axis, {"none": "Update", "add": "Add", "mul": "Mul"}[reduction], dice.dtype)


@oracle("ScatterAddWithAxis")
def scatter_add_with_axis(var: Any, indices: Any, updates: Any, axis: int, dice: Dice) -> Any:
    return along_axis(var, indices, updates, axis, "Add", dice.dtype)


@shapes("InplaceIndexAdd", "IndexAdd")
def by_slices(d: Dice) -> None:
    shape = d.shape(1)
    axis = d.attr("axis", d.axis(len(shape)))
    count = d.int(0 if d.chance(0.1) else 1, 4) if shape[axis] else 0
    d.tensor("var", shape)
    d.tensor("indices", d.rng.integers(-shape[axis] if d.chance() else 0, max(shape[axis], 1), count))
    d.tensor("updates", (*shape[: axis % len(shape)], count, *shape[axis % len(shape) + 1 :]))
    if "alpha" in [one.name for one in d.prototype.inputs] and d.optional("alpha"):
        d.tensor("alpha", d.choose((), (1,)))


def slices(var: Any, indices: Any, updates: Any, axis: int, code: int) -> Any:
    at = axis % var.ndim
    places = [(*place[:at], int(indices[place[at]]) % var.shape[at], *place[at + 1 :]) for place in np.ndindex(updates.shape)]
    if var.dtype == bool:
        result = var.copy()
        for place, value in zip(places, updates.flat, strict=True):
            result[place] |= value
        return result
    return one_by_one(var, places, list(updates.flat), "Add", code)


@oracle("InplaceIndexAdd")
def inplace_index_add(var: Any, indices: Any, updates: Any, alpha: Any, axis: int, dice: Dice) -> Any:
    scaled = updates if alpha is None else updates * alpha.reshape(-1)[0]
    return slices(var, indices, scaled, axis, dice.dtype)


@oracle("IndexAdd")
def index_add(var: Any, indices: Any, updates: Any, axis: int, dice: Dice) -> Any:
    return slices(var, indices, updates, axis, dice.dtype)


@shapes("Scatter")
def caching(d: Dice) -> None:
    shape = d.shape(2)
    axis = d.int(1, len(shape) - 1)
    steps, batches = (d.int(min(1, size), size) for size in (shape[axis], shape[0]))
    by_steps = d.chance()
    size = (batches, *shape[1:axis], steps, *shape[axis + 1 :])
    first = d.rng.integers(0, shape[axis] - steps + 1, batches)
    each = np.array([d.rng.permutation(shape[axis])[:steps] for _ in range(batches)]).reshape(batches, steps)
    d.tensor("var", shape)
    d.tensor("indices", each if by_steps else first)
    d.tensor("updates", size)
    d.attr("reduce", "update")
    negative = d.wants("negative axis") or d.chance()
    d.attrs["axis"] = ("int", axis - len(shape) if negative else axis)
    d.values["axis"] = d.attrs["axis"][1]


@oracle("Scatter")
def scatter(var: Any, indices: Any, updates: Any, axis: int) -> Any:
    result, at = var.copy(), axis % var.ndim
    for place in np.ndindex(updates.shape):
        step = place[at]
        position = int(indices[place[0], step]) if indices.ndim == 2 else int(indices[place[0]]) + step
        result[(*place[:at], position, *place[at + 1 :])] = updates[place]
    return result


@shapes("ScatterList")
def caching_lists(d: Dice) -> None:
    shape, count = d.shape(2, 7, grows=1), d.count()
    at = d.int(0, len(shape) - 1)
    steps = d.int(min(1, shape[at]), shape[at])
    for _ in range(count):
        d.tensor("var", shape)
    d.tensor("indice", d.rng.integers(0, shape[at] - steps + 1, count))
    d.tensor("updates", (count, *shape[:at], steps, *shape[at + 1 :]))
    if d.optional("mask"):
        d.tensor("mask", d.rng.integers(0, 2, count), dtype=dtypes.UINT8)
    d.attr("reduce")
    d.values["axis"] = at - len(shape)
    d.attrs["axis"] = ("int", d.choose(at - len(shape), at + 1))


@oracle("ScatterList")
def scatter_list(var: Any, indice: Any, updates: Any, mask: Any, axis: int) -> Any:
    results = []
    for number, one in enumerate(var):
        result, at = one.copy(), axis % one.ndim
        if mask is None or int(mask[number]):
            for place in np.ndindex(updates[number].shape):
                result[(*place[:at], int(indice[number]) + place[at], *place[at + 1 :])] = updates[number][place]
        results.append(result)
    return (results,)
