"""Quantised products: sums over products of elements, scales as powers of two."""

from __future__ import annotations

from typing import Any

import numpy as np

from hostacl.tensors import dtypes
from random_calls.dice import Dice
from random_calls.oracle import Within, finite, oracle, shapes
from random_calls.oracles.matmul import sizes
from random_calls.oracles.quant import held
from random_calls.oracles.small_floats import table

WIDE = (dtypes.UINT64, dtypes.INT64)


def matrix(d: Dice, name: str, shape: Any, code: int, least: float = 2.0**-4, most: float = 4) -> Any:
    """An input of integers or small floats of ordinary size; gives its true values, also under its name in the dice."""
    if code not in dtypes.SMALL_FLOATS:
        values = d.tensor(name, shape, dtype=code).astype(np.float64)
    else:
        size = np.abs(table(code))
        good = np.flatnonzero((size >= least) & (size <= most))
        patterns = d.rng.choice(good, shape)
        d.tensor(name, patterns, dtype=code)
        values = table(code)[patterns]
    d.values[f"true {name}"] = values
    return values


def powers(d: Dice, shape: Any, low: int = -3, high: int = 1) -> Any:
    """Scales that change no digit."""
    return np.asarray(2.0 ** d.rng.integers(low, high + 1, shape))


def scales(d: Dice, name: str, count: int, *codes: int, offset: bool = False) -> Any:
    """An input of scales, one or so many, of one of these dtypes; gives their true values (and the offsets inside)."""
    shape = (count,) if d.chance() else (1,)
    code = int(d.choose(*codes))
    values = powers(d, shape)
    moved = d.rng.integers(-9, 9, shape) if offset and code in WIDE else np.zeros(shape, np.int64)
    data = values
    if code in WIDE:
        data = values.astype(np.float32).view(np.uint32).astype(np.int64) | ((moved & 511) << 37)
    d.tensor(name, data, dtype=code)
    d.values[f"true {name}"], d.values[f"moved {name}"] = values, moved
    return values


def total_of(a: Any, b: Any) -> tuple[Any, Any]:
    """The product of the last two dims, and of the magnitudes."""
    one, other = a.astype(np.float64), b.astype(np.float64)
    return ((one[..., :, :, None] * other[..., None, :, :]).sum(axis=-2),
            (finite(one)[..., :, :, None] * finite(other)[..., None, :, :]).sum(axis=-2))  # fmt: skip


def rounded(value: Any, code: int) -> Any:
    """A float output as it is, an int8 one rounded half to even and held."""
    if code != dtypes.INT8:
        return value
    each = [held(float(np.rint(one)) if np.isfinite(one) else one, code) for one in value.ravel()]
    return np.array(each, object).reshape(value.shape)


@shapes("QuantBatchMatmulV3")
def v3_call(d: Dice) -> None:
    m, k, n = sizes(d)
    batch = (2,) if d.chance(0.3) and d.kind not in {"one element", "empty", "long"} else ()
    code = int(d.choose(dtypes.INT8, dtypes.INT4))
    matrix(d, "x1", (*batch, *((k, m) if d.attr("transpose_x1", True) else (m, k))), code)
    matrix(d, "x2", (n, k) if d.attr("transpose_x2", True) else (k, n), code)
    out = d.attr("dtype", dtypes.FLOAT16, dtypes.INT8, dtypes.BF16, dtypes.INT32)
    scales(d, "scale", n, d.dtype, offset=True)
    if d.optional("offset"):
        d.tensor("offset", d.rng.integers(-9, 9, (n,)), dtype=dtypes.FLOAT)
    code = dtypes.INT32 if out == dtypes.INT32 else d.choose(dtypes.INT32, dtypes.BF16, dtypes.FLOAT16, dtypes.FLOAT)
    if d.optional("bias"):
        d.tensor("bias", d.rng.integers(-50, 50, (n,)), dtype=code)
    if d.optional("pertoken_scale"):
        d.tensor("pertoken_scale", powers(d, (m,)), dtype=dtypes.FLOAT)
    d.output("y", out)


@oracle("QuantBatchMatmulV3", family="matmul")
def v3(offset: Any, bias: Any, pertoken_scale: Any, transpose_x1: bool, transpose_x2: bool, dice: Dice) -> Any:
    x1, x2 = dice.values["true x1"], dice.values["true x2"]
    y, _ = total_of(np.swapaxes(x1, -1, -2) if transpose_x1 else x1, x2.T if transpose_x2 else x2)
    code = dice.outputs["y"][0]
    whole = bias is not None and bias.dtype == object
    y = y + bias.astype(np.float64) if whole else y
    if code == dtypes.INT32:
        return np.vectorize(int, otypes=[object])(y) if y.size else y.astype(object)
    y = y * dice.values["true scale"]
    y = y if pertoken_scale is None else y * pertoken_scale[:, None]
    y = y if bias is None or whole else y + bias
    if code == dtypes.INT8:
        y = y + (dice.values["moved scale"] if offset is None else offset)
    return rounded(y, code)


