"""Losses in float64, by loops and by other formulas."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
from scipy import special

from hostacl.tensors import dtypes
from random_calls.dice import Dice
from random_calls.oracle import Within, finite, oracle, shapes


def reduce(loss: Any, reduction: str, sizes: Any = 0.0, divisor: Any = None) -> Within:
    """The loss as ``reduction`` says; its terms have these sizes."""
    slack = (finite(loss) + finite(np.broadcast_to(sizes, loss.shape))) * 2.0**-21
    if reduction == "none":
        return Within(loss, slack)
    by = 1.0 if reduction == "sum" else np.float64(loss.size) if divisor is None else divisor
    huge = np.abs(finite(loss)).max(initial=0) > 3e38
    return Within(loss.sum() / by, np.inf if huge else slack.sum() / by if by else 0.0)


@shapes("MseLoss", "LpLoss", "SmoothL1Loss", "SmoothL1LossV2", "SoftMarginLoss", "BinaryCrossEntropy", "KLDiv",
        "SigmoidCrossEntropyWithLogits", "SigmoidCrossEntropyWithLogitsV2")  # fmt: skip
def pair(d: Dice) -> None:
    batchmean = d.prototype.op_type == "KLDiv"
    shape = d.shape(1 if batchmean else 0)
    required = [decl.name for decl in d.generation.inputs if decl.kind == "required"]
    unit = d.prototype.op_type in ("BinaryCrossEntropy", "KLDiv")
    for place, name in enumerate(required):
        low, high = ((0, 1) if d.prototype.op_type == "BinaryCrossEntropy" or place else (-6, 0)) if unit else (-9, 9)
        if d.prototype.op_type == "BinaryCrossEntropy":
            d.tensor(name, np.asarray(d.rng.uniform(0, 1, shape)), dtype=d.dtype)
        else:
            d.tensor(name, shape, low, high)
    for name in ("weight", "pos_weight"):
        if d.decl(name) is not None and d.optional(name):
            d.tensor(name, shape, 0, 3)
    if "p" in d.generation.attrs:
        d.attr("p", 1)
    if "sigma" in d.generation.attrs:
        d.attr("sigma", 2.0, 0.5)
    if "reduction" in d.generation.attrs:
        d.attr("reduction", *(("sum", "batchmean") if batchmean else ("none", "sum", "mean")))


@oracle("MseLoss")
def mse(predict: Any, label: Any, reduction: str) -> Any:
    difference = predict - label
    sizes = (finite(predict) + finite(label)) * finite(difference)
    result = reduce(difference * difference, reduction, sizes)
    return Within(result.value, np.where(finite(sizes).max(initial=0) > 3e38, np.inf, result.slack))


@oracle("LpLoss")
def lp(predict: Any, label: Any, reduction: str) -> Any:
    return reduce(np.abs(predict - label), reduction, finite(predict) + finite(label))


def huber(predict: Any, label: Any, sigma: float) -> Any:
    size = np.abs(predict - label)
    return np.where(size < sigma, 0.5 * np.minimum(size, sigma) ** 2 / sigma, size - 0.5 * sigma)


@oracle("SmoothL1Loss")
def smooth_l1(predict: Any, label: Any, sigma: float) -> Any:
    return reduce(huber(predict, label, sigma), "none", finite(predict) + finite(label))


@oracle("SmoothL1LossV2")
def smooth_l1_v2(predict: Any, label: Any, sigma: float, reduction: str) -> Any:
    return reduce(huber(predict, label, sigma), reduction, finite(predict) + finite(label))


@oracle("SoftMarginLoss")
def soft_margin(input_x: Any, input_y: Any, reduction: str) -> Any:
    return reduce(np.logaddexp(0, -input_x * input_y), reduction)


@oracle("BinaryCrossEntropy")
def cross_entropy(x: Any, y: Any, weight: Any, reduction: str) -> Any:
    first, second = (np.where(one > 0, np.log(np.where(one > 0, one, 1)), -100) for one in (x, 1 - x))
    loss = -(y * np.maximum(first, -100) + (1 - y) * np.maximum(second, -100)) * (1.0 if weight is None else weight)
    return reduce(loss, reduction)


@oracle("SigmoidCrossEntropyWithLogits")
def logits(predict: Any, target: Any) -> Any:
    return reduce(np.logaddexp(0, predict) - predict * target, "none", finite(predict * target) + finite(predict))


@oracle("SigmoidCrossEntropyWithLogitsV2")
def logits_v2(predict: Any, target: Any, weight: Any, pos_weight: Any, reduction: str) -> Any:
    p = 1.0 if pos_weight is None else pos_weight
    share = 1 if pos_weight is None else 1 + (p - 1) * target
    loss = p * target * np.logaddexp(0, -predict) + (1 - target) * np.logaddexp(0, predict)
    loss = np.where(np.isinf(target), (1 - target) * predict + share * np.logaddexp(0, -predict), loss)  # as torch has it
    sizes = (finite(p * target * predict) + finite((1 - target) * predict) + finite(p * target) + 1) * (
        1.0 if weight is None else finite(weight)
    )
    return reduce(loss * (1.0 if weight is None else weight), reduction, sizes)


@oracle("KLDiv")
def divergence(x: Any, target: Any, reduction: str) -> Any:
    loss = np.where(target > 0, special.xlogy(target, np.where(target > 0, target, 1)) - target * x, 0.0)
    loss = np.where(np.isnan(target), target, loss)
    sizes = finite(target * x)
    return reduce(loss, "sum" if reduction == "sum" else "mean", sizes, np.float64(x.shape[0]))


@shapes("NLLLoss")
def classes(d: Dice) -> None:
    one = d.wants("one element")
    count = 1 if one else d.int(60, 90) if d.wants("long") else d.int(1, 5)
    shape = (1, 1) if one else (0, count) if d.wants("empty") else d.choose(
        (count,), (d.int(1, 4), count), (d.int(1, 2), count, d.int(1, 3), d.int(1, 2))
    )  # fmt: skip
    target = () if len(shape) == 1 else (shape[0], *shape[2:])
    d.tensor("x", shape, -9, 0, dtype=dtypes.FLOAT)
    ignored = d.attr("ignore_index", 0, -1)
    code = d.dtype
    low = np.asarray(d.rng.integers(0, count, target))
    d.tensor("target", np.where(d.rng.random(target) < 0.2, ignored, low), dtype=code)
    if d.optional("weight"):
        d.tensor("weight", np.asarray(d.rng.uniform(0.1, 3, count)), dtype=dtypes.FLOAT)
    d.attr("reduction", "none", "sum", "mean")
    d.output("y", dtypes.FLOAT)
    d.output("total_weight", dtypes.FLOAT)


@oracle("NLLLoss")
def nll(x: Any, target: Any, weight: Any, reduction: str, ignore_index: int) -> Any:
    loss, total = np.zeros(target.shape), 0.0
    for place in itertools.product(*map(range, target.shape)):
        t = int(target[place])
        if t == ignore_index:
            continue
        each = 1.0 if weight is None else weight[t]
        index = (t,) if x.ndim == 1 else (place[0], t, *place[1:])
        loss[place] = -each * x[index]
        total += each
    return reduce(loss, reduction, 0.0, np.float64(total)), Within(np.array(total), total * 2.0**-20)


@shapes("SoftmaxCrossEntropyWithLogits")
def rows(d: Dice) -> None:
    one = d.wants("one element")
    shape = (1, 1) if one else (0, 3) if d.wants("empty") else (d.int(1, 4), d.int(60, 90) if d.wants("long") else d.int(1, 5))
    d.tensor("features", shape, -9, 9)
    d.tensor("labels", (1, shape[1]) if d.wants("broadcast") else shape, 0, 1)


def logs(features: Any) -> Any:
    """The log-softmax of each row, NaN for a row with +Inf."""
    if not features.size:
        return features
    infinite = np.isposinf(features).any(axis=1, keepdims=True)
    near = features - np.where(infinite, 0, features.max(axis=1, keepdims=True))  # a huge one hides the logarithm of the sum
    return np.where(infinite, np.nan, near - special.logsumexp(near, axis=1, keepdims=True))


@oracle("SoftmaxCrossEntropyWithLogits")
def soft_labels(features: Any, labels: Any) -> Any:
    full = np.broadcast_shapes(features.shape, labels.shape)
    each, wanted = np.broadcast_to(logs(features), full), np.broadcast_to(labels, full)
    terms = np.where(wanted == 0, 0.0, wanted * each)
    sizes = finite(terms).sum(axis=1)
    return Within(-terms.sum(axis=1), sizes * 2.0**-20), Within(np.exp(each) - wanted, (1 + finite(wanted)) * 2.0**-20)


@shapes("SparseSoftmaxCrossEntropyWithLogits")
def labelled(d: Dice) -> None:
    one = d.wants("one element")
    shape = (1, 1) if one else (0, 3) if d.wants("empty") else (d.int(1, 4), d.int(60, 90) if d.wants("long") else d.int(1, 5))
    d.tensor("features", shape, -9, 9)
    d.tensor("labels", d.rng.integers(0, shape[1], shape[0]), dtype=d.dtype_of("labels"))


@oracle("SparseSoftmaxCrossEntropyWithLogits")
def hard_labels(features: Any, labels: Any) -> Any:
    each = logs(features)
    loss = np.array([-each[row, int(label)] for row, label in enumerate(labels)])
    gradient = np.exp(each)
    for row, label in enumerate(labels):
        gradient[row, int(label)] -= 1
    return Within(loss, finite(loss) * 2.0**-20), Within(gradient, np.where(np.isnan(gradient), 0, 2.0**-20))


@shapes("MultilabelMarginLoss")
def label_lists(d: Dice) -> None:
    one = d.wants("one element")
    count = 1 if one else d.int(30, 50) if d.wants("long") else d.int(1, 5)
    shape = (1, 1) if one else (0, count) if d.wants("empty") else d.choose((count,), (d.int(1, 4), count))
    lists = np.array([[*d.rng.permutation(count)] for _ in range(int(np.prod(shape[:-1])))]).reshape(shape)
    lists = np.where(d.rng.random(shape) < 0.4, -1, lists)
    d.tensor("x", shape, -3, 3)
    d.tensor("target", lists, dtype=d.dtype_of("target"))
    d.attr("reduction", "none", "sum", "mean")


@oracle("MultilabelMarginLoss")
def multilabel(x: Any, target: Any, reduction: str) -> Any:
    table, lists = x.reshape(-1, x.shape[-1]), target.reshape(-1, x.shape[-1])
    loss, flags = np.zeros(len(table)), np.zeros(lists.shape, object)
    sizes = np.zeros(len(table))
    for row, (line, listed) in enumerate(zip(table, lists, strict=True)):
        wanted = list(itertools.takewhile(lambda one: one != -1, map(int, listed)))
        for t in wanted:
            flags[row, t] = 1
        for t, i in itertools.product(wanted, (at for at in range(len(line)) if at not in wanted)):
            loss[row] += np.maximum(0.0, 1 - (line[t] - line[i])) / len(line)
            sizes[row] += finite(line[t]) + finite(line[i]) + 1
    shaped = loss.reshape(x.shape[:-1]) if reduction == "none" else loss
    return reduce(shaped, reduction, sizes.reshape(shaped.shape)), flags.reshape(target.shape)
