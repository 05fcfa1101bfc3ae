"""Arithmetic with a shape of its own: biases, row ranges, blocks of channels, and gradients that broadcast back."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hostacl.config import settings
from hostacl.errors import Failed
from hostacl.ops import dims
from hostacl.ops.call import Call
from hostacl.ops.dims import Shape
from hostacl.ops.reduce import sum_over
from hostacl.ops.registry import kernel
from hostacl.ops.shapes import broadcast_inputs, equal_dims, rank_is
from hostacl.tensors import formats

Array = NDArray[Any]

CHANNEL_LAST = {"NHWC": True, "NDHWC": True, "NCHW": False, "NCDHW": False}


def channel_axis(call: Call, rank: int) -> int:
    """The axis of the channels that data_format names."""
    layout = call.attr("data_format")
    if layout not in CHANNEL_LAST:
        raise call.refuse("HA508", f"data_format = {layout!r}; allowed: {', '.join(CHANNEL_LAST)}.")
    if rank < 2:
        raise call.refuse("HA516", f"x = {dims.text(call.shape('x'))} has {rank} dims; allowed: 2 to 8.")
    return rank - 1 if CHANNEL_LAST[layout] else 1


def biased(call: Call) -> Shape:
    """The shape of x, whose channels are as many as the bias has elements."""
    shape, (length,) = call.shape("x"), rank_is(call, "bias", 1)
    place = channel_axis(call, len(shape))
    told = f"bias = {dims.text((length,))} for x = {dims.text(shape)}; allowed: an element for each channel (axis {place})."
    equal_dims(call, shape[place], length, told)
    return shape


@kernel("BiasAdd", shape=biased)
def bias_add(x: Array, bias: Array, data_format: str) -> Array:
    """x plus a bias for each channel: the last axis, or axis 1 when data_format is NCHW or NCDHW."""
    return x + (bias if CHANNEL_LAST[data_format] else bias.reshape(-1, *(1,) * (x.ndim - 2)))


def channels(call: Call) -> Shape:
    """As many elements as x has channels."""
    shape = call.shape("x")
    return (shape[channel_axis(call, len(shape))],)


@kernel("BiasAddGrad", shape=channels)
def bias_add_grad(x: Array, data_format: str) -> Array:
    """The sum of x for each channel. Integers wrap."""
    place = x.ndim - 1 if CHANNEL_LAST[data_format] else 1
    return np.asarray(sum_over(x, tuple(axis for axis in range(x.ndim) if axis != place), False))


def row_ranges(call: Call) -> Shape:
    """The shape of x: rows by columns; src has the columns, indices the rows and two columns."""
    x, src, indices = (rank_is(call, name, 2) for name in ("x", "src", "indices"))
    told = f"x = {dims.text(x)}, src = {dims.text(src)}, indices = {dims.text(indices)}; x and src must have equal columns"
    equal_dims(call, x[1], src[1], f"{told}.")
    equal_dims(call, x[0], indices[0], f"{told}, indices a row for each of x.")
    equal_dims(call, indices[1], 2, f"{told}, indices two columns.")
    return x


@kernel("AddRowRanges", shape=row_ranges)
def add_row_ranges(x: Array, src: Array, indices: Array) -> Array:
    """x with the sum of src's rows indices[r,0] to indices[r,1]-1 added to row r; an end not after the start adds nothing."""
    wrong = (indices < 0) | (indices > src.shape[0])
    if wrong.any():
        row, column = (int(one) for one in np.argwhere(wrong)[0])
        told = f"indices[{row},{column}] = {int(indices[row, column])}; allowed: 0 to {src.shape[0]}, the rows of src"
        raise Failed("HA510", f"AddRowRanges: {told}.")
    if x.size == 0:
        return x
    padded = np.concatenate([src, np.zeros((1, src.shape[1]), src.dtype)])
    sums = np.add.reduceat(padded, indices.ravel().astype(np.intp), axis=0, dtype=np.float64)[::2]
    return x + np.where(indices[:, 1:] > indices[:, :1], sums, 0)


def block(call: Call, name: str) -> int:
    """How much of axis 1 is one block: 1 of a tensor of 5 dims (N, C1, H, W, C0), C0 of one of 4 (N, C, H, W)."""
    spec = call.spec(name)
    if len(rank_is(call, name, 4, 5)) == 5:
        return 1
    blocks = formats.blocks_of(spec, settings().soc)
    return blocks.c0 if blocks else formats.block_size(spec.dtype, settings().soc)


