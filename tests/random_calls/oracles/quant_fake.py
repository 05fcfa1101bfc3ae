"""Quantisation grids, requantisation, dequantisation with a bias, norms as integers."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np

from hostacl.tensors import dtypes
from random_calls.dice import Dice
from random_calls.oracle import Within, finite, oracle, shapes
from random_calls.oracles.matmul import sizes
from random_calls.oracles.quant_fused import near
from random_calls.oracles.quant_matmul import powers, rounded, scales

NAMES = [f"FakeQuantWithMinMax{kind}{side}" for kind in ("Args", "Vars", "VarsPerChannel") for side in ("", "Gradient")]


@shapes(*NAMES)
def fake_call(d: Dice) -> None:
    channels = "PerChannel" in d.prototype.op_type
    shape = d.shape(1 if channels else 0)
    d.tensor("x", shape)
    if d.decl("gradients") is not None:
        d.tensor("gradients", shape)
    low, high = d.choose((-6.0, 6.0), (-1.0, 3.0), (0.0, 4.0), (-8.0, 0.0))
    if "min" in d.prototype.attrs:
        low, high = d.attr("min", -6.0, -1.0), d.attr("max", 6.0, 3.0)
    elif channels:
        low, high = (np.full(shape[-1], one) for one in (low, high))
        for name, one in (("min", low), ("max", high)):
            d.tensor(name, one, dtype=dtypes.FLOAT)
    else:
        for name, one in (("min", low), ("max", high)):
            d.tensor(name, np.full(d.choose((), (1,)), one), dtype=dtypes.FLOAT)
    d.values.update(low=low, high=high)
    d.attr("num_bits", 4, 16)
    d.attr("narrow_range", True)


@oracle("FakeQuantWithMinMaxArgs", "FakeQuantWithMinMaxVars", "FakeQuantWithMinMaxVarsPerChannel", family="quant")
def fake(x: Any, num_bits: int, narrow_range: bool, dice: Dice) -> Any:
    lows, highs = (np.broadcast_to(dice.values[name], x.shape) for name in ("low", "high"))
    steps = (1 << num_bits) - 1 - int(narrow_range)

    def one(value: float, low: float, high: float) -> float:
        scale = Fraction(high) / steps - Fraction(low) / steps
        zero = min(max(math.floor(-Fraction(low) / scale + Fraction(1, 2)), 0), steps)  # steps from the bottom
        if math.isnan(value):
            return value
        at = steps - zero if value == math.inf else -zero if value == -math.inf else Fraction(value) / scale
        held = min(max(at, -zero), steps - zero)
        return float(math.floor(held + zero + Fraction(1, 2)) * scale - zero * scale)

    y = np.array([one(*map(float, each)) for each in zip(x.ravel(), lows.ravel(), highs.ravel(), strict=True)]).reshape(x.shape)
    size = (np.abs(highs) + np.abs(lows)).astype(float)
    return Within(y, size / steps * (1 if num_bits == 16 else 1e-3) + size * 2.0**-20)


@oracle("FakeQuantWithMinMaxArgsGradient", family="quant")
def fake_args_gradient(gradients: Any, x: Any, num_bits: int, narrow_range: bool, dice: Dice) -> Any:
    return np.where(sides(x, num_bits, narrow_range, dice) == 0, gradients, 0.0)


@oracle("FakeQuantWithMinMaxVarsGradient", "FakeQuantWithMinMaxVarsPerChannelGradient", family="quant")
def fake_gradient(gradients: Any, x: Any, min: Any, max: Any, num_bits: int, narrow_range: bool, dice: Dice) -> Any:
    side = sides(x, num_bits, narrow_range, dice)
    over = tuple(range(x.ndim - 1)) if "PerChannel" in dice.prototype.op_type else None
    sums = []
    for one, end in ((-1, min), (1, max)):
        part = np.where(side == one, gradients, 0.0)
        sums.append(Within(part.sum(axis=over).reshape(end.shape), finite(part).sum(axis=over).reshape(end.shape) * 1e-12))
    return np.where(side == 0, gradients, 0.0), *sums


def sides(x: Any, num_bits: int, narrow_range: bool, dice: Dice) -> Any:
    """-1 below the moved range, 0 inside, 1 above, 2 for NaN."""
    steps = (1 << num_bits) - 1 - int(narrow_range)

    def one(value: float, low: float, high: float) -> int:
        scale = (Fraction(high) - Fraction(low)) / steps
        zero = min(max(math.floor(-Fraction(low) / scale + Fraction(1, 2)), 0), steps)
        if math.isnan(value):
            return 2
        if math.isinf(value):
            return 1 if value > 0 else -1
        at = Fraction(value) / scale
        return -1 if at < -zero else 1 if at > steps - zero else 0

    ends = [np.broadcast_to(dice.values[name], x.shape).ravel() for name in ("low", "high")]
    return np.array([one(*map(float, each)) for each in zip(x.ravel(), *ends, strict=True)], int).reshape(x.shape)


@shapes("AscendRequant")
def requant_call(d: Dice) -> None:
    shape = d.shape(1)
    d.tensor("x", shape, -300, 300)
    scales(d, "req_scale", shape[-1], dtypes.UINT64, offset=True)
    d.attr("relu_flag", True)
    d.output("y", dtypes.INT8)


@oracle("AscendRequant", family="quant")
def requant(x: Any, relu_flag: bool, dice: Dice) -> Any:
    wide = np.array([max(int(one), 0) if relu_flag else int(one) for one in x.ravel()], float).reshape(x.shape)
    return rounded(wide * dice.values["true req_scale"] + dice.values["moved req_scale"], dtypes.INT8)


@shapes("DequantBias")
def bias_call(d: Dice) -> None:
    m, _, n = sizes(d)
    if d.wants("long"):
        n = 200
    d.tensor("x", (m, n), -300, 300)
    d.tensor("weight_scale", powers(d, (n,), -9, -5), dtype=dtypes.FLOAT)
    if d.optional("activate_scale"):
        d.tensor("activate_scale", powers(d, (m,)), dtype=dtypes.FLOAT)
    if d.optional("bias"):
        d.tensor("bias", d.rng.integers(-9, 9, (n,)), dtype=int(d.choose(dtypes.INT32, dtypes.FLOAT, dtypes.FLOAT16)))
    out = int(d.choose(dtypes.FLOAT16, dtypes.BF16))
    d.attrs["output_dtype"] = ("int", out)
    d.output("y", out)


@oracle("DequantBias", family="quant")
def with_bias(x: Any, weight_scale: Any, activate_scale: Any, bias: Any) -> Any:
    y = x.astype(np.float64)
    before = bias is not None and bias.dtype == object
    y = (y + bias.astype(np.float64) if before else y) * weight_scale
    y = y if activate_scale is None else y * activate_scale[:, None]
    return y if bias is None or before else y + bias


@shapes("AddRmsNormQuant")
def norm_call(d: Dice) -> None:
    shape = d.shape(1)
    for name in ("x1", "x2"):
        d.tensor(name, shape, -4, 4)
    d.tensor("gamma", (shape[-1],), -2, 2, dtype=d.dtype)
    d.tensor("scales1", powers(d, d.choose((1,), (shape[-1],)), -5, -2), dtype=dtypes.FLOAT)
    second = d.optional("scales2")
    if second:
        d.tensor("scales2", powers(d, (shape[-1],), -5, -2), dtype=dtypes.FLOAT)
    for name in ("zero_points1", "zero_points2"):
        if d.optional(name):
            d.tensor(name, d.rng.integers(-9, 9, (shape[-1],)), dtype=dtypes.INT32)
    d.values["second"] = second
    d.attr("epsilon", 1e-3, 0.5)
    d.attr("axis", -1, len(shape) - 1)
    d.output("y1", dtypes.INT8)
    d.output("y2", dtypes.INT8)


@oracle("AddRmsNormQuant", family="quant")
def rms_quant(
    x1: Any, x2: Any, gamma: Any, scales1: Any, scales2: Any, zero_points1: Any, zero_points2: Any, epsilon: float
) -> Any:  # fmt: skip
    from random_calls.oracle import Any_

    x = (x1 + x2).astype(np.float32).astype(np.float64)
    rows = x.reshape(int(np.prod(x.shape[:-1])), x.shape[-1])
    root = np.array([1 / np.sqrt(sum(one * one for one in row) / max(len(row), 1) + epsilon) for row in rows])
    z = (x * root.reshape(*x.shape[:-1], 1)).astype(np.float32) * gamma.astype(np.float64)  # what float32 cannot hold is 0

    def quantised(scale: Any, moved: Any) -> Any:
        steps = z / scale + (0 if moved is None else moved.astype(np.float64))
        return near(steps, slack=1e-3 + np.abs(finite(steps)) * 2.0**-18)

    second = Any_(x.shape) if scales2 is None else quantised(scales2, zero_points2)
    return quantised(scales1, zero_points1), second, Within(x, (finite(x1) + finite(x2)) * 2.0**-23)
