"""New shapes for the same elements, and repeats, splits and crops: by flat lists and loops over indices."""

from __future__ import annotations

from typing import Any

import numpy as np

from hostacl.tensors import dtypes
from random_calls.dice import Dice
from random_calls.oracle import Within, finite, oracle, shapes
from random_calls.oracles.shape_slice_concat_pad import moved, permutation


def refill(x: Any, shape: Any) -> Any:
    """The elements of x in order in another shape."""
    result = np.empty([int(one) for one in shape], x.dtype)
    for place, value in zip(np.ndindex(result.shape), x.flat, strict=True):
        result[place] = value
    return result


def regrouped(d: Dice, shape: tuple[int, ...], most: int = 8) -> list[int]:
    """Another shape of as many elements and up to ``most`` dims: neighbours joined, or a dim split off."""
    sizes = list(shape)
    if len(sizes) > 1 and d.chance():
        at = d.int(0, len(sizes) - 2)
        sizes[at : at + 2] = [sizes[at] * sizes[at + 1]]
    elif len(sizes) < most:
        sizes.insert(d.int(0, len(sizes)), 1)
    return sizes


@shapes("Reshape")
def reshaping(d: Dice) -> None:
    shape = d.shape()
    d.tensor("x", shape)
    axis = d.attr("axis", d.int(-len(shape) - 1, len(shape)))
    first = axis % (len(shape) + 1)
    count = d.attr("num_axes", d.int(0, len(shape) - first))
    part = shape[first:] if count == -1 else shape[first : first + count]
    wanted = regrouped(d, part, 8 - len(shape) + len(part))
    if wanted and 0 not in part and d.chance():
        wanted[d.int(0, len(wanted) - 1)] = -1
    d.value("shape", np.array(wanted, np.int64))


