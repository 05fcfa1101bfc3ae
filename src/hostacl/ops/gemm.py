"""Scaled, batched, fused and transposed matrix products, dot products, low-rank updates."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hostacl.ops import dims
from hostacl.ops.call import Call
from hostacl.ops.dims import Shape
from hostacl.ops.gelu import gelu_erf, gelu_tanh
from hostacl.ops.matmul import (
    batch_shape,
    direct_product,
    matmul_shape,
    product,
    product_shape,
    shifted,
    widened_dtype,
)
from hostacl.ops.matmul_cuts import permuted_cuts, product_cuts, vector_cuts
from hostacl.ops.registry import kernel
from hostacl.ops.shapes import axes, broadcast_shapes, equal_dims, one_element, rank_is
from hostacl.tensors import dtypes

Array = NDArray[Any]


def flipped(x: Array, transpose: bool) -> Array:
    """The matrices of x, transposed where asked."""
    return np.swapaxes(x, -1, -2) if transpose else x


def gemm_shape(call: Call) -> Shape:
    """(m, n); c broadcasts to it, alpha and beta have one element."""
    rank_is(call, "a", 2)
    rank_is(call, "b", 2)
    one_element(call, "alpha", "beta")
    gemm_dtype(call)
    shape = product_shape(call, "a", "b", call.attr("transpose_a"), call.attr("transpose_b"))
    c = call.shape("c")
    joined = broadcast_shapes(shape, c)
    if joined is None or len(joined) != 2 or (dims.known(*joined, *shape) and joined != shape):
        raise call.refuse("HA504", f"c = {dims.text(c)}; allowed: the shape of the product, {dims.text(shape)}.")
    return shape


def gemm_dtype(call: Call) -> tuple[int, ...]:
    """The type of c, which is that of a or the wider one it is added up in: float32 for float16, int32 or float32 for int8."""
    first, code = call.dtype("a"), call.dtype("c")
    wider = {dtypes.FLOAT16: (dtypes.FLOAT,), dtypes.INT8: (dtypes.INT32, dtypes.FLOAT)}.get(first, ())
    if code not in (first, *wider):
        allowed = ", ".join(map(dtypes.ge_name, (first, *wider)))
        raise call.refuse("HA503", f"c is {dtypes.ge_name(code)}, a {dtypes.ge_name(first)}; allowed for c: {allowed}.")
    return (code,)


@kernel("GEMM", shape=gemm_shape, dtype={"y": gemm_dtype}, mixed=("c", "alpha", "beta", "y"),
        cuts=product_cuts("a", "b", beside=("c",), sums=False), reads={"c": "beta"})  # fmt: skip
def gemm(a: Array, b: Array, c: Array, alpha: Array, beta: Array, transpose_a: bool, transpose_b: bool) -> Array:
    """alpha·a·b + beta·c, a and b transposed where asked; with beta 0 c is not looked at, not even for NaN.

    int8 is multiplied and added up exactly; c, alpha, beta and y are then int32 or float32.
    """
    total = product(flipped(a, transpose_a), flipped(b, transpose_b))
    if c.dtype.kind == "f" and total.dtype.kind in "iu":
        total = total.astype(np.float64)
    factor, rest = alpha.reshape(()), beta.reshape(())
    scaled = total if factor == 1 else total * factor
    return scaled if rest == 0 else scaled + rest * c


def batch_v2_shape(call: Call) -> Shape:
    """The product of the last two dims, the others broadcast; a bias broadcasts to it."""
    shape = batch_shape(call)
    check_broadcast(call, "bias", shape)
    return shape


def check_broadcast(call: Call, name: str, shape: Shape) -> None:
    """Refuses an optional input that does not broadcast to the result."""
    if not call.has(name):
        return
    joined = broadcast_shapes(shape, call.shape(name))
    if joined is None or len(joined) != len(shape) or (dims.known(*joined, *shape) and joined != shape):
        raise call.refuse("HA504", f"{name} = {dims.text(call.shape(name))} does not broadcast to {dims.text(shape)}.")


@kernel("BatchMatMulV2", shape=batch_v2_shape, dtype={"y": widened_dtype}, mixed=("bias",), direct=direct_product,
        cuts=product_cuts(beside=("bias",), by_column=("offset_w",)))  # fmt: skip
def batch_mat_mul_v2(
    x1: Array, x2: Array, bias: Array | None, offset_w: Array | None, adj_x1: bool, adj_x2: bool, offset_x: int
) -> Array:
    """(x1 - offset_x) · (x2 - offset_w) + bias over the last two dims, the leading ones broadcast.

    The offsets are for integers; offset_w has one element or one a column. int8 gives int32.
    """
    second = flipped(x2, adj_x2)
    if offset_w is not None:
        second = shifted(second, offset_w.astype(np.int32))
    y = product(flipped(shifted(x1, offset_x), adj_x1), second)
    return y if bias is None else y + bias


def dot_shape(call: Call) -> Shape:
    """A scalar of two vectors of one length."""
    (first,), (second,) = rank_is(call, "input_x", 1), rank_is(call, "input_y", 1)
    equal_dims(call, first, second, f"input_x has {first} elements, input_y {second}; they must have equally many.")
    return ()


@kernel("Dot", shape=dot_shape, cuts=vector_cuts)
def dot(input_x: Array, input_y: Array) -> Array:
    """The sum of the products of two vectors' elements. Floats are added in float64; integers wrap in their type."""
    if input_x.dtype.kind == "f":
        return np.asarray(np.dot(input_x.astype(np.float64), input_y.astype(np.float64)))
    return np.asarray(np.sum(input_x * input_y, dtype=input_x.dtype))


