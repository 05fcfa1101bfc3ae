"""Further matrix products, by sums over products of elements."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import special

from hostacl.tensors import dtypes
from random_calls.dice import Dice
from random_calls.oracle import Within, finite, oracle, shapes
from random_calls.oracles.matmul import offsets, product, result_dtype, sizes, without


@shapes("BatchMatMulV2")
def batches_with_bias(d: Dice) -> None:
    m, k, n = sizes(d)
    one = other = () if d.kind in {"long", "one element"} else d.choose((), (d.int(1, 3),), (d.int(1, 3), d.int(1, 2)))
    if d.wants("8-d"):
        one = other = (1, 2, 1, 1, 2, 1)
    elif d.wants("broadcast"):
        one, other = d.choose(((2, 3), (3,)), ((2, 1), (1, 3)), ((), (2,)))
    d.tensor("x1", (*one, *((k, m) if d.attr("adj_x1", True) else (m, k))))
    d.tensor("x2", (*other, *((n, k) if d.attr("adj_x2", True) else (k, n))))
    if d.optional("bias"):
        d.tensor("bias", d.choose((n,), (1, n), (m, 1)), dtype=result_dtype(d))
    offsets(d, n)
    d.output("y", result_dtype(d))


@oracle("BatchMatMulV2", family="matmul")
def batch_mat_mul_v2(x1: Any, x2: Any, bias: Any, offset_w: Any, adj_x1: bool, adj_x2: bool, offset_x: Any, dice: Dice) -> Any:
    second = without(np.swapaxes(x2, -1, -2) if adj_x2 else x2, offset_w)
    return product(without(np.swapaxes(x1, -1, -2) if adj_x1 else x1, offset_x), second, bias, dice)


@shapes("Dot")
def two_vectors(d: Dice) -> None:
    size = 1 if d.wants("one element") else 0 if d.wants("empty") else d.int(60, 300) if d.wants("long") else d.int(1, 9)
    d.tensor("input_x", (size,))
    d.tensor("input_y", (size,))


@oracle("Dot", family="matmul")
def dot(input_x: Any, input_y: Any, dice: Dice) -> Any:
    result = product(input_x[None], input_y[:, None], None, dice)
    if isinstance(result, Within):
        return Within(result.value[0, 0], result.slack[0, 0])
    return result[0, 0] if input_x.size else np.array(0, object)


@shapes("FusedMatMul")
def fused(d: Dice) -> None:
    m, k, n = sizes(d)
    d.tensor("x1", (k, m) if d.attr("transpose_x1", True) else (m, k), -3, 3)
    d.tensor("x2", (n, k) if d.attr("transpose_x2", True) else (k, n), -3, 3)
    if d.optional("bias"):
        d.tensor("bias", (n,))
    fused_type = d.attr("fused_op_type", "add", "mul", "relu", "gelu_erf", "gelu_tanh", "16cast32")
    if fused_type in ("add", "mul"):
        d.tensor("x3", (m, n))
    if fused_type == "16cast32":
        d.output("y", dtypes.FLOAT)


@oracle("FusedMatMul", family="matmul")
def fused_mat_mul(
    x1: Any, x2: Any, bias: Any, x3: Any, transpose_x1: bool, transpose_x2: bool, fused_op_type: str, dice: Dice
) -> Any:
    y, slack = product(x1.T if transpose_x1 else x1, x2.T if transpose_x2 else x2, bias, dice)
    rest = np.abs(finite(y)) * 2.0**-23
    if fused_op_type == "add":
        return Within(y + x3, slack + rest + finite(x3) * 2.0**-23)
    if fused_op_type == "mul":
        return Within(y * x3, (slack + rest) * finite(x3) + finite(y * x3) * 2.0**-23)
    if fused_op_type == "relu":
        return Within(np.maximum(y, 0), slack)
    if fused_op_type == "gelu_erf":
        return Within(y * special.ndtr(y), 1.2 * slack + rest)
    if fused_op_type == "gelu_tanh":
        return Within(y * special.expit(2 * np.sqrt(2 / np.pi) * (y + 0.044715 * y**3)), 1.2 * slack + rest)
    return Within(y, slack)


@shapes("TransposeBatchMatMul")
def permutations(d: Dice) -> None:
    m, k, n = sizes(d)
    batch = 1 if d.kind == "one element" else d.int(1, 3)
    for name, shape in (("x1", (batch, m, k)), ("x2", (batch, k, n))):
        perm = d.attr(f"perm_{name}", [0, 1, 2], [1, 0, 2], [0, 2, 1], [-2, -1, 0]) or [0, 1, 2]
        stored = [0, 0, 0]
        for at, source in enumerate(perm):
            stored[source] = shape[at]
        d.tensor(name, tuple(stored))
    if d.optional("bias"):
        d.tensor("bias", (n,), dtype=result_dtype(d))
    d.attr("perm_y", [1, 0, 2])
    offsets(d, n)
    d.output("y", result_dtype(d))


@oracle("TransposeBatchMatMul", family="matmul")
def transpose_batch(
    x1: Any, x2: Any, bias: Any, offset_w: Any, perm_x1: Any, perm_x2: Any, perm_y: Any, offset_x: Any, dice: Dice
) -> Any:
    first = without(x1.transpose(perm_x1) if perm_x1 else x1, offset_x)
    second = without(x2.transpose(perm_x2) if perm_x2 else x2, offset_w)
    result = product(first, second, bias, dice)
    order = perm_y or [0, 1, 2]
    if isinstance(result, Within):
        return Within(result.value.transpose(order), result.slack.transpose(order))
    return result.transpose(order)


@shapes("AddLora")
def adapters(d: Dice) -> None:
    one = d.wants("one element")
    rows = 0 if d.wants("empty") else 1 if one else d.int(1, 5)
    count, layers, out, rank, width = (1,) * 5 if one else (d.int(1, 3), d.int(1, 2), d.int(1, 4), d.int(1, 3), d.int(1, 4))
    width = d.int(60, 100) if d.wants("long") else width
    with_first = d.optional("weightA")
    offset = 0 if one or d.kind == "attributes absent" else d.int(0, 3)
    d.tensor("y", (rows, offset + out + (0 if one else d.int(0, 2))), -2, 2)
    d.tensor("x", (rows, width if with_first else rank), -2, 2)
    d.tensor("weightB", (count, layers, out, rank), -2, 2)
    d.tensor("indices", d.rng.integers(-1, count, rows), dtype=dtypes.INT32)
    if with_first:
        d.tensor("weightA", (count, layers, rank, width), -2, 2)
    for name, wanted in (("layer_idx", layers - 1), ("y_offset", offset), ("y_slice_size", out)):
        default = d.generation.attrs[name].default
        value = default if d.kind in {"attributes absent", "attributes default"} and name != "y_offset" else wanted
        d.values[name] = value
        if value != default or d.wants("attributes default"):
            d.attrs[name] = ("int", value)
    d.values["scale"] = d.attr("scale", 1.0, 0.5)


@oracle("AddLora", family="matmul")
def add_lora(y: Any, x: Any, weightB: Any, indices: Any, weightA: Any, layer_idx: int, scale: float, y_offset: int) -> Any:
    total, slack = y.copy(), np.zeros(y.shape)
    for row, index in enumerate(map(int, indices)):
        if index < 0:
            continue
        second = weightB[index, layer_idx]
        low = x[row] if weightA is None else (weightA[index, layer_idx] * x[row]).sum(axis=1)
        size = finite(x[row]) if weightA is None else (finite(weightA[index, layer_idx]) * finite(x[row])).sum(axis=1)
        place = slice(y_offset, y_offset + len(second))
        total[row, place] += scale * (second * low).sum(axis=1)
        slack[row, place] = abs(scale) * (finite(second) * size).sum(axis=1)
    terms = x.shape[1] + weightB.shape[3] + 8
    return Within(total, (slack + finite(total) + finite(y)) * terms * 2.0**-23)


