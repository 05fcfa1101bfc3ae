"""Rotary position embedding: pairs of elements of the last axis turned by an angle."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from hostacl.ops import dims
from hostacl.ops.call import Call
from hostacl.ops.dims import Shape
from hostacl.ops.parts import by_parts
from hostacl.ops.registry import kernel
from hostacl.ops.shapes import alike_inputs, broadcasts_to

Array = NDArray[Any]


def rotated_shape(call: Call, x: str, *angles: str) -> Shape:
    """The shape of x, whose last dim is even; the angles broadcast to it."""
    shape = call.shape(x)
    if not shape:
        raise call.refuse("HA516", f"{x} is a scalar; allowed: 1 dim or more.")
    if isinstance(shape[-1], int) and shape[-1] % 2:
        raise call.refuse("HA504", f"{x} = {dims.text(shape)}; its last dim must be even, it holds two halves.")
    for name in angles:
        broadcasts_to(call, name, shape, x)
    return shape


def turned(x: Array) -> Array:
    """The second half of the last axis negated, then the first."""
    first, second = np.split(x, 2, axis=-1)
    return np.concatenate([-second, first], axis=-1)


def turned_back(x: Array) -> Array:
    """The adjoint: the second half of the last axis, then the first negated."""
    first, second = np.split(x, 2, axis=-1)
    return np.concatenate([second, -first], axis=-1)


@kernel("RotaryMul", shape=lambda call: rotated_shape(call, "x", "r1", "r2"))
def rotary_mul(x: Array, r1: Array, r2: Array) -> Array:
    """x·r1 + turned x·r2, turned x being the second half of the last axis negated, then the first; r1 and r2 broadcast."""
    return by_parts(two_products, x.dtype, x, r1, turned(x), r2)


def two_products(a: Array, b: Array, c: Array, d: Array) -> Array:
    """a·b + c·d."""
    return a * b + c * d


def halves_swapped(x: Array) -> Array:
    """The second half of the last axis, then the first; one element stays."""
    return np.roll(x, x.shape[-1] // 2, axis=-1)


def gradient_shape(call: Call) -> list[Shape]:
    """Each gradient as its tensor."""
    alike_inputs(call, "x", "dy")
    return [rotated_shape(call, "x", "r1", "r2"), call.shape("r1"), call.shape("r2")]


def summed_to(dy: Array, x: Array, shape: tuple[int, ...]) -> Array:
    """dy·x added up over the axes along which a tensor of this shape was broadcast."""
    grads = by_parts(lambda one, other: one * other, np.float64, dy, x)
    lead = grads.ndim - len(shape)
    ones = tuple(lead + axis for axis, size in enumerate(shape) if size == 1 and grads.shape[lead + axis] != 1)
    total = np.sum(grads, axis=(*range(lead), *ones), keepdims=True, dtype=np.float64)
    return total.reshape(shape)


@kernel("RotaryMulGrad", shape=gradient_shape, attrs={"need_backward": True})
def rotary_mul_grad(x: Array, r1: Array, r2: Array, dy: Array, need_backward: bool) -> tuple[Any, ...]:
    """The gradients of RotaryMul; those of r1 and r2 are added up where they were broadcast.

    need_backward false leaves dr1 and dr2 as they are.
    """
    dx = by_parts(two_products, dy.dtype, dy, r1, turned_back(dy), halves_swapped(r2))
    if not need_backward:
        return dx, None, None
    return dx, summed_to(dy, x, r1.shape), summed_to(dy, turned(x), r2.shape)
