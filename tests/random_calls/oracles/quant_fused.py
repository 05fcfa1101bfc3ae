"""Quantisation joined with activations, products, scattering and convolution."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import special

from hostacl.tensors import dtypes, formats
from hostacl.tensors.spec import TensorSpec
from random_calls.dice import Dice, Tensor
from random_calls.oracle import Any_, Within, beyond, finite, oracle, shapes
from random_calls.oracles.conv import LETTERS, convolution, convolve
from random_calls.oracles.matmul import sizes
from random_calls.oracles.quant import held, spread, whole
from random_calls.oracles.quant_matmul import matrix, powers, scales, total_of
from random_calls.oracles.scatter import caching, scatter


def near(value: Any, code: int = dtypes.INT8, slack: Any = 1e-3) -> Any_:
    """Integers next to these floats, held within the type; NaN is 0."""
    low, high = (-8, 7) if code == dtypes.INT4 else (-128, 127)
    wanted = np.nan_to_num(np.clip(value, low, high), nan=0.0)

    def holds(found: Any) -> bool:
        return bool(np.all(np.abs(found.astype(np.float64) - wanted) <= 0.5 + slack))

    return Any_(wanted.shape, holds)


def with_scales(wide: Any, error: float = 1e-3) -> tuple[Any, Any]:
    """Rows over their largest magnitude, as int8, and the scales."""
    rows = wide.reshape(int(np.prod(wide.shape[:-1])), wide.shape[-1])
    top = np.array([np.nan if np.isnan(row).any() else max(map(abs, row), default=0.0) for row in rows])
    scale = (top / 127).reshape(wide.shape[:-1])
    return near(wide / scale[..., None], slack=error), Within(scale, np.abs(finite(scale)) * 2.0**-12)


@shapes("TransQuantParamV2")
def param_call(d: Dice) -> None:
    size = 0 if d.wants("empty") else 1 if d.wants("one element") else d.int(1, 9)
    d.tensor("scale", np.asarray(d.rng.uniform(0.001, 9, d.choose((size,), (1, size)))), dtype=dtypes.FLOAT)
    if d.optional("offset"):
        d.tensor("offset", np.asarray(d.rng.uniform(-300, 300, d.choose((size,), (1,)))), dtype=dtypes.FLOAT)
    if "round_mode" in d.generation.attrs:
        d.attr("round_mode", 1)
    d.output("y", dtypes.INT64)


@oracle("TransQuantParamV2", family="quant")
def param(scale: Any, offset: Any, dice: Dice) -> Any:
    def encoded(one: float, moved: float | None) -> int:
        fraction, power = np.frexp(one)
        kept = fraction * 2**11
        kept = float(np.rint(kept)) if dice.values.get("round_mode") == 1 else float(np.floor(kept))
        low = int(np.float32(np.ldexp(kept, int(power) - 11)).view(np.uint32))
        bits = 0 if moved is None else int(min(max(round(moved), -256), 255)) % 512
        return low + 2**46 + bits * 2**37

    if not scale.size:
        return scale.astype(object)
    moved = [None] * scale.size if offset is None else list(np.broadcast_to(offset, (scale.size,)))
    return np.array([encoded(float(one), None if m is None else float(m)) for one, m in zip(scale.ravel(), moved, strict=True)],
                    object).reshape(scale.shape)  # fmt: skip


@shapes("GeluQuant")
def gelu_call(d: Dice) -> None:
    shape = d.shape(1)
    d.tensor("x", shape)
    mode = d.attr("quant_mode", "static")
    count = d.choose((1,), (shape[-1],))
    if mode == "static" or d.optional("input_scale"):
        d.tensor("input_scale", powers(d, count), dtype=d.dtype)
    if d.optional("input_offset") and mode == "static":
        d.tensor("input_offset", d.rng.integers(-9, 9, count), dtype=d.dtype)
    if mode == "dynamic":
        d.inputs["input_offset"] = [Tensor("input_offset", TensorSpec(-1, (), -1), None)]
    d.attr("approximate", "tanh")
    d.output("y", dtypes.INT8)
    d.output("out_scale", dtypes.FLOAT)


@oracle("GeluQuant", family="quant")
def gelu(x: Any, input_scale: Any, input_offset: Any, approximate: str, quant_mode: str) -> Any:
    by_tanh = x * special.expit(2 * np.sqrt(2 / np.pi) * (x + 0.044715 * x**3))
    y = by_tanh if approximate == "tanh" else x * special.ndtr(x)
    y = y if input_scale is None else y * input_scale
    if quant_mode == "dynamic":
        return with_scales(y)
    return near(y if input_offset is None else y + input_offset), Any_(x.shape[:-1])


@shapes("DequantSwigluQuant")
def swiglu_call(d: Dice) -> None:
    shape = list(d.shape(2))
    width = shape[-1]
    shape[-1] = 2 * width
    rows = int(np.prod(shape[:-1]))
    d.tensor("x", tuple(shape), -50, 50)
    grouped = d.kind not in {"attributes absent"} and d.chance(0.3)
    groups = d.int(2, 3) if grouped else 1

    def table(name: str, columns: int, low: int, high: int) -> None:
        d.tensor(name, powers(d, (groups, columns) if grouped else (columns,), low, high), dtype=dtypes.FLOAT)

    mode = d.attr("quant_mode", "dynamic")
    if d.optional("weight_scale"):
        table("weight_scale", 2 * width, -7, -4)
    if d.optional("activation_scale"):
        d.tensor("activation_scale", powers(d, (rows,), -1, 1), dtype=dtypes.FLOAT)
    if d.optional("bias"):
        table("bias", 2 * width, -2, 1)
    if mode == "static" or d.optional("quant_scale"):
        table("quant_scale", width, 0, 3)
    if d.optional("quant_offset"):
        table("quant_offset", width, 0, 3)
    if grouped:
        ends = np.sort(d.rng.integers(0, rows + 1, groups))
        d.tensor("group_index", np.diff(ends, prepend=0), dtype=dtypes.INT64)
    else:
        d.inputs["group_index"] = [Tensor("group_index", TensorSpec(-1, (), -1), None)]
    d.attr("activate_left", True)
    d.attr("swiglu_mode", 1)
    for name, *choices in (("clamp_limit", 1.5, 20.0), ("glu_alpha", 1.0), ("glu_bias", 0.0, 2.5)):
        d.attr(name, *choices)
    d.output("y", dtypes.INT8)
    d.output("scale", dtypes.FLOAT)


@oracle("DequantSwigluQuant", family="quant")
def swiglu(x: Any, weight_scale: Any, activation_scale: Any, bias: Any, quant_scale: Any, quant_offset: Any, group_index: Any,
           activate_left: bool, quant_mode: str, swiglu_mode: int, clamp_limit: float, glu_alpha: float,
           glu_bias: float) -> Any:  # fmt: skip
    width = x.shape[-1] // 2
    rows = x.astype(np.float64).reshape(int(np.prod(x.shape[:-1])), 2 * width)
    which = np.zeros(len(rows), int)
    if group_index is not None:
        which = np.repeat(np.arange(len(group_index)), [int(one) for one in group_index])
    count = len(which)
    result = np.zeros((len(rows), width))

    def of(parameter: Any) -> Any:
        return parameter[which] if group_index is not None else parameter

    part = rows[:count]
    part = part if weight_scale is None else part * of(weight_scale)
    part = part if activation_scale is None else part * activation_scale[:count, None]
    part = part if bias is None else part + of(bias)
    if swiglu_mode == 1:
        gate, other = np.minimum(part[:, ::2], clamp_limit), np.clip(part[:, 1::2], -clamp_limit, clamp_limit)
        y = gate * special.expit(np.float64(np.float32(glu_alpha)) * gate) * (other + glu_bias)
    else:
        active, plain = (part[:, :width], part[:, width:]) if activate_left else (part[:, width:], part[:, :width])
        y = active * special.expit(active) * plain
    y = y if quant_scale is None else y * of(quant_scale)
    if quant_mode == "static":
        result[:count] = y if quant_offset is None else y + of(quant_offset)
        return near(result.reshape(*x.shape[:-1], width)), Any_(x.shape[:-1])
    result[:count] = y
    return with_scales(result.reshape(*x.shape[:-1], width))


@shapes("FlatQuant")
def flat_call(d: Dice) -> None:
    m, n, batch = sizes(d)
    d.tensor("x", (batch, m, n))
    d.tensor("kronecker_p1", (m, m), -2, 2)
    d.tensor("kronecker_p2", (n, n), -2, 2)
    d.attr("clip_ratio", 0.75)
    d.output("out", dtypes.INT4)
    d.output("quant_scale", dtypes.FLOAT)


@oracle("FlatQuant", family="quant")
def flat(x: Any, kronecker_p1: Any, kronecker_p2: Any, clip_ratio: float) -> Any:
    def turned(matrix: Any, left: Any, right: Any) -> Any:
        return np.array([total_of(left, total_of(one, right)[0])[0] for one in matrix]).reshape(matrix.shape)

    y = turned(x, kronecker_p1, kronecker_p2)
    size = turned(finite(x), finite(kronecker_p1), finite(kronecker_p2))
    scale = np.array([np.nan if np.isnan(one).any() else np.max(np.abs(one), initial=0.0) for one in y]) * clip_ratio / 7
    error = (np.nan_to_num(size / scale[:, None, None], posinf=0) + 8) * (x.shape[1] + x.shape[2] + 8) * 2.0**-22
    room = beyond(np.nan_to_num(np.max(size, axis=(1, 2), initial=0), nan=np.inf))
    slack = np.max(size, axis=(1, 2), initial=0) * 2.0**-16 + room
    return near(y / scale[:, None, None], dtypes.INT4, error + room[:, None, None]), Within(scale, slack)


@shapes("QuantUpdateScatter")
def quantised_cache(d: Dice) -> None:
    caching(d)
    shape = d.inputs["updates"][0].spec.shape
    d.inputs.pop("updates")
    code = int(d.choose(dtypes.FLOAT, dtypes.FLOAT16))
    d.tensor("updates", shape, -20, 20, dtype=code)
    axis = d.axis(len(shape))
    d.attrs["quant_axis"], d.values["quant_axis"] = ("int", axis), axis
    count = d.choose((1,), (shape[axis],))
    scale = powers(d, count)
    d.tensor("quant_scales", scale, dtype=dtypes.FLOAT)
    if d.optional("quant_zero_points"):
        d.tensor("quant_zero_points", d.rng.integers(0, 9, count), dtype=dtypes.INT32)
    if "reciprocal_scale" in d.generation.attrs and d.chance():
        d.attrs["reciprocal_scale"] = ("bool", True)
    d.values["reciprocal"] = "reciprocal_scale" in d.attrs


@oracle("QuantUpdateScatter", family="quant")
def quantised_scatter(
    var: Any, indices: Any, updates: Any, quant_scales: Any, quant_zero_points: Any, axis: int, dice: Dice
) -> Any:  # fmt: skip
    place = dice.values["quant_axis"]
    scale = spread(quant_scales, updates.ndim, place)
    steps = updates * scale if dice.values["reciprocal"] else updates / scale
    steps = steps if quant_zero_points is None else steps + spread(quant_zero_points.astype(np.float64), updates.ndim, place)
    each = np.array([held(whole(float(one), "round"), dice.dtype) for one in steps.ravel()], object).reshape(updates.shape)
    return scatter(var, indices, each, axis)


@shapes("QuantConv2D")
def quantised_image(d: Dice) -> None:
    convolution(d, "NCHW", (formats.NCHW, formats.NHWC), (formats.NCHW, formats.HWCN))
    filters = d.inputs["filter"][0]
    count = filters.spec.shape["NCHW".index("N") if filters.spec.format == formats.NCHW else 3]
    given = {name: d.inputs[name] for name in ("x", "filter")}
    bias = d.inputs.get("bias")
    d.inputs = given
    scales(d, "scale", count, d.dtype)
    d.inputs.update({} if bias is None else {"bias": bias})
    d.inputs.setdefault("bias", [Tensor("bias", TensorSpec(-1, (), -1), None)])
    d.attrs["groups"] = ("int", d.values["groups"])
    d.attrs["dtype"] = ("int", dtypes.FLOAT16)
    d.outputs["y"] = (dtypes.FLOAT16, *d.outputs["y"][1:])


@shapes("GroupedMatmulSwigluQuantV2")
def grouped_swiglu_call(d: Dice) -> None:
    m, k, n = sizes(d)
    groups = 1 if d.kind == "one element" else d.int(1, 3)
    flip = bool(d.attr("transpose_weight", True))
    matrix(d, "x", (m, k), dtypes.INT8)
    d.tensor("x_scale", powers(d, (m,), -4, -2), dtype=dtypes.FLOAT)
    ends = np.sort(d.rng.integers(0, m + 1, groups))
    kind = d.attr("group_list_type", 1)
    d.values["ends"] = ends
    d.tensor("group_list", np.diff(ends, prepend=0) if kind else ends, dtype=dtypes.INT64)
    matrix(d, "weight", (groups, *((2 * n, k) if flip else (k, 2 * n))), dtypes.INT8)
    d.tensor("weight_scale", powers(d, (groups, 2 * n), -4, -2), dtype=dtypes.FLOAT)
    for name in ("weight", "weight_scale"):
        d.inputs[name][0].spec = d.inputs[name][0].spec._replace(name=f"{name}0")
    d.inputs["bias"] = [Tensor("bias", TensorSpec(-1, (), -1), None)]
    if d.optional("smooth_scale"):
        d.tensor("smooth_scale", powers(d, (groups, n)), dtype=dtypes.FLOAT)
    d.output("y", dtypes.INT8)
    d.output("y_scale", dtypes.FLOAT)


@oracle("GroupedMatmulSwigluQuantV2", family="quant")
def grouped_swiglu(
    x: Any, x_scale: Any, weight: Any, weight_scale: Any, smooth_scale: Any, transpose_weight: bool, dice: Dice
) -> Any:  # fmt: skip
    n = weight_scale[0].shape[1] // 2
    result, start = np.zeros((len(x), n)), 0
    for place, end in enumerate(map(int, dice.values["ends"])):
        one = weight[0][place].T if transpose_weight else weight[0][place]
        y = total_of(x[start:end], one)[0] * weight_scale[0][place] * x_scale[start:end, None]
        y = y[:, :n] * special.expit(y[:, :n]) * y[:, n:]
        result[start:end] = y if smooth_scale is None else y * smooth_scale[place]
        start = end
    return with_scales(result)


@shapes("GroupedMatmulFinalizeRouting")
def routing_call(d: Dice) -> None:
    m, k, n = sizes(d)
    groups = 1 if d.kind == "one element" else d.int(1, 3)
    size = 1 if d.kind == "one element" else d.int(2, 4)
    flip = bool(d.attr("transpose_w", True))
    matrix(d, "x", (m, k), dtypes.INT8)
    matrix(d, "w", (groups, *((n, k) if flip else (k, n))), int(d.choose(dtypes.INT8, dtypes.INT4)))
    d.tensor("scale", powers(d, (groups, n), -4, -2), dtype=dtypes.FLOAT)
    d.inputs["bias"] = [Tensor("bias", TensorSpec(-1, (), -1), None)]
    if d.optional("pertoken_scale"):
        d.tensor("pertoken_scale", powers(d, (m,)), dtype=dtypes.FLOAT)
    ends = np.sort(d.rng.integers(0, m + 1, groups))
    lengths = d.attr("group_list_type", 0)
    d.values["ends"] = ends
    d.tensor("group_list", np.diff(ends, prepend=0) if lengths else ends, dtype=dtypes.INT64)
    if d.optional("shared_input"):
        rows = d.int(1, size)
        d.tensor("shared_input", (rows, n), -4, 4, dtype=dtypes.BF16)
        start = d.int(0, size - rows)
        d.values["start"] = start
        d.attrs["shared_input_offset"] = ("int", start)
    if d.optional("logit"):
        d.tensor("logit", (m,), -2, 2, dtype=dtypes.FLOAT)
    d.tensor("row_index", d.rng.integers(0, size, m), dtype=int(d.choose(dtypes.INT64, dtypes.INT32)))
    d.attr("shared_input_weight", 0.5)
    d.attrs["output_bs"], d.values["output_bs"] = ("int", size), size
    d.output("y", dtypes.FLOAT)


@oracle("GroupedMatmulFinalizeRouting", family="matmul")
def routing(x: Any, w: Any, scale: Any, pertoken_scale: Any, shared_input: Any, logit: Any, row_index: Any, transpose_w: bool,
            shared_input_weight: float, dice: Dice) -> Any:  # fmt: skip
    y = np.zeros((dice.values["output_bs"], scale.shape[1]))
    size, start = np.zeros(y.shape), 0
    if shared_input is not None:
        first = dice.values["start"]
        y[first : first + len(shared_input)] += shared_input * shared_input_weight
    for place, end in enumerate(map(int, dice.values["ends"])):
        for row in range(start, end):
            line = total_of(x[row : row + 1], w[place].T if transpose_w else w[place])[0][0] * scale[place]
            line = line if pertoken_scale is None else line * pertoken_scale[row]
            line = line if logit is None else line * logit[row]
            y[int(row_index[row])] += line
            size[int(row_index[row])] += finite(line)
        start = end
    return Within(y, (size + finite(y)) * 2.0**-22)


@oracle("QuantConv2D", family="conv")
def quantised_convolution(
    x: Any, filter: Any, bias: Any, strides: Any, dilations: Any, pads: Any, groups: int, offset_x: Any, dice: Dice
) -> Any:  # fmt: skip
    total = convolve(x, filter, bias, None, strides, dilations, pads, groups, offset_x, dice)
    place = LETTERS[dice.outputs["y"][2]].index("C")
    by = dice.values["true scale"]
    shape = [-1 if axis == place else 1 for axis in range(4)]
    return total.astype(np.float64) * (by if by.size == 1 else by.reshape(shape))
