"""Gathers, masks and one-hot, by loops over indices."""

from __future__ import annotations

from typing import Any

import numpy as np

from hostacl.tensors import dtypes
from random_calls.dice import Dice
from random_calls.oracle import Within, finite, oracle, shapes, summed


def last_bit(value: Any, code: int) -> Any:
    """The room that a half sum needs: added in float32, it may lie on the other side of a tie."""
    return finite(abs(value)) * {dtypes.FLOAT16: 2.0**-10, dtypes.BF16: 2.0**-7}.get(code, 0.0)


@shapes("Gather")
def gathering(d: Dice) -> None:
    shape = d.shape(1, empty=d.chance())
    batch = d.attr("batch_dims", d.int(0, len(shape) - 1))
    tail = d.shape(0, 2, long=False) if d.kind != "8-d" else (2,)
    size = shape[batch]
    d.tensor("x", shape)
    d.tensor("indices", d.rng.integers(-size, max(size, 1), (*shape[:batch], *(tail if size else (0,)))))
    for name in ("validate_indices", "is_preprocessed", "negative_index_support"):
        d.attr(name, True, False)


@oracle("Gather")
def gather(x: Any, indices: Any, batch_dims: int) -> Any:
    result = np.empty(indices.shape + x.shape[batch_dims + 1 :], x.dtype)
    for place in np.ndindex(indices.shape):
        result[place] = x[(*place[:batch_dims], int(indices[place]))]
    return result


@shapes("GatherV2D")
def gathering_d(d: Dice) -> None:
    shape = d.shape(1, empty=d.chance())
    axis = d.axis(len(shape))
    d.tensor("x", shape)
    small = (shape[axis],) if d.kind in {"in place", "partial overlap"} or len(shape) > 6 else d.shape(0, 2, long=False)
    d.tensor("indices", d.rng.integers(-shape[axis], max(shape[axis], 1), small if shape[axis] else (0,)))
    d.attr("axis", axis)


@oracle("GatherV2D")
def gather_v2_d(x: Any, indices: Any, axis: int) -> Any:
    at = axis % x.ndim
    result = np.empty((*x.shape[:at], *indices.shape, *x.shape[at + 1 :]), x.dtype)
    for place in np.ndindex(indices.shape):
        result[(slice(None),) * at + place] = x[(slice(None),) * at + (int(indices[place]),)]
    return result


def coordinates(d: Dice, shape: tuple[int, ...], lead: tuple[int, ...], depth: int, unique: bool = False) -> Any:
    """Coordinates of so many of the first dims, negative ones among them; no two for one place when ``unique``."""
    size, rows = int(np.prod(shape[:depth])), int(np.prod(lead))
    flat = d.rng.permutation(size)[:rows] if unique else d.rng.integers(0, max(size, 1), rows)
    found = np.zeros((rows, depth), np.int64)
    for at in reversed(range(depth)):
        found[:, at], flat = flat % shape[at], flat // shape[at]
        found[:, at] -= np.where(d.rng.random(rows) < 0.2, shape[at], 0)
    return found.reshape(*lead, depth)


@shapes("GatherNd")
def gathering_nd(d: Dice) -> None:
    shape = d.shape(1, empty=d.chance())
    lead = d.shape(0, 2, long=False) if d.kind != "8-d" else (2,)
    depth = d.int(1, len(shape))
    d.tensor("x", shape)
    d.tensor("indices", coordinates(d, shape, (0,) if 0 in shape[:depth] else lead, depth))
    d.attr("negative_index_support", True, False)


@oracle("GatherNd")
def gather_nd(x: Any, indices: Any) -> Any:
    depth = indices.shape[-1]
    result = np.empty(indices.shape[:-1] + x.shape[depth:], x.dtype)
    for place in np.ndindex(indices.shape[:-1]):
        result[place] = x[tuple(int(one) for one in indices[place])]
    return result


@shapes("GatherElements")
def gathering_elements(d: Dice) -> None:
    shape = d.shape(1)
    axis = d.attr("dim", d.axis(len(shape)))
    small = [d.int(min(1, size), size) for size in shape]
    small[axis] = d.int(0, shape[axis] + 1) if shape[axis] else 0
    d.tensor("x", shape)
    d.tensor("index", d.rng.integers(-shape[axis], max(shape[axis], 1), small))


@oracle("GatherElements")
def gather_elements(x: Any, index: Any, dim: int) -> Any:
    at = dim % x.ndim
    result = np.empty(index.shape, x.dtype)
    for place in np.ndindex(index.shape):
        result[place] = x[(*place[:at], int(index[place]), *place[at + 1 :])]
    return result


