"""Products of floats with quantised weights, and products in groups."""

from __future__ import annotations

from typing import Any

import numpy as np

from hostacl.tensors import dtypes
from hostacl.tensors.spec import TensorSpec
from random_calls.dice import Dice, Tensor
from random_calls.oracle import Within, beyond, finite, oracle, shapes
from random_calls.oracles.matmul import sizes
from random_calls.oracles.quant_matmul import powers, rounded, total_of


@shapes("WeightQuantBatchMatmulV2")
def weight_call(d: Dice) -> None:
    m, k, n = sizes(d)
    flip = bool(d.attr("transpose_weight", True))
    d.tensor("x", (k, m) if d.attr("transpose_x", True) else (m, k), -4, 4)
    weight = d.tensor("weight", (n, k) if flip else (k, n), dtype=int(d.choose(dtypes.INT8, dtypes.INT4)))
    group = d.attr("antiquant_group_size", 2) if d.kind not in {"one element", "empty"} else d.attr("antiquant_group_size", 0)
    style = d.choose("one", "column") if not group else "group"
    count = -(-k // max(group, 1))
    shape = {"one": (1,), "column": (n,), "group": (n, count) if flip else (count, n)}[style]
    wide: Any = weight.astype(np.float64)

    def over(values: Any) -> Any:
        if style == "group":
            return np.repeat(values, group, axis=1 if flip else 0)[: weight.shape[0], : weight.shape[1]]
        return values if style == "one" else values[:, None] if flip else values

    scale = powers(d, shape)
    d.tensor("antiquant_scale", scale, dtype=d.dtype)
    if d.optional("antiquant_offset"):
        offset = d.rng.integers(-9, 9, shape).astype(np.float64)
        d.tensor("antiquant_offset", offset, dtype=d.dtype)
        wide = wide + over(offset)
    wide = wide * over(scale)
    d.values["wide"] = wide.T if flip else wide
    if d.optional("quant_scale"):
        d.tensor("quant_scale", powers(d, (n,), -8, -5), dtype=dtypes.FLOAT)
        d.inputs["x"][0].data[...] = d.rng.integers(-4, 5, d.inputs["x"][0].data.shape)
        if d.optional("quant_offset"):
            d.tensor("quant_offset", d.rng.integers(-9, 9, (n,)), dtype=dtypes.FLOAT)
        d.output("y", dtypes.INT8)
    else:
        d.output("y", d.dtype)
        d.optional("quant_offset")
        if d.inputs.get("quant_offset", [Tensor("", TensorSpec(-1, (), -1), None)])[0].data is None:
            d.inputs["quant_offset"] = [Tensor("quant_offset", TensorSpec(-1, (), -1), None)]
    if d.optional("bias"):
        d.tensor("bias", d.rng.integers(-9, 9, (n,)), dtype=dtypes.FLOAT)


@oracle("WeightQuantBatchMatmulV2", family="matmul")
def weight_product(x: Any, quant_scale: Any, quant_offset: Any, bias: Any, transpose_x: bool, dice: Dice) -> Any:
    a = x.T if transpose_x else x
    y, size = total_of(a, dice.values["wide"])
    y = y if bias is None else y + bias
    code = dice.outputs["y"][0]
    if code == dtypes.INT8:
        return rounded(y * quant_scale + (0 if quant_offset is None else quant_offset), dtypes.INT8)
    return Within(y, (size + finite(y)) * (2 * a.shape[-1] + 8) * 2.0**-24 + beyond(size))


def dequant_parts(d: Dice, m: int, k: int, shape: Any, scales: Any) -> None:
    """What both dequantising products take beside x and the groups; static or dynamic scales of x."""
    d.values["rows"] = None
    d.tensor("quantized_weight", shape, dtype=dtypes.INT8)
    d.tensor("weight_scale", powers(d, scales, -6, -2), dtype=dtypes.FLOAT)


def dequant_rest(d: Dice, m: int, k: int, bias: Any) -> None:
    if d.optional("bias"):
        d.tensor("bias", d.rng.integers(-99, 99, bias), dtype=dtypes.INT32)
    if d.optional("x_scale"):
        d.tensor("x_scale", powers(d, d.choose((1,), (m,))), dtype=dtypes.FLOAT)
    d.inputs["x_offset"] = [Tensor("x_offset", TensorSpec(-1, (), -1), None)]
    if d.optional("smooth_scale"):
        d.tensor("smooth_scale", powers(d, (k,)), dtype=dtypes.FLOAT16)
    d.attr("x_quant_mode", "pertensor")
    d.output("y", dtypes.FLOAT16)


@shapes("QuantMatmulDequant")
def dequant_call(d: Dice) -> None:
    m, k, n = sizes(d)
    d.tensor("x", (m, k), -4, 4)
    flip = d.attr("transpose_weight", False)
    dequant_parts(d, m, k, (n, k) if flip else (k, n), (n,))
    dequant_rest(d, m, k, (n,))


@shapes("QuantGroupedMatmulDequant")
def grouped_dequant_call(d: Dice) -> None:
    m, k, n = sizes(d)
    groups = 1 if d.kind == "one element" else d.int(1, 3)
    d.tensor("x", (m, k), -4, 4)
    flip = d.attr("transpose_weight", False)
    dequant_parts(d, m, k, (groups, n, k) if flip else (groups, k, n), (groups, n))
    d.tensor("group_list", np.sort(d.rng.integers(0, m + 1, groups)), dtype=dtypes.INT64)
    dequant_rest(d, m, k, (groups, n))


def largest(row: Any) -> float:
    """The largest magnitude, NaN where there is one."""
    return float("nan") if any(map(np.isnan, row)) else max((abs(one) for one in row), default=0.0)


def as_int8(x: Any, smooth: Any, scale: Any, mode: str) -> tuple[Any, Any]:
    """Rows of whole numbers and their scales, as float32 has the products of x and smooth."""
    wide = (x if smooth is None else x * smooth).astype(np.float32).astype(np.float64)
    if scale is None:
        tops = [largest(row) for row in wide]
        tops = [largest(tops)] * len(tops) if mode == "pertensor" else tops
        scale = np.array(tops) / 127.0
    scale = np.broadcast_to(scale, (len(wide),))
    whole = np.zeros(wide.shape)
    for place, row in enumerate(wide):
        whole[place] = np.nan_to_num(np.clip(np.rint(row / scale[place]), -128, 127)) if scale[place] else 0
    return whole, scale


@oracle("QuantMatmulDequant", family="matmul")
def dequant(x: Any, quantized_weight: Any, weight_scale: Any, bias: Any, x_scale: Any, smooth_scale: Any, x_quant_mode: str,
            transpose_weight: bool) -> Any:  # fmt: skip
    rows, scale = as_int8(x, smooth_scale, x_scale, x_quant_mode)
    y, _ = total_of(rows, quantized_weight.T if transpose_weight else quantized_weight)
    y = (y if bias is None else y + bias.astype(np.float64)) * weight_scale * scale[:, None]
    return Within(y, finite(y) * 2.0**-22)


@oracle("QuantGroupedMatmulDequant", family="matmul")
def grouped_dequant(x: Any, quantized_weight: Any, weight_scale: Any, group_list: Any, bias: Any, x_scale: Any,
                    smooth_scale: Any, x_quant_mode: str, transpose_weight: bool) -> Any:  # fmt: skip
    rows, scale = as_int8(x, smooth_scale, x_scale, x_quant_mode)
    result = np.zeros((len(x), weight_scale.shape[1]))
    start = 0
    for place, end in enumerate(map(int, group_list)):
        weight = quantized_weight[place].T if transpose_weight else quantized_weight[place]
        y, _ = total_of(rows[start:end], weight)
        y = y if bias is None else y + bias[place].astype(np.float64)
        result[start:end] = y * weight_scale[place] * scale[start:end, None]
        start = end
    return Within(result, finite(result) * 2.0**-22)


LISTS = ("x", "weight", "bias", "scale", "offset", "antiquant_scale", "antiquant_offset")


def left_out(d: Dice, count: int, *names: str) -> None:
    """Lists of tensors that are left out."""
    for name in names:
        d.inputs[name] = [Tensor(name, TensorSpec(-1, (), -1), None) for _ in range(count)]


@shapes("GroupedMatmul")
def grouped_call(d: Dice) -> None:
    pairs = d.kind in {"attributes absent", "attributes default", "many of a list", "one of a list"}
    kind = -1 if pairs else int(d.choose(-1, 0, 0, 2))
    kind = 0 if "per_token_scale" in [one.name for one in d.generation.inputs] else kind
    count = d.count(3) if kind == -1 else 1
    draw = {-1: separate, 0: by_rows, 2: by_inner}[kind]
    d.values["kind"] = kind
    if kind != -1 or d.chance():
        d.attrs["group_type"] = ("int", kind)
    draw(d, count)
    for name in LISTS:
        for place, one in enumerate(d.inputs[name]):
            one.spec = one.spec._replace(name=f"{name}{place}")


def out_of(d: Dice) -> int:
    return dtypes.INT32 if d.dtype == dtypes.INT8 else d.dtype


def separate(d: Dice, count: int) -> None:
    flip = bool(d.attr("transpose_weight", True))
    biased = d.chance()
    bias_type = {dtypes.INT8: dtypes.INT32, dtypes.FLOAT16: dtypes.FLOAT16}.get(d.dtype, dtypes.FLOAT)
    dims = [sizes(d) for _ in range(count)]
    single = d.attr("split_item", 1) in (2, 3)
    assert not single
    for m, k, _ in dims:
        d.tensor("x", (m, k), -4, 4)
    for _, k, n in dims:
        d.tensor("weight", (n, k) if flip else (k, n), -4, 4, dtype=d.dtype)
    for _, _, n in dims:
        if biased:
            d.tensor("bias", (n,), -4, 4, dtype=bias_type)
    left_out(d, count, *([] if biased else ["bias"]), *LISTS[3:])
    d.inputs = {name: d.inputs[name] for name in LISTS}
    d.inputs["group_list"] = [Tensor("group_list", TensorSpec(-1, (), -1), None)]
    for _ in range(count):
        d.output("y", out_of(d))


def by_rows(d: Dice, count: int) -> None:
    m, k, n = sizes(d)
    groups = 1 if d.kind == "one element" else d.int(1, 3)
    flip = bool(d.attr("transpose_weight", True))
    d.tensor("x", (m, k), -4, 4)
    d.tensor("weight", (groups, *((n, k) if flip else (k, n))), -4, 4, dtype=d.dtype)
    older = "per_token_scale" in [one.name for one in d.generation.inputs]
    scaled = d.dtype == dtypes.INT8 and (older or d.chance(0.7))
    biased = d.chance()
    bias_type = {dtypes.INT8: dtypes.INT32, dtypes.FLOAT16: dtypes.FLOAT16}.get(d.dtype, dtypes.FLOAT)
    if biased:
        d.tensor("bias", (groups, n), -4, 4, dtype=bias_type)
    if scaled:
        d.tensor("scale", powers(d, (groups, n)), dtype=dtypes.FLOAT)
    left_out(d, 1, *([] if biased else ["bias"]), *([] if scaled else ["scale"]), *LISTS[4:])
    d.inputs = {name: d.inputs[name] for name in LISTS}
    ends = np.sort(d.rng.integers(0, m + 1, groups))
    lengths = "group_list_type" in d.generation.attrs and bool(d.attr("group_list_type", 0, 1))
    d.values["ends"] = ends
    d.tensor("group_list", np.diff(ends, prepend=0) if lengths else ends, dtype=dtypes.INT64)
    if older:
        d.tensor("per_token_scale", powers(d, (m,)), dtype=dtypes.FLOAT)
        d.values["token"] = d.inputs["per_token_scale"][0].data
        d.attrs["act_type"] = ("int", 0)
    d.attrs["split_item"] = ("int", 2 + int(d.chance()))
    d.output("y", dtypes.FLOAT16 if scaled else out_of(d))


def by_inner(d: Dice, count: int) -> None:
    m, k, n = sizes(d)
    groups = 1 if d.kind == "one element" else d.int(1, 3)
    first, second = bool(d.attr("transpose_x", True)), bool(d.attr("transpose_weight", True))
    d.tensor("x", (k, m) if first else (m, k), -4, 4)
    d.tensor("weight", (n, k) if second else (k, n), -4, 4, dtype=d.dtype)
    left_out(d, 1, *LISTS[2:])
    ends = np.sort(d.rng.integers(0, k + 1, groups))
    d.values["ends"] = ends
    d.tensor("group_list", ends, dtype=dtypes.INT64)
    d.attrs["split_item"] = ("int", 2 + int(d.chance()))
    d.output("y", out_of(d))


@oracle("GroupedMatmul", family="matmul")
def grouped(x: Any, weight: Any, bias: Any, scale: Any, transpose_x: bool, transpose_weight: bool, dice: Dice) -> Any:
    def one(a: Any, b: Any, plus: Any, factor: Any, token: Any) -> tuple[Any, Any]:
        y, size = total_of(a, b)
        slack = (size + finite(y)) * (2 * a.shape[-1] + 8) * 2.0**-24 + beyond(size)
        y = y if plus is None else y + plus.astype(np.float64)
        slack = slack + np.abs(y) * 2.0**-22
        for by in (factor, token):
            y, slack = (y, slack) if by is None else (y * by, slack * by)
        return y, slack

    def shown(pair: tuple[Any, Any]) -> Any:
        if dice.outputs["y"][0] == dtypes.INT32:
            return np.array([int(value) for value in pair[0].ravel()], object).reshape(pair[0].shape)
        return Within(*pair)

    turned = [np.swapaxes(w, -1, -2) if transpose_weight else w for w in weight]
    if dice.values["kind"] == -1:
        pairs = enumerate(zip(x, turned, strict=True))
        return [shown(one(a, b, bias[at] if bias else None, None, None)) for at, (a, b) in pairs]
    starts, (a,), (b,) = 0, x, turned
    a = a.T if transpose_x else a
    if dice.values["kind"] == 2:
        found = []
        for end in map(int, dice.values["ends"]):
            found.append(one(a[:, starts:end], b[starts:end], None, None, None))
            starts = end
        return [shown((np.stack([y for y, _ in found]), np.stack([s for _, s in found])))]
    result, slack = np.zeros((len(a), b.shape[-1])), np.zeros((len(a), b.shape[-1]))
    token = dice.values.get("token")
    for place, end in enumerate(map(int, dice.values["ends"])):
        part = slice(starts, end)
        result[part], slack[part] = one(a[part], b[place], bias[0][place] if bias else None, scale[0][place] if scale else None,
                                        None if token is None else token[part, None])  # fmt: skip
        starts = end
    return [shown((result, slack))]
