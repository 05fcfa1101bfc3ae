"""Gradients of activations, from their derivatives in float64."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from scipy import special

from hostacl.tensors import dtypes, formats
from random_calls import values
from random_calls.dice import Dice
from random_calls.oracle import finite, oracle, shapes, summed

FAMILY = "activation"

with_attributes = {
    "LeakyReluGrad": ("negative_slope", 0.25, -0.5), "HardtanhGrad": ("min_val", -2.0, 0.25),
    "HardShrinkGrad": ("lambd", 1.5, 0.0), "SoftShrinkGrad": ("lambd", 1.5, 0.0), "SwishGrad": ("scale", 0.5, -2.0),
    "GeluGradV2": ("approximate", "tanh", "none"), "SoftplusV2Grad": ("beta", 0.5, 3.0),
    "SigmoidGrad": ("complex_conj", True), "TanhGrad": ("complex_conj", True),
    "ThresholdGradV2D": ("threshold", 0.5, -1.0, 2.0), "HardSigmoidGrad": ("alpha", 0.25, -0.5), "GeluGrad": (),
}  # fmt: skip
seconds = {
    "HardtanhGrad": ("max_val", 2.0, 3.0), "SoftplusV2Grad": ("threshold", 2.0, 1.0), "HardSigmoidGrad": ("beta", 0.25),
}  # fmt: skip


@shapes("MishGrad")
def with_value(d: Dice) -> None:
    """tanhx is a tanh of something, x's or not."""
    for name, shape in zip(("grad", "x"), shapes_ := d.shapes_that_broadcast(2), strict=True):
        d.tensor(name, shape)
    if d.optional("tanhx"):
        d.tensor("tanhx", np.tanh(d.rng.normal(0, 3, shapes_[1])))


@shapes(*with_attributes)
def two_tensors(d: Dice) -> None:
    if d.decl("y") is not None and d.prototype.op_type in ("GeluGrad", "SwishGrad"):
        first, second = d.shapes_that_broadcast(2)
        d.tensor(d.generation.inputs[0].name, first)
        d.tensor("x", second)
        d.tensor("y", np.broadcast_shapes(first, second))
        attributes(d)
        return
    required = [decl for decl in d.generation.inputs if decl.kind == "required"]
    for decl, shape in zip(required, d.shapes_that_broadcast(len(required)), strict=True):
        d.tensor(decl.name, shape)
    attributes(d)


def attributes(d: Dice) -> None:
    for table in (with_attributes, seconds):
        if table.get(d.prototype.op_type):
            name, *choices = table[d.prototype.op_type]
            d.attr(name, *choices)


def where(condition: Any, first: Any, second: Any = 0) -> Any:
    return np.where(np.asarray(condition).astype(bool), first, second)


@oracle("ReluGrad", family=FAMILY)
def relu(gradients: Any, features: Any) -> Any:
    return where(features > 0, gradients)


@oracle("Relu6Grad", family=FAMILY)
def relu6(gradients: Any, features: Any) -> Any:
    return where(np.logical_and(features > 0, features < 6), gradients)


@oracle("LeakyReluGrad", family=FAMILY)
def leaky(gradients: Any, features: Any, negative_slope: float) -> Any:
    return where(features > 0, gradients, gradients * negative_slope)


@oracle("HardtanhGrad", family=FAMILY)
def hardtanh(result: Any, grad: Any, min_val: float, max_val: float) -> Any:
    return where((result > min_val) & (result < max_val), grad)


@oracle("HardSigmoidGrad", family=FAMILY)
def hard_sigmoid(grads: Any, input_x: Any, alpha: float, beta: float) -> Any:
    line = input_x * alpha + beta
    return where((line > 0) & (line < 1), grads * alpha)


@oracle("HardSwishGrad", family=FAMILY)
def hard_swish(grad: Any, x: Any) -> Any:
    slope = where(x >= 3, 1.0, x / 3 + 0.5)
    return where(x <= -3, 0.0 * np.ones_like(grad), grad * slope)


@oracle("HardShrinkGrad", family=FAMILY)
def hard_shrink(gradients: Any, features: Any, lambd: float) -> Any:
    return where((features >= -lambd) & (features <= lambd), 0.0, gradients)


@oracle("SoftShrinkGrad", family=FAMILY)
def soft_shrink(input_grad: Any, input_x: Any, lambd: float) -> Any:
    return where((input_x >= -lambd) & (input_x <= lambd), 0.0, input_grad)