@shapes("Index", "IndexByTensor", "IndexPutV2")
def indexing(d: Dice) -> None:
    """Indices for some axes, side by side or not."""
    shape = d.shape(1, empty=d.chance())
    count = d.int(1, min(len(shape), 3))
    first = d.int(0, len(shape) - count)
    apart = d.rng.permutation(len(shape))[:count]
    places = list(range(first, first + count)) if d.chance(0.6) else sorted(int(one) for one in apart)
    mask = [int(place in places) for place in range(len(shape) if d.chance() else places[-1] + 1)]
    lead = d.shape(1, 2, long=False) if d.kind != "8-d" else (2,)
    put = d.prototype.op_type == "IndexPutV2"
    add = put and d.attr("accumulate", True, False)
    sizes = tuple(shape[place] for place in places)
    lead = (int(min(np.prod(sizes), 4)),) if put else (0,) if 0 in sizes else lead
    where = coordinates(d, sizes, lead, count, unique=put and not add)
    d.tensor("x", shape)
    if put:
        full = dims_of_index(shape, places, lead)
        d.tensor("value", d.choose((), full, tuple(1 if d.chance() else size for size in full)))
    if "indices_mask" in d.prototype.attrs:
        d.attrs["indices_mask"] = ("list_int", mask)
        d.values["indices_mask"] = mask
    else:
        d.value("indexed_sizes", np.array(mask))
        d.tensor("indexed_strides", np.array(mask))
    for number in range(count):
        d.tensor("indices", where[..., number])


def front(places: list[int]) -> int:
    """Where the dims of indices stand: where their axes were, in front if something lies between those."""
    return places[0] if places[-1] - places[0] == len(places) - 1 else 0


def dims_of_index(shape: tuple[int, ...], places: list[int], lead: tuple[int, ...]) -> tuple[int, ...]:
    rest = [size for place, size in enumerate(shape) if place not in places]
    return (*rest[: front(places)], *lead, *rest[front(places) :])


def whole_places(shape: tuple[int, ...], mask: Any, indices: Any) -> dict[tuple[int, ...], tuple[int, ...]]:
    """Which element of x each place of the result stands for."""
    places = [place for place, one in enumerate(mask) if int(one)]
    first, found = front(places), {}
    for place in np.ndindex(dims_of_index(shape, places, indices[0].shape)):
        at = place[first : first + indices[0].ndim]
        rest = iter(place[:first] + place[first + indices[0].ndim :])
        named = {axis: int(one[at]) for axis, one in zip(places, indices, strict=True)}
        found[place] = tuple(named[axis] if axis in named else next(rest) for axis in range(len(shape)))
    return found


def indexed(x: Any, mask: Any, indices: Any) -> Any:
    places = [place for place, one in enumerate(mask) if int(one)]
    result = np.empty(dims_of_index(x.shape, places, indices[0].shape), x.dtype)
    for place, source in whole_places(x.shape, mask, indices).items():
        result[place] = x[source]
    return result


@oracle("Index")
def index(x: Any, indexed_sizes: Any, indices: Any) -> Any:
    return indexed(x, indexed_sizes, indices)


@oracle("IndexByTensor")
def index_by_tensor(x: Any, indices: Any, indices_mask: Any) -> Any:
    return indexed(x, indices_mask, indices)


@oracle("IndexPutV2")
def index_put_v2(x: Any, value: Any, indexed_sizes: Any, indices: Any, accumulate: bool, dice: Dice) -> Any:
    places = [place for place, one in enumerate(indexed_sizes) if int(one)]
    each = np.broadcast_to(value, dims_of_index(x.shape, places, indices[0].shape))
    result, size = x.copy(), np.zeros(x.shape)
    for place, at in whole_places(x.shape, indexed_sizes, indices).items():
        result[at] = result[at] + each[place] if accumulate else each[place]
        size[at] += finite(abs(each[place])) if x.dtype != object else 0
    if not accumulate or x.dtype == object:
        return result
    bits = 53 if dice.dtype in (dtypes.DOUBLE, dtypes.COMPLEX128) else 24
    total, slack = summed(result, size + finite(abs(x)), 8, bits)
    return Within(total, slack + last_bit(total, dice.dtype))


# --- masks ---


@shapes("MaskedFill")
def masking(d: Dice) -> None:
    shape, other = d.shapes_that_broadcast(2)
    d.tensor("x", shape)
    d.tensor("mask", other)
    d.tensor("value", d.choose((), (1,)))


@oracle("MaskedFill")
def masked_fill(x: Any, mask: Any, value: Any) -> Any:
    full, where = np.broadcast_arrays(x, mask)
    result = full.copy()
    for place in np.ndindex(result.shape):
        if where[place]:
            result[place] = value.reshape(-1)[0]
    return result


