"""Gradients of losses and of softmax, from their formulas in float64."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from scipy import special

from hostacl.tensors import dtypes
from random_calls import values
from random_calls.dice import Dice
from random_calls.oracle import Within, finite, oracle, shapes

LOSSES = {
    "BinaryCrossEntropyGrad": ("x", "y", "grad_output", "weight"),
    "KlDivLossGrad": ("input", "target", "grad"),
    "L1LossGrad": ("predict", "label", "grads"),
    "MseLossGrad": ("predict", "label", "dout"),
    "SmoothL1LossGrad": ("predict", "label", "dout"),
    "SmoothL1LossGradV2": ("predict", "label", "dout"),
    "SoftMarginLossGrad": ("predict", "label", "dout"),
    "SigmoidCrossEntropyWithLogitsGrad": ("predict", "target", "dout"),
    "SigmoidCrossEntropyWithLogitsGradV2": ("predict", "target", "dout", "weight", "pos_weight"),
}


@shapes(*LOSSES)
def loss_call(d: Dice) -> None:
    shape = d.shape()
    one, other, gradient, *weights = LOSSES[d.prototype.op_type]
    for name in (one, other):
        d.tensor(name, shape, 0.05, 0.95) if d.prototype.op_type.startswith("Binary") else d.tensor(name, shape)
    d.tensor(gradient, d.choose(shape, (1,), ()))
    for name in weights:
        if d.optional(name):
            d.tensor(name, shape if d.chance() else shape[1:])
    if "reduction" in d.generation.attrs:
        d.attr("reduction", "none", "sum", *(("batchmean",) if d.prototype.op_type == "KlDivLossGrad" else ()))
    if "log_target" in d.generation.attrs:
        d.attr("log_target", True)
    if "sigma" in d.generation.attrs:
        d.attr("sigma", 0.5, 2.0, 0.0)


def spread(gradient: Any) -> Any:
    return gradient.ravel()[0] if gradient.size == 1 else gradient


def shared(result: Any, x: Any, reduction: str) -> Any:
    result = np.broadcast_to(result, x.shape)
    parts = {"mean": x.size, "batchmean": x.shape[0] if x.ndim else 1}.get(reduction, 1)
    return result / max(parts, 1)


@oracle("BinaryCrossEntropyGrad")
def binary(x: Any, y: Any, grad_output: Any, weight: Any, reduction: str) -> Any:
    bottom = np.maximum(x * (1 - x), 1e-12)
    share = 1.0 if weight is None else spread(weight)
    result = shared((x - y) / bottom * spread(grad_output) * share, x, reduction)
    return Within(result, finite(result) * 1e-12)


@oracle("KlDivLossGrad")
def kl(grad: Any, input: Any, target: Any, reduction: str, log_target: bool) -> Any:
    dout = spread(grad)
    return shared(-np.exp(target) * dout if log_target else np.where(target > 0, -target * dout, 0.0), input, reduction)


@oracle("L1LossGrad")
def absolute(grads: Any, predict: Any, label: Any, reduction: str) -> Any:
    sign = np.where(predict > label, 1.0, np.where(predict < label, -1.0, (predict - label) * 0))
    return shared(sign * spread(grads), predict, reduction)


@oracle("MseLossGrad")
def square(predict: Any, label: Any, dout: Any, reduction: str) -> Any:
    return shared((predict - label) * 2 * spread(dout), predict, reduction)


@oracle("SmoothL1LossGrad", "SmoothL1LossGradV2")
def smooth(predict: Any, label: Any, dout: Any, sigma: float, reduction: str = "none") -> Any:
    away = predict - label
    slope = np.sign(away) if sigma == 0 else np.clip(away / sigma, -1, 1)
    return shared(slope * spread(dout), predict, reduction)


@oracle("SoftMarginLossGrad")
def soft_margin(predict: Any, label: Any, dout: Any, reduction: str) -> Any:
    return shared(-label * special.expit(-label * predict) * spread(dout), predict, reduction)


@oracle("SigmoidCrossEntropyWithLogitsGrad")
def cross_entropy(predict: Any, target: Any, dout: Any) -> Any:
    return (special.expit(predict) - target) * spread(dout)


@oracle("SigmoidCrossEntropyWithLogitsGradV2")
def cross_entropy_v2(
    predict: Any, target: Any, dout: Any, weight: Any, pos_weight: Any, reduction: str
) -> Any:
    s, positive = special.expit(predict), 1.0 if pos_weight is None else spread(pos_weight)
    terms = (s * (1 - target), positive * target * (s - 1)) if pos_weight is not None else (s, -target)
    factor = spread(dout) * (1.0 if weight is None else spread(weight))
    size = shared(sum(finite(term) for term in terms) * finite(factor), predict, reduction)
    wanted = sum(terms)
    if pos_weight is not None:  # as torch has it where targets are infinite
        raised = positive * target
        wanted = np.where(np.isfinite(raised), wanted, (raised + 1 - target) * s - raised)
    return Within(shared(wanted * factor, predict, reduction), size * 1e-14)


# --- negative log likelihood ---


@shapes("NLLLossGrad")
def nll_call(d: Dice) -> None:
    shape = d.shape(1, 4, empty=False)
    place = min(len(shape) - 1, 1)
    rows = (*shape[:place], *shape[place + 1 :])
    classes = shape[place]
    d.tensor("x", shape)
    reduction = d.attr("reduction", "none", "sum")
    ignore = d.attr("ignore_index", 0, -1)
    d.tensor("y_grad", rows if reduction == "none" else (1,))
    target = d.rng.integers(0, classes, rows)
    if rows and ignore < 0:
        target = np.where(d.rng.random(rows) < 0.2, ignore, target)
    d.tensor("target", target)
    d.tensor("weight", (classes,))
    d.tensor("total_weight", np.array([2.5]))


@oracle("NLLLossGrad")
def nll(
    x: Any, y_grad: Any, target: Any, weight: Any, total_weight: Any, reduction: str, ignore_index: int
) -> Any:
    result = np.zeros(x.shape)
    place = min(x.ndim - 1, 1)
    for row in np.ndindex(*target.shape):
        goal = int(target[row])
        if goal != ignore_index:
            dout = y_grad[row] if reduction == "none" else y_grad.ravel()[0]
            value = -weight[goal] * dout
            result[(*row[:place], goal, *row[place:])] = value / total_weight[0] if reduction == "mean" else value
    return result


# --- softmax ---


@shapes("SoftmaxGrad", "LogSoftmaxGrad")
def softmax_call(d: Dice) -> None:
    shape = d.shape()
    for decl in d.generation.inputs:
        d.tensor(decl.name, np.clip(d.data(d.dtype, shape), 0, 4) if values.is_int(d.dtype) else shape)
    name = "axes" if d.prototype.op_type == "SoftmaxGrad" else "axis"
    if d.chance(0.3):
        d.attr(name)
    else:
        d.attrs[name] = ("list_int", d.axes(len(shape), 1) if shape else [0])
        d.values[name] = d.attrs[name][1]
        d.wants("attributes varied")
    if not shape:
        d.values[name] = []


def with_slack(parts: Any, y: Any) -> Any:
    """Sums in double precision: what cancels is lost to its last digits."""
    return Within(y, sum(finite(part) for part in parts) * 1e-13)


def along(axes: Any, rank: int) -> tuple[int, ...]:
    return tuple(axis % rank for axis in axes) if rank else ()


@oracle("SoftmaxGrad", family="softmax")
def softmax(softmax: Any, grad_softmax: Any, axes: Any, dice: Dice) -> Any:
    y, dy = np.asarray(softmax, np.float64), np.asarray(grad_softmax, np.float64)
    over = along(axes, y.ndim)
    total = (dy * y).sum(axis=over, keepdims=True)
    result = (dy - total) * y
    if not values.is_int(dice.dtype):
        return with_slack((dy * y, (finite(dy) * finite(y)).sum(axis=over, keepdims=True) * y), result)
    info = np.iinfo(dtypes.numpy_dtype(dice.dtype))
    return np.array([int(min(max(one, info.min), info.max)) for one in result.ravel()], object).reshape(y.shape)


@oracle("LogSoftmaxGrad", family="softmax")
def log_softmax(grad: Any, x: Any, axis: Any) -> Any:
    over = along(axis, x.ndim)
    power = np.exp(x)
    size = finite(power) * finite(grad).sum(axis=over, keepdims=True)
    return with_slack((grad, size), grad - power * grad.sum(axis=over, keepdims=True))


@shapes("ScaledMaskedSoftmaxGrad")
def masked_call(d: Dice) -> None:
    shape = d.shape(2)
    d.tensor("y_grad", shape)
    d.tensor("y", shape)
    if d.optional("mask"):
        d.tensor("mask", tuple(1 if d.chance(0.3) else size for size in shape) if d.chance() else shape)
    d.attr("scale", 0.5, -2.0)
    d.attr("fixed_triu_mask", True)
    d.output("x_grad", d.choose(dtypes.FLOAT16, dtypes.BF16) if d.dtype == dtypes.FLOAT else d.dtype)


@oracle("ScaledMaskedSoftmaxGrad", family="softmax")
def masked(y_grad: Any, y: Any, mask: Any, scale: float, fixed_triu_mask: bool) -> Any:
    total = (y_grad * y).sum(axis=-1, keepdims=True)
    result = (y_grad - total) * y * scale
    size = abs(scale) * (finite(y_grad * y) + (finite(y_grad) * finite(y)).sum(axis=-1, keepdims=True) * finite(y))
    if fixed_triu_mask:
        hidden = np.array([[j > i for j in range(y.shape[-1])] for i in range(y.shape[-2])], bool).reshape(y.shape[-2:])
    elif mask is not None:
        hidden = np.asarray(mask, bool)
    else:
        hidden = np.zeros((), bool)
    return Within(np.where(hidden, 0.0, result), np.where(hidden, 0, size * 1e-6))


@shapes("DropoutWithMulsAndSoftmaxGrad")
def dropped_call(d: Dice) -> None:
    shape = d.shape(1)
    d.tensor("y_grad", shape)
    count = math.prod(shape)
    d.tensor("mask", d.rng.integers(0, 2, shape if d.chance() else (-(-count // 16) * 16,)))
    d.tensor("softmax_output", shape)
    d.attrs["input_keep_prob"], d.attrs["alpha"] = ("float", 0.5), ("float", 1.5)
    d.attrs["axes"] = ("list_int", d.axes(len(shape), 1))
    d.values["axes"] = d.attrs["axes"][1]


@oracle("DropoutWithMulsAndSoftmaxGrad", family="softmax")
def dropped(y_grad: Any, mask: Any, softmax_output: Any, axes: Any) -> Any:
    kept = np.array([bool(one) for one in mask.ravel()[: y_grad.size]], bool).reshape(y_grad.shape)
    dy, y, over = np.where(kept, y_grad / 0.5, 0.0), softmax_output, along(axes, y_grad.ndim)
    size = 1.5 * (finite(dy * y) + (finite(dy) * finite(y)).sum(axis=over, keepdims=True) * finite(y))
    return Within(1.5 * (dy - (dy * y).sum(axis=over, keepdims=True)) * y, size * 1e-13)