@oracle("ThresholdGradV2D", family=FAMILY)
def threshold_grad(gradients: Any, features: Any, threshold: float) -> Any:
    return where(features > threshold, gradients)


def conjugate(y: Any, complex_conj: bool) -> Any:
    return np.conj(y) if complex_conj and np.iscomplexobj(y) else y


@oracle("SigmoidGrad", family=FAMILY)
def sigmoid(y: Any, dy: Any, complex_conj: bool) -> Any:
    root = conjugate(y, complex_conj)
    return dy * (root * (1 - root))


@oracle("TanhGrad", family=FAMILY)
def tanh(y: Any, dy: Any, complex_conj: bool) -> Any:
    root = conjugate(y, complex_conj)
    return dy * ((1 + root) * (1 - root))


@shapes("EluGradV2")
def elu_call(d: Dice) -> None:
    for name, shape in zip(("grads", "activations"), d.shapes_that_broadcast(2), strict=True):
        d.tensor(name, shape)
    d.attr("alpha", 0.5, 2.0)
    for name in ("scale", "input_scale"):
        if name in d.generation.attrs:
            d.attr(name, 0.5, 1.5)
    if "is_result" in d.generation.attrs:
        d.attr("is_result", True, False)


@oracle("EluGradV2", family=FAMILY)
def elu(grads: Any, activations: Any, alpha: float, dice: Dice) -> Any:
    scale, rate = (dice.values.get(name) or 1.0 for name in ("scale", "input_scale"))
    if dice.values.get("is_result", True) in (True, None):
        return grads * where(activations > 0, scale, rate * (activations + alpha * scale))
    return grads * where(activations > 0, scale, rate * alpha * scale * np.exp(np.minimum(activations, 0) * rate))


@oracle("EluGrad", family=FAMILY)
def plain_elu(grads: Any, activations: Any) -> Any:
    return grads * where(activations > 0, 1.0, activations + 1)


@shapes("SeluGrad")
def small_integers(d: Dice) -> None:
    for name, shape in zip(("gradients", "outputs"), d.shapes_that_broadcast(2), strict=True):
        d.tensor(name, np.clip(d.data(d.dtype, shape), -9, 9) if values.is_int(d.dtype) else shape)


@oracle("SeluGrad", family=FAMILY)
def selu(gradients: Any, outputs: Any, dice: Dice) -> Any:
    scale, alpha = 1.0507009873554804934193349852946, 1.6732632423543772848170429916717
    g, y = np.asarray(gradients, np.float64), np.asarray(outputs, np.float64)
    result = g * where(y > 0, scale, y + scale * alpha)
    if not values.is_int(dice.dtype):
        return result
    info = np.iinfo(dtypes.numpy_dtype(dice.dtype))
    whole = [min(max(int(one), int(info.min)), int(info.max)) for one in result.ravel()]
    return np.array(whole, object).reshape(result.shape)


# --- gates: the derivative of x·s(x) by the product rule, at arguments where it still changes ---


def held(x: Any, far: float = 60.0) -> Any:
    return where(np.isnan(x), x, np.minimum(np.maximum(x, -far), far))


def tanh_gelu_slope(x: Any) -> Any:
    x = held(x, 30)
    inner = np.sqrt(8 / np.pi) * (x + 0.044715 * x**3)
    slope = np.sqrt(8 / np.pi) * (1 + 3 * 0.044715 * x**2)
    return special.expit(inner) + x * slope / (2 + 2 * np.cosh(held(inner, 700)))


def erf_gelu_slope(x: Any) -> Any:
    x = held(x, 38)
    return special.ndtr(x) + x * np.exp(-(x**2) / 2) / np.sqrt(2 * np.pi)


@oracle("GeluGrad", family=FAMILY)
def gelu(dy: Any, x: Any) -> Any:
    return dy * tanh_gelu_slope(x)


@oracle("GeluGradV2", family=FAMILY)
def gelu_v2(dy: Any, x: Any, approximate: str) -> Any:
    return dy * (tanh_gelu_slope(x) if approximate == "tanh" else erf_gelu_slope(x))


def gate(x: Any, rate: float) -> Any:
    """The derivative of x·sigmoid(rate·x)."""
    t = held(np.asarray(rate * x), 700)
    return special.expit(t) + t / (2 + 2 * np.cosh(t))


@oracle("FastGeluGrad", family=FAMILY)
def fast_gelu(dy: Any, x: Any) -> Any:
    return dy * gate(held(x, 440), 1.702)


@oracle("SiluGrad", family=FAMILY)
def silu(dy: Any, x: Any) -> Any:
    return dy * gate(x, 1.0)


