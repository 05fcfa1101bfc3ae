"""Strided slices: begin, end and strides for each axis, with the five masks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hostacl.ops import dims, runtime
from hostacl.ops.call import Call, Unknown
from hostacl.ops.dims import Between, Dim, Shape
from hostacl.ops.reading import Reads
from hostacl.ops.registry import kernel
from hostacl.ops.shapes import axes as checked_axes
from hostacl.ops.shapes import broadcast_shapes, sizes, unknown_sizes

Array = NDArray[Any]

MASKS = ("begin_mask", "end_mask", "ellipsis_mask", "new_axis_mask", "shrink_axis_mask")
LISTS = ("begin", "end", "strides", "axes")
FAR = 1 << 62


class Step(NamedTuple):
    """What is done at one place of the list: a slice, one index ("shrink"), a new dim, or all axes that are left ("rest")."""

    kind: str
    begin: int = 0
    end: int = FAR
    stride: int = 1


def bit(mask: Any, place: int) -> bool:
    """Whether a mask has this bit."""
    return bool((mask or 0) >> place & 1)


def steps(call: Call, begin: Sequence[int], end: Sequence[int], strides: Sequence[int] | None) -> list[Step]:
    """The steps that lists and masks describe."""
    moves = [1] * len(begin) if not strides else list(strides)
    runtime.same_length(call, begin=begin, end=end, strides=moves)
    masks = [call.attrs.get(name) for name in MASKS]
    return [_step(call, place, one, masks) for place, one in enumerate(zip(begin, end, moves, strict=True))]


def _step(call: Call, place: int, one: tuple[int, int, int], masks: Sequence[Any]) -> Step:
    begin, end, stride = one
    from_start, to_end, rest, new, shrink = (bit(mask, place) for mask in masks)
    if rest:
        return Step("rest")
    if new:
        return Step("new")
    if stride == 0:
        raise call.refuse("HA519", f"strides[{place}] = 0; allowed: any number but 0.")
    if shrink:
        return Step("shrink", begin)
    low, high = (FAR, -FAR) if stride < 0 else (0, FAR)
    return Step("slice", low if from_start else begin, high if to_end else end, stride)


def laid_on(call: Call, found: Sequence[Step], rank: int, axes: Sequence[int] | None) -> list[Step]:
    """The steps with one for each axis of x: the ellipsis stretched, axes that no step names taken whole."""
    if axes:
        return _by_axes(call, found, rank, axes)
    used = sum(step.kind in ("slice", "shrink") for step in found)
    if used > rank or [step.kind for step in found].count("rest") > 1:
        raise call.refuse("HA519", f"begin has {len(found)} entries for x of rank {rank}; one for each axis, one ellipsis.")
    whole = [Step("slice")] * (rank - used)
    listed = found if any(step.kind == "rest" for step in found) else [*found, Step("rest")]
    return [one for step in listed for one in (whole if step.kind == "rest" else [step])]


def _by_axes(call: Call, found: Sequence[Step], rank: int, axes: Sequence[int]) -> list[Step]:
    if any(step.kind in ("rest", "new") for step in found):
        raise call.refuse("HA508", "ellipsis_mask and new_axis_mask do not go with axes; allowed: 0.")
    runtime.same_length(call, begin=found, axes=axes)
    by_axis = dict(zip(checked_axes(call, axes, rank), found, strict=True))
    return [by_axis.get(place, Step("slice")) for place in range(rank)]


def lists(call: Call) -> tuple[list[Step], Sequence[int] | None]:
    """Steps and axes from value inputs or attributes."""
    begin, end, strides, axes = (_list(call, name) for name in LISTS)
    return steps(call, begin or (), end or (), strides), axes


def _list(call: Call, name: str) -> Sequence[int] | None:
    return call.ints(name) if name in call.attrs or call.has(name) else None


def all_known(call: Call) -> bool:
    """Whether all lists are."""
    return all(name in call.attrs or call.known(name) for name in LISTS)


def cut(call: Call, x: Shape, found: Sequence[Step]) -> Shape:
    """The shape that steps leave of x."""
    result: list[Dim] = []
    rest = iter(enumerate(x))
    for step in found:
        if step.kind == "new":
            result.append(1)
            continue
        place, dim = next(rest)
        if step.kind == "shrink":
            _checked_index(call, step.begin, dim, place)
        else:
            result.append(_length(step, dim))
    return tuple(result)


def _checked_index(call: Call, index: int, dim: Dim, place: int) -> None:
    high = dims.bounds(dim)[1]
    if high is not None and not -high <= index < high:
        raise call.refuse("HA519", f"begin = {index} along axis {place}, which shrinks; allowed: {-high} to {high - 1}.")


def _length(step: Step, dim: Dim) -> Dim:
    if isinstance(dim, Between):
        return Between(0, dim.high)
    return len(range(*slice(step.begin, step.end, step.stride).indices(dim)))


def index_of(found: Sequence[Step]) -> tuple[Any, ...]:
    """The NumPy index of steps."""
    return tuple(_index(step) for step in found)


def _index(step: Step) -> Any:
    if step.kind == "slice":
        return slice(step.begin, step.end, step.stride)
    return step.begin if step.kind == "shrink" else None


def sliced(call: Call) -> Shape:
    """What is left of x; before the lists are known, the rank by the masks, and sizes up to those of x."""
    x = call.shape("x")
    if all_known(call):
        found, axes = lists(call)
        return cut(call, x, laid_on(call, found, len(x), axes))
    length = dims.count(call.shape("begin")) if "begin" in call.inputs else len(call.ints("begin"))
    if not isinstance(length, int):
        raise Unknown("begin")
    if "axes" in call.operator.value_inputs and call.has("axes") and call.attrs.get("shrink_axis_mask"):
        raise Unknown("axes")
    if call.has("axes"):
        return tuple(runtime.up_to(dim) for dim in x)
    found = laid_on(call, [_masked(call, place) for place in range(length)], len(x), None)
    rest = iter(x)
    kept = [(step, 1 if step.kind == "new" else next(rest)) for step in found]
    return tuple(runtime.up_to(dim) if step.kind == "slice" else 1 for step, dim in kept if step.kind != "shrink")


def _masked(call: Call, place: int) -> Step:
    """The kind of a step, which the masks alone tell."""
    masks = [call.attrs.get(name) for name in MASKS]
    return _step(call, place, (0, 0, 1), masks)


def found_in(call: Call, rank: int, begin: Any, end: Any, strides: Any, axes: Any = None) -> list[Step]:
    """The steps, from values that are there now."""
    listed = [None if one is None else runtime.whole(one) for one in (begin, end, strides, axes)]
    return laid_on(call, steps(call, listed[0] or [], listed[1] or [], listed[2]), rank, listed[3])


@kernel("StridedSlice", "StridedSliceD", shape=sliced, values=("begin", "end", "strides"), bits=True, reads={"x": Reads.PARTS})
def strided_slice(x: Array, begin: Any, end: Any, strides: Any, call: Call) -> Array:
    """x[begin : end : stride] along each axis; negative numbers count from the end, and what lies outside is cut.

    A bit of begin_mask or end_mask takes the whole way to that end; ellipsis_mask stands for the axes left, new_axis_mask
    gives a dim of 1, shrink_axis_mask takes the one element at begin and drops the dim.
    """
    return x[index_of(found_in(call, x.ndim, begin, end, strides))]


@kernel("StridedSliceV2", "StridedSliceV3", shape=sliced, values=LISTS, bits=True, reads={"x": Reads.PARTS})
def strided_slice_v2(x: Array, begin: Any, end: Any, axes: Any, strides: Any, call: Call) -> Array:
    """StridedSlice where axes says which axes the lists are for (all others are taken whole) and strides may be left out."""
    return x[index_of(found_in(call, x.ndim, begin, end, strides, axes))]


def grown(call: Call) -> Shape:
    """The shape named; dy has that of its slice."""
    if "shape" not in call.attrs and not call.known("shape"):
        return unknown_sizes(call, "shape")
    shape = sizes(call, "shape")
    if all_known(call):
        found, axes = lists(call)
        _fits(call, "dy", cut(call, shape, laid_on(call, found, len(shape), axes)))
    return shape


def _fits(call: Call, name: str, part: Shape) -> None:
    given = call.shape(name)
    joined = broadcast_shapes(given, part)
    if joined is None or (dims.known(*joined, *part) and joined != part):
        raise call.refuse("HA504", f"{name} = {dims.text(given)}; the slice has {dims.text(part)}.")


@kernel("StridedSliceGrad", "StridedSliceGradD", shape=grown, values=("shape", "begin", "end", "strides"), bits=True)
def strided_slice_grad(shape: Any, begin: Any, end: Any, strides: Any, dy: Array, call: Call) -> Array:
    """Zeros of the shape with dy at the strided slice: the gradient of StridedSlice, masks as there."""
    result = np.zeros(runtime.whole(shape), dy.dtype)
    return written(call, result, dy, "dy", found_in(call, result.ndim, begin, end, strides))


def written(call: Call, var: Array, value: Array, name: str, found: Sequence[Step]) -> Array:
    """var (which is ours) with the value at a slice."""
    part = cut(call, var.shape, found)
    joined = broadcast_shapes(value.shape, part)
    if joined != part:
        raise call.refuse("HA504", f"{name} = {dims.text(value.shape)}; the slice has {dims.text(part)}.")
    var[index_of(found)] = value
    return var


def assigned(call: Call) -> Shape:
    """The shape of var; input_value has that of the slice, or broadcasts to it."""
    var = call.shape("var")
    if all_known(call):
        found, axes = lists(call)
        _fits(call, "input_value", cut(call, var, laid_on(call, found, len(var), axes)))
    return var


@kernel("StridedSliceAssign", "StridedSliceAssignD", shape=assigned, bits=True, reads={"var": Reads.NOTHING})
def strided_slice_assign(var: Array, begin: Any, end: Any, strides: Any, input_value: Array, call: Call) -> Array:
    """var with input_value (which broadcasts) at the strided slice, masks as for StridedSlice. In place."""
    return written(call, var.copy(), input_value, "input_value", found_in(call, var.ndim, begin, end, strides))


@kernel("StridedSliceAssignV2", shape=assigned, bits=True, reads={"var": Reads.NOTHING})
def strided_slice_assign_v2(
    var: Array, input_value: Array, begin: Any, end: Any, strides: Any, axes: Any, call: Call
) -> Array:
    """StridedSliceAssign where axes says which axes the lists are for. In place."""
    return written(call, var.copy(), input_value, "input_value", found_in(call, var.ndim, begin, end, strides, axes))
