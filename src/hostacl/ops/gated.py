"""Gated activations: one half of a tensor times an activation of the other."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from hostacl.ops import dims, exponential
from hostacl.ops.activation import sigmoid
from hostacl.ops.call import Call
from hostacl.ops.dims import Shape
from hostacl.ops.gelu import gelu_erf, gelu_tanh
from hostacl.ops.registry import kernel
from hostacl.ops.shapes import axis

Array = NDArray[Any]


def half_shape(call: Call) -> Shape:
    """The shape of x with axis ``dim`` halved, which must be even."""
    x = call.shape("x")
    if not x:
        raise call.refuse("HA516", "x is a scalar; allowed: 1 or more dims.")
    place = axis(call, call.attr("dim"), len(x), "dim")
    size = x[place]
    if isinstance(size, int) and size % 2:
        raise call.refuse("HA504", f"x = {dims.text(x)}: axis {place} has {size} elements; it must be even to be halved.")
    return (*x[:place], size // 2, *x[place + 1 :])


def two_half_shapes(call: Call) -> list[Shape]:
    """The halved shape for both outputs."""
    return [half_shape(call)] * 2


def halves(x: Array, dim: int) -> tuple[Array, Array]:
    """The first and the second half along an axis."""
    first, second = np.split(x, 2, axis=dim)
    return first, second


@kernel("GLU", shape=half_shape)
def glu(x: Array, dim: int) -> Array:
    """The first half of x along ``dim`` times the sigmoid of the second."""
    first, second = halves(x, dim)
    return first * sigmoid(second)


@kernel("SwiGlu", shape=half_shape)
def swi_glu(x: Array, dim: int) -> Array:
    """x1·sigmoid(x1)·x2, where x1 and x2 are the halves of x along ``dim``."""
    first, second = halves(x, dim)
    return exponential.gated(first, exponential.wide(first)) * second


@kernel("GeGluV2", shape=two_half_shapes)
def ge_glu_v2(x: Array, dim: int, approximate: int, activate_left: bool) -> tuple[Array, Array]:
    """One half of x along ``dim`` times the GELU of the other, and that GELU.

    The second half is activated, with activate_left the first; approximate 1 takes the GELU by tanh, 0 the exact one.
    """
    first, second = halves(x, dim)
    active, plain = (first, second) if activate_left else (second, first)
    gelu = gelu_tanh(active) if approximate else gelu_erf(active)
    return gelu * plain, gelu


@kernel("ClippedSwiglu", shape=half_shape)
def clipped_swiglu(
    x: Array, group_index: Array | None, dim: int, alpha: float, limit: float, bias: float, interleaved: bool
) -> Array:
    """g·sigmoid(alpha·g)·(u + bias) with g = min(gate, limit) and u held within ±limit.

    Gate and u are the even and odd elements along ``dim``, or its halves when not interleaved. group_index tells how many
    rows count; the others, whose result is open, are computed as well.
    """
    along = np.moveaxis(x, dim, -1)
    pair = (along[..., 0::2], along[..., 1::2])
    first, second = (np.moveaxis(one, -1, dim) for one in pair) if interleaved else halves(x, dim)
    gate = np.minimum(first, limit)
    other = np.minimum(np.maximum(second, -limit), limit)
    return exponential.gated(gate, alpha * exponential.wide(gate)) * (other + bias)