@shapes("MaskedFillRange")
def filling_ranges(d: Dice) -> None:
    shape, count = d.shape(1), d.int(1, 3)
    d.tensor("x", shape)
    d.tensor("start", d.rng.integers(-1, 4, count))
    d.tensor("end", d.rng.integers(-1, 6, count))
    d.tensor("value", d.choose((1,), (count,)))
    d.attr("axis", d.axis(len(shape)))


@oracle("MaskedFillRange")
def masked_fill_range(x: Any, start: Any, end: Any, value: Any, axis: int) -> Any:
    result, at = x.copy(), axis % x.ndim
    for number in range(len(start)):
        for place in np.ndindex(x.shape):
            if start[number] <= place[at] < end[number]:
                result[place] = value[number if len(value) > 1 else 0]
    return result


@shapes("MaskedScatter")
def scattering_by_mask(d: Dice) -> None:
    shape = d.shape()
    d.tensor("x", shape)
    d.tensor("mask", shape[d.int(0, len(shape)) :] if d.wants("broadcast") or d.chance(0.3) else shape, dtype=dtypes.BOOL)
    d.tensor("updates", (int(np.prod(shape)) + d.int(0, 2),))


@oracle("MaskedScatter")
def masked_scatter(x: Any, mask: Any, updates: Any) -> Any:
    result, source = x.copy(), iter(updates.flat)
    where = np.broadcast_to(mask, x.shape)
    for place in np.ndindex(x.shape):
        if where[place]:
            result[place] = next(source)
    return result


@shapes("MaskedSelect", "MaskedSelectV2")
def selecting(d: Dice) -> None:
    shape, other = d.shapes_that_broadcast(2)
    d.tensor("x", shape)
    d.tensor("mask", other)
    d.output("y", d.dtype, (int(np.prod(np.broadcast_shapes(shape, other))),))


@oracle("MaskedSelect", "MaskedSelectV2")
def masked_select(x: Any, mask: Any) -> Any:
    full, where = np.broadcast_arrays(x, mask)
    found = [full[place] for place in np.ndindex(full.shape) if where[place]]
    result = np.empty(len(found), x.dtype)
    result[:] = found
    return result


@shapes("IndexFillD")
def filling_slices(d: Dice) -> None:
    shape = d.shape(1)
    axis = d.axis(len(shape))
    chosen = d.rng.random(shape[axis]) < 0.5
    line = [1] * len(shape)
    line[axis] = -1
    d.tensor("x", shape)
    d.tensor("assist1", np.broadcast_to(np.where(chosen, 0, 1).reshape(line), shape))
    d.tensor("assist2", np.broadcast_to(np.where(chosen, 3, 0).reshape(line), shape))
    d.attr("dim", axis)


@oracle("IndexFillD")
def index_fill_d(x: Any, assist1: Any, assist2: Any) -> Any:
    result = x.copy()
    for place in np.ndindex(x.shape):
        result[place] = assist2[place] if assist1[place] == 0 else x[place] * assist1[place] + assist2[place]
    return result


@shapes("OneHot", "OneHotD")
def one_hots(d: Dice) -> None:
    """The main dtype is that of the values."""
    shape, depth = d.shape(0, 7, grows=1), d.int(0, 5)
    d.tensor("x", d.rng.integers(0, 7, shape), dtype=d.choose(*d.decl("x").dtypes))
    if d.decl("depth") is not None:
        d.value("depth", np.array(depth))
    else:
        d.attr("depth", depth)
    for name in ("on_value", "off_value"):
        d.tensor(name, d.choose((), (1,)), dtype=d.dtype)
    d.attr("axis", d.int(-1, len(shape)))


@oracle("OneHot", "OneHotD")
def one_hot(x: Any, depth: Any, on_value: Any, off_value: Any, axis: int) -> Any:
    size, at = int(np.ravel(depth)[0]), axis % (x.ndim + 1)
    result = np.empty((*x.shape[:at], size, *x.shape[at:]), on_value.dtype)
    for place in np.ndindex(result.shape):
        same = int(x[place[:at] + place[at + 1 :]]) == place[at]
        result[place] = (on_value if same else off_value).reshape(-1)[0]
    return result


@shapes("Where")
def places(d: Dice) -> None:
    shape = d.shape()
    d.tensor("x", shape, -1, 1)
    d.output("y", dtypes.INT64, (int(np.prod(shape)), len(shape)))


@oracle("Where")
def where(x: Any) -> Any:
    found = [place for place in np.ndindex(x.shape) if x[place] != 0]
    return np.array(found, object).reshape(len(found), x.ndim)


@shapes("InvertPermutation")
def inverting(d: Dice) -> None:
    d.tensor("x", d.rng.permutation(*d.shape(1, 1)))


@oracle("InvertPermutation")
def invert_permutation(x: Any) -> Any:
    listed = [int(one) for one in x]
    return np.array([listed.index(number) for number in range(len(listed))], object)
