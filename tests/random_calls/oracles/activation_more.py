"""Activation functions beyond relu, sigmoid and tanh, in float64."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import special

from hostacl.tensors import dtypes, formats
from random_calls import values
from random_calls.dice import Dice
from random_calls.oracle import Within, oracle, shapes

FAMILY = "activation"


def single(result: Any, *sizes: Any, ulps: float = 4) -> Within:
    """A result whose terms, of these sizes, are held in single precision."""
    total = sum(np.where(np.isfinite(size), np.abs(size), 0) for size in (*sizes, result))
    return Within(result, total * ulps * 2.0**-24)


def unit_gelu(x: Any, exact: bool) -> Any:
    """GELU, exactly or by tanh."""
    if exact:
        return x * special.ndtr(x)
    return x * special.expit(2 * np.sqrt(2 / np.pi) * (x + 0.044715 * x**3))


@oracle("GeluV2", family=FAMILY)
def gelu_v2(x: Any, approximate: str) -> Any:
    return unit_gelu(x, approximate == "none")


@shapes("GeluV2")
def named_gelu(d: Dice) -> None:
    d.tensor("x", d.shape())
    d.attr("approximate", "tanh", "none")


@oracle("FastGelu", family=FAMILY)
def fast_gelu(x: Any) -> Any:
    return x * special.expit(1.702 * x)


@oracle("Swish", family=FAMILY)
def swish(x: Any, scale: float) -> Any:
    return x * special.expit(scale * x)


@shapes("Swish")
def scaled(d: Dice) -> None:
    d.tensor("x", d.shape())
    d.attr("scale", 0.5, 2.0, -1.0)


@oracle("Elu", family=FAMILY)
def elu(x: Any, alpha: float, scale: float | None, input_scale: float | None) -> Any:
    outer, inner = (1.0 if one is None else one for one in (scale, input_scale))
    return np.where(x > 0, outer * x, outer * alpha * special.expm1(inner * np.minimum(x, 0)))


@shapes("Elu")
def three_scales(d: Dice) -> None:
    d.tensor("x", d.shape())
    for name in ("alpha", "scale", "input_scale"):
        if name in d.generation.attrs:
            d.attr(name, 0.5, 1.75)


@oracle("Selu", family=FAMILY)
def selu(x: Any) -> Any:
    wide = np.asarray(x, np.float64)
    result = 1.0507009873554805 * np.where(wide > 0, wide, 1.6732632423543772 * special.expm1(np.minimum(wide, 0)))
    if x.dtype != object:
        return result
    return np.array([int(min(max(one, -(2**31)), 2**31 - 1)) for one in result.ravel()], object).reshape(x.shape)


@shapes("Selu")
def small_integers(d: Dice) -> None:
    """Integers small enough to stay in their type."""
    if values.is_int(d.dtype):
        d.tensor("x", np.clip(d.data(d.dtype, d.shape()), -100, 100))
    else:
        d.tensor("x", d.shape())


@oracle("CeluV2", family=FAMILY)
def celu_v2(x: Any, alpha: float) -> Any:
    return np.maximum(x, 0) + np.minimum(0, alpha * special.expm1(x / alpha))


@shapes("CeluV2")
def one_alpha(d: Dice) -> None:
    d.tensor("x", d.shape())
    d.attr("alpha", 0.5, 2.0)


@oracle("Softplus", family=FAMILY)
def softplus(x: Any) -> Any:
    return np.logaddexp(0, x)


@oracle("SoftplusV2", family=FAMILY)
def softplus_v2(x: Any, beta: float, threshold: float) -> Any:
    return np.where(beta * x > threshold, x, np.logaddexp(0, beta * x) / beta)


@shapes("SoftplusV2")
def beta_and_threshold(d: Dice) -> None:
    d.tensor("x", d.shape())
    d.attr("beta", 0.5, 2.0)
    d.attr("threshold", 3.0)


@oracle("LogSigmoid", family=FAMILY)
def log_sigmoid(x: Any) -> Any:
    return -np.logaddexp(0, -x)


@oracle("Softsign", family=FAMILY)
def softsign(x: Any) -> Any:
    return x / (1 + np.abs(x))


@oracle("Mish", family=FAMILY)
def mish(x: Any) -> Any:
    return x * np.tanh(np.logaddexp(0, x))


@oracle("Relu6", family=FAMILY)
def relu6(x: Any) -> Any:
    return np.where(x < 0, 0, np.where(x > 6, 6, x))


@oracle("HardSwish", family=FAMILY)
def hard_swish(x: Any) -> Any:
    result = x * np.clip(x + 3, 0, 6) / 6
    return single(result, np.where(np.abs(x) < 4, x, 0))


@oracle("LeakyRelu", family=FAMILY)
def leaky_relu(x: Any, negative_slope: float) -> Any:
    return np.where(x > 0, x, negative_slope * x)


@shapes("LeakyRelu")
def slope(d: Dice) -> None:
    d.tensor("x", d.shape())
    d.attr("negative_slope", 0.25, -0.5)


@oracle("HardSigmoid", family=FAMILY)
def hard_sigmoid(input_x: Any, alpha: float, beta: float) -> Any:
    return np.clip(np.asarray(input_x, np.float64) * alpha + beta, 0, 1)


@shapes("HardSigmoid")
def line(d: Dice) -> None:
    d.tensor("input_x", d.shape())
    d.attr("alpha", 0.5)
    d.attr("beta", 0.25)
    if d.dtype == dtypes.INT32:
        d.output("output_y", d.choose(dtypes.FLOAT, dtypes.FLOAT16))


@oracle("HardShrink", family=FAMILY)
def hard_shrink(input_x: Any, lambd: float) -> Any:
    return np.where((input_x >= -lambd) & (input_x <= lambd), 0, input_x)


@oracle("SoftShrink", family=FAMILY)
def soft_shrink(input_x: Any, lambd: float) -> Any:
    inside = np.where(np.isnan(input_x), input_x, 0 * np.sign(input_x))
    return np.where(input_x > lambd, input_x - lambd, np.where(input_x < -lambd, input_x + lambd, inside))


@shapes("HardShrink", "SoftShrink")
def lambd(d: Dice) -> None:
    d.tensor("input_x", d.shape())
    d.attr("lambd", 0.25, 1.5)


@oracle("Threshold", family=FAMILY)
def threshold(x: Any, threshold: float) -> Any:
    return np.where(x > threshold, 1.0, 0.0)


@shapes("Threshold")
def one_threshold(d: Dice) -> None:
    d.tensor("x", d.shape())
    d.attr("threshold", 0.5, -1.25)


@oracle("ThresholdV2", family=FAMILY)
def threshold_v2(x: Any, threshold: Any, value: Any) -> Any:
    edge, other = threshold.ravel()[0], 0 if value is None else value.ravel()[0]
    return np.where(x <= edge, other, x)


@shapes("ThresholdV2")
def threshold_tensors(d: Dice) -> None:
    d.tensor("x", d.shape())
    d.tensor("threshold", d.choose((), (1,)))
    if d.optional("value"):
        d.tensor("value", d.choose((), (1,)))


@oracle("ThresholdV2D", family=FAMILY)
def threshold_v2_d(x: Any, threshold: float, value: float) -> Any:
    return np.where(x <= threshold, int(value) if x.dtype == object else value, x)


@shapes("ThresholdV2D")
def threshold_attributes(d: Dice) -> None:
    d.tensor("x", d.shape())
    d.attr("threshold", 0.5, 1.25, 3.0)
    d.attr("value", 2.0, 7.0)


@oracle("PRelu", family=FAMILY)
def p_relu(x: Any, weight: Any, dice: Dice) -> Any:
    if weight.size == 1:
        slope = weight.ravel()[0]
    else:
        slope = weight.reshape([weight.size if axis == dice.values["channel"] else 1 for axis in range(x.ndim)])
    return np.where(x > 0, x, slope * x)


@shapes("PRelu")
def weights(d: Dice) -> None:
    shape = d.shape()
    channel = 1 if len(shape) > 1 else 0
    layout = formats.ND
    if len(shape) == 4:
        layout = d.choose(formats.NCHW, formats.NHWC, formats.ND)
        channel = 3 if layout == formats.NHWC else 1
    d.values["channel"] = channel
    d.tensor("x", shape, format=layout)
    d.tensor("weight", (1,) if not shape or d.chance(0.3) else (shape[channel],))
    d.output("y", format=layout)


def parts(x: Any, dim: int) -> tuple[Any, Any]:
    size = x.shape[dim] // 2
    return np.take(x, range(size), axis=dim), np.take(x, range(size, 2 * size), axis=dim)


@shapes("GLU", "SwiGlu", "GeGluV2", "ClippedSwiglu")
def doubled(d: Dice) -> None:
    shape = list(d.shape(1))
    place = d.axis(len(shape)) if d.wants("attributes varied") or d.wants("negative axis") or d.chance() else -1
    if d.wants("attributes absent"):
        place = -1
    shape[place] = 2 * shape[place]
    d.tensor("x", tuple(shape))
    d.values["dim"] = place
    if place != -1 or d.wants("attributes default") or d.chance():
        d.attrs["dim"] = ("int", place)
    for name, choice in {"approximate": 0, "activate_left": True, "alpha": 1.0, "limit": 2.0, "bias": 0.5}.items():
        if name in d.generation.attrs:
            d.attr(name, choice)
    if "interleaved" in d.generation.attrs:
        d.attr("interleaved", False)
        if d.optional("group_index"):
            d.tensor("group_index", np.array([1, 2]))


@oracle("GLU", family=FAMILY)
def glu(x: Any, dim: int) -> Any:
    first, second = parts(x, dim)
    return first * special.expit(second)


@oracle("SwiGlu", family=FAMILY)
def swi_glu(x: Any, dim: int) -> Any:
    first, second = parts(x, dim)
    return first * special.expit(first) * second


@oracle("GeGluV2", family=FAMILY)
def ge_glu_v2(x: Any, dim: int, approximate: int, activate_left: bool) -> Any:
    first, second = parts(x, dim)
    active, plain = (first, second) if activate_left else (second, first)
    gelu = unit_gelu(active, not approximate)
    return gelu * plain, gelu


@oracle("ClippedSwiglu", family=FAMILY)
def clipped_swiglu(x: Any, dim: int, alpha: float, limit: float, bias: float, interleaved: bool) -> Any:
    if interleaved:
        size = x.shape[dim]
        gate, up = np.take(x, range(0, size, 2), axis=dim), np.take(x, range(1, size, 2), axis=dim)
    else:
        gate, up = parts(x, dim)
    gate, up = np.minimum(gate, limit), np.clip(up, -limit, limit)
    result = gate * special.expit(alpha * gate) * (up + bias)
    return single(result, gate * np.where(np.isfinite(gate), special.expit(alpha * gate), 0) * np.abs(up))
