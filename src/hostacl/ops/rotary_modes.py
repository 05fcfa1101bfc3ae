"""Rotary position embedding with its pairs laid out in different ways."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hostacl.ops import dims
from hostacl.ops.call import Call
from hostacl.ops.dims import Shape
from hostacl.ops.parts import by_parts
from hostacl.ops.registry import kernel
from hostacl.ops.rotary import rotated_shape, summed_to, turned, turned_back, two_products
from hostacl.ops.shapes import alike_inputs

Array = NDArray[Any]
Map = Callable[[Array], Array]


class Mode(NamedTuple):
    """How pairs lie: what is done to x first, how it is turned, and the way back of both."""

    laid: Map
    turned: Map
    laid_back: Map
    turned_back: Map


def neighbours(x: Array) -> Array:
    """Of each pair of neighbours the second negated, then the first."""
    return np.stack([-x[..., 1::2], x[..., ::2]], axis=-1).reshape(x.shape)


def neighbours_back(x: Array) -> Array:
    """The adjoint: the second, then the first negated."""
    return np.stack([x[..., 1::2], -x[..., ::2]], axis=-1).reshape(x.shape)


def in_halves(function: Map) -> Map:
    """The function on each half of the last axis."""
    return lambda x: np.concatenate([function(half) for half in np.split(x, 2, axis=-1)], axis=-1)


def evens_first(x: Array) -> Array:
    """The elements at even places, then those at odd ones."""
    return np.concatenate([x[..., ::2], x[..., 1::2]], axis=-1)


def as_pairs(x: Array) -> Array:
    """The adjoint: halves side by side."""
    return np.stack(np.split(x, 2, axis=-1), axis=-1).reshape(x.shape)


def same(x: Array) -> Array:
    """x."""
    return x


MODES = (
    Mode(same, turned, same, turned_back),
    Mode(same, neighbours, same, neighbours_back),
    Mode(same, in_halves(turned), same, in_halves(turned_back)),
    Mode(evens_first, turned, as_pairs, turned_back),
)
NAMES = {"half": 0, "interleave": 1, "quarter": 2}


def embedded(x: Array, cos: Array, sin: Array, mode: int) -> Array:
    """laid(x)·cos + turned(laid(x))·sin."""
    how = MODES[mode]
    laid = how.laid(x)
    return by_parts(two_products, x.dtype, laid, cos, how.turned(laid), sin)


def check_mode(call: Call, x: str, mode: int) -> None:
    """Refuses a mode that is none, and a last dim that does not hold its pairs."""
    if not 0 <= mode < len(MODES):
        told = "0 (half), 1 (interleave), 2 (quarter), 3 (interleave-half)"
        raise call.refuse("HA508", f"mode = {mode}; allowed: {told}.")
    size = call.shape(x)[-1]
    if mode == 2 and isinstance(size, int) and size % 4:
        told = f"{x} = {dims.text(call.shape(x))}; its last dim must be a multiple of 4 in mode 2 (quarter)."
        raise call.refuse("HA504", told)


def embedding_shape(call: Call) -> Shape:
    """The shape of x; cos and sin broadcast to it."""
    shape = rotated_shape(call, "x", "cos", "sin")
    check_mode(call, "x", call.attrs.get("mode", 3))
    if call.has("rotate"):
        raise call.refuse("HA513", "rotate is given; what a matrix of the caller's turns is not published: leave it out.")
    return shape


@kernel("RotaryPositionEmbedding", shape=embedding_shape)
def rotary_position_embedding(x: Array, cos: Array, sin: Array, mode: int) -> Array:
    """x·cos + turned x·sin; cos and sin broadcast to x. mode says which elements of the last axis are a pair.

    0 (half): those half the axis apart; turned x is the second half negated, then the first. 1 (interleave): neighbours.
    2 (quarter): like 0 in each half. 3 (interleave-half): neighbours, but x is first laid out as its even elements, then its
    odd ones, and so is the result.
    """
    return embedded(x, cos, sin, mode)


@kernel("InterleaveRope", shape=embedding_shape)
def interleave_rope(x: Array, cos: Array, sin: Array) -> Array:
    """x laid out as its even elements, then its odd ones; of that x·cos + turned x·sin: RotaryPositionEmbedding in mode 3."""
    return embedded(x, cos, sin, 3)


def gradient_shape(call: Call) -> list[Shape]:
    """Each gradient as its tensor."""
    shape = rotated_shape(call, "dy", "cos", "sin")
    check_mode(call, "dy", call.attr("mode"))
    alike_inputs(call, "dy", "x")
    return [shape, call.shape("cos"), call.shape("sin")]


@kernel("RotaryPositionEmbeddingGrad", shape=gradient_shape)
def rotary_position_embedding_grad(dy: Array, cos: Array, sin: Array, x: Array | None, mode: int) -> tuple[Any, ...]:
    """The gradients of RotaryPositionEmbedding; those of cos and sin are added up where they were broadcast.

    Without x, dcos and dsin are left as they are.
    """
    how = MODES[mode]
    weighted = by_parts(lambda one, other: one * other, np.float64, dy, sin)
    dx = how.laid_back(by_parts(lambda g, c, back: g * c + back, dy.dtype, dy, cos, how.turned_back(weighted)))
    if x is None:
        return dx, None, None
    laid = how.laid(x)
    return dx, summed_to(dy, laid, cos.shape), summed_to(dy, how.turned(laid), sin.shape)


def both_shape(call: Call) -> list[Shape]:
    """query and key as they are; cos and sin broadcast to both."""
    if not 1 <= call.attr("layout") <= 4:
        raise call.refuse("HA508", f"layout = {call.attr('layout')}; allowed: 1 (BSND), 2 (SBND), 3 (BNSD), 4 (TND).")
    if (mode := call.attr("rotary_mode")) not in NAMES:
        raise call.refuse("HA508", f"rotary_mode = {mode!r}; allowed: {', '.join(map(repr, NAMES))}.")
    shapes = [rotated_shape(call, name, "cos", "sin") for name in ("query", "key")]
    for name in ("query", "key"):
        check_mode(call, name, NAMES[mode])
    return shapes


@kernel("ApplyRotaryPosEmb", shape=both_shape, attrs={"rotary_mode": "half"})
def apply_rotary_pos_emb(query: Array, key: Array, cos: Array, sin: Array, rotary_mode: str) -> tuple[Array, Array]:
    """query·cos + turned query·sin, and the same of key; cos and sin broadcast to both. Usually written in place.

    Pairs by rotary_mode: half (elements half the last axis apart), interleave (neighbours), quarter (half, in each half).
    layout only names the axes.
    """
    mode = NAMES[rotary_mode]
    return embedded(query, cos, sin, mode), embedded(key, cos, sin, mode)