@oracle("SwishGrad", family=FAMILY)
def swish(grad: Any, x: Any, scale: float) -> Any:
    return grad * gate(x, scale)


@oracle("MishGrad", family=FAMILY)
def mish(grad: Any, x: Any, tanhx: Any) -> Any:
    x = held(x, 700) if tanhx is None else np.clip(x, -700, 1e308)
    t = np.tanh(np.logaddexp(0, x)) if tanhx is None else tanhx
    rest = 1 - t**2 if tanhx is not None else 1 / np.cosh(np.logaddexp(0, x)) ** 2
    return grad * (t + x * special.expit(x) * rest)


@oracle("LogSigmoidGrad", family=FAMILY)
def log_sigmoid(grads: Any, features: Any) -> Any:
    return grads * special.expit(-features)


@oracle("SoftplusGrad", family=FAMILY)
def softplus(gradients: Any, features: Any) -> Any:
    return gradients * special.expit(features)


@oracle("SoftsignGrad", family=FAMILY)
def softsign(gradients: Any, features: Any) -> Any:
    return gradients / (np.abs(features) + 1) / (np.abs(features) + 1)


@oracle("SoftplusV2Grad", family=FAMILY)
def softplus_v2(input_gradients: Any, input_features: Any, beta: float, threshold: float) -> Any:
    return input_gradients * where(input_features * beta > threshold, 1.0, special.expit(input_features * beta))


# --- halves ---


@shapes("GLUGrad", "SwiGluGrad", "GeGluGradV2")
def halved(d: Dice) -> None:
    half = list(d.shape(1))
    dim = d.axis(len(half))
    gradient = d.generation.inputs[0].name
    d.tensor(gradient, tuple(half))
    d.tensor("x", tuple(2 * size if at == dim % len(half) else size for at, size in enumerate(half)))
    if d.prototype.op_type == "GeGluGradV2":
        d.tensor("gelu", tuple(half))
        d.attr("approximate", 0, 1)
        d.attr("activate_left", True)
    d.attrs["dim"] = ("int", dim)
    d.values["dim"] = dim


@oracle("GLUGrad", family=FAMILY)
def glu(y_grad: Any, x: Any, dim: int) -> Any:
    first, second = np.split(x, 2, axis=dim)
    s = special.expit(second)
    return np.concatenate([y_grad * s, y_grad * first * (s * special.expit(-second))], axis=dim)


@oracle("SwiGluGrad", family=FAMILY)
def swi_glu(y_grad: Any, x: Any, dim: int) -> Any:
    first, second = np.split(x, 2, axis=dim)
    s = special.expit(first)
    slope = s + first * (s * special.expit(-first))
    return np.concatenate([y_grad * (second * slope), y_grad * (first * s)], axis=dim)


@oracle("GeGluGradV2", family=FAMILY)
def ge_glu(dy: Any, x: Any, gelu: Any, dim: int, approximate: int, activate_left: bool) -> Any:
    parts = np.split(x, 2, axis=dim)
    active, plain = parts if activate_left else parts[::-1]
    slope = tanh_gelu_slope(active) if approximate else erf_gelu_slope(active)
    both = [dy * gelu, dy * (plain * slope)]
    return np.concatenate(both[::-1] if activate_left else both, axis=dim)


# --- PRelu ---


@shapes("PReluGrad")
def prelu_call(d: Dice) -> None:
    shape = d.shape(2, long=False)
    layout = d.choose(formats.ND, formats.NHWC) if len(shape) == 4 else formats.ND
    channel = 3 if layout == formats.NHWC else 1
    d.values["channel"] = channel
    d.tensor("grads", shape, format=layout)
    d.tensor("features", shape, format=layout)
    d.tensor("weights", (1,) if d.chance(0.3) else (shape[channel],))
    d.output("dx", d.dtype, format=layout)


@oracle("PReluGrad", family=FAMILY)
def prelu(grads: Any, features: Any, weights: Any, dice: Dice) -> Any:
    channel = dice.values["channel"]
    slope = weights.reshape([-1 if axis == channel else 1 for axis in range(grads.ndim)])
    below = where(features > 0, 0.0, grads * features)
    axes = tuple(axis for axis in range(grads.ndim) if weights.size == 1 or axis != channel)
    da = below.sum(axis=axes).reshape(weights.shape)
    size = finite(below).sum(axis=axes).reshape(weights.shape)
    return where(features > 0, grads, grads * slope), summed(da, size, math.prod(grads.shape))
