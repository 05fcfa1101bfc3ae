"""Products of quantised matrices with the scales that make floats of them."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from hostacl.ops import dims
from hostacl.ops.call import Call
from hostacl.ops.dims import Shape
from hostacl.ops.gemm import flipped
from hostacl.ops.matmul import product, product_shape, with_whole
from hostacl.ops.matmul_cuts import permuted_cuts, product_cuts
from hostacl.ops.quant_scales import (
    check_counts,
    columns,
    encoded_offsets,
    factors,
    finished,
    group_sizes,
    refuse_given,
    refuse_groups,
    scale_grid,
    spread,
)
from hostacl.ops.registry import kernel
from hostacl.ops.run import Out
from hostacl.ops.shapes import rank_is
from hostacl.tensors import dtypes

Array = NDArray[Any]

UNPUBLISHED = "what it does to the result is not published"


def check_bias(call: Call, shape: Shape) -> None:
    """A bias has one element for each column, of each matrix of a batch or of all."""
    if call.has("bias"):
        bias = call.shape("bias")
        fits = len(bias) == 1 or (len(bias) == len(shape) == 3 and bias[1] == 1 and bias[0] in (1, shape[0]))
        if not fits or (dims.known(bias[-1], shape[-1]) and bias[-1] != shape[-1]):
            raise call.refuse("HA504", f"bias = {dims.text(bias)}; allowed: one element for each of the {shape[-1]} columns.")


def v3_shape(call: Call) -> Shape:
    """The (batched) product; scales and offset for all or each column, pertoken_scale for each row."""
    shape = product_shape(call, "x1", "x2", call.attr("transpose_x1"), call.attr("transpose_x2"))
    check_counts(call, shape[-1], "column", "scale", "offset")
    check_counts(call, shape[-2], "row", "pertoken_scale")
    check_bias(call, shape)
    return shape


def rows_of(parameter: Array | None, batch: int) -> Array | None:
    """A parameter of one element or one for each row, laid along all rows of a batch."""
    if parameter is None or parameter.size == 1:
        return None if parameter is None else parameter.reshape(1, 1)
    return np.tile(parameter.reshape(-1, 1), (batch, 1))


@kernel("QuantBatchMatmulV3", shape=v3_shape, mixed=("scale", "bias", "offset", "pertoken_scale", "y"),
        cuts=product_cuts(beside=("bias",), by_row=("pertoken_scale",), by_column=("scale", "offset"), sums=False))
def quant_batch_matmul_v3(
    x1: Array, x2: Array, scale: Array, offset: Array | None, bias: Array | None, pertoken_scale: Array | None,
    transpose_x1: bool, transpose_x2: bool, out: tuple[Out, ...],
) -> Array:  # fmt: skip
    """(x1 · x2 + bias)·scale·pertoken_scale + offset, exact up to the one rounding; a float bias is added behind the scales.

    scale is for all or for each column; a 64-bit integer holds a float32 in its lower half, and for an int8 y an offset of 9
    bits from bit 37 on, which counts where offset is left out. An int8 y is rounded half to even and held; an int32 y is the
    product and the bias alone.
    """
    total = product(flipped(x1, transpose_x1), flipped(x2, transpose_x2))
    if bias is not None and bias.dtype.kind == "i":
        total = with_whole(total, bias)
    if out[0].code == dtypes.INT32:
        return total
    moved = encoded_offsets(scale) if offset is None else offset
    ready = Ending(columns(factors(scale)), pertoken_scale, bias, columns(moved) if out[0].code == dtypes.INT8 else None)
    return ready.of(total, out[0].code)


class Ending:
    """What follows a product: scales of columns and rows, a float bias, an offset."""

    def __init__(self, scale: Any, rows: Array | None, bias: Array | None, offset: Any = None) -> None:
        self.scale, self.rows, self.bias, self.offset = scale, rows, bias, offset

    def of(self, total: Array, code: int) -> Array:
        """The output of this dtype code."""
        batch = int(np.prod(total.shape[:-2]))
        rows = rows_of(None if self.rows is None else factors(self.rows), batch)
        bias = self.bias if self.bias is not None and self.bias.dtype.kind == "f" else None
        if bias is not None and bias.ndim == 3:
            bias = np.broadcast_to(bias, total.shape).reshape(-1, bias.shape[2])

        def step(wide: Array, part: slice) -> Array:
            wide = wide if self.scale is None else wide * self.scale
            wide = wide if rows is None else wide * (rows if len(rows) == 1 else rows[part])
            wide = wide if bias is None else wide + (bias[part] if bias.ndim == 2 else bias)
            return wide if self.offset is None else wide + self.offset

        return finished(total, step, code)


SCALED = ("x1_scale", "x2_scale")


def v4_shape(call: Call) -> Shape:
    """The (batched) product; scales by their own shapes."""
    refuse_given(call, UNPUBLISHED, "x1_offset", "x2_offset", "x2_table")
    shape = product_shape(call, "x1", "x2", call.attr("transpose_x1"), call.attr("transpose_x2"))
    grids(call)
    check_counts(call, shape[-1], "column", "y_scale", "y_offset")
    check_bias(call, shape)
    return shape


def grids(call: Call) -> list[tuple[int, int] | None]:
    """How the scales of x1 and x2 lie over these, as they are stored."""
    m, n, k = group_sizes(call)
    found = []
    for name, matrix, along, inner in zip(SCALED, ("x1", "x2"), (m, n), inner_axes(call), strict=True):
        stored, what = call.shape(matrix), ("row", "column")[matrix == "x2"]
        if call.has(name) and len(call.shape(name)) >= 2 and dims.count(call.shape(name)) != 1:
            if len(stored) != 2:
                told = f"{name} = {dims.text(call.shape(name))} is for matrices; {matrix} = {dims.text(stored)}."
                raise call.refuse("HA504", told)
            found.append(scale_grid(call, name, stored, (k, along) if inner == 0 else (along, k), inner))
        else:
            check_counts(call, stored[-1 - inner], what, name)
            found.append(None)
    return found


def inner_axes(call: Call) -> tuple[int, int]:
    """Which of the last two axes of x1 and x2, as they are stored, is the inner one: 0 or 1."""
    return 1 - bool(call.attrs.get("transpose_x1")), int(bool(call.attrs.get("transpose_x2")))


def dequantized_product(x1: Array, x2: Array, scales: tuple[Array | None, Array | None], call: Call) -> tuple[Array, Any, Any]:
    """x1 · x2 with what of their scales is left to multiply columns and rows with: those inside of k are worked in."""
    flips = [bool(call.attrs.get(name)) for name in ("transpose_x1", "transpose_x2")]
    left: list[Array | None] = []
    parts: list[Array] = []
    for x, scale, grid, flip, inner in zip((x1, x2), scales, grids(call), flips, inner_axes(call), strict=True):
        table = None if scale is None or grid is None else spread(scale, (x.shape[-2], x.shape[-1]), grid, inner)
        within = table is not None and table.shape[inner] > 1
        parts.append(flipped(x * table if within else x, flip))
        left.append(None if within or scale is None else (factors(scale) if table is None else table).reshape(-1))
    if any(one.dtype == np.float64 for one in parts):
        parts = [one.astype(np.float64) for one in parts]
    return product(parts[0], parts[1]), left[1], left[0]


@kernel("QuantBatchMatmulV4", shape=v4_shape,
        mixed=("x1", "x2", "bias", "x1_scale", "x2_scale", "y_scale", "y_offset", "y"),
        cuts=product_cuts(beside=("bias",), by_column=("y_scale", "y_offset"), grids=SCALED, sums=False))  # fmt: skip
def quant_batch_matmul_v4(
    x1: Array, x2: Array, bias: Array | None, x1_scale: Array | None, x2_scale: Array | None, y_scale: Array | None,
    y_offset: Array | None, out: tuple[Out, ...], call: Call,
) -> Array:  # fmt: skip
    """(x1·x1_scale) · (x2·x2_scale) + bias; an int8 y is that times y_scale plus y_offset, rounded half to even and held.

    A scale has one element, one for each row of x1 (column of x2), or lies over its matrix in blocks: those of group_size
    (16 bits each for m, n and k), else as the shapes say; float8_e8m0 scales are for 32 elements, the last two dims joined
    when there are three. An int32 bias is added before the scales. 64-bit scales hold a float32 in their lower half. Every
    compute_type computes the same.
    """
    total, by_column, by_row = dequantized_product(x1, x2, (x1_scale, x2_scale), call)
    if bias is not None and bias.dtype.kind == "i":
        total = with_whole(total, bias)
    ready = Ending(columns(by_column), by_row, bias)
    if out[0].code != dtypes.INT8:
        return ready.of(total, out[0].code)
    wide = ready.of(total, dtypes.FLOAT)
    moved: Array | None = y_offset
    if moved is None and (encoded := y_scale if y_scale is not None else x2_scale) is not None and encoded.dtype.kind in "iu":
        moved = encoded_offsets(encoded)
    return Ending(None if y_scale is None else columns(factors(y_scale)), None, None, columns(moved)).of(wide, out[0].code)


def added_shape(call: Call) -> Shape:
    """y, which has the shape of the product."""
    shape = product_shape(call, "x1", "x2", call.attr("transpose_x1"), call.attr("transpose_x2"))
    grids(call)
    y = call.shape("y")
    if dims.known(*y, *shape) and y != shape:
        raise call.refuse("HA504", f"y = {dims.text(y)}; allowed: {dims.text(shape)}, the shape of the product.")
    return shape


@kernel("QuantBatchMatmulInplaceAdd", shape=added_shape, mixed=("x1", "x2", "x1_scale", "x2_scale"),
        cuts=product_cuts(grids=SCALED, sums=False))
def quant_batch_matmul_inplace_add(
    x1: Array, x2: Array, x2_scale: Array, y: Array, x1_scale: Array | None, call: Call
) -> Array:  # fmt: skip
    """y + (x1·x1_scale) · (x2·x2_scale), in place. The scales are those of QuantBatchMatmulV4."""
    total, by_column, by_row = dequantized_product(x1, x2, (x1_scale, x2_scale), call)
    return y + Ending(columns(by_column), by_row, None).of(total, dtypes.FLOAT)


def reduced_shape(call: Call) -> Shape:
    """(m, n): the batch is added up."""
    refuse_given(call, UNPUBLISHED, "bias", "y_scale", "x1_offset", "x2_offset", "y_offset", "x2_table")
    refuse_groups(call)
    for name in ("x1", "x2"):
        rank_is(call, name, 3)
    batch, m, n = product_shape(call, "x1", "x2", call.attr("transpose_x1"), call.attr("transpose_x2"))
    if call.known("dims") and call.ints("dims") != (0,):
        raise call.refuse("HA519", f"dims = {list(call.ints('dims'))}; allowed: [0], the batch.")
    check_counts(call, n, "column", "x2_scale")
    if call.has("x1_scale"):
        rows, scale = batch * m, dims.count(call.shape("x1_scale"))
        if dims.known(rows, scale) and scale != rows:
            told = f"x1_scale = {dims.text(call.shape('x1_scale'))}; allowed: [{batch},{m}], one for each row."
            raise call.refuse("HA504", told)
    return (1, m, n) if call.attr("keep_dims") else (m, n)


@kernel("QuantMatmulReduceSum", shape=reduced_shape, values=("dims",), mixed=("x1", "x2", "x1_scale", "x2_scale"))
def quant_matmul_reduce_sum(
    x1: Array, x2: Array, x1_scale: Array | None, x2_scale: Array | None, transpose_x1: bool, transpose_x2: bool,
    keep_dims: bool,
) -> Array:  # fmt: skip
    """The sum over the batch of (x1 · x2)·x1_scale·x2_scale: one scale for each row of each matrix, one for each column.

    Every compute_type computes the same.
    """
    first, second = flipped(x1, transpose_x1), flipped(x2, transpose_x2)
    total = np.zeros((first.shape[1], second.shape[2]))
    for place in range(first.shape[0]):
        one = product(first[place], second[place % second.shape[0]]).astype(np.float64)
        total += one if x1_scale is None else one * x1_scale.reshape(first.shape[0], -1, 1)[place]
    if x2_scale is not None:
        total *= x2_scale.astype(np.float64).reshape(-1 if x2_scale.size != 1 else ())
    return total[None] if keep_dims else total


def transposed_shape(call: Call) -> Shape:
    """The batched product, its dims in the order of perm_y."""
    shapes = []
    for name in ("x1", "x2"):
        perm, shape = call.attr(f"perm_{name}"), rank_is(call, name, 3)
        check_perm(call, f"perm_{name}", perm)
        shapes.append(tuple(shape[one] for one in perm))
    check_perm(call, "perm_y", call.attr("perm_y"))
    refuse_groups(call)
    if call.attr("batch_split_factor") != 1:
        raise call.refuse("HA508", f"batch_split_factor = {call.attr('batch_split_factor')}; allowed: 1.")
    (batch, m, k), (other, inner, n) = shapes
    told = f"x1 = {dims.text(shapes[0])}, x2 = {dims.text(shapes[1])} in the order of their perm"
    if dims.known(batch, other, k, inner) and (batch != other or k != inner):
        raise call.refuse("HA504", f"{told}; batches and inner dims must be equal.")
    check_counts(call, n, "column", "x2_scale", "bias")
    check_counts(call, m, "row", "x1_scale")
    return tuple((batch, m, n)[one] for one in call.attr("perm_y"))


def check_perm(call: Call, name: str, perm: Any) -> None:
    """Refuses what is no order of three axes."""
    if sorted(perm) != [0, 1, 2]:
        raise call.refuse("HA508", f"{name} = {list(perm)}; allowed: an order of 0, 1, 2.")


@kernel("TransposeQuantBatchMatMul", shape=transposed_shape, mixed=("x1", "x2", "bias", "x1_scale", "x2_scale", "y"),
        cuts=permuted_cuts(by_row=("x1_scale",), by_column=("x2_scale",)))
def transpose_quant_batch_matmul(
    x1: Array, x2: Array, bias: Array | None, x1_scale: Array | None, x2_scale: Array | None, perm_x1: list[int],
    perm_x2: list[int], perm_y: list[int], out: tuple[Out, ...],
) -> Array:  # fmt: skip
    """(x1 · x2)·x1_scale·x2_scale + bias for each matrix of a batch, the dims of x1, x2 and the result ordered by their perm.

    x1_scale has one element or one for each row, x2_scale one or one for each column.
    """
    total = product(x1.transpose(perm_x1), x2.transpose(perm_x2))
    scale = None if x2_scale is None else columns(factors(x2_scale))
    y = Ending(scale, x1_scale, None if bias is None else bias.reshape(-1)).of(total, out[0].code)
    return y.transpose(perm_y)


def first_shape(call: Call) -> Shape:
    """The (batched) product; one scale in all or for each column, a bias for each column."""
    shape = product_shape(call, "x1", "x2", call.attr("adj_x1"), call.attr("adj_x2"))
    check_counts(call, shape[-1], "column", "deq_scale")
    check_bias(call, shape)
    return shape


@kernel("QuantBatchMatmul", shape=first_shape, mixed=("bias", "deq_scale", "y"),
        cuts=product_cuts(beside=("bias",), by_column=("deq_scale",), sums=False))
def quant_batch_matmul(
    x1: Array, x2: Array, bias: Array, deq_scale: Array, adj_x1: bool, adj_x2: bool, out: tuple[Out, ...]
) -> Array:  # fmt: skip
    """(x1 · x2 + bias)·deq_scale, exact up to the one rounding; a 64-bit scale holds a float32 in its lower half."""
    total = with_whole(product(flipped(x1, adj_x1), flipped(x2, adj_x2)), bias)
    return Ending(columns(factors(deq_scale)), None, None).of(total, out[0].code)