FUSED = ("", "add", "mul", "relu", "gelu_erf", "gelu_tanh", "16cast32")


def fused_shape(call: Call) -> Shape:
    """(m, n); x3 broadcasts to it and is there just when it is added or multiplied."""
    fused = call.attr("fused_op_type")
    if fused not in FUSED:
        raise call.refuse("HA508", f"fused_op_type = {fused!r}; allowed: {', '.join(map(repr, FUSED))}.")
    if call.has("x3") != (fused in ("add", "mul")):
        told = "was given" if call.has("x3") else "is missing"
        raise call.refuse("HA513", f"x3 {told} with fused_op_type {fused!r}; it goes with 'add' and 'mul' only.")
    shape = matmul_shape(call)
    check_broadcast(call, "x3", shape)
    return shape


def fused_dtype(call: Call) -> tuple[int, ...]:
    """The inputs' type; float32 for halves with 16cast32."""
    code = call.dtype("x1")
    return (dtypes.FLOAT,) if call.attr("fused_op_type") == "16cast32" and code in dtypes.HALVES else (code,)


@kernel("FusedMatMul", shape=fused_shape, dtype={"y": fused_dtype}, mixed=("bias",),
        cuts=product_cuts(beside=("x3",), by_column=("bias",), sums=False))  # fmt: skip
def fused_mat_mul(
    x1: Array, x2: Array, bias: Array | None, x3: Array | None, transpose_x1: bool, transpose_x2: bool, fused_op_type: str
) -> Array:
    """x1 · x2 + bias, and what fused_op_type says: x3 added or multiplied, relu, gelu_erf, gelu_tanh, or 16cast32.

    The product is rounded only once, after all of it. enable_hf32 is a hint: products are exact here.
    """
    y = product(flipped(x1, transpose_x1), flipped(x2, transpose_x2))
    y = y if bias is None else y + bias.reshape(-1)
    if x3 is not None:
        return y + x3 if fused_op_type == "add" else y * x3
    functions: dict[str, Any] = {"relu": lambda one: np.maximum(one, 0), "gelu_erf": gelu_erf, "gelu_tanh": gelu_tanh}
    return np.asarray(functions[fused_op_type](y)) if fused_op_type in functions else y


def permuted(call: Call, name: str, rank: int) -> list[int]:
    """A permutation attribute; an empty one changes nothing."""
    values = list(call.attr(name)) or list(range(rank))
    if sorted(axes(call, values, rank, name)) != list(range(rank)):
        raise call.refuse("HA508", f"{name} = {values}; allowed: each of the {rank} axes once.")
    return [value % rank for value in values]


