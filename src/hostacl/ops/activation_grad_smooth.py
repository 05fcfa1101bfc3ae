"""Gradients of activations made of exponentials; in float64, so that nothing is lost where terms cancel."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hostacl.ops import dims
from hostacl.ops.activation import sigmoid
from hostacl.ops.activation_smooth import SELU_ALPHA, SELU_SCALE
from hostacl.ops.blocks import in_blocks
from hostacl.ops.call import Call
from hostacl.ops.dims import Shape
from hostacl.ops.exponential import wide
from hostacl.ops.gelu import CUBIC, LINEAR
from hostacl.ops.registry import kernel
from hostacl.ops.shapes import broadcast, broadcast_inputs, equal_dims
from hostacl.ops.special import erfc

Array = NDArray[Any]

FAR = 40.0
"""Above, slopes of gates are 1 in every type that arrives here."""

NONZERO = 700.0
"""Below minus it slopes of gates are 0 in float32 but not here: times infinity they are not NaN."""


def conjugated(y: Array, conjugate: bool) -> Array:
    """The array in float64, complex as it is, conjugated where asked."""
    if y.dtype.kind == "c":
        return np.conj(y) if conjugate else y
    return wide(y)


@kernel("SigmoidGrad", shape=broadcast("y", "dy"), direct=in_blocks)
def sigmoid_grad(y: Array, dy: Array, complex_conj: bool) -> Array:
    """dy·y·(1 - y), where y is the output of Sigmoid; complex_conj takes its conjugate."""
    root = conjugated(y, complex_conj)
    return dy * (root * (1 - root))


@kernel("TanhGrad", shape=broadcast("y", "dy"), direct=in_blocks)
def tanh_grad(y: Array, dy: Array, complex_conj: bool) -> Array:
    """dy·(1 - y²), where y is the output of Tanh; complex_conj takes its conjugate."""
    root = conjugated(y, complex_conj)
    return dy * ((1 - root) * (1 + root))


def bent_grad(grads: Array, y: Array, bottom: float, slope: float, rate: float) -> Array:
    """The gradient of a curve that is slope·x above 0 and bottom·(e^(rate·x) - 1) below, from its value y."""
    return np.where(y > 0, grads * slope, grads * (rate * (wide(y) + bottom)))


def elu_shape(call: Call) -> Shape:
    """The common shape of grads and activations."""
    return broadcast_inputs(call, "grads", "activations")


@kernel("EluGradV2", shape=elu_shape, attrs={"scale": 1.0, "input_scale": 1.0, "is_result": True}, direct=in_blocks)
def elu_grad_v2(
    grads: Array, activations: Array, alpha: float, scale: float, input_scale: float, is_result: bool
) -> Array:
    """grads·scale where activations > 0, else grads·input_scale·(activations + alpha·scale).

    activations are Elu's output; with is_result false its input x, and it is grads·input_scale·alpha·scale·e^(input_scale·x).
    """
    if is_result:
        return bent_grad(wide(grads), activations, alpha * scale, scale, input_scale)
    curve = input_scale * alpha * scale * np.exp(np.minimum(wide(activations), 0) * input_scale)
    return wide(grads) * np.where(activations > 0, scale, curve)


@kernel("EluGrad", shape=elu_shape)
def elu_grad(grads: Array, activations: Array) -> Array:
    """grads where activations, the output of Elu, are above 0, else grads·(activations + 1)."""
    return bent_grad(wide(grads), activations, 1, 1, 1)


@kernel("SeluGrad", shape=broadcast("gradients", "outputs"), direct=in_blocks)
def selu_grad(gradients: Array, outputs: Array) -> Array:
    """gradients·1.0507 where outputs of Selu are above 0, else gradients·(outputs + 1.7581). Integers: toward zero."""
    return bent_grad(wide(gradients), outputs, SELU_SCALE * SELU_ALPHA, SELU_SCALE, 1)


def value_given(one: str, other: str) -> Callable[[Call], Shape]:
    """The common shape of a gradient and x, which y, the activation's value, has too."""

    def rule(call: Call) -> Shape:
        full, y = broadcast_inputs(call, one, other), call.shape("y")
        text = f"y = {dims.text(y)}; allowed: {dims.text(full)}, the shape of {one} and {other}."
        if len(y) != len(full):
            raise call.refuse("HA504", text)
        for size, want in zip(y, full, strict=True):
            equal_dims(call, size, want, text)
        return full

    return rule


def gate_slope(x: Array, inner: Array, inner_slope: Any) -> Array:
    """The slope of x·sigmoid(inner(x)): s + x·s·(1 - s)·inner'."""
    s = sigmoid(inner)
    return s + x * (s * sigmoid(-inner)) * inner_slope


def near(x: Array) -> Array:
    """x in float64, held where the slopes of Gelu are 0 in float32 but not here: times infinity they are not NaN. NaN stays."""
    return np.clip(wide(x), -20, FAR)


