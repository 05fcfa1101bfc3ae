"""Losses over classes."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from hostacl.ops import dims
from hostacl.ops.call import Call
from hostacl.ops.dims import Shape
from hostacl.ops.loss import REDUCTIONS, reduced, reduction_of
from hostacl.ops.registry import kernel
from hostacl.ops.shapes import broadcast_shapes, rank_is
from hostacl.ops.softmax import log_exp_sum
from hostacl.tensors import dtypes

Array = NDArray[Any]


def nll_shape(call: Call) -> list[Shape]:
    """A scalar, or with reduction none the shape of target; and a scalar, the total weight."""
    x, target = call.shape("x"), call.shape("target")
    if not x:
        raise call.refuse("HA516", "x is a scalar; allowed: classes (C), (N, C), or (N, C, …).")
    wanted = (*x[:1], *x[2:]) if len(x) > 1 else ()
    same = target in ((), (1,)) and (len(x) == 1 or wanted == (1,))
    fits = len(target) == len(wanted) and all(not dims.known(a, b) or a == b for a, b in zip(target, wanted, strict=True))
    if not (same or fits):
        raise call.refuse("HA504", f"target = {dims.text(target)}; allowed for x = {dims.text(x)}: {dims.text(wanted)}.")
    classes = x[min(1, len(x) - 1)]
    if call.has("weight"):
        size = dims.count(call.shape("weight"))
        if dims.known(size, classes) and size != classes:
            raise call.refuse("HA504", f"weight = {dims.text(call.shape('weight'))}; allowed: one for each of {classes}.")
    return [target if reduction_of(call, *REDUCTIONS) == "none" else (), ()]


@kernel("NLLLoss", shape=nll_shape)
def nll_loss(
    x: Array, target: Array, weight: Array | None, reduction: str, ignore_index: int, call: Call
) -> tuple[Any, Any]:
    """-weight[t]·x[…, t, …] for the target class t along axis 1 (of a vector: 0), and the total weight of all targets.

    Each (none), summed up, or divided by the total weight (mean; NaN when it is 0). ignore_index counts as weight 0; the
    weights are 1 where left out. Another target outside the classes fails.
    """
    planes = x.reshape(1, -1, 1) if x.ndim == 1 else x.reshape(*x.shape[:2], int(np.prod(x.shape[2:])))
    classes = target.reshape(planes.shape[0], planes.shape[2]).astype(np.int64)
    ignored = classes == ignore_index
    wrong = ~ignored & ((classes < 0) | (classes >= planes.shape[1]))
    if wrong.any():
        value = int(classes[wrong][0])
        raise call.refuse("HA510", f"target has {value}; allowed: 0..{planes.shape[1] - 1}, the classes, or {ignore_index}.")
    safe = np.where(ignored, 0, classes)
    each = np.ones(safe.shape) if weight is None else weight.reshape(-1)[safe].astype(np.float64)
    each = np.where(ignored, 0, each)
    picked = np.take_along_axis(planes, safe[:, None, :], axis=1)[:, 0] if planes.shape[1] else np.zeros(safe.shape)
    loss = np.where(ignored, 0, -picked * each)
    total = np.sum(each, dtype=np.float64)
    if reduction == "none":
        return loss.reshape(target.shape), total
    summed = np.sum(loss, dtype=np.float64)
    return (summed if reduction == "sum" else summed / total), total


def logits_shape(call: Call) -> list[Shape]:
    """One loss a row, and the gradient in the features' shape, to which labels broadcast."""
    features, labels = rank_is(call, "features", *range(2, 9)), call.shape("labels")
    joined = broadcast_shapes(features, labels)
    if joined is None or len(joined) != len(features):
        told = f"features = {dims.text(features)}, labels = {dims.text(labels)} do not broadcast."
        raise call.refuse("HA504", told)
    return [(*joined[:1], *joined[2:]), joined]


def log_softmax_of(features: Array) -> Array:
    """The log-softmax along axis 1, in float64."""
    wide = features.astype(np.float64)
    shifted = wide - np.max(wide, axis=1, keepdims=True, initial=-np.inf)
    return np.asarray(shifted - log_exp_sum(shifted, (1,)))


