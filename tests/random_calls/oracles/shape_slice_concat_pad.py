"""Movement of elements, by explicit loops over indices."""

from __future__ import annotations

from typing import Any

import numpy as np

from random_calls.dice import Dice
from random_calls.oracle import oracle, shapes


def moved(shape: Any, x: Any, source: Any) -> Any:
    """An array of this shape whose element at each place is x at ``source(place)``."""
    result = np.empty(tuple(int(size) for size in shape), x.dtype)
    for place in np.ndindex(result.shape):
        result[place] = x[source(place)]
    return result


def permutation(d: Dice, rank: int) -> list[int]:
    """An order of axes, some of them negative."""
    order = [int(one) for one in d.rng.permutation(rank)]
    negative = rank > 0 and d.wants("negative axis")
    return [one - rank if negative or d.chance(0.1) else one for one in order]


@shapes("Transpose")
def transposing(d: Dice) -> None:
    shape = d.shape()
    d.tensor("x", shape)
    d.value("perm", np.array(permutation(d, len(shape)), np.int64))


@shapes("TransposeD")
def transposing_d(d: Dice) -> None:
    shape = d.shape()
    d.tensor("x", shape)
    d.attr("perm", permutation(d, len(shape)))


@oracle("Transpose", "TransposeD")
def transpose(x: Any, perm: Any) -> Any:
    order = [int(axis) % max(x.ndim, 1) for axis in perm]

    def source(place: tuple[int, ...]) -> tuple[int, ...]:
        return tuple(place[order.index(axis)] for axis in range(x.ndim))

    return moved([x.shape[axis] for axis in order], x, source)


def window(d: Dice, shape: tuple[int, ...]) -> tuple[list[int], list[int]]:
    """Offsets and sizes within a shape; -1 for "to the end" now and then."""
    offsets = [d.int(0, max(size - 1, 0)) for size in shape]
    sizes = [
        d.int(0 if d.chance(0.1) else 1, size - start) if size > start else 0
        for size, start in zip(shape, offsets, strict=True)
    ]
    if d.kind in {"in place", "partial overlap"}:
        return [0] * len(shape), list(shape)
    sizes = [-1 if d.chance(0.2) else size for size in sizes]
    return offsets, sizes


@shapes("Slice")
def slicing(d: Dice) -> None:
    shape = d.shape()
    d.tensor("x", shape)
    offsets, sizes = window(d, shape)
    code = int(d.choose(3, 9))
    d.value("offsets", np.array(offsets, np.int64), code)
    d.value("size", np.array(sizes, np.int64), code)


@shapes("SliceD")
def slicing_d(d: Dice) -> None:
    shape = d.shape()
    d.tensor("x", shape)
    offsets, sizes = window(d, shape)
    d.attr("offsets", offsets)
    d.attr("size", sizes)


@oracle("Slice", "SliceD")
def slice_(x: Any, offsets: Any, size: Any) -> Any:
    sizes = [
        total - int(start) if wanted == -1 else int(wanted) for total, start, wanted in zip(x.shape, offsets, size, strict=True)
    ]
    return moved(sizes, x, lambda place: tuple(int(start) + index for start, index in zip(offsets, place, strict=True)))


def pieces(d: Dice) -> tuple[int, list[tuple[int, ...]]]:
    """An axis, and shapes that differ along it only."""
    first = d.shape(1)
    axis = d.axis(len(first))
    others = []
    for _ in range(d.count() - 1):
        shape = list(first)
        shape[axis] = 1 if d.kind in {"one element", "8-d"} else d.int(0 if d.chance(0.1) else 1, d.limit)
        others.append(tuple(shape))
    return axis, [first, *others]


@shapes("ConcatD")
def concatenating_d(d: Dice) -> None:
    axis, listed = pieces(d)
    for shape in listed:
        d.tensor("x", shape)
    d.attr("concat_dim", axis)
    if (d.kind not in {"attributes absent"} and d.chance(0.8)) or d.kind == "attributes varied":
        d.attr("N", len(listed))
        if "N" in d.attrs or len(listed) != 1:
            d.attrs["N"] = ("int", len(listed))


@shapes("Concat", "ConcatV2")
def concatenating(d: Dice) -> None:
    axis, listed = pieces(d)
    d.value("concat_dim", np.array(axis))
    for shape in listed:
        d.tensor("x", shape)
    if d.chance(0.8):
        d.attrs["N"] = ("int", len(listed))


@oracle("ConcatD", "Concat", "ConcatV2")
def concat(x: list[Any], concat_dim: Any) -> Any:
    axis = int(np.asarray(concat_dim).ravel()[0]) % x[0].ndim
    owners = [(piece, index) for piece in x for index in range(piece.shape[axis])]
    shape = list(x[0].shape)
    shape[axis] = len(owners)
    result = np.empty(shape, x[0].dtype)
    for place in np.ndindex(result.shape):
        piece, index = owners[place[axis]]
        result[place] = piece[(*place[:axis], index, *place[axis + 1 :])]
    return result


@shapes("BroadcastTo")
def broadcasting(d: Dice) -> None:
    shape = d.shape()
    full = shape
    if d.wants("broadcast") or d.kind not in {"same shape", "one element", "8-d", "in place", "partial overlap"}:
        shape = tuple(1 if size and d.chance(0.5) else size for size in full)
        full = (*([d.int(1, 3)] if len(full) < 8 and d.chance() else []), *full)
        shape = shape if shape != full else shape[1:]
    d.tensor("x", shape)
    d.value("shape", np.array(full, np.int64))


@oracle("BroadcastTo")
def broadcast_to(x: Any, shape: Any) -> Any:
    lead = len(shape) - x.ndim
    return moved(shape, x, lambda place: tuple(0 if x.shape[axis] == 1 else place[lead + axis] for axis in range(x.ndim)))


@shapes("ReverseV2")
def reversing(d: Dice) -> None:
    shape = d.shape()
    d.tensor("x", shape)
    d.value("axis", np.array(d.axes(len(shape)), np.int64))


@oracle("ReverseV2")
def reverse_v2(x: Any, axis: Any) -> Any:
    along = {int(one) % max(x.ndim, 1) for one in axis}
    return moved(
        x.shape, x, lambda place: tuple(x.shape[at] - 1 - index if at in along else index for at, index in enumerate(place))
    )


@shapes("Pack")
def packing(d: Dice) -> None:
    shape = d.shape(0, 7, grows=1)
    count = d.count()
    for _ in range(count):
        d.tensor("x", shape)
    d.attr("axis", d.axis(len(shape) + 1))
    d.attr("N", count)


@oracle("Pack")
def pack(x: list[Any], axis: int) -> Any:
    rank = x[0].ndim + 1
    at = axis % rank
    shape = (*x[0].shape[:at], len(x), *x[0].shape[at:])
    result = np.empty(shape, x[0].dtype)
    for place in np.ndindex(shape):
        result[place] = x[place[at]][place[:at] + place[at + 1 :]]
    return result
