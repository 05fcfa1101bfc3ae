"""Gradients of softmax and what is fused with it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hostacl.ops import dims
from hostacl.ops.call import Call
from hostacl.ops.dims import Shape
from hostacl.ops.parts import by_rows
from hostacl.ops.registry import kernel
from hostacl.ops.shapes import alike_inputs, broadcasts_to, checked_scalar_axes
from hostacl.ops.shapes import axes as checked_axes
from hostacl.tensors import dtypes

Array = NDArray[Any]


def rows_shape(call: Call, one: str, other: str, axes: str) -> Shape:
    """The shape of both tensors, once the axes are known to be theirs."""
    shape = alike_inputs(call, one, other)
    if shape:
        checked_axes(call, call.ints(axes), len(shape), axes)
    else:
        checked_scalar_axes(call, call.ints(axes), axes)
    return shape


def backward(y: Array, dy: Array) -> Array:
    """(dy - sum(dy·y))·y along each row, where y is a softmax."""
    return (dy - np.sum(dy * y, axis=1, keepdims=True)) * y


@kernel("SoftmaxGrad", shape=lambda call: rows_shape(call, "softmax", "grad_softmax", "axes"))
def softmax_grad(softmax: Array, grad_softmax: Array, axes: Sequence[int]) -> Array:
    """(grad - sum(grad·softmax))·softmax over the axes together; integers are cut off toward zero."""
    return by_rows(backward, axes, np.result_type(softmax.dtype, np.float32), softmax, grad_softmax)


@kernel("LogSoftmaxGrad", shape=lambda call: rows_shape(call, "grad", "x", "axis"))
def log_softmax_grad(grad: Array, x: Array, axis: Sequence[int]) -> Array:
    """grad - e^x·sum(grad) over the axes together, where x is the output of LogSoftmaxV2."""

    def rows(dy: Array, y: Array) -> Array:
        return dy - np.exp(y) * np.sum(dy, axis=1, keepdims=True)

    return by_rows(rows, axis, grad.dtype, grad, x)


def masked_shape(call: Call) -> Shape:
    """The shape of y_grad and y, of 2 dims or more; a mask broadcasts to it."""
    shape = alike_inputs(call, "y_grad", "y")
    if len(shape) < 2:
        raise call.refuse("HA516", f"y = {dims.text(shape)} has {len(shape)} dims; allowed: 2 or more.")
    if call.has("mask"):
        broadcasts_to(call, "mask", shape, "y")
    return shape


def masked_dtype(call: Call) -> tuple[int, ...]:
    """A half type gives itself, float32 either of them."""
    code = call.dtype("y")
    return (code,) if code in dtypes.HALVES else (dtypes.FLOAT16, dtypes.BF16)


@kernel("ScaledMaskedSoftmaxGrad", shape=masked_shape, dtype={"x_grad": masked_dtype})
def scaled_masked_softmax_grad(
    y_grad: Array, y: Array, mask: Array | None, scale: float, fixed_triu_mask: bool
) -> Array:
    """scale·(y_grad - sum(y_grad·y))·y along the last axis, and 0 where the mask is true.

    fixed_triu_mask masks what lies above the diagonal of the last two axes instead. float32 gives a half type.
    """
    grads = by_rows(lambda one, other: scale * backward(one, other), (-1,), np.float32, y, y_grad)
    masked = np.triu(np.ones(y.shape[-2:], bool), 1) if fixed_triu_mask else mask
    return grads if masked is None else np.where(masked != 0, np.float32(0), grads)


def dropped_shape(call: Call) -> Shape:
    """The shape of y_grad; the mask has a byte for each element."""
    shape = rows_shape(call, "y_grad", "softmax_output", "axes")
    size, given = dims.count(shape), dims.count(call.shape("mask"))
    if isinstance(size, int) and isinstance(given, int) and given < size:
        raise call.refuse("HA504", f"mask = {dims.text(call.shape('mask'))}; needed: {size} elements, one for each of y_grad.")
    if call.attr("input_keep_prob") == 0:
        raise call.refuse("HA508", "input_keep_prob = 0; allowed: above 0 up to 1, it divides.")
    return shape


@kernel("DropoutWithMulsAndSoftmaxGrad", shape=dropped_shape)
def dropout_with_muls_and_softmax_grad(
    y_grad: Array, mask: Array, softmax_output: Array, input_keep_prob: float, alpha: float, axes: Sequence[int]
) -> Array:
    """alpha·(g - sum(g·softmax))·softmax over the axes, where g is y_grad / input_keep_prob, and 0 where the mask is 0.

    The mask has one byte an element; more are not read.
    """
    kept = mask.ravel()[: y_grad.size].reshape(y_grad.shape)

    def rows(dy: Array, keep: Array, y: Array) -> Array:
        return alpha * backward(y, np.where(keep != 0, dy / input_keep_prob, 0))

    return by_rows(rows, axes, y_grad.dtype, y_grad, kept, softmax_output)
