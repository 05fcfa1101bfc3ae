"""Operators that fill, scatter or select by a mask or a set of positions."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from hostacl import _kernels
from hostacl.errors import Failed
from hostacl.ops import dims, runtime
from hostacl.ops.call import Call
from hostacl.ops.coordinates import coordinates_of, not_zero
from hostacl.ops.dims import Between, Dim, Shape
from hostacl.ops.reading import Reads
from hostacl.ops.registry import kernel
from hostacl.ops.shapes import axis as checked_axis
from hostacl.ops.shapes import broadcast_inputs, broadcast_shapes, equal_dims, one_element, rank_is
from hostacl.tensors import dtypes

Array = NDArray[Any]


def masked(call: Call) -> Shape:
    """The shape that x and mask broadcast to; the value is one element."""
    one_element(call, "value")
    return broadcast_inputs(call, "x", "mask")


@kernel("MaskedFill", shape=masked, bits=True, direct=lambda call: native_fill, reads={"x": Reads.PARTS})
def masked_fill(x: Array, mask: Array, value: Array) -> Array:
    """x with the value where the mask holds; x and mask broadcast."""
    return np.where(mask, value.reshape(()), x)


def native_fill(x: Array, mask: Array, value: Array, y: Array) -> None:
    """The same by the native loop."""
    _kernels.select(mask, value.reshape(()), x, y if y.ndim else y.reshape(1))  # y may be a scalar where x or mask is [1]


def ranges(call: Call) -> Shape:
    """The shape of x; start, end and value have one length, or value is one element."""
    x = rank_is(call, "x", *range(1, 9))
    checked_axis(call, call.attr("axis"), len(x))
    lengths = {name: dims.count(call.shape(name)) for name in ("start", "end", "value")}
    told = ", ".join(f"{name} = {dims.text(call.shape(name))}" for name in lengths)
    equal_dims(call, lengths["start"], lengths["end"], f"{told}: start and end must have equally many elements.")
    if lengths["value"] != 1:
        equal_dims(call, lengths["start"], lengths["value"], f"{told}: one value for all ranges, or one for each.")
    return x


@kernel("MaskedFillRange", shape=ranges, bits=True)
def masked_fill_range(x: Array, start: Array, end: Array, value: Array, axis: int) -> Array:
    """x with value[i] from position start[i] to end[i]-1 of the axis, for one range after the other; one value is for all.

    Positions outside the axis are left out; a range that ends before it starts is empty.
    """
    owner = last_range(start.reshape(-1), end.reshape(-1), x.shape[axis])
    along = [1] * x.ndim
    along[axis] = -1
    if start.size == 0:
        return x
    filling = np.broadcast_to(value.reshape(-1), start.size)[owner]
    return np.where((owner >= 0).reshape(along), filling.reshape(along), x)


def last_range(start: Array, end: Array, size: int) -> Array:
    """The number of the last range that covers each of ``size`` positions, -1 where none does."""
    owner, place = np.full(size, -1), np.arange(size)
    step = max((1 << 20) // max(size, 1), 1)
    for first in range(0, start.size, step):
        covers = (start[first : first + step, None] <= place) & (place < end[first : first + step, None])
        last = first + len(covers) - 1 - np.argmax(covers[::-1], axis=0)
        owner = np.where(covers.any(axis=0), last, owner)
    return owner


def mask_over(call: Call) -> Shape:
    """The shape of x; the mask broadcasts to it."""
    x, mask = call.shape("x"), call.shape("mask")
    joined = broadcast_shapes(x, mask)
    if joined is None or (dims.known(*joined, *x) and joined != x):
        raise call.refuse("HA504", f"mask = {dims.text(mask)} does not broadcast to x = {dims.text(x)}.")
    return x


@kernel("MaskedScatter", shape=mask_over, bits=True)
def masked_scatter(x: Array, mask: Array, updates: Array, call: Call) -> Array:
    """x with the elements of updates, in order, where the mask (which broadcasts to x) holds; what is left over is not used."""
    where = np.broadcast_to(mask, x.shape)
    count = int(np.count_nonzero(where))
    if updates.size < count:
        told = f"updates has {updates.size} elements; mask holds at {count} places: it needs as many."
        raise Failed("HA510", f"{call.op_type}: {told}")
    result = x.copy()
    result[where] = updates.reshape(-1)[:count]
    return result


def selected(call: Call) -> Shape:
    """As many elements as the mask holds at: up to all of the shape that x and mask broadcast to."""
    return (runtime.up_to(dims.count(broadcast_inputs(call, "x", "mask"))),)


@kernel("MaskedSelect", shape=selected, bits=True, reads={"x": Reads.PARTS})
def masked_select(x: Array, mask: Array) -> Array:
    """The elements of x where the mask holds, in row-major order; both broadcast."""
    whole, where = np.broadcast_arrays(x, mask)
    return np.take(whole.reshape(-1), np.flatnonzero(where))


@kernel("MaskedSelectV2", shape=selected, bits=True, reads={"x": Reads.PARTS})
def masked_select_v2(x: Array, mask: Array) -> Array:
    """The elements of x where the mask holds, in row-major order; both broadcast."""
    return masked_select(x, mask)


def assisted(call: Call) -> Shape:
    """The shape that x and both assist tensors broadcast to, which is that of x."""
    x = call.shape("x")
    checked_axis(call, call.attr("dim"), len(x), "dim")
    joined = broadcast_inputs(call, "x", "assist1", "assist2")
    if len(joined) != len(x) or (dims.known(*joined, *x) and joined != x):
        raise call.refuse("HA504", f"assist1 and assist2 must broadcast to x = {dims.text(x)}.")
    return x


@kernel("IndexFillD", shape=assisted)
def index_fill_d(x: Array, assist1: Array, assist2: Array) -> Array:
    """x * assist1 + assist2; where assist1 is 0 it is assist2 alone, even when x is infinite or NaN.

    assist1 is 0 and assist2 the value at the slices to fill; elsewhere they are 1 and 0.
    """
    return np.where(assist1 == 0, assist2, x * assist1 + assist2)


def one_hot_shape(call: Call) -> Shape:
    """The dims of x and a new one of depth at the axis (-1: the last)."""
    x = call.shape("x")
    one_element(call, "on_value", "off_value")
    axis = call.attr("axis")
    if len(x) == 8:
        raise call.refuse("HA516", f"x = {dims.text(x)} has 8 dims; allowed: up to 7, for the result has one more.")
    place = checked_axis(call, axis, len(x) + 1)
    depth: Dim = Between(0, None)
    if "depth" in call.attrs or call.known("depth"):
        depth = call.scalar("depth")
        if depth < 0:
            raise call.refuse("HA508" if "depth" in call.attrs else "HA519", f"depth = {depth}; allowed: 0 or more.")
    return (*x[:place], depth, *x[place:])


def direct_one_hot(call: Call) -> Any:
    """The classes written straight into an output whose last axis is the new one, once depth is known."""
    if "depth" in call.attrs or not call.known("depth") or call.attr("axis") not in (-1, call.rank("x")):
        return None
    bits = dtypes.bit_type(call.dtype("on_value"))

    def run(x: Array, depth: Array, on_value: Array, off_value: Array, y: Array) -> None:
        on, off = on_value.view(bits).reshape(()).copy(), off_value.view(bits).reshape(()).copy()
        mark_classes(x.reshape(-1).copy() if np.may_share_memory(x, y) else x.reshape(-1), y.view(bits), on, off)

    return run


def mark_classes(classes: Array, out: Array, on: Array, off: Array) -> None:
    """off everywhere, and on in each row at its class, where it has one."""
    size = out.shape[-1]
    out.fill(off[()])
    if size == 0 or classes.size == 0:
        return
    places = np.arange(0, out.size, size)
    if int(classes.min()) >= 0 and int(classes.max()) < size:
        places += classes
    else:
        inside = (classes >= 0) & (classes < size)
        places = places[inside] + classes[inside].astype(np.int64)
    out.reshape(-1)[places] = on


@kernel("OneHot", "OneHotD", shape=one_hot_shape, values=("depth",), mixed=("x",), bits=True, direct=direct_one_hot)
def one_hot(x: Array, depth: Any, on_value: Array, off_value: Array, axis: int) -> Array:
    """on_value at position x of a new axis of depth, else off_value; off_value alone where x is negative or not below depth."""
    result = np.empty((*x.shape, runtime.one(depth)), on_value.dtype)
    mark_classes(x.reshape(-1), result, on_value.reshape(()), off_value.reshape(()))
    return np.moveaxis(result, -1, axis)


def vector_mask(call: Call) -> Shape:
    """Coordinates of what is not 0."""
    x = call.shape("x")
    return (runtime.up_to(dims.count(x)), len(x))


@kernel("Where", shape=vector_mask, bits=True)
def where(x: Array, call: Call) -> Array:
    """Coordinates of the elements that are not 0 (NaN is not), in row-major order."""
    return coordinates_of(not_zero(x, call.dtype("x")))


def permutation_shape(call: Call) -> Shape:
    """The shape of x, a vector."""
    return rank_is(call, "x", 1)


@kernel("InvertPermutation", shape=permutation_shape)
def invert_permutation(x: Array, call: Call) -> Array:
    """y with y[x[i]] = i. What is no permutation of 0 to n-1 fails."""
    if not np.array_equal(np.sort(x), np.arange(x.size)):
        raise Failed("HA510", f"{call.op_type}: x is no permutation of 0 to {x.size - 1}.")
    result = np.empty_like(x)
    result[x] = np.arange(x.size)
    return result
