"""Matrix products."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from hostacl.ops import dims
from hostacl.ops.call import Call
from hostacl.ops.declare import codes
from hostacl.ops.dims import Shape
from hostacl.ops.matmul_cuts import product_cuts
from hostacl.ops.registry import kernel
from hostacl.ops.shapes import broadcast_shapes, equal_dims, rank_is
from hostacl.tensors import dtypes

Array = NDArray[Any]

EXACT_FLOAT32, EXACT_FLOAT64 = 2**24, 2**53
CHUNK = 2**20
"""Products of 16-bit halves that float64 adds exactly at a time."""


def product(x1: Array, x2: Array) -> Array:
    """The matrix product: floats by BLAS in their type, integers exactly, as int64 what int32 may not hold.

    Beyond 2^53 integers are right modulo 2^32 alone (of 64 bits: 2^64).
    """
    if x1.dtype.kind not in "iub":
        return np.matmul(x1, x2)
    if x1.dtype.itemsize > 4:
        return np.matmul(x1, x2)
    size = _largest(x1) * _largest(x2) * x1.shape[-1]
    if size < EXACT_FLOAT32:
        return np.matmul(x1.astype(np.float32), x2.astype(np.float32)).astype(np.int32)
    if size < EXACT_FLOAT64:
        total = np.matmul(x1.astype(np.float64), x2.astype(np.float64)).astype(np.int64)
        return total if size > np.iinfo(np.int32).max else total.astype(np.int32)
    return _wrapped(x1, x2)


def with_whole(total: Array, bias: Array) -> Array:
    """A product plus a bias; of integers as int64, which holds every sum."""
    return np.add(total, bias, dtype=np.int64) if total.dtype.kind == bias.dtype.kind == "i" else np.asarray(total + bias)


def _largest(x: Array) -> int:
    """The largest magnitude in an integer array."""
    return max(abs(int(x.min())), abs(int(x.max()))) if x.size else 0


def _wrapped(x1: Array, x2: Array) -> Array:
    """An int32 product modulo 2^32: 16-bit halves multiplied in float64, a bounded number of terms at a time."""
    total: Array = np.zeros((), np.int64)
    for start in range(0, x1.shape[-1], CHUNK):
        one, other = x1[..., start : start + CHUNK].astype(np.int64), x2[..., start : start + CHUNK, :].astype(np.int64)
        low1, high1, low2, high2 = one & 0xFFFF, one >> 16, other & 0xFFFF, other >> 16
        cross = _float_product(low1, high2) + _float_product(high1, low2)
        total = total + _float_product(low1, low2) + (cross << 16)
    return total.astype(np.int32)


def _float_product(x1: Array, x2: Array) -> Array:
    return np.matmul(x1.astype(np.float64), x2.astype(np.float64)).astype(np.int64)


def _oriented(x: Array, transpose: bool) -> Array:
    return np.swapaxes(x, -1, -2) if transpose else x


def product_shape(call: Call, one: str, other: str, flip1: bool, flip2: bool, least: int = 2) -> Shape:
    """The shape of a (batched) product, last two dims swapped first where asked; refuses inner dims that differ.

    With ``least`` 1 a vector is taken, too: as a row on the left, as a column on the right.
    """
    shapes: list[Shape] = []
    for name, flip in ((one, flip1), (other, flip2)):
        shape = rank_is(call, name, *range(least, 9))
        if len(shape) == 1:
            shape = (1, *shape) if name == one else (*shape, 1)
        elif flip:
            shape = (*shape[:-2], shape[-1], shape[-2])
        shapes.append(shape)
    (*lead1, m, k1), (*lead2, k2, n) = shapes
    told = f"{one} = {dims.text(shapes[0])}, {other} = {dims.text(shapes[1])} (after transposing)"
    equal_dims(call, k1, k2, f"{told}: the inner dims {k1} and {k2} differ; they must be equal.")
    lead = broadcast_shapes(tuple(lead1), tuple(lead2))
    if lead is None:
        raise call.refuse("HA504", f"{told}: the leading dims do not broadcast; each must be equal or 1.")
    return (*lead, m, n)


def matmul_shape(call: Call) -> Shape:
    """(m, n) of two matrices; a bias has n elements."""
    rank_is(call, "x1", 2)
    rank_is(call, "x2", 2)
    shape = product_shape(call, "x1", "x2", call.attr("transpose_x1"), call.attr("transpose_x2"))
    check_bias(call, shape[-1])
    return shape


def check_bias(call: Call, columns: dims.Dim) -> None:
    """A bias has one element a column."""
    if call.has("bias"):
        size = dims.count(call.shape("bias"))
        equal_dims(
            call,
            size,
            columns,
            f"bias = {dims.text(call.shape('bias'))}; allowed: one element for each of the {columns} columns.",
        )


def direct_product(call: Call) -> Any:
    """NumPy's matmul itself for float32 and float64 without bias."""
    code = call.dtype("x1")
    flips = [bool(call.attrs[name]) for name in ("transpose_x1", "transpose_x2", "adj_x1", "adj_x2") if name in call.attrs]
    if code not in (dtypes.FLOAT, dtypes.DOUBLE) or len(codes(call)) != 3 or codes(call)[-1] != code:
        return None
    if min(call.rank("x1"), call.rank("x2")) < 2:
        return None
    if not any(flips):
        return np.matmul
    return lambda x1, x2, y: np.matmul(_oriented(x1, flips[0]), _oriented(x2, flips[1]), y)


