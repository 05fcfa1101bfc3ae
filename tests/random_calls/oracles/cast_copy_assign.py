"""Casts and copies."""

from __future__ import annotations

from typing import Any

import numpy as np

from hostacl.tensors import dtypes
from random_calls import values
from random_calls.dice import Dice
from random_calls.oracle import Any_, oracle, shapes
from random_calls.oracles import small_floats


@shapes("Cast")
def casting(d: Dice) -> None:
    """One tensor, and any type of the prototype as the target."""
    shape = d.shape()
    d.tensor("x", shape)
    target = int(d.choose(*(code for code in d.prototype.outputs[0].dtypes if dtypes.has_arrays(code))))
    if d.kind in {"in place", "partial overlap"}:
        target = d.dtype if d.dtype in d.prototype.outputs[0].allowed else target
    d.attr("dst_type", target)
    d.output("y", target)


@oracle("Cast")
def cast(x: Any, dst_type: int, dice: Dice) -> Any:
    if dice.dtype in dtypes.SMALL_FLOATS:
        if dst_type == dice.dtype:
            return x
        x = small_floats.decoded(x, dice.dtype)
    if values.is_complex(dst_type):
        return x.astype(np.complex128)
    if dst_type == dtypes.BOOL:
        return np.asarray(x != 0).astype(bool)
    x = x.real if np.iscomplexobj(x) else x
    if dst_type in dtypes.SMALL_FLOATS:
        return Any_(x.shape, lambda got: small_floats.same(got, x.astype(np.float64), dst_type))
    if values.is_int(dst_type) and x.dtype == np.float64:
        return _toward_zero(x, dst_type)
    return x.astype(object) if x.dtype == bool else x


def _toward_zero(x: Any, code: int) -> Any:
    """Floats as integers: truncated, NaN 0, out of range the nearest bound (our choice)."""
    info = np.iinfo(values.logical(code))
    whole = [0 if one != one else int(max(min(one, 2.0**70), -(2.0**70))) for one in x.ravel().tolist()]  # noqa: PLR0124
    result = np.empty(len(whole), object)
    result[:] = [min(max(one, int(info.min)), int(info.max)) for one in whole]
    return result.reshape(x.shape)


@oracle("Identity")
def identity(x: Any) -> Any:
    return x


@shapes("AsStrided")
def striding(d: Dice) -> None:
    """A tensor, and sizes and strides that stay within it."""
    shape = d.shape(1, empty=False)
    d.tensor("x", shape)
    room = int(np.prod(shape)) - 1
    offset = d.int(0, min(room, 3))
    rank = 8 if d.kind == "8-d" else d.int(1, 3)
    sizes, strides, left = [], [], room - offset
    for _ in range(rank):
        stride = d.int(0, 3)
        size = d.int(1, min(4, 1 + (left // stride if stride else 3)))
        left -= (size - 1) * stride
        sizes.append(size)
        strides.append(stride)
    if d.wants("empty"):
        sizes[0] = 0
    for name, numbers in (("size", sizes), ("stride", strides), ("storage_offset", d.choose([offset], offset))):
        d.value(name, np.array(numbers, np.int64))


@oracle("AsStrided")
def as_strided(x: Any, size: Any, stride: Any, storage_offset: Any) -> Any:
    flat, result = x.ravel(), np.empty([int(one) for one in size], x.dtype)
    start = int(np.asarray(storage_offset).ravel()[0])
    for place in np.ndindex(result.shape):
        result[place] = flat[start + sum(int(step) * index for step, index in zip(stride, place, strict=True))]
    return result


@oracle("TensorMove")
def tensor_move(x: Any) -> Any:
    return x


@shapes("Assign")
def assigning(d: Dice) -> None:
    """A tensor and what is written into it."""
    shape = d.shape()
    d.tensor("ref", shape)
    d.tensor("value", shape)
    d.attr("use_locking", True)


@oracle("Assign")
def assign(value: Any) -> Any:
    return value


@shapes("Empty")
def emptying(d: Dice) -> None:
    """A shape, a type, and zeros or nothing."""
    d.value("shape", np.array(d.shape(), np.int32))
    target = int(d.choose(*d.prototype.outputs[0].dtypes))
    d.attrs["dtype"] = ("int", target)
    d.output("y", target)
    zeros = d.chance()
    d.attrs["init"], d.values["init"] = ("bool", zeros), zeros


@oracle("Empty")
def empty(shape: Any, init: bool) -> Any:
    wanted = tuple(int(size) for size in shape)
    return Any_(wanted, lambda got: not init or not got.any())


@shapes("ViewCopy")
def view_copying(d: Dice) -> None:
    """Two tensors and a view of each, of one shape, that does not write an element twice."""
    sizes = [1] if d.wants("one element") else [d.int(1, 3) for _ in range(d.int(1, 3))]
    if d.wants("long"):
        sizes = [150]
    if d.wants("8-d"):
        sizes = [d.int(1, 2) for _ in range(8)]
    if d.wants("empty"):
        sizes[0] = 0
    for prefix in ("dst_", "src_"):
        strides, step = [0] * len(sizes), d.int(1, 2)
        for place in d.rng.permutation(len(sizes)).tolist():
            strides[place] = step
            step *= max(sizes[place], 1)
        offset = d.int(0, 2)
        d.tensor(prefix[:3], (step + offset + d.int(0, 2),))
        for name, numbers in (("size", sizes), ("stride", strides), ("storage_offset", [offset])):
            d.value(prefix + name, np.array(numbers, np.int64))


@oracle("ViewCopy")
def view_copy(
    dst: Any, dst_size: Any, dst_stride: Any, dst_storage_offset: Any, src: Any, src_stride: Any, src_storage_offset: Any
) -> Any:
    result = dst.copy()
    for place in np.ndindex(*(int(one) for one in dst_size)):
        at, source = (
            int(start[0]) + sum(int(step) * index for step, index in zip(strides, place, strict=True))
            for start, strides in ((dst_storage_offset, dst_stride), (src_storage_offset, src_stride))
        )
        result[at] = src[source]
    return result, result


@shapes("Bitcast")
def reinterpreting(d: Dice) -> None:
    """A tensor and a type of another width."""
    targets = [code for code in d.prototype.outputs[0].dtypes if code != dtypes.BOOL]
    target = d.dtype if d.kind in {"in place", "partial overlap", "8-d"} else int(d.choose(*targets))
    have, want = dtypes.BY_CODE[d.dtype].bits, dtypes.BY_CODE[target].bits
    keep = bool(d.attr("keep_dim", True, False)) and have != want
    shape = d.shape(1 if want > have or keep else 0, 8 if want >= have or keep else 7)
    if want > have:
        shape = (*shape[:-1], want // have)
    bytes_ = d.tensor("x", shape).tobytes()
    if keep:
        out = (*shape[:-1], shape[-1] * have // want)
    else:
        out = shape if want == have else (*shape, have // want) if want < have else shape[:-1]
    d.attrs["type"], d.values["type"] = ("data_type", target), (bytes_, out)
    d.output("y", target)


@oracle("Bitcast")
def bitcast(type: Any) -> Any:
    wanted, shape = type
    return Any_(shape, lambda got: got.tobytes() == wanted)


@shapes("Cmo")
def prefetching(d: Dice) -> None:
    """A tensor and how much of it."""
    d.tensor("src", d.shape())
    d.attr("max_size", 64)


@oracle("Cmo")
def cmo() -> Any:
    return ()
