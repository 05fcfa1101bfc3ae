"""Feed-forward layers of experts, and the gradients of the three projections of attention."""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hostacl.errors import Failed
from hostacl.ops import dims
from hostacl.ops.activation import fast_gelu
from hostacl.ops.call import Call
from hostacl.ops.dims import Shape
from hostacl.ops.gelu import gelu_tanh
from hostacl.ops.registry import kernel
from hostacl.ops.shapes import alike_inputs, equal_dims, rank_is

Array = NDArray[Any]

ACTIVATIONS: dict[str, Callable[[Array], Any]] = {
    "relu": lambda x: np.maximum(x, 0),
    "gelu": gelu_tanh,
    "fastgelu": fast_gelu,
    "silu": lambda x: x / (1 + np.exp(-x)),
}
QUANTISED = ("scale", "offset", "deq_scale1", "deq_scale2", "antiquant_scale1", "antiquant_scale2", "antiquant_offset1",
             "antiquant_offset2")  # fmt: skip


def layer_shape(call: Call) -> Shape:
    """x with the columns of weight2; weights and biases agree, for all experts."""
    for name in QUANTISED:
        if call.has(name):
            raise call.refuse("HA513", f"{name} is given; quantised layers are not done: leave it out.")
    if (kind := call.attr("activation")) not in ACTIVATIONS:
        raise call.refuse("HA508", f"activation = {kind!r}; allowed: {', '.join(map(repr, ACTIVATIONS))}.")
    x, first, second = call.shape("x"), rank_is(call, "weight1", 2, 3), rank_is(call, "weight2", 2, 3)
    told = f"x = {dims.text(x)}, weight1 = {dims.text(first)}, weight2 = {dims.text(second)}"
    if len(x) < 2 or len(first) != len(second):
        raise call.refuse("HA516", f"{told}; allowed: 2 dims or more for x, as many for both weights.")
    equal_dims(call, x[-1], first[-2], f"{told}: the last dim of x must be the rows of weight1.")
    equal_dims(call, first[-1], second[-2], f"{told}: the columns of weight1 must be the rows of weight2.")
    experts = first[:-2]
    for name, weight in (("bias1", first), ("bias2", second)):
        if call.has(name):
            given, want = call.shape(name), (*experts, weight[-1])
            text = f"{name} = {dims.text(given)}; allowed: {dims.text(want)}."
            equal_dims(call, len(given), len(want), text)
            for one, other in zip(given, want, strict=True):
                equal_dims(call, one, other, text)
    if call.has("expert_tokens") != bool(experts):
        raise call.refuse("HA513", f"{told}: weights of 3 dims come with expert_tokens, those of 2 without.")
    if experts:
        equal_dims(call, first[0], second[0], f"{told}: the experts must be as many.")
        count = dims.count(call.shape("expert_tokens"))
        told = f"{told}, expert_tokens has {dims.text((count,))} elements; allowed: one for each expert."
        equal_dims(call, count, first[0], told)
    return (*x[:-1], second[-1])


@kernel("FFN", shape=layer_shape, mixed=("bias1", "bias2"))
def ffn(
    x: Array, weight1: Array, weight2: Array, expert_tokens: Array | None, bias1: Array | None, bias2: Array | None,
    activation: str, tokens_index_flag: bool, call: Call,
) -> Array:  # fmt: skip
    """activation(x·weight1 + bias1)·weight2 + bias2; with 3-D weights each expert takes its rows of x, one after the other.

    activation: relu, gelu (by tanh), fastgelu (x·sigmoid(1.702·x)) or silu. expert_tokens says how many rows each expert has,
    with tokens_index_flag where they end; rows beyond the last one are 0. int8 tensors count as numbers.
    """
    rows = x.reshape(prod(x.shape[:-1]), x.shape[-1]).astype(np.float32)
    if expert_tokens is None:
        parts = [(slice(0, len(rows)), weight1, weight2, bias1, bias2)]
    else:
        ends = expert_ends(call, expert_tokens.ravel().tolist(), tokens_index_flag, len(rows))
        parts = [
            (slice(start, end), weight1[at], weight2[at], *(None if one is None else one[at] for one in (bias1, bias2)))
            for at, (start, end) in enumerate(zip([0, *ends[:-1]], ends, strict=True))
        ]
    result = np.zeros((len(rows), weight2.shape[-1]), np.float32)
    for own, first, second, shift, last in parts:
        inner = rows[own] @ first.astype(np.float32)
        inner = ACTIVATIONS[activation](inner if shift is None else inner + shift)
        outer = np.asarray(inner, np.float32) @ second.astype(np.float32)
        result[own] = outer if last is None else outer + last
    return result.reshape(*x.shape[:-1], weight2.shape[-1])