def minus_one(x: tuple[int, ...], shape: Any) -> list[int]:
    sizes = [int(one) for one in shape]
    rest = int(np.prod([one for one in sizes if one != -1]))
    return [int(np.prod(x)) // rest if one == -1 else one for one in sizes]


@oracle("Reshape")
def reshape(x: Any, shape: Any, axis: int, num_axes: int) -> Any:
    first = axis % (x.ndim + 1)
    last = x.ndim if num_axes == -1 else first + num_axes
    return refill(x, [*x.shape[:first], *minus_one(x.shape[first:last], shape), *x.shape[last:]])


@shapes("Squeeze", "SqueezeV2")
def squeezing(d: Dice) -> None:
    shape = tuple(1 if d.chance(0.4) else size for size in d.shape())
    d.tensor("x", shape)
    ones = [place - (len(shape) if d.chance() else 0) for place, size in enumerate(shape) if size == 1]
    d.attr("axis", ones[: d.int(0, len(ones))])


@oracle("Squeeze", "SqueezeV2")
def squeeze(x: Any, axis: Any) -> Any:
    gone = [one % x.ndim for one in axis] if axis else [place for place, size in enumerate(x.shape) if size == 1]
    return refill(x, [size for place, size in enumerate(x.shape) if place not in gone])


@shapes("SqueezeV3")
def squeezing_by_input(d: Dice) -> None:
    shape = tuple(1 if d.chance(0.4) else size for size in d.shape())
    d.tensor("x", shape)
    ones = [place for place, size in enumerate(shape) if size == 1]
    if d.optional("axes"):
        d.value("axes", np.array(ones[: d.int(0, len(ones))], np.int64))


@oracle("SqueezeV3")
def squeeze_v3(x: Any, axes: Any) -> Any:
    return squeeze(x, [] if axes is None else [int(one) for one in axes])


def new_axes(d: Dice, rank: int) -> list[int]:
    count = 2 if d.kind == "8-d" else d.int(0, min(2, 8 - rank))
    return [int(one) - (rank + count if d.chance() else 0) for one in d.rng.permutation(rank + count)[:count]]


@shapes("Unsqueeze", "UnsqueezeV2", "UnsqueezeV3")
def unsqueezing(d: Dice) -> None:
    shape = d.shape(0, 6, grows=2)
    d.tensor("x", shape)
    axes = new_axes(d, len(shape))
    if d.decl("axes") is not None:
        d.value("axes", np.array(axes, np.int64))
    else:
        d.attr("axes" if "axes" in d.prototype.attrs else "axis", axes)


def with_ones(x: Any, axes: Any) -> Any:
    rank = x.ndim + len(axes)
    places = {int(one) % rank for one in axes} if rank else set()
    rest = iter(x.shape)
    return refill(x, [1 if place in places else next(rest) for place in range(rank)])


@oracle("Unsqueeze", "UnsqueezeV3")
def unsqueeze(x: Any, axes: Any) -> Any:
    return with_ones(x, axes)


@oracle("UnsqueezeV2")
def unsqueeze_v2(x: Any, axis: Any) -> Any:
    return with_ones(x, axis)


@shapes("ExpandDims")
def expanding_dims(d: Dice) -> None:
    shape = d.shape(0, 7, grows=1)
    d.tensor("x", shape)
    d.value("axis", np.array([d.axis(len(shape) + 1)], np.int64))


@oracle("ExpandDims")
def expand_dims(x: Any, axis: Any) -> Any:
    return with_ones(x, np.ravel(axis))


@shapes("Flatten")
def flattening(d: Dice) -> None:
    shape = d.shape()
    d.tensor("x", shape)
    d.attr("axis", *([d.int(-len(shape), len(shape))] if shape else [0]))
    if not shape:
        d.attrs["axis"], d.values["axis"] = ("int", 0), 0


@oracle("Flatten")
def flatten(x: Any, axis: int) -> Any:
    first = axis + x.ndim if axis < 0 else axis
    return refill(x, [int(np.prod(x.shape[:first])), int(np.prod(x.shape[first:]))])


@shapes("FlattenV2")
def flattening_range(d: Dice) -> None:
    shape = d.shape(2)
    d.tensor("x", shape)
    first = d.attr("axis", d.int(0, len(shape) - 1))
    d.attr("end_axis", d.int(first % len(shape), len(shape) - 1), -1)


@oracle("FlattenV2")
def flatten_v2(x: Any, axis: int, end_axis: int) -> Any:
    first, last = axis % x.ndim, end_axis % x.ndim
    return refill(x, [*x.shape[:first], int(np.prod(x.shape[first : last + 1])), *x.shape[last + 1 :]])


@shapes("Shape", "Size")
def sizing(d: Dice) -> None:
    d.tensor("x", d.shape())
    d.attrs["dtype"] = ("int", d.choose(dtypes.INT32, dtypes.INT64))
    d.output("y", d.attrs["dtype"][1])


@shapes("ShapeN")
def sizing_each(d: Dice) -> None:
    for _ in range(d.count()):
        d.tensor("x", d.shape())
    d.output("y", dtypes.INT32)


@shapes("Rank")
def ranking(d: Dice) -> None:
    d.tensor("x", d.shape())
    d.output("y", dtypes.INT32)


@oracle("Shape")
def shape_of(x: Any) -> Any:
    return np.array(x.shape, object)


@oracle("ShapeN")
def shape_n(x: Any) -> Any:
    return ([np.array(one.shape, object) for one in x],)


@oracle("Size")
def size_of(x: Any) -> Any:
    return np.array(sum(1 for _ in np.ndindex(x.shape)), object)


@oracle("Rank")
def rank_of(x: Any) -> Any:
    return np.array(len(x.shape), object)


@shapes("Expand", "ExpandD")
def expanding(d: Dice) -> None:
    full = d.shape()
    thin = tuple(1 if d.chance(0.4) else size for size in full)
    named = [1 if d.chance(0.3) and one == size else size for one, size in zip(thin, full, strict=True)]
    d.tensor("x", thin[d.int(0, len(thin)) if d.chance(0.3) else 0 :])
    if d.decl("shape") is not None:
        d.value("shape", np.array(named, np.int64))
    else:
        d.attr("shape", named)


@oracle("Expand", "ExpandD")
def expand(x: Any, shape: Any) -> Any:
    full = np.broadcast_shapes(x.shape, tuple(int(one) for one in shape))
    lead = len(full) - x.ndim
    return moved(full, x, lambda place: tuple(0 if x.shape[axis] == 1 else place[lead + axis] for axis in range(x.ndim)))


@shapes("BroadcastToD")
def broadcasting_d(d: Dice) -> None:
    full = d.shape()
    d.tensor("x", tuple(1 if d.chance(0.4) else size for size in full))
    d.attr("shape", list(full))


@oracle("BroadcastToD")
def broadcast_to_d(x: Any, shape: Any) -> Any:
    return expand(x, shape)


@shapes("Tile", "TileD")
def tiling(d: Dice) -> None:
    shape = d.shape()
    d.tensor("x", shape)
    times = [d.int(0 if d.chance(0.1) else 1, 1 if d.kind in {"8-d", "in place", "partial overlap"} else 3) for _ in shape]
    if d.decl("multiples") is not None:
        d.value("multiples", np.array(times, np.int64))
    else:
        d.attr("multiples", times)


@oracle("Tile", "TileD")
def tile(x: Any, multiples: Any) -> Any:
    full = [size * int(one) for size, one in zip(x.shape, multiples, strict=True)]
    return moved(full, x, lambda place: tuple(at % size for at, size in zip(place, x.shape, strict=True)))


@shapes("TileWithAxis")
def tiling_axis(d: Dice) -> None:
    shape = d.shape(2)
    d.tensor("x", shape)
    d.attr("axis", d.axis(len(shape)))
    d.attr("tiles", d.int(1, 3))


@oracle("TileWithAxis")
def tile_with_axis(x: Any, axis: int, tiles: int) -> Any:
    return tile(x, [tiles if place == axis % x.ndim else 1 for place in range(x.ndim)])


@shapes("RepeatInterleave")
def repeating(d: Dice) -> None:
    shape = d.shape(1)
    d.tensor("x", shape)
    axis = d.attr("axis", d.axis(len(shape)))
    size = int(np.prod(shape)) if axis == 1000 else shape[axis]
    d.value("repeats", d.rng.integers(0, 3, size) if d.chance() and size > 0 else np.array([d.int(1, 2)]))


@oracle("RepeatInterleave")
def repeat_interleave(x: Any, repeats: Any, axis: int) -> Any:
    source = refill(x, [x.size]) if axis == 1000 else x
    at = 0 if axis == 1000 else axis % x.ndim
    times = [int(repeats[0])] * source.shape[at] if len(repeats) == 1 else [int(one) for one in repeats]
    owners = [index for index, count in enumerate(times) for _ in range(count)]
    full = [*source.shape[:at], len(owners), *source.shape[at + 1 :]]
    return moved(full, source, lambda place: (*place[:at], owners[place[at]], *place[at + 1 :]))


@shapes("RepeatInterleaveGrad")
def gathering(d: Dice) -> None:
    shape = list(d.shape(1))
    axis = d.attr("axis", d.axis(len(shape)), *([1000] if len(shape) == 1 else []))
    axis = 0 if axis == 1000 else axis
    if d.chance(0.3):
        times = [d.int(1, 2)]
        size = shape[axis]
        shape[axis] = size * times[0]
    else:
        times = [int(one) for one in d.rng.integers(0, 3, shape[axis])] or [1]
        size = len(times) if shape[axis] else 0
        shape[axis] = sum(times) if shape[axis] else 0
    d.tensor("y_grad", tuple(shape))
    d.value("repeats", np.array(times))
    d.values.update(size=size, axis=axis)


@oracle("RepeatInterleaveGrad", family="segment_embedding")
def repeat_interleave_grad(y_grad: Any, repeats: Any, dice: Dice) -> Any:
    size, axis = dice.values["size"], dice.values["axis"]
    times = [int(repeats[0])] * size if len(repeats) == 1 else [int(one) for one in repeats]
    moved, at, found = np.moveaxis(y_grad, axis, 0), 0, []
    for count in times:
        found.append(np.asarray([moved[at : at + count].sum(axis=0), finite(moved[at : at + count]).sum(axis=0)]))
        at += count
    both = np.moveaxis(np.array(found), 0, 1) if found else np.zeros((2, 0, *moved.shape[1:]))
    y, bound = (np.moveaxis(one, 0, axis) for one in both)
    return Within(y, bound * 2.0**-20)


@shapes("Crop")
def cropping(d: Dice) -> None:
    shape = d.shape(3)
    axis = d.attr("axis", d.axis(len(shape)))
    place = axis % len(shape)
    offsets = [d.int(0, max(size - 1, 0)) for size in shape[place:]]
    d.tensor("x", shape)
    d.tensor(
        "size",
        tuple(d.int(1, 3) for _ in shape[:place])
        + tuple(d.int(min(1, s - o), s - o) for s, o in zip(shape[place:], offsets, strict=True)),
    )
    d.attr("offsets", offsets)


@oracle("Crop")
def crop(x: Any, size: Any, axis: int, offsets: Any) -> Any:
    at = axis % x.ndim
    starts = [0] * at + list(offsets)
    return moved([*x.shape[:at], *size.shape[at:]], x, lambda place: tuple(a + b for a, b in zip(place, starts, strict=True)))


@shapes("Unpack")
def unpacking(d: Dice) -> None:
    shape = list(d.shape(1, long=False))
    axis = d.axis(len(shape))
    shape[axis] = d.count()
    d.tensor("x", tuple(shape))
    d.attr("num", shape[axis])
    d.attr("axis", axis)
    d.attrs["axis"], d.values["axis"] = ("int", axis), axis


@oracle("Unpack")
def unpack(x: Any, num: int, axis: int) -> Any:
    at = axis % x.ndim
    rest = (*x.shape[:at], *x.shape[at + 1 :])
    return ([moved(rest, x, lambda place, number=number: (*place[:at], number, *place[at:])) for number in range(num)],)


def parts(x: Any, sizes: list[int], axis: int) -> Any:
    at, start, found = axis % x.ndim, 0, []
    for size in sizes:
        full = [*x.shape[:at], size, *x.shape[at + 1 :]]
        found.append(moved(full, x, lambda place, start=start: (*place[:at], start + place[at], *place[at + 1 :])))
        start += size
    return (found,)


@shapes("Split", "SplitD")
def splitting(d: Dice) -> None:
    shape = list(d.shape(1, long=False))
    axis, count = d.axis(len(shape)), d.count(3)
    shape[axis] = shape[axis] * count
    d.tensor("x", tuple(shape))
    if d.decl("split_dim") is not None:
        d.value("split_dim", np.array(axis))
    else:
        d.attr("split_dim", axis)
    d.attr("num_split", count)


@oracle("Split", "SplitD")
def split(x: Any, split_dim: Any, num_split: int) -> Any:
    at = int(np.ravel(split_dim)[0])
    return parts(x, [x.shape[at] // num_split] * num_split, at)


@shapes("SplitV", "SplitVD")
def splitting_by_sizes(d: Dice) -> None:
    shape = list(d.shape(1, long=False))
    axis = d.axis(len(shape))
    sizes = [d.int(0, 3) for _ in range(d.count(3))]
    shape[axis] = sum(sizes)
    if d.chance():
        sizes[d.int(0, len(sizes) - 1)] = -1
    d.tensor("x", tuple(shape))
    if d.decl("split_dim") is not None:
        d.value("size_splits", np.array(sizes, np.int64))
        d.value("split_dim", np.array(axis))
    else:
        d.attr("size_splits", sizes)
        d.attr("split_dim", axis)
    d.attr("num_split", len(sizes))


@oracle("SplitV", "SplitVD")
def split_v(x: Any, size_splits: Any, split_dim: Any) -> Any:
    at = int(np.ravel(split_dim)[0])
    sizes = [int(one) for one in size_splits]
    rest = x.shape[at] - sum(one for one in sizes if one != -1)
    return parts(x, [rest if one == -1 else one for one in sizes], at)


@shapes("ReverseV2D")
def reversing_d(d: Dice) -> None:
    shape = d.shape()
    d.tensor("x", shape)
    d.attr("axis", d.axes(len(shape)))


@oracle("ReverseV2D")
def reverse_v2_d(x: Any, axis: Any) -> Any:
    along = {int(one) % max(x.ndim, 1) for one in axis}
    return moved(
        x.shape, x, lambda place: tuple(x.shape[at] - 1 - index if at in along else index for at, index in enumerate(place))
    )


@shapes("Roll", "RollV2")
def rolling(d: Dice) -> None:
    shape = d.shape(1)
    by_attr = "shifts" in d.prototype.attrs
    d.tensor("x" if by_attr else "input", shape)
    along = d.axes(len(shape), least=0 if by_attr else 1)
    steps = [d.int(-5, 5) for _ in along] or [d.int(-5, 5)]
    if by_attr:
        d.attr("shifts", steps)
        d.attrs["dims"], d.values["dims"] = ("list_int", along), along
    else:
        d.value("shift", np.array(steps, np.int64))
        d.value("axes", np.array(along, np.int64))


def rolled(x: Any, steps: Any, along: Any) -> Any:
    if len(along) == 0:
        flat = list(x.flat)
        moved_on = [flat[(at - int(steps[0])) % len(flat)] for at in range(len(flat))]
        return refill(
            np.array([*moved_on, None], object)[:-1].astype(x.dtype)
            if x.dtype != object
            else np.array([*moved_on, None], object)[:-1],
            x.shape,
        )
    shift = [0] * x.ndim
    for step, axis in zip(steps, along, strict=True):
        shift[int(axis)] += int(step)
    return moved(x.shape, x, lambda place: tuple((at - by) % size for at, by, size in zip(place, shift, x.shape, strict=True)))


@oracle("Roll")
def roll(x: Any, shifts: Any, dims: Any) -> Any:
    return rolled(x, shifts, dims)


@oracle("RollV2")
def roll_v2(input_: Any, shift: Any, axes: Any) -> Any:
    return rolled(input_, shift, axes)


def transposed(x: Any, order: Any) -> Any:
    places = [int(one) % max(x.ndim, 1) for one in order]
    return moved([x.shape[one] for one in places], x, lambda place: tuple(place[places.index(axis)] for axis in range(x.ndim)))


@shapes("ConfusionTranspose", "ConfusionTransposeD")
def confusing(d: Dice) -> None:
    shape = d.shape()
    first = d.attr("transpose_first", True, False)
    d.tensor("x", shape)
    if first:
        order = permutation(d, len(shape))
        wanted = regrouped(d, tuple(shape[one] for one in order))
    else:
        wanted = regrouped(d, shape)
        order = permutation(d, len(wanted))
    d.attr("perm", order)
    if d.decl("shape") is not None:
        d.value("shape", np.array(wanted, np.int64))
    else:
        d.attr("shape", wanted)


@oracle("ConfusionTranspose", "ConfusionTransposeD")
def confusion_transpose(x: Any, perm: Any, shape: Any, transpose_first: bool) -> Any:
    if transpose_first:
        return refill(transposed(x, perm), shape)
    return transposed(refill(x, shape), perm)


@shapes("Permute")
def permuting(d: Dice) -> None:
    shape = d.shape(1)
    d.tensor("x", shape)
    d.attr("order", permutation(d, len(shape))[: d.int(1, len(shape))])


@oracle("Permute")
def permute(x: Any, order: Any) -> Any:
    named = [int(one) % x.ndim for one in order]
    return transposed(x, named + [place for place in range(x.ndim) if place not in named])


@shapes("ShuffleChannel")
def shuffling(d: Dice) -> None:
    shape = list(d.shape(2))
    group = d.attr("group", d.int(1, 3))
    shape[1] *= group
    d.tensor("x", tuple(shape))


@oracle("ShuffleChannel")
def shuffle_channel(x: Any, group: int) -> Any:
    each = x.shape[1] // group
    return moved(x.shape, x, lambda place: (place[0], place[1] % group * each + place[1] // group, *place[2:]))
