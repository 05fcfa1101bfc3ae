"""Gradients of losses; with reduction mean, each is divided by the number of elements."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hostacl.errors import Failed
from hostacl.ops import dims
from hostacl.ops.activation import sigmoid
from hostacl.ops.call import Call
from hostacl.ops.dims import Shape
from hostacl.ops.parts import by_parts
from hostacl.ops.registry import kernel
from hostacl.ops.shapes import alike_inputs, broadcasts_to, equal_dims

Array = NDArray[Any]

REDUCTIONS = ("none", "mean", "sum")


def check_reduction(call: Call, allowed: tuple[str, ...] = REDUCTIONS) -> None:
    """Refuses a reduction that there is not."""
    if (given := call.attrs.get("reduction")) is not None and given not in allowed:
        raise call.refuse("HA508", f"reduction = {given!r}; allowed: {', '.join(map(repr, allowed))}.")


def loss_shape(one: str, other: str, *others: str, reductions: tuple[str, ...] = REDUCTIONS) -> Callable[[Call], Shape]:
    """The shape of prediction and label; the incoming gradient and weights broadcast to it."""

    def rule(call: Call) -> Shape:
        check_reduction(call, reductions)
        shape = alike_inputs(call, one, other)
        for name in (name for name in others if call.has(name)):
            if dims.count(call.shape(name)) != 1:
                broadcasts_to(call, name, shape, one)
        return shape

    return rule


def averaged(function: Callable[..., Any], x: Array, *others: Array | None, divisor: int) -> Array:
    """An element-wise gradient in float64, divided; arrays of one element count for all."""
    rest = [one.reshape(()) if one is not None and one.size == 1 else one for one in others]
    return by_parts(lambda *arrays: function(*arrays) / divisor, x.dtype, x, *rest)


def elements(x: Array, reduction: str) -> int:
    """What a mean divides by."""
    return max(x.size, 1) if reduction == "mean" else 1


@kernel("BinaryCrossEntropyGrad", shape=loss_shape("x", "y", "grad_output", "weight"))
def binary_cross_entropy_grad(x: Array, y: Array, grad_output: Array, weight: Array | None, reduction: str) -> Array:
    """(x - y) / max(x·(1 - x), 1e-12) · grad_output · weight; reduction mean divides by the number of elements."""

    def slope(p: Array, label: Array, dout: Array, share: Array | None) -> Array:
        grads = (p - label) / np.maximum(p * (1 - p), 1e-12) * dout
        return grads if share is None else grads * share

    return averaged(slope, x, y, grad_output, weight, divisor=elements(x, reduction))


def kl_divisor(x: Array, reduction: str) -> int:
    """What mean and batchmean divide by."""
    return max(x.shape[0] if x.ndim else 1, 1) if reduction == "batchmean" else elements(x, reduction)


@kernel("KlDivLossGrad", shape=loss_shape("input", "target", "grad", reductions=(*REDUCTIONS, "batchmean")))
def kl_div_loss_grad(grad: Array, input: Array, target: Array, reduction: str, log_target: bool) -> Array:
    """-target·grad where target > 0, else 0; with log_target -e^target·grad.

    reduction mean divides by the number of elements, batchmean by that of rows.
    """

    def slope(x: Array, goal: Array, dout: Array) -> Array:
        return -np.exp(goal) * dout if log_target else np.where(goal > 0, -goal * dout, 0)

    return averaged(slope, input, target, grad, divisor=kl_divisor(input, reduction))


@kernel("L1LossGrad", shape=loss_shape("predict", "label", "grads"))
def l1_loss_grad(grads: Array, predict: Array, label: Array, reduction: str) -> Array:
    """sign(predict - label)·grads, 0 where they are equal; reduction mean divides by the number of elements."""

    def slope(x: Array, goal: Array, dout: Array) -> Array:
        return np.sign(x - goal) * dout

    return averaged(slope, predict, label, grads, divisor=elements(predict, reduction))


@kernel("MseLossGrad", shape=loss_shape("predict", "label", "dout"))
def mse_loss_grad(predict: Array, label: Array, dout: Array, reduction: str) -> Array:
    """2·(predict - label)·dout; reduction mean divides by the number of elements."""

    def slope(x: Array, goal: Array, grads: Array) -> Array:
        return 2 * (x - goal) * grads

    return averaged(slope, predict, label, dout, divisor=elements(predict, reduction))


def huber_slope(sigma: float) -> Callable[[Array, Array, Array], Array]:
    """The slope of SmoothL1Loss: difference / sigma between -sigma and sigma, outside its sign."""

    def slope(x: Array, goal: Array, grads: Array) -> Array:
        away = x - goal
        return np.where(np.abs(away) < sigma, away / (sigma or 1), np.sign(away)) * grads

    return slope


def smooth_shape(call: Call) -> Shape:
    """The shape of predict and label; sigma is not negative."""
    if call.attr("sigma") < 0:
        raise call.refuse("HA508", f"sigma = {call.attr('sigma'):g}; allowed: 0 or more.")
    return loss_shape("predict", "label", "dout")(call)


@kernel("SmoothL1LossGrad", shape=smooth_shape)
def smooth_l1_loss_grad(predict: Array, label: Array, dout: Array, sigma: float) -> Array:
    """dout·(predict - label)/sigma where that lies between -1 and 1, else dout times its sign."""
    return averaged(huber_slope(sigma), predict, label, dout, divisor=1)


@kernel("SmoothL1LossGradV2", shape=smooth_shape)
def smooth_l1_loss_grad_v2(predict: Array, label: Array, dout: Array, sigma: float, reduction: str) -> Array:
    """SmoothL1LossGrad; reduction mean divides by the number of elements."""
    return averaged(huber_slope(sigma), predict, label, dout, divisor=elements(predict, reduction))


@kernel("SoftMarginLossGrad", shape=loss_shape("predict", "label", "dout"))
def soft_margin_loss_grad(predict: Array, label: Array, dout: Array, reduction: str) -> Array:
    """-label·sigmoid(-label·predict)·dout; reduction mean divides by the number of elements."""

    def slope(x: Array, goal: Array, grads: Array) -> Array:
        return -goal * sigmoid(-goal * x) * grads

    return averaged(slope, predict, label, dout, divisor=elements(predict, reduction))


@kernel("SigmoidCrossEntropyWithLogitsGrad", shape=loss_shape("predict", "target", "dout"))
def sigmoid_cross_entropy_with_logits_grad(predict: Array, target: Array, dout: Array) -> Array:
    """(sigmoid(predict) - target)·dout, finite for any finite predict."""
    return averaged(lambda x, goal, grads: (sigmoid(x) - goal) * grads, predict, target, dout, divisor=1)


@kernel("SigmoidCrossEntropyWithLogitsGradV2", shape=loss_shape("predict", "target", "dout", "weight", "pos_weight"))
def sigmoid_cross_entropy_with_logits_grad_v2(
    predict: Array, target: Array, dout: Array, weight: Array | None, pos_weight: Array | None, reduction: str
) -> Array:
    """(sigmoid(predict)·(pos_weight·target + 1 - target) - pos_weight·target)·dout·weight, finite for finite predict.

    reduction mean divides by the number of elements.
    """

    def slope(x: Array, goal: Array, grads: Array, share: Array | None, positive: Array | None) -> Array:
        raised = goal if positive is None else goal * positive
        result = (sigmoid(x) * (raised + 1 - goal) - raised if positive is not None else sigmoid(x) - goal) * grads
        return result if share is None else result * share

    return averaged(slope, predict, target, dout, weight, pos_weight, divisor=elements(predict, reduction))


def nll_shape(call: Call) -> Shape:
    """The shape of x; target lacks its class axis, weight has one element a class."""
    check_reduction(call)
    x, target = call.shape("x"), call.shape("target")
    if not x:
        raise call.refuse("HA516", "x is a scalar; allowed: 1 dim or more.")
    place = min(len(x) - 1, 1)
    rows = (*x[:place], *x[place + 1 :])
    text = f"x = {dims.text(x)}, target = {dims.text(target)}; allowed: the dims of x without its classes (axis {place})."
    if len(target) != len(rows) and dims.count(target) != dims.count(rows):
        raise call.refuse("HA504", text)
    for one, other in zip(target, rows, strict=False) if len(target) == len(rows) else ():
        equal_dims(call, one, other, text)
    check_nll_sizes(call, x[place], target)
    return x


def check_nll_sizes(call: Call, classes: dims.Dim, target: Shape) -> None:
    """The sizes of weight, total_weight and y_grad."""
    single = {"total_weight": 1, "weight": classes}
    single["y_grad"] = dims.count(target) if call.attr("reduction") == "none" else 1
    for name, want in single.items():
        given = dims.count(call.shape(name))
        equal_dims(call, given, want, f"{name} = {dims.text(call.shape(name))} has {given} elements; allowed: {want}.")


def checked_classes(op: str, target: Array, counted: Array, classes: int) -> Array:
    """Targets, 0 for those that do not count; fails for one that is no class."""
    wrong = counted & ((target < 0) | (target >= classes))
    if wrong.any():
        place = tuple(int(one) for one in np.argwhere(wrong)[0])
        value = int(target[place])
        raise Failed("HA510", f"{op}: target{list(place)} = {value}; allowed: 0 to {classes - 1}, or ignore_index.")
    return np.where(counted, target, 0)


@kernel("NLLLossGrad", shape=nll_shape)
def nll_loss_grad(
    x: Array, y_grad: Array, target: Array, weight: Array, total_weight: Array, reduction: str, ignore_index: int
) -> Array:
    """-weight[target]·y_grad at each target, / total_weight with reduction mean; 0 elsewhere and where it is ignore_index.

    The classes are axis 1 of x, of a one-dimensional x axis 0. A target that is no class fails.
    """
    place = min(x.ndim - 1, 1)
    rows = target.reshape((*x.shape[:place], *x.shape[place + 1 :]))
    counted = rows != ignore_index
    found = checked_classes("NLLLossGrad", rows, counted, x.shape[place])
    share = np.where(counted, -weight.ravel().astype(np.float64)[found], 0) if weight.size else np.zeros(rows.shape)
    grads = y_grad.reshape(rows.shape) if reduction == "none" else y_grad.reshape(())
    values = np.where(counted, share * grads, 0)
    if reduction == "mean":
        values = np.where(counted, values / total_weight.reshape(()).astype(np.float64), 0)
    result = np.zeros(x.shape, x.dtype)
    if result.size:
        np.put_along_axis(result, np.expand_dims(found, place), np.expand_dims(values.astype(x.dtype), place), place)
    return result