def transpose_batch_shape(call: Call) -> Shape:
    """The product of permuted operands, permuted itself."""
    x1, x2 = rank_is(call, "x1", 3), rank_is(call, "x2", 3)
    first, second = ([shape[at] for at in permuted(call, name, 3)] for shape, name in ((x1, "perm_x1"), (x2, "perm_x2")))
    told = f"x1 = {dims.text(first)}, x2 = {dims.text(second)} (after transposing)"
    equal_dims(call, first[2], second[1], f"{told}: the inner dims {first[2]} and {second[1]} differ; they must be equal.")
    batch = equal_dims(call, first[0], second[0], f"{told}: the batches {first[0]} and {second[0]} differ.")
    full = (batch, first[1], second[2])
    check_broadcast(call, "bias", full)
    return tuple(full[at] for at in permuted(call, "perm_y", 3))


@kernel("TransposeBatchMatMul", shape=transpose_batch_shape, dtype={"y": widened_dtype}, mixed=("bias",), cuts=permuted_cuts())
def transpose_batch_mat_mul(
    x1: Array, x2: Array, bias: Array | None, offset_w: Array | None,
    perm_x1: Sequence[int], perm_x2: Sequence[int], perm_y: Sequence[int], offset_x: int,
) -> Array:  # fmt: skip
    """transpose(transpose(x1, perm_x1) · transpose(x2, perm_x2) + bias, perm_y); empty permutations change nothing."""
    first, second = np.transpose(shifted(x1, offset_x), perm_x1 or (0, 1, 2)), np.transpose(x2, perm_x2 or (0, 1, 2))
    if offset_w is not None:
        second = shifted(second, offset_w.astype(np.int32))
    y = product(first, second)
    return np.transpose(y if bias is None else y + bias, perm_y or (0, 1, 2))


def lora_shape(call: Call) -> Shape:
    """The shape of y, once the weights fit."""
    y, x, second = rank_is(call, "y", 2), rank_is(call, "x", 2), rank_is(call, "weightB", 4)
    offset, size = call.attr("y_offset"), call.attr("y_slice_size")
    equal_dims(call, y[0], x[0], f"y has {y[0]} rows, x {x[0]}; they must be equal.")
    equal_dims(call, y[0], rank_is(call, "indices", 1)[0], "indices must have one entry for each row of y.")
    width = second[2] if size < 0 else size
    equal_dims(call, width, second[2], f"y_slice_size = {size}, weightB gives {second[2]} columns; they must be equal.")
    if offset < 0 or (dims.known(width, y[1]) and offset + width > y[1]):
        raise call.refuse("HA508", f"y_offset = {offset} with {width} columns; y has {y[1]}.")
    inner = second[3]
    if call.has("weightA"):
        first = rank_is(call, "weightA", 4)
        equal_dims(call, first[3], x[1], f"weightA = {dims.text(first)}, x = {dims.text(x)}: the last dims must be equal.")
        equal_dims(call, first[2], inner, f"weightA has rank {first[2]}, weightB {inner}; they must be equal.")
    else:
        equal_dims(call, x[1], inner, f"x has {x[1]} columns, weightB takes {inner}; they must be equal.")
    return y


@kernel("AddLora", shape=lora_shape)
def add_lora(
    y: Array, x: Array, weightB: Array, indices: Array, weightA: Array | None,
    layer_idx: int, scale: float, y_offset: int, call: Call,
) -> Array:  # fmt: skip
    """y with scale · (x · Aᵀ) · Bᵀ added to its columns from y_offset on, A and B chosen for each row by indices.

    The weights are (adapters, layers, …); a negative index adds nothing to its row. Without weightA, x · Bᵀ is added.
    """
    if layer_idx >= weightB.shape[1] or layer_idx < 0 or (indices.size and indices.max() >= weightB.shape[0]):
        told = f"layer_idx = {layer_idx}, indices up to {indices.max(initial=-1)}"
        raise call.refuse("HA510", f"{told}; weightB has {weightB.shape[1]} layers of {weightB.shape[0]} adapters.")
    result = y.copy()
    for adapter in np.unique(indices[indices >= 0]):
        rows = np.flatnonzero(indices == adapter)
        low = x[rows] if weightA is None else product(x[rows], weightA[adapter, layer_idx].T)
        added = product(low, weightB[adapter, layer_idx].T)
        result[rows, y_offset : y_offset + added.shape[1]] += result.dtype.type(scale) * added
    return result
