"""Gradients of gated activations, whose input has two halves along an axis."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from hostacl.ops import dims
from hostacl.ops.activation import sigmoid
from hostacl.ops.activation_grad_smooth import gelu_erf_slope, gelu_tanh_slope
from hostacl.ops.call import Call
from hostacl.ops.dims import Shape
from hostacl.ops.exponential import wide
from hostacl.ops.gated import half_shape, halves
from hostacl.ops.registry import kernel
from hostacl.ops.shapes import equal_dims

Array = NDArray[Any]


def whole_shape(call: Call) -> Shape:
    """The shape of x; the incoming gradient has that of one half."""
    x, half = call.shape("x"), half_shape(call)
    for name in ("y_grad", "dy", "gelu"):
        if call.has(name):
            given = call.shape(name)
            text = f"{name} = {dims.text(given)}; allowed: half of x = {dims.text(x)} along dim {call.attr('dim')}."
            if len(given) != len(half):
                raise call.refuse("HA504", text)
            for one, other in zip(given, half, strict=True):
                equal_dims(call, one, other, text)
    return x


@kernel("GLUGrad", shape=whole_shape)
def glu_grad(y_grad: Array, x: Array, dim: int) -> Array:
    """The gradient of x1·sigmoid(x2), the halves of x along ``dim``: grad·s and grad·x1·s·(1 - s)."""
    first, second = (wide(one) for one in halves(x, dim))
    s = sigmoid(second)
    return np.concatenate([y_grad * s, y_grad * first * (s * sigmoid(-second))], axis=dim)


@kernel("SwiGluGrad", shape=whole_shape)
def swi_glu_grad(y_grad: Array, x: Array, dim: int) -> Array:
    """The gradient of x1·sigmoid(x1)·x2, the halves of x along ``dim``: grad·x2·s·(1 + x1·(1 - s)) and grad·x1·s."""
    first, second = (wide(one) for one in halves(x, dim))
    s = sigmoid(first)
    slope = s + first * (s * sigmoid(-first))
    return np.concatenate([y_grad * (second * slope), y_grad * (first * s)], axis=dim)


@kernel("GeGluGradV2", shape=whole_shape)
def ge_glu_grad_v2(dy: Array, x: Array, gelu: Array, dim: int, approximate: int, activate_left: bool) -> Array:
    """The gradient of one half of x along ``dim`` times the GELU of the other: dy·gelu, and dy·half·slope.

    gelu is the activation that GeGluV2 gave. The second half is activated, with activate_left the first; approximate 1 is the
    GELU by tanh, 0 the exact one.
    """
    first, second = (wide(one) for one in halves(x, dim))
    active, plain = (first, second) if activate_left else (second, first)
    slope = gelu_tanh_slope(active) if approximate else gelu_erf_slope(active)
    by_plain, by_active = dy * wide(gelu), dy * (plain * slope)
    return np.concatenate([by_active, by_plain] if activate_left else [by_plain, by_active], axis=dim)