def gelu_tanh_slope(x: Array) -> Array:
    """The slope of x/2·(1 + tanh(√(2/π)·(x + 0.044715·x³)))."""
    held = near(x)
    return gate_slope(held, held * (LINEAR + CUBIC * held * held), LINEAR + 3 * CUBIC * held * held)


def gelu_erf_slope(x: Array) -> Array:
    """The slope of x·Φ(x): Φ(x) + x·φ(x)."""
    held = near(x)
    return 0.5 * erfc(held * -np.sqrt(0.5)) + held * np.exp(-0.5 * held * held) / np.sqrt(2 * np.pi)


@kernel("GeluGrad", shape=value_given("dy", "x"))
def gelu_grad(dy: Array, x: Array) -> Array:
    """dy times the slope of Gelu (by tanh) at x; y, its value there, is not needed."""
    return dy * gelu_tanh_slope(x)


def gelu_grad_v2_shape(call: Call) -> Shape:
    """The common shape of dy and x, once ``approximate`` is known."""
    if call.attr("approximate") not in ("none", "tanh"):
        raise call.refuse("HA508", f"approximate = {call.attr('approximate')!r}; allowed: 'none', 'tanh'.")
    return broadcast_inputs(call, "dy", "x")


@kernel("GeluGradV2", shape=gelu_grad_v2_shape, direct=in_blocks)
def gelu_grad_v2(dy: Array, x: Array, approximate: str) -> Array:
    """dy times the slope of x·Φ(x), Φ the normal distribution; with approximate "tanh" that of Gelu."""
    return dy * (gelu_tanh_slope(x) if approximate == "tanh" else gelu_erf_slope(x))


@kernel("FastGeluGrad", shape=broadcast("dy", "x"), direct=in_blocks)
def fast_gelu_grad(dy: Array, x: Array) -> Array:
    """dy times the slope of x·sigmoid(1.702·x)."""
    held = np.clip(wide(x), -NONZERO / 1.702, FAR)
    return dy * gate_slope(held, 1.702 * held, 1.702)


@kernel("SiluGrad", shape=broadcast("dy", "x"), direct=in_blocks)
def silu_grad(dy: Array, x: Array) -> Array:
    """dy times the slope of x·sigmoid(x): s·(1 + x·(1 - s))."""
    held = np.clip(wide(x), -NONZERO, FAR)
    return dy * gate_slope(held, held, 1)


@kernel("SwishGrad", shape=value_given("grad", "x"))
def swish_grad(grad: Array, x: Array, scale: float) -> Array:
    """grad times the slope of x·sigmoid(scale·x); y, Swish's value at x, is not needed."""
    held = wide(x)
    inner = np.clip(scale * held, -NONZERO, NONZERO)
    s = sigmoid(inner)
    return grad * (s + s * sigmoid(-inner) * inner)


@kernel("MishGrad", shape=broadcast("grad", "x", "tanhx"))
def mish_grad(grad: Array, x: Array, tanhx: Array | None) -> Array:
    """grad times the slope of x·t, t = tanh(log(1 + e^x)): t + x·sigmoid(x)·(1 - t²); t is tanhx where that is given."""
    held = np.clip(wide(x), -NONZERO, FAR)
    if tanhx is not None:
        t = wide(tanhx)
        held = np.clip(wide(x), -NONZERO, np.finfo(np.float64).max)  # a t that is not x's may leave it a slope
        return grad * (t + held * sigmoid(held) * ((1 - t) * (1 + t)))
    power = np.exp(held)
    n = power * (power + 2)
    return grad * (n / (n + 2) + held * sigmoid(held) * (4 * (n + 1) / ((n + 2) * (n + 2))))


@kernel("LogSigmoidGrad", shape=broadcast("grads", "features"), direct=in_blocks)
def log_sigmoid_grad(grads: Array, features: Array) -> Array:
    """grads·sigmoid(-features)."""
    return grads * sigmoid(-wide(features))


@kernel("SoftplusGrad", shape=broadcast("gradients", "features"))
def softplus_grad(gradients: Array, features: Array) -> Array:
    """gradients·sigmoid(features)."""
    return gradients * sigmoid(wide(features))


@kernel("SoftsignGrad", shape=broadcast("gradients", "features"))
def softsign_grad(gradients: Array, features: Array) -> Array:
    """gradients/(1 + |features|)²."""
    bottom = 1 + np.abs(wide(features))
    return gradients / bottom / bottom


@kernel("SoftplusV2Grad", shape=broadcast("input_gradients", "input_features"), direct=in_blocks)
def softplus_v2_grad(input_gradients: Array, input_features: Array, beta: float, threshold: float) -> Array:
    """gradients·sigmoid(beta·x), and the gradients themselves where beta·x is above the threshold."""
    steep = wide(input_features) * beta
    return input_gradients * np.where(steep > threshold, 1, sigmoid(steep))
