"""Losses element by element, then summed up or averaged as ``reduction`` says."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from hostacl.ops import dims
from hostacl.ops.activation_smooth import soft_plus
from hostacl.ops.call import Call
from hostacl.ops.dims import Shape
from hostacl.ops.registry import kernel
from hostacl.ops.shapes import broadcast_shapes

Array = NDArray[Any]

REDUCTIONS = ("none", "mean", "sum")


def reduction_of(call: Call, *allowed: str) -> str:
    """The reduction attribute, which is one of these."""
    value: str = call.attr("reduction")
    if value not in allowed:
        raise call.refuse("HA508", f"reduction = {value!r}; allowed: {', '.join(allowed)}.")
    return value


def one_shape(call: Call, *names: str) -> Shape:
    """The shape that inputs have in common; they do not broadcast."""
    first = call.shape(names[0])
    for name in names[1:]:
        other = call.shape(name)
        if len(first) != len(other) or any(dims.known(a, b) and a != b for a, b in zip(first, other, strict=True)):
            told = f"{names[0]} = {dims.text(first)}, {name} = {dims.text(other)}; they must have one shape."
            raise call.refuse("HA504", told)
    return first


def check_weight(call: Call, shape: Shape, *names: str) -> None:
    """Refuses weights that do not broadcast to the loss."""
    for name in names:
        if call.has(name):
            joined = broadcast_shapes(shape, call.shape(name))
            if joined is None or len(joined) != len(shape) or (dims.known(*joined, *shape) and joined != shape):
                raise call.refuse("HA504", f"{name} = {dims.text(call.shape(name))} does not broadcast to {dims.text(shape)}.")


def paired(one: str, other: str, *weights: str) -> Any:
    """The shape of two inputs of one shape, or a scalar when the loss is reduced."""

    def rule(call: Call) -> Shape:
        shape = one_shape(call, one, other)
        check_weight(call, shape, *weights)
        reduced = "reduction" in call.attrs and reduction_of(call, *REDUCTIONS) != "none"
        return () if reduced else shape

    return rule


def reduced(loss: Array, reduction: str) -> Any:
    """The loss itself, its sum, or its mean (NaN of nothing), added up in float64."""
    if reduction == "none":
        return loss
    total = np.sum(loss, dtype=np.float64)
    return total if reduction == "sum" else total / np.float64(loss.size)


@kernel("MseLoss", shape=paired("predict", "label"))
def mse_loss(predict: Array, label: Array, reduction: str) -> Any:
    """(predict - label)², each (none), summed up or averaged."""
    return reduced(np.square(predict - label), reduction)


def lp_shape(call: Call) -> Shape:
    """As the others; p is 1."""
    if call.attr("p") != 1:
        raise call.refuse("HA508", f"p = {call.attr('p')}; allowed: 1.")
    shape: Shape = paired("predict", "label")(call)
    return shape


@kernel("LpLoss", shape=lp_shape)
def lp_loss(predict: Array, label: Array, reduction: str) -> Any:
    """|predict - label|, each (none), summed up or averaged; p is always 1."""
    return reduced(np.abs(predict - label), reduction)


def smooth(predict: Array, label: Array, sigma: float) -> Array:
    """d²/(2·sigma) where |d| < sigma, else |d| - sigma/2."""
    size = np.abs(predict - label)
    edge = size.dtype.type(sigma)
    near = size * size / (2 * edge) if sigma else np.zeros_like(size)
    return np.where(size < edge, near, size - edge / 2)


@kernel("SmoothL1Loss", shape=paired("predict", "label"))
def smooth_l1_loss(predict: Array, label: Array, sigma: float) -> Array:
    """d²/(2·sigma) where |d| < sigma, else |d| - sigma/2, with d = predict - label."""
    return smooth(predict, label, sigma)


@kernel("SmoothL1LossV2", shape=paired("predict", "label"))
def smooth_l1_loss_v2(predict: Array, label: Array, sigma: float, reduction: str) -> Any:
    """d²/(2·sigma) where |d| < sigma, else |d| - sigma/2, with d = predict - label; each (none), summed up or averaged."""
    return reduced(smooth(predict, label, sigma), reduction)


@kernel("SoftMarginLoss", shape=paired("input_x", "input_y"))
def soft_margin_loss(input_x: Array, input_y: Array, reduction: str) -> Any:
    """log(1 + e^(-x·y)), without overflow; each (none), summed up or averaged."""
    return reduced(soft_plus(-input_x.astype(np.float64) * input_y), reduction)


@kernel("BinaryCrossEntropy", shape=paired("x", "y", "weight"))
def binary_cross_entropy(x: Array, y: Array, weight: Array | None, reduction: str) -> Any:
    """-(y·log x + (1 - y)·log(1 - x))·weight, the logarithms at least -100; each (none), summed up or averaged."""
    first, second = np.maximum(np.log(x), -100), np.maximum(np.log1p(-x), -100)
    loss = -(y * first + (1 - y) * second)
    return reduced(loss if weight is None else loss * weight, reduction)


def sigmoid_loss(predict: Array, target: Array) -> Array:
    """max(x, 0) - x·z + log(1 + e^-|x|)."""
    wide = predict.astype(np.float64)
    return np.maximum(wide, 0) - wide * target.astype(np.float64) + np.log1p(np.exp(-np.abs(wide)))


def weighted_sigmoid_loss(predict: Array, target: Array, positive: Any) -> Array:
    """p·z·log(1 + e^-x) + (1 - z)·log(1 + e^x), put together so that neither cancels the other and large x keep their limit."""
    wide, wanted, weight = (np.asarray(one, np.float64) for one in (predict, target, positive))
    far = wide * np.where(wide < 0, -weight * wanted, 1 - wanted)
    return far + (1 + (weight - 1) * wanted if np.any(weight != 1) else 1) * np.log1p(np.exp(-np.abs(wide)))


@kernel("SigmoidCrossEntropyWithLogits", shape=paired("predict", "target"))
def sigmoid_cross_entropy_with_logits(predict: Array, target: Array) -> Array:
    """max(x, 0) - x·z + log(1 + e^-|x|), which does not overflow: the cross entropy of sigmoid(x) and z."""
    return sigmoid_loss(predict, target)


@kernel("SigmoidCrossEntropyWithLogitsV2", shape=paired("predict", "target", "weight", "pos_weight"))
def sigmoid_cross_entropy_with_logits_v2(
    predict: Array, target: Array, weight: Array | None, pos_weight: Array | None, reduction: str
) -> Any:
    """The cross entropy of sigmoid(predict) and target, times weight, without overflow; pos_weight scales what target asks for.

    Each (none), summed up or averaged. NaN where an infinite predict is what target says: there it is 0 times infinity.
    """
    loss = weighted_sigmoid_loss(predict, target, 1.0 if pos_weight is None else pos_weight)
    return reduced(loss if weight is None else loss * weight, reduction)


def divergence_shape(call: Call) -> Shape:
    """A scalar; with reduction none the shape of x."""
    shape = one_shape(call, "x", "target")
    reduction = reduction_of(call, "sum", "batchmean", "none", "mean")
    if reduction == "batchmean" and not shape:
        raise call.refuse("HA516", "x is a scalar; reduction batchmean needs 1 or more dims.")
    return shape if reduction == "none" else ()


@kernel("KLDiv", shape=divergence_shape, attrs={"log_target": False})
def kl_div(x: Array, target: Array, reduction: str, log_target: bool) -> Any:
    """target·(log target - x), 0 where target is not above 0; summed up, and for batchmean divided by dim 0.

    x holds logarithms, target too with log_target. none and mean are taken too.
    """
    wide = target.astype(np.float64)
    if log_target:
        loss = np.exp(wide) * (wide - x)
    else:
        loss = np.where(wide > 0, wide * (np.log(np.where(wide > 0, wide, 1)) - x), np.where(np.isnan(wide), wide, 0))
    if reduction == "batchmean":
        return np.sum(loss) / np.float64(x.shape[0])
    return reduced(loss, reduction)