def strided(call: Call) -> Shape:
    """The shape of x1 with c1_len blocks of channels; both inputs must hold that many after their offsets."""
    x1, x2, length = call.shape("x1"), call.shape("x2"), call.attr("c1_len")
    if length < 1:
        raise call.refuse("HA508", f"c1_len = {length}; allowed: 1 or more.")
    wanted = length * block(call, "x1")
    for name, shape in (("x1", x1), ("x2", x2)):
        offset = call.attr(f"{name}_c1_offset")
        size = block(call, name)
        if offset < 0 or (isinstance(shape[1], int) and (offset + length) * size > -(-shape[1] // size) * size):
            told = f"blocks {offset} to {offset + length - 1} of {size} channels are not all in {name} = {dims.text(shape)}"
            raise call.refuse("HA508", f"{name}_c1_offset = {offset}, c1_len = {length}: {told}.")
    told = f"x1 = {dims.text(x1)}, x2 = {dims.text(x2)} must be equal but for axis 1."
    if len(x1) != len(x2):
        raise call.refuse("HA504", told)
    rest = [equal_dims(call, a, b, told) for a, b in zip((x1[0], *x1[2:]), (x2[0], *x2[2:]), strict=True)]
    return (rest[0], wanted, *rest[1:])


def block_of(x: Array, out: Any, offset: int, length: int) -> Array:
    """Blocks of axis 1 from an offset on; channels beyond the last are 0."""
    size = out[0].shape[1] // length
    taken = x[:, offset * size : (offset + length) * size]
    missing = length * size - taken.shape[1]
    return np.pad(taken, [(0, 0), (0, missing)] + [(0, 0)] * (x.ndim - 2)) if missing else taken


@kernel("StrideAdd", shape=strided)
def stride_add(x1: Array, x2: Array, x1_c1_offset: int, x2_c1_offset: int, c1_len: int, out: Any) -> Array:
    """The sum of c1_len blocks of channels (axis C1 of NC1HWC0), from an offset on in each tensor.

    A tensor described by its 4 origin dims is counted in blocks of C0 channels; what the last block lacks is 0.
    """
    return block_of(x1, out, x1_c1_offset, c1_len) + block_of(x2, out, x2_c1_offset, c1_len)


def routed(call: Call) -> list[Shape]:
    """The shapes of x1 and x2; grads has the one they broadcast to."""
    grads, joined = call.shape("grads"), broadcast_inputs(call, "x1", "x2")
    if len(grads) != len(joined) or (dims.known(*grads, *joined) and grads != joined):
        raise call.refuse("HA504", f"grads = {dims.text(grads)}; x1 and x2 broadcast to {dims.text(joined)}. It must be that.")
    return [call.shape("x1"), call.shape("x2")]


def summed_to(x: Array, shape: tuple[int, ...]) -> Array:
    """x summed over the axes along which ``shape`` was broadcast."""
    lead = x.ndim - len(shape)
    axes = (*range(lead), *(lead + place for place, size in enumerate(shape) if size == 1 and x.shape[lead + place] != 1))
    return np.asarray(sum_over(x, axes, False)).reshape(shape) if axes else x


def routing(op_type: str, wins: Any, sign: str) -> Callable[..., Any]:
    """Declares the gradient of Maximum or Minimum."""

    def run(grads: Array, x1: Array, x2: Array, grad_x: bool, grad_y: bool) -> tuple[Array, Array]:
        first, none = wins(x1, x2), grads.dtype.type(0)
        y1 = summed_to(np.where(first, grads, none), x1.shape) if grad_x else np.zeros_like(x1)
        return y1, summed_to(np.where(first, none, grads), x2.shape) if grad_y else np.zeros_like(x2)

    run.__doc__ = f"""grads where x1 {sign} x2, else 0, as y1; the rest as y2, NaN too; summed where x1 or x2 broadcast.

    An output whose flag grad_x or grad_y is false is 0.
    """
    return kernel(op_type, shape=routed)(run)


maximum_grad = routing("MaximumGrad", np.greater_equal, ">=")
minimum_grad = routing("MinimumGrad", np.less_equal, "<=")
