"""Copies: whole tensors, strided views, the same bytes as another type, memory without content."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import as_strided
from numpy.typing import NDArray

from hostacl import _kernels
from hostacl.ops import dims
from hostacl.ops.call import Call, Unknown
from hostacl.ops.dims import Between, Dim, Shape
from hostacl.ops.fill import unknown_sizes
from hostacl.ops.registry import kernel
from hostacl.ops.shapes import equal_dims, same_as, sizes
from hostacl.tensors import dtypes

Array = NDArray[Any]


@kernel("Identity", "TensorMove", shape=same_as("x"), bits=True, direct=lambda call: _kernels.copy)
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


@kernel("Assign", shape=assigned, bits=True)
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

    def of(self, flat: Array) -> Array:
        """The view of a flat array."""
        step = flat.itemsize
        empty = 0 in self.size
        return as_strided(flat[0 if empty else self.offset :], self.size, [stride * step for stride in self.stride])


def signed(values: Any) -> list[int]:
    """The integers of a value input, which a kernel of plain bits sees as unsigned ones."""
    array = np.asarray(values)
    return [int(one) for one in array.view(f"i{array.itemsize}").ravel()]


def checked_view(call: Call, tensor: str, prefix: str = "", offset: str = "storage_offset") -> Shape:
    """The sizes of a view whose descriptors start with ``prefix``; refuses one that leaves the tensor, if its values are known."""
    names = [f"{prefix}size", f"{prefix}stride", f"{prefix}{offset}"]
    if not call.known(names[0]):
        return unknown_sizes(call, names[0])
    size = sizes(call, names[0])
    if not call.known(*names):
        return size
    stride, start = call.ints(names[1]), call.scalar(names[2])
    if len(stride) != len(size):
        raise call.refuse("HA519", f"{names[1]} = {list(stride)} has {len(stride)} entries, {names[0]} = {list(size)} {len(size)}.")
    low, high = View(size, stride, start).ends
    count = dims.count(call.shape(tensor))
    if 0 not in size and (low < 0 or (isinstance(count, int) and high >= count)):
        told = f"{names[0]} = {list(size)}, {names[1]} = {list(stride)}, {names[2]} = {start}"
        raise call.refuse("HA519", f"{told} reach from element {low} to {high}; {tensor} has {dims.text((count,))} elements.")
    return size


def bounded(shape: Shape) -> Shape:
    """The same shape; it is what a value rule answers."""
    return shape


@kernel("AsStrided", shape=lambda call: checked_view(call, "x"), values=("size", "stride", "storage_offset"), bits=True)
def as_strided_copy(x: Array, size: Any, stride: Any, storage_offset: Any) -> Array:
    """A strided view of the memory of x, in elements, copied; strides may be 0 or negative, the view must stay within x."""
    view = View(signed(size), signed(stride), signed(storage_offset)[0])
    return view.of(np.ascontiguousarray(x).reshape(-1))


VIEW = ("size", "stride", "storage_offset")


def viewed(call: Call) -> Shape:
    """The shape of dst; both views must lie within their tensors and hold as many elements."""
    target, source = checked_view(call, "dst", "dst_"), checked_view(call, "src", "src_")
    if dims.known(*target, *source) and dims.count(target) != dims.count(source):
        raise call.refuse("HA519", f"dst_size = {dims.text(target)}, src_size = {dims.text(source)} differ in elements.")
    return call.shape("dst")
