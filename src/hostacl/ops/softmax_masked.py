"""Logarithm of softmax, and softmax with masks and biases."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hostacl import _kernels
from hostacl.config import settings
from hostacl.ops import dims
from hostacl.ops.call import Call
from hostacl.ops.declare import codes
from hostacl.ops.dims import Shape
from hostacl.ops.dropout import BITS, keep, mask_bytes
from hostacl.ops.pooling import tiles
from hostacl.ops.registry import kernel
from hostacl.ops.shapes import axes as checked_axes
from hostacl.ops.shapes import broadcast_shapes, rank_is
from hostacl.ops.softmax import log_exp_sum, softmax_v2
from hostacl.tensors import dtypes

Array = NDArray[Any]

MASKED = -10000.0
"""What a masked score becomes: far below all others, so that a row that is masked whole stays finite."""


def log_softmax_shape(call: Call) -> Shape:
    """The shape of logits, once the axes are known to be its axes."""
    shape = call.shape("logits")
    checked_axes(call, call.ints("axes"), len(shape))
    return shape


def direct_log_softmax(call: Call) -> Any:
    """The native rows, when the last axis is the only one."""
    rank, (code, _) = call.rank("logits"), codes(call)
    last = rank > 0 and [axis % rank for axis in call.ints("axes")] == [rank - 1]
    return _kernels.log_softmax if last and code in dtypes.FLOATS - {dtypes.DOUBLE} and not settings().saturate else None


@kernel("LogSoftmaxV2", shape=log_softmax_shape, direct=direct_log_softmax)
def log_softmax_v2(logits: Array, axes: Sequence[int]) -> Array:
    """x - max - log Σ e^(x - max) over the axes together; NaN where one of them is NaN or +Inf."""
    over = tuple(axes) if logits.ndim else ()
    if logits.size == 0:
        return logits
    shifted = logits - np.max(logits, axis=over, keepdims=True)
    return shifted - log_exp_sum(shifted, over)


def masked_shape(call: Call) -> Shape:
    """The shape of x; the mask broadcasts to it."""
    x = call.shape("x")
    if not x:
        raise call.refuse("HA516", "x is a scalar; allowed: 1 or more dims.")
    if call.attr("fixed_triu_mask"):
        rank_is(call, "x", *range(2, 9))
    elif not call.has("mask"):
        raise call.refuse("HA513", "mask is required unless fixed_triu_mask is true.")
    else:
        check_broadcast(call, "mask", x)
    return x


def check_broadcast(call: Call, name: str, x: Shape) -> None:
    """Refuses an input that does not broadcast to x."""
    joined = broadcast_shapes(x, call.shape(name))
    if joined is None or len(joined) != len(x) or (dims.known(*joined, *x) and joined != x):
        raise call.refuse("HA504", f"{name} = {dims.text(call.shape(name))} does not broadcast to {dims.text(x)}.")


def masked_dtype(call: Call) -> tuple[int, ...]:
    """A half type gives itself, float32 either of them."""
    code = call.dtype("x")
    return (code,) if code in dtypes.HALVES else (dtypes.FLOAT16, dtypes.BF16)


@kernel("ScaledMaskedSoftmax", shape=masked_shape, dtype={"y": masked_dtype})
def scaled_masked_softmax(x: Array, mask: Array | None, scale: float, fixed_triu_mask: bool) -> Array:
    """softmax(x·scale) over the last axis, masked scores taken as -10000 (a row masked whole is uniform).

    mask is true where a score is left out and broadcasts to x; with fixed_triu_mask all right of the diagonal is.
    """
    hidden: Any = mask
    if fixed_triu_mask or mask is None:
        hidden = np.triu(np.ones(x.shape[-2:], bool), 1)
    hidden = np.broadcast_to(np.asarray(hidden) != 0, x.shape)
    y = np.empty(x.shape, np.float32)
    for part in tiles(x):
        y[part] = softmax_v2(np.where(hidden[part], np.float32(MASKED), x[part] * np.float32(scale)), [-1])
    return y


def biased_shape(call: Call) -> Shape:
    """The shape of x; mask and bias broadcast to it, (W, S, S) over the heads of (B, W, N, S, S)."""
    x = rank_is(call, "x", 4, 5)
    for name in ("atten_mask", "relative_pos_bias"):
        if call.has(name):
            shape = call.shape(name)
            if aligned_shape(x, shape, name == "atten_mask") is None:
                raise call.refuse("HA504", f"{name} = {dims.text(shape)} does not fit x = {dims.text(x)}.")
    return x


def aligned_shape(x: Shape, shape: Shape, windows: bool) -> Shape | None:
    """How a mask or bias lies against x, or None: as it is, or with a head axis put in for a mask of windows alone."""
    tries = [shape]
    if windows and len(shape) == 3 and len(x) == 5:
        tries.insert(0, (shape[0], 1, *shape[1:]))
    for one in tries:
        joined = broadcast_shapes(x, one)
        if joined is not None and len(joined) == len(x) and (not dims.known(*joined, *x) or joined == x):
            return one
    return None


@kernel("MaskedSoftmaxWithRelPosBias", shape=biased_shape)
def masked_softmax_with_rel_pos_bias(
    x: Array, atten_mask: Array | None, relative_pos_bias: Array, scale_value: float
) -> Array:  # fmt: skip
    """softmax(x·scale_value + atten_mask + relative_pos_bias) over the last axis.

    x is (B, W, N, S, S) or (B, N, S, S); the mask (W, S, S) is the same for all heads, the bias (N, S, S) for all windows.
    Every inner_precision_mode is computed in float32.
    """
    total = x * x.dtype.type(scale_value)
    for one, windows in ((atten_mask, True), (relative_pos_bias, False)):
        if one is not None:
            shape: Any = aligned_shape(x.shape, one.shape, windows)
            total = total + one.reshape(shape)
    return softmax_v2(total, [-1])


def axpy_softmax_shape(call: Call) -> list[Shape]:
    """Both results as x1; x2 has its shape, the mask enough bits."""
    x, other = call.shape("x1"), call.shape("x2")
    if dims.known(*x, *other) and x != other:
        raise call.refuse("HA504", f"x1 = {dims.text(x)}, x2 = {dims.text(other)}; they must have one shape.")
    if not 0 < call.attr("input_keep_prob") <= 1:
        raise call.refuse("HA508", f"input_keep_prob = {call.attr('input_keep_prob')}; allowed: above 0, up to 1.")
    checked_axes(call, call.ints("axis"), len(x))
    size, given = dims.count(x), dims.count(call.shape("mask"))
    if isinstance(size, int) and isinstance(given, int) and given < mask_bytes(size):
        told = f"mask = {dims.text(call.shape('mask'))} for x1 = {dims.text(x)}; needed: {mask_bytes(size)} bytes"
        raise call.refuse("HA504", f"{told}, one bit an element rounded up to {BITS} bits.")
    return [x, x]


@kernel("AxpyWithSoftmaxAndDropOutDoMask", shape=axpy_softmax_shape)
def axpy_with_softmax_and_drop_out_do_mask(
    x1: Array, x2: Array, mask: Array, alpha: float, input_keep_prob: float, axis: Sequence[int]
) -> tuple[Array, Array]:  # fmt: skip
    """softmax(x1 + alpha·x2) over the axes together, and that over input_keep_prob where the mask's bit is 1, else 0.

    The mask is that of DropOutDoMask: the first element in the lowest bit of the first byte.
    """
    y = softmax_v2(x1 + x1.dtype.type(alpha) * x2, list(axis))
    kept = np.unpackbits(np.ascontiguousarray(mask).ravel()[: -(-x1.size // 8)], bitorder="little")
    return y, keep(y, kept != 0, input_keep_prob)


def dropped_shape(call: Call) -> list[Shape]:
    """Both results as x; the mask has an element for each of x."""
    x = call.shape("x")
    checked_axes(call, call.ints("axes"), len(x))
    if not 0 < call.attr("keep_prob") <= 1:
        raise call.refuse("HA508", f"keep_prob = {call.attr('keep_prob')}; allowed: above 0, up to 1.")
    size, given = dims.count(x), dims.count(call.shape("mask"))
    if isinstance(size, int) and isinstance(given, int) and given < size:
        told = f"mask = {dims.text(call.shape('mask'))} for x = {dims.text(x)}; needed: {size} elements, one for each."
        raise call.refuse("HA504", told)
    return [x, x]


@kernel("SoftmaxV2WithDropOutDoMaskV3D", shape=dropped_shape)
def softmax_v2_with_drop_out_do_mask_v3_d(
    x: Array, mask: Array, keep_prob: float, axes: Sequence[int]
) -> tuple[Array, Array]:  # fmt: skip
    """softmax(x) over the axes together, and that over keep_prob where the mask is not 0, else 0; one byte an element."""
    y = softmax_v2(x, list(axes))
    return y, keep(y, mask.ravel() != 0, keep_prob)