def expert_ends(call: Call, counts: list[int], cumulative: bool, rows: int) -> list[int]:
    """Where the rows of each expert end."""
    ends = counts if cumulative else np.cumsum(counts).tolist()
    if any(last < first for first, last in zip([0, *ends], ends, strict=False)) or (ends and ends[-1] > rows):
        raise Failed("HA510", f"{call.op_type}: expert_tokens = {counts}; allowed: up to the {rows} rows of x, none below 0.")
    return ends


NAMES = (("query_dx", "kernel_query"), ("key_dw", "kernel_key"), ("value_dw", "kernel_value"))


def flipped(x: Array, turn: bool) -> Array:
    """The matrix, transposed where asked, in float32."""
    return (x.T if turn else x).astype(np.float32)


def product_shape(call: Call, one: str, other: str, turns: tuple[bool, bool]) -> Shape:
    """The shape of a product of two matrices, each transposed where asked."""
    shapes = [rank_is(call, name, 2) for name in (one, other)]
    first, second = (shape[::-1] if turn else shape for shape, turn in zip(shapes, turns, strict=True))
    told = f"{one} = {dims.text(shapes[0])}, {other} = {dims.text(shapes[1])}: the dims that are summed over must be equal."
    equal_dims(call, first[1], second[0], told)
    return (first[0], second[1])


def input_shape(call: Call) -> Shape:
    """The shape of all three products, and of ln_dx."""
    turns = call.attr("trans_a"), call.attr("trans_b")
    found = [product_shape(call, dy, weight, turns) for dy, weight in NAMES]
    if call.has("ln_dx"):
        found.append(rank_is(call, "ln_dx", 2))
    for shape in found[1:]:
        for one, other in zip(shape, found[0], strict=True):
            told = ", ".join(map(dims.text, found))
            equal_dims(call, one, other, f"the products and ln_dx are {told}; they must be equal.")
    return found[0]


@kernel("AttentionQKVGradX", shape=input_shape)
def attention_qkv_grad_x(
    ln_dx: Array | None, query_dx: Array, key_dw: Array, value_dw: Array, kernel_query: Array, kernel_key: Array,
    kernel_value: Array, trans_a: bool, trans_b: bool,
) -> Array:  # fmt: skip
    """ln_dx + query_dx·kernel_query + key_dw·kernel_key + value_dw·kernel_value, the kernels transposed as trans_b says."""
    pairs = ((query_dx, kernel_query), (key_dw, kernel_key), (value_dw, kernel_value))
    total: Any = 0 if ln_dx is None else ln_dx.astype(np.float32)
    for dy, weight in pairs:
        total = total + flipped(dy, trans_a) @ flipped(weight, trans_b)
    return np.asarray(total)


def weight_shape(call: Call) -> list[Shape]:
    """Three gradients of weights, three of biases; those without a tensor are as the first and stay as they are."""
    alike_inputs(call, *(dy for dy, _ in NAMES))
    found = product_shape(call, "x", "query_dx", (call.attr("trans_a"), call.attr("trans_b")))
    weight = found[::-1] if call.attr("trans_dw") else found
    return [weight] * 3 + [(found[1],)] * 3


@kernel("AttentionQKVGradW", shape=weight_shape)
def attention_qkv_grad_w(
    x: Array, query_dx: Array, key_dw: Array | None, value_dw: Array | None, trans_a: bool, trans_b: bool, trans_dw: bool
) -> tuple[Any, ...]:
    """The gradients of three projections: x·query_dx, x transposed by default (trans_a), and so on; and of the biases.

    trans_dw transposes the results. A bias' gradient is the sum over the rows. Without key_dw or value_dw their results stay
    as they are.
    """
    weights, biases = [], []
    for dy in (query_dx, key_dw, value_dw):
        product = None if dy is None else flipped(x, trans_a) @ flipped(dy, trans_b)
        weights.append(product.T if product is not None and trans_dw else product)
        biases.append(None if dy is None else np.sum(flipped(dy, trans_b), axis=0, dtype=np.float64))
    return *weights, *biases