def widened_dtype(call: Call) -> tuple[int, ...]:
    """Half operands give their type or float32, 8- and 4-bit integers int32, others themselves."""
    code = call.dtype("x1")
    if code in dtypes.HALVES:
        return (code, dtypes.FLOAT)
    return (dtypes.INT32,) if code in (dtypes.INT8, dtypes.INT4) else (code,)


@kernel("MatMul", shape=matmul_shape, direct=direct_product, cuts=product_cuts(by_column=("bias",)))
def mat_mul(x1: Array, x2: Array, bias: Array | None, transpose_x1: bool, transpose_x2: bool) -> Array:
    """x1 · x2 + bias; half types are added up in float32 and rounded once."""
    return with_bias(product(_oriented(x1, transpose_x1), _oriented(x2, transpose_x2)), bias)


def with_bias(y: Array, bias: Array | None) -> Array:
    """The product plus a bias for each column."""
    return y if bias is None else y + bias.reshape(-1)


@kernel("MatMulV2", shape=matmul_shape, dtype={"y": widened_dtype}, mixed=("bias",), direct=direct_product,
        cuts=product_cuts(by_column=("bias", "offset_w")))  # fmt: skip
def mat_mul_v2(
    x1: Array, x2: Array, bias: Array | None, offset_w: Array | None, transpose_x1: bool, transpose_x2: bool, offset_x: int
) -> Array:
    """(x1 - offset_x) · (x2 - offset_w) + bias; the offsets are for integers, offset_w one element or one a column."""
    first, second = shifted(x1, offset_x), _oriented(shifted(x2, 0), transpose_x2)
    if offset_w is not None:
        second = shifted(second, offset_w.astype(np.int32))
    return with_bias(product(_oriented(first, transpose_x1), second), bias)


def shifted(x: Array, offset: Any) -> Array:
    """Quantised values without their offset; floats and a zero offset leave x as it is."""
    if x.dtype.kind not in "iu" or not np.any(offset):
        return x
    return x.astype(np.int32) - np.asarray(offset).astype(np.int32)


def batch_shape(call: Call) -> Shape:
    """The product of the last two dims, the others broadcast."""
    return product_shape(call, "x1", "x2", call.attr("adj_x1"), call.attr("adj_x2"))


def batch_or_vector_shape(call: Call) -> Shape:
    """The same; a vector is a row on the left, a column on the right, and the result lacks that dim."""
    row, column = (len(rank_is(call, name, *range(1, 9))) == 1 for name in ("x1", "x2"))
    *lead, m, n = product_shape(call, "x1", "x2", call.attr("adj_x1"), call.attr("adj_x2"), least=1)
    return (*lead, *(() if row else (m,)), *(() if column else (n,)))


@kernel("BatchMatMul", shape=batch_or_vector_shape, direct=direct_product, cuts=product_cuts())
def batch_mat_mul(x1: Array, x2: Array, adj_x1: bool, adj_x2: bool) -> Array:
    """x1 · x2 over the last two dims, the leading ones broadcast.

    A vector is a row on the left and a column on the right, whose dim the result lacks; the attributes do not turn it.
    """
    row, column = x1.ndim == 1, x2.ndim == 1
    first = x1[None] if row else _oriented(x1, adj_x1)
    y = product(first, x2[:, None] if column else _oriented(x2, adj_x2))
    y = y[..., 0] if column else y
    return y[..., 0] if row and column else y[..., 0, :] if row else y