@kernel("SoftmaxCrossEntropyWithLogits", shape=logits_shape)
def softmax_cross_entropy_with_logits(features: Array, labels: Array) -> tuple[Array, Array]:
    """-Σ labels·log softmax(features) over the classes (axis 1), and softmax(features) - labels, its gradient."""
    full = np.broadcast_shapes(features.shape, labels.shape)
    logs = log_softmax_of(np.broadcast_to(features, full))
    wanted = np.broadcast_to(labels, full).astype(np.float64)
    terms = np.where(wanted == 0, 0, wanted * logs)
    return -np.sum(terms, axis=1), np.where(wanted == 1, np.expm1(logs), np.exp(logs) - wanted)


def sparse_shape(call: Call) -> list[Shape]:
    """One loss a row, and the gradient in the features' shape."""
    features, (rows,) = rank_is(call, "features", 2), rank_is(call, "labels", 1)
    if dims.known(features[0], rows) and features[0] != rows:
        raise call.refuse("HA504", f"features = {dims.text(features)} and labels of {rows} must have equally many rows.")
    return [call.shape("labels"), features]


@kernel("SparseSoftmaxCrossEntropyWithLogits", shape=sparse_shape)
def sparse_softmax_cross_entropy_with_logits(features: Array, labels: Array, call: Call) -> tuple[Array, Array]:
    """-log softmax(features)[label] of each row, and its gradient, the softmax with 1 taken off at the label.

    A label outside the classes fails.
    """
    wrong = (labels < 0) | (labels >= features.shape[1])
    if wrong.any():
        raise call.refuse("HA510", f"labels has {int(labels[wrong][0])}; allowed: 0..{features.shape[1] - 1}, the classes.")
    logs, rows = log_softmax_of(features), np.arange(len(labels))
    gradient = np.exp(logs)
    gradient[rows, labels] = np.expm1(logs[rows, labels])
    return -logs[rows, labels], gradient


def multilabel_shape(call: Call) -> list[Shape]:
    """A scalar, or with reduction none one loss a row; is_target as target."""
    x, target = rank_is(call, "x", 1, 2), call.shape("target")
    if len(x) != len(target) or any(dims.known(a, b) and a != b for a, b in zip(x, target, strict=True)):
        raise call.refuse("HA504", f"x = {dims.text(x)}, target = {dims.text(target)}; they must have one shape.")
    return [x[:-1] if reduction_of(call, *REDUCTIONS) == "none" else (), target]


LONG_TOO = dict.fromkeys(("target", "is_target"), (dtypes.INT64,))
"""torch-npu sends int64."""


@kernel("MultilabelMarginLoss", shape=multilabel_shape, dtypes=LONG_TOO)
def multilabel_margin_loss(x: Array, target: Array, reduction: str, call: Call) -> tuple[Any, Array]:
    """Σ max(0, 1 - (x[t] - x[i])) / C over the target classes t and all others i of each row; and which are targets.

    A row's targets are its entries before the first -1. Each row (none), summed up or averaged; another target outside the
    classes fails.
    """
    rows, wanted = np.atleast_2d(x).astype(np.float64), np.atleast_2d(target)
    classes = rows.shape[1]
    counted = np.cumprod(wanted != -1, axis=1, dtype=np.int64).astype(bool)
    wrong = counted & ((wanted < 0) | (wanted >= classes))
    if wrong.any():
        raise call.refuse("HA510", f"target has {int(wanted[wrong][0])}; allowed: 0..{classes - 1}, or -1 behind the last one.")
    safe, flags = np.where(counted, wanted, 0), np.zeros(rows.shape, bool)
    where = np.nonzero(counted)
    flags[where[0], safe[where]] = True
    loss = np.zeros(rows.shape[0])
    for place in range(classes):  # one target of every row at a time
        picked = np.take_along_axis(rows, safe[:, place : place + 1], axis=1)
        margin = np.where(flags, 0, np.maximum(1 - picked + rows, 0)).sum(axis=1)
        loss += np.where(counted[:, place], margin, 0)
    loss = loss / max(classes, 1)
    result = loss.reshape(x.shape[:-1]) if reduction == "none" else reduced(loss, reduction)
    return result, flags.astype(target.dtype).reshape(target.shape)
