"""Copies: whole tensors, strided views, the same bytes as another type, memory without content."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import as_strided
from numpy.typing import NDArray

from hostacl import _kernels
from hostacl.ops import dims
from hostacl.ops.axis_cuts import broadcast_cuts
from hostacl.ops.call import Call
from hostacl.ops.checking import fits
from hostacl.ops.dims import Shape
from hostacl.ops.reading import Reads
from hostacl.ops.registry import BOOL_TOO, kernel
from hostacl.ops.run import Out
from hostacl.ops.shapes import equal_dims, same_as, sizes, unknown_sizes
from hostacl.tensors import dtypes

Array = NDArray[Any]


@kernel("Identity", "TensorMove", cuts=broadcast_cuts(), shape=same_as("x"), bits=True, direct=lambda call: _kernels.copy)
def identity(x: Array) -> Array:
    """A copy of x. Input and output may have different storage formats."""
    return x


def assigned(call: Call) -> Shape:
    """The shape of value; that of ref too, unless validate_shape is false."""
    ref, value = call.shape("ref"), call.shape("value")
    if not call.attr("validate_shape"):
        return value
    told = f"value = {dims.text(value)}, ref = {dims.text(ref)}; they must be equal, or set validate_shape to false."
    if len(ref) != len(value):
        raise call.refuse("HA504", told)
    return tuple(equal_dims(call, one, other, told) for one, other in zip(ref, value, strict=True))


@kernel("Assign", shape=assigned, bits=True, reads={"ref": Reads.NOTHING})
def assign(value: Array) -> Array:
    """value, written into ref; with validate_shape false ref takes the shape of value."""
    return value


class View:
    """A strided view of a tensor's memory, in elements: sizes, strides and the first element's place."""

    def __init__(self, size: Sequence[int], stride: Sequence[int], offset: int) -> None:
        self.size, self.stride, self.offset = tuple(size), tuple(stride), offset

    @property
    def ends(self) -> tuple[int, int]:
        """The lowest and the highest element it touches."""
        reach = [(size - 1) * stride for size, stride in zip(self.size, self.stride, strict=True)]
        return self.offset + sum(one for one in reach if one < 0), self.offset + sum(one for one in reach if one > 0)

    def of(self, tensor: Array) -> Array:
        """The view of a contiguous tensor; it was checked to stay within."""
        flat = tensor.reshape(-1)
        start = flat[0 if 0 in self.size else self.offset :]
        steps = [stride * flat.itemsize if size > 1 and 0 not in self.size else 0  # which nobody takes
                 for size, stride in zip(self.size, self.stride, strict=True)]  # fmt: skip
        return as_strided(start, self.size, steps)


def view_of(size: Any, stride: Any, offset: Any) -> View:
    """The view that value inputs describe; a kernel of plain bits sees them as unsigned integers."""
    arrays = [np.asarray(one) for one in (size, stride, offset)]
    sizes_, strides, (first,) = (one.view(f"i{one.itemsize}").ravel().tolist() for one in arrays)
    return View(sizes_, strides, first)


VIEW = ("size", "stride", "storage_offset")
"""What describes a view; ViewCopy puts dst_ and src_ in front."""


def checked_view(call: Call, tensor: str, prefix: str = "") -> Shape:
    """The sizes of a view of a tensor; refuses one that leaves it, as soon as all values are known."""
    names = [prefix + one for one in VIEW]
    if not call.known(names[0]):
        return unknown_sizes(call, names[0])
    size = sizes(call, names[0])
    if call.known(*names):
        check_ends(call, tensor, names, View(size, call.ints(names[1]), call.scalar(names[2])))
    return size


def check_ends(call: Call, tensor: str, names: Sequence[str], view: View) -> None:
    """Refuses a view whose strides are not one for each size, or that reaches outside the tensor."""
    given = (list(view.size), list(view.stride), view.offset)
    told = ", ".join(f"{name} = {value}" for name, value in zip(names, given, strict=True))
    if len(view.stride) != len(view.size):
        raise call.refuse("HA519", f"{told}: {names[1]} must have one entry for each of {names[0]}.")
    count, (low, high) = dims.count(call.shape(tensor)), view.ends
    if 0 not in view.size and (low < 0 or (isinstance(count, int) and high >= count)):
        raise call.refuse("HA519", f"{told} reach from element {low} to {high}; {tensor} has {dims.text((count,))} elements.")


@kernel("AsStrided", shape=lambda call: checked_view(call, "x"), values=VIEW, bits=True, dtypes=BOOL_TOO,
        reads={"x": Reads.PARTS})  # fmt: skip
def as_strided_(x: Array, size: Any, stride: Any, storage_offset: Any) -> Array:
    """A copy of a strided view of x's memory, all in elements; strides may be 0 or negative, the view must stay within x."""
    return view_of(size, stride, storage_offset).of(np.ascontiguousarray(x))


