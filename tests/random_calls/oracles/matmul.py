"""Matrix products: einsum in float64, exact integers."""

from __future__ import annotations

from typing import Any

import numpy as np

from hostacl.tensors import dtypes
from random_calls import values
from random_calls.dice import Dice
from random_calls.oracle import Within, finite, oracle, shapes, summed


def sizes(d: Dice) -> tuple[int, int, int]:
    """Rows, inner size and columns."""
    if d.wants("one element"):
        return 1, 1, 1
    m, k, n = (d.int(1, d.limit + 1) for _ in range(3))
    if d.wants("empty"):
        return d.choose((0, k, n), (m, k, 0), (m, 0, n))
    return (m, d.int(60, 200), n) if d.wants("long") else (m, k, n)


def result_dtype(d: Dice) -> int:
    """The output's dtype: int8 and int4 give int32."""
    return dtypes.INT32 if values.is_int(d.dtype) else d.dtype


def offsets(d: Dice, n: int) -> None:
    """Offsets of quantised values: one for x1, one or one a column for x2."""
    whole = values.is_int(d.dtype)
    d.attr("offset_x", *((0, 3, -2) if whole else (0,)))
    if whole and d.optional("offset_w"):
        d.tensor("offset_w", (d.choose(1, n or 1),), -5, 5, dtype=dtypes.INT8)


def without(x: Any, offset: Any) -> Any:
    """Quantised values without their offset."""
    return x - offset if x.dtype == object and offset is not None else x


@shapes("MatMul", "MatMulV2")
def two_matrices(d: Dice) -> None:
    m, k, n = sizes(d)
    first = (k, m) if d.attr("transpose_x1", True, False) else (m, k)
    second = (n, k) if d.attr("transpose_x2", True, False) else (k, n)
    d.tensor("x1", first)
    d.tensor("x2", second)
    if d.optional("bias"):
        d.tensor("bias", (n,), dtype=result_dtype(d))
    offsets(d, n)
    d.output("y", result_dtype(d))


@oracle("MatMul")
def mat_mul(x1: Any, x2: Any, bias: Any, transpose_x1: bool, transpose_x2: bool, dice: Dice) -> Any:
    return product(x1.T if transpose_x1 else x1, x2.T if transpose_x2 else x2, bias, dice)


@oracle("MatMulV2")
def mat_mul_v2(
    x1: Any, x2: Any, bias: Any, offset_w: Any, transpose_x1: bool, transpose_x2: bool, offset_x: Any, dice: Dice
) -> Any:
    second = without(x2.T if transpose_x2 else x2, offset_w)
    return product(without(x1.T if transpose_x1 else x1, offset_x), second, bias, dice)


@shapes("BatchMatMul")
def batches(d: Dice) -> None:
    """Matrices under batch dims that broadcast."""
    m, k, n = sizes(d)
    one = other = () if d.kind in {"long", "one element"} else d.choose((), (d.int(1, 3),), (d.int(1, 3), d.int(1, 2)))
    if d.wants("8-d"):
        one = other = (1, 2, 1, 1, 2, 1)
    elif d.wants("broadcast"):
        one, other = d.choose(((2, 3), (3,)), ((2, 1), (1, 3)), ((), (2,)))
    d.tensor("x1", (*one, *((k, m) if d.attr("adj_x1", True, False) else (m, k))))
    d.tensor("x2", (*other, *((n, k) if d.attr("adj_x2", True, False) else (k, n))))
    d.output("y", result_dtype(d))


@oracle("BatchMatMul")
def batch_mat_mul(x1: Any, x2: Any, adj_x1: bool, adj_x2: bool, dice: Dice) -> Any:
    return product(np.swapaxes(x1, -1, -2) if adj_x1 else x1, np.swapaxes(x2, -1, -2) if adj_x2 else x2, None, dice)


def product(a: Any, b: Any, bias: Any, dice: Dice) -> Any:
    """The product of the last two dims, with the bound of float32 accumulation in any order."""
    total = (a[..., :, :, None] * b[..., None, :, :]).sum(axis=-2)
    total = total if bias is None else total + bias
    if a.dtype == object:
        return total
    size = (finite(a)[..., :, :, None] * finite(b)[..., None, :, :]).sum(axis=-2) + (0 if bias is None else finite(bias))
    return summed(total, size, 2 * a.shape[-1] + 4, 53 if dice.dtype == dtypes.DOUBLE else 24)


@shapes("GEMM")
def general(d: Dice) -> None:
    m, k, n = sizes(d)
    code = int(d.choose(dtypes.FLOAT16, dtypes.FLOAT)) if d.dtype == dtypes.FLOAT16 else d.dtype
    code = int(d.choose(dtypes.INT32, dtypes.FLOAT)) if d.dtype == dtypes.INT8 else code
    d.tensor("a", (k, m) if d.attr("transpose_a", True, False) else (m, k))
    d.tensor("b", (n, k) if d.attr("transpose_b", True, False) else (k, n))
    d.tensor("c", (m, n), dtype=code)
    for name in ("alpha", "beta"):
        d.tensor(name, np.full(d.choose((), (1,)), d.choose(1, 2, -1, 0)), dtype=code)
    d.output("y", code)


@oracle("GEMM")
def gemm(a: Any, b: Any, c: Any, alpha: Any, beta: Any, transpose_a: bool, transpose_b: bool, dice: Dice) -> Any:
    first, second = a.T if transpose_a else a, b.T if transpose_b else b
    result = product(first, second, None, dice)
    total, slack = result if isinstance(result, Within) else (result, 0.0)
    factor, rest = alpha.ravel()[0], beta.ravel()[0]
    kept = 0 * c if rest == 0 else rest * c
    scaled = factor * total
    if total.dtype == object and c.dtype == object:
        return scaled + kept
    scaled = scaled.astype(np.float64)
    wide = np.nan_to_num(np.abs(scaled) + np.abs(kept), posinf=0) * 2.0**-22
    room = np.where(np.isinf(slack), slack, abs(float(factor)) * slack)  # what overflows is not 0 times a factor of 0
    return Within(scaled + (np.zeros(c.shape) if rest == 0 else kept), room + wide)