def scale_table(d: Dice, name: str, rows: int, columns: int, inner: int, across: str) -> Any:
    """Scales of a matrix stored as (rows, columns): one, one a line across k, or blocks; gives them over the matrix."""
    style = "line" if d.kind in {"one element", "empty"} else d.choose("one", "line", "blocks", "pairs")
    lines = columns if inner == 0 else rows
    size = rows if inner == 0 else columns
    if style in ("one", "line"):
        values = powers(d, (1,) if style == "one" else (lines,))
        d.tensor(name, values, dtype=dtypes.FLOAT)
        return values if style == "one" else values[None, :] if inner == 0 else values[:, None]
    group = 2
    count = -(-size // group)
    count += count % 2 if style == "pairs" else 0
    values = powers(d, (count, columns) if inner == 0 else (rows, count))
    data = values
    if style == "pairs":
        data = values.reshape(count // 2, 2, columns).swapaxes(1, 2) if inner == 0 else values.reshape(rows, count // 2, 2)
    d.tensor(name, data, dtype=dtypes.FLOAT)
    d.attrs["group_size"] = ("int", group | (1 << 16) | (1 << 32))
    return np.repeat(values, group, axis=inner)[:rows, :columns]


def matrices(d: Dice) -> tuple[int, int, int]:
    """x1 and x2, transposed or not, and what they are with their scales."""
    m, k, n = sizes(d)
    first, second = bool(d.attr("transpose_x1", True)), bool(d.attr("transpose_x2", True))
    d.values["flips"] = first, second
    matrix(d, "x1", (k, m) if first else (m, k), d.dtype)
    matrix(d, "x2", (n, k) if second else (k, n), d.dtype)
    return m, k, n


@shapes("QuantBatchMatmulV4")
def v4_call(d: Dice) -> None:
    m, k, n = matrices(d)
    first, second = d.values["flips"]
    d.values["over x1"] = d.values["over x2"] = np.ones(1)
    out = d.attr("dtype", dtypes.FLOAT16, dtypes.BF16, dtypes.FLOAT, *([dtypes.INT8] if d.dtype == dtypes.INT8 else []))
    with_scales = d.dtype == dtypes.INT8 or d.kind != "optional absent"
    whole = d.dtype == dtypes.INT8 and d.chance()
    if d.optional("bias"):
        d.tensor("bias", d.rng.integers(-9, 9, (n,)), dtype=dtypes.INT32 if whole else dtypes.FLOAT)
    if d.optional("x1_scale") and with_scales:
        d.values["over x1"] = scale_table(d, "x1_scale", *((k, m) if first else (m, k)), 0 if first else 1, "row")
    if d.optional("x2_scale") and with_scales:
        d.values["over x2"] = scale_table(d, "x2_scale", *((n, k) if second else (k, n)), 1 if second else 0, "column")
    if whole and "bias" in d.inputs and d.inputs["bias"][0].data is not None:
        inside = [one for one, inner in (("x1", 0 if first else 1), ("x2", 1 if second else 0))
                  if d.values[f"over {one}"].ndim == 2 and d.values[f"over {one}"].shape[inner] > 1]  # fmt: skip
        if inside:
            d.inputs["bias"][0].data[...] = 0
    if out == dtypes.INT8 and d.optional("y_scale"):
        d.tensor("y_scale", powers(d, (n,)), dtype=dtypes.FLOAT)
        if d.optional("y_offset"):
            d.tensor("y_offset", d.rng.integers(-9, 9, (n,)), dtype=dtypes.FLOAT)
    d.output("y", out)


def scaled_product(bias: Any, dice: Dice) -> tuple[Any, Any]:
    """The product with the scales worked in, and a bound of what float32 makes of it."""
    first, second = dice.values["flips"]
    x1, x2 = dice.values["true x1"], dice.values["true x2"]
    a, b = x1 * dice.values["over x1"], x2 * dice.values["over x2"]
    if bias is not None and bias.dtype == object and bias.size:  # before the scales, which are then of lines only
        by = dice.values["over x1"], dice.values["over x2"]
        rows, columns = (one.T if flip and one.ndim == 2 else one for one, flip in zip(by, (first, second), strict=True))
        lines = rows if rows.ndim == 1 else rows[:, :1], columns if columns.ndim == 1 else columns[:1, :]
        bias = bias.astype(np.float64) * lines[0] * lines[1] if all(one.size for one in lines) else bias
    y, size = total_of(a.T if first else a, b.T if second else b)
    y = y if bias is None else y + bias.astype(np.float64)
    return y, (size + finite(y)) * (2 * x1.size + 8) * 2.0**-24


@oracle("QuantBatchMatmulV4", family="matmul")
def v4(bias: Any, y_scale: Any, y_offset: Any, dice: Dice) -> Any:
    y, slack = scaled_product(bias, dice)
    code = dice.outputs["y"][0]
    if code != dtypes.INT8:
        return Within(y, slack)
    y = y if y_scale is None else y * y_scale
    return rounded(y if y_offset is None else y + y_offset, code)


@shapes("QuantBatchMatmulInplaceAdd")
def added_call(d: Dice) -> None:
    m, k, n = matrices(d)
    first, second = d.values["flips"]
    d.values["over x1"] = np.ones(1)
    d.values["over x2"] = scale_table(d, "x2_scale", *((n, k) if second else (k, n)), 1 if second else 0, "column")
    d.tensor("y", (m, n), -4, 4)
    if d.optional("x1_scale"):
        d.values["over x1"] = scale_table(d, "x1_scale", *((k, m) if first else (m, k)), 0 if first else 1, "row")
    d.output("y", dtypes.FLOAT)


@oracle("QuantBatchMatmulInplaceAdd", family="matmul")
def added(y: Any, dice: Dice) -> Any:
    total, slack = scaled_product(None, dice)
    return Within(y + total, slack + finite(y) * 2.0**-23)


@shapes("QuantMatmulReduceSum")
def reduced_call(d: Dice) -> None:
    m, k, n = sizes(d)
    batch = 1 if d.kind == "one element" else d.int(1, 3)
    d.tensor("x1", (batch, *((k, m) if d.attr("transpose_x1", True) else (m, k))))
    d.tensor("x2", (batch, *((n, k) if d.attr("transpose_x2", True) else (k, n))))
    d.value("dims", [0], dtype=dtypes.INT64)
    if d.optional("x1_scale"):
        d.tensor("x1_scale", powers(d, (batch, m)), dtype=dtypes.FLOAT)
    if d.optional("x2_scale"):
        d.tensor("x2_scale", powers(d, (n,)), dtype=dtypes.BF16)
    d.attr("keep_dims", True)
    d.attr("dtype", dtypes.BF16)
    d.output("y", dtypes.BF16)


@oracle("QuantMatmulReduceSum", family="matmul")
def reduced(x1: Any, x2: Any, x1_scale: Any, x2_scale: Any, transpose_x1: bool, transpose_x2: bool, keep_dims: bool) -> Any:
    y, _ = total_of(np.swapaxes(x1, 1, 2) if transpose_x1 else x1, np.swapaxes(x2, 1, 2) if transpose_x2 else x2)
    y = y if x1_scale is None else y * x1_scale[:, :, None]
    y = y if x2_scale is None else y * x2_scale
    return y.sum(axis=0, keepdims=keep_dims)


@shapes("TransposeQuantBatchMatMul")
def permuted_call(d: Dice) -> None:
    m, k, n = sizes(d)
    batch = 1 if d.kind == "one element" else d.int(1, 3)
    for name, shape in (("x1", (batch, m, k)), ("x2", (batch, k, n))):
        perm = d.attr(f"perm_{name}", [0, 1, 2], [1, 0, 2], [0, 2, 1])
        stored = [0, 0, 0]
        for at, source in enumerate(perm):
            stored[source] = shape[at]
        matrix(d, name, tuple(stored), d.dtype)
    if d.optional("bias"):
        d.tensor("bias", (n,), -3, 3, dtype=dtypes.FLOAT)
    for name, count in (("x1_scale", m), ("x2_scale", n)):
        if d.optional(name):
            d.tensor(name, powers(d, (count,)), dtype=dtypes.FLOAT)
    d.attr("perm_y", [0, 1, 2])
    d.output("y", d.attr("dtype", dtypes.FLOAT16, dtypes.BF16))


@oracle("TransposeQuantBatchMatMul", family="matmul")
def permuted(bias: Any, x1_scale: Any, x2_scale: Any, perm_x1: Any, perm_x2: Any, perm_y: Any, dice: Dice) -> Any:
    a, b = dice.values["true x1"].transpose(perm_x1), dice.values["true x2"].transpose(perm_x2)
    y, size = total_of(a, b)
    for scale in (None if x1_scale is None else x1_scale[:, None], x2_scale):
        y, size = (y, size) if scale is None else (y * scale, size * scale)
    y = y if bias is None else y + bias
    return Within(y.transpose(perm_y), ((size + finite(y)) * (2 * a.shape[-1] + 8) * 2.0**-24).transpose(perm_y))