def viewed(call: Call) -> Shape:
    """The shape of dst; the views must lie within their tensors and hold equally many elements."""
    target, source = checked_view(call, "dst", "dst_"), checked_view(call, "src", "src_")
    if dims.known(*target, *source) and dims.count(target) != dims.count(source):
        raise call.refuse("HA519", f"dst_size = {dims.text(target)}, src_size = {dims.text(source)} differ in elements.")
    whole, described = call.shape("dst"), call.outputs["dst"].specs
    return target if described and fits(described[0].shape, target) and not fits(described[0].shape, whole) else whole


VIEWS = [prefix + one for prefix in ("dst_", "src_") for one in VIEW]


BOTH_BOOL = dict.fromkeys(("dst", "src"), (dtypes.BOOL,))


@kernel("ViewCopy", shape=viewed, values=VIEWS, bits=True, updates=("dst",), dtypes=BOTH_BOOL,
        reads={"dst": Reads.NOTHING, "src": Reads.PARTS})  # fmt: skip
def view_copy(
    dst: Array,
    dst_size: Any,
    dst_stride: Any,
    dst_storage_offset: Any,
    src: Array,
    src_size: Any,
    src_stride: Any,
    src_storage_offset: Any,
    out: Sequence[Out],
) -> tuple[Array, Array]:
    """dst with a strided view of its memory overwritten by a view of src, which has as many elements; all in elements.

    The output is dst's memory; described as dst or, by torch-npu, as the view: the rest of that memory stays as it is.
    """
    result = np.array(dst, order="C")
    target = view_of(dst_size, dst_stride, dst_storage_offset).of(result)
    target[...] = view_of(src_size, src_stride, src_storage_offset).of(np.ascontiguousarray(src)).reshape(target.shape)
    shape = out[0].shape if out else dst.shape
    return result.reshape(-1)[: math.prod(shape)].reshape(shape), result


def cast_bits(call: Call) -> Shape:
    """The shape of x, its last dim changed by the ratio of the element sizes."""
    shape, code = call.shape("x"), call.attr("type")
    have, want = (dtypes.BY_CODE[one].bits // 8 if dtypes.has_arrays(one) else 0 for one in (call.dtype("x"), code))
    if want == 0:
        raise call.refuse("HA508", f"type = {code} ({dtypes.ge_name(code)}); allowed: a type with whole bytes.")
    if have == want:
        return shape
    if call.attrs.get("keep_dim"):
        return resized(call, shape, have, want)
    if have > want:
        return (*shape, have // want)
    if not shape or (isinstance(shape[-1], int) and shape[-1] != want // have):
        raise call.refuse("HA504", f"x = {dims.text(shape)}: the last dim must be {want // have} for {dtypes.ge_name(code)}.")
    return shape[:-1]


def resized(call: Call, shape: Shape, have: int, want: int) -> Shape:
    """The same rank with another last dim."""
    if not shape or (isinstance(shape[-1], int) and shape[-1] * have % want):
        raise call.refuse("HA504", f"x = {dims.text(shape)}: the last dim must be a multiple of {want // have}.")
    return (*shape[:-1], shape[-1] * have // want)


@kernel("Bitcast", shape=cast_bits, dtype={"y": lambda call: call.attr("type")}, dtype_attrs={}, bits=True)
def bitcast(x: Array, out: Any) -> Array:
    """The bytes of x as another type. Wider elements are split into a new last dim, narrower ones joined from the last dim.

    With keep_dim the rank stays and the last dim is multiplied or divided instead.
    """
    return np.ascontiguousarray(x).reshape(-1).view(dtypes.bit_type(out[0].code)).reshape(out[0].shape)


def empty_shape(call: Call) -> Shape:
    """The dims that ``shape`` gives."""
    return sizes(call, "shape") if call.known("shape") else unknown_sizes(call, "shape")


@kernel("Empty", shape=empty_shape, values=("shape",), attrs={"dtype": dtypes.INT32, "init": False})
def empty(shape: Array, init: bool, out: Any) -> Array | None:
    """A tensor of this shape; zeros with init, else its memory is left as it is."""
    wanted = tuple(int(size) for size in shape.ravel())
    return None if wanted == out[0].shape and not init else np.zeros(wanted, out[0].dtype)


@kernel("Cmo", shape=lambda call: [])
def cmo() -> tuple[()]:
    """Nothing: it moves memory into or out of a cache that a CPU manages by itself."""
    return ()
