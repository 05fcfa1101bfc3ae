"""Norms without parameters, by sums over elements; softmax with a mask of bytes; the first quantised product."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from hostacl.tensors import dtypes
from random_calls.dice import Dice
from random_calls.oracle import Within, finite, oracle, shapes
from random_calls.oracles.matmul import sizes
from random_calls.oracles.quant_matmul import scales, total_of
from random_calls.oracles.softmax_masked import soft

FAMILY = "norm"


@shapes("GlobalAveragePool", "MVN", "MVNV2")
def image_call(d: Dice) -> None:
    four = d.prototype.op_type != "GlobalAveragePool"
    shape = d.shape(4 if four else 3, 4 if four else 8, empty=four)
    d.tensor("x", shape, -9, 9)
    d.attr("normalize_variance", False)
    d.attr("across_channels", True)
    d.attr("eps", 1e-3)
    d.attr("axes", [1, 2, 3], [-1], [0, 2])


def mean_slack(x: Any, over: tuple[int, ...]) -> Any:
    return finite(x).max(axis=over, keepdims=True, initial=0.0) * 2.0**-20


@oracle("GlobalAveragePool", family=FAMILY)
def average(x: Any) -> Any:
    over = tuple(range(2, x.ndim))
    count = math.prod(x.shape[2:])
    total = x.reshape(*x.shape[:2], count).sum(axis=2).reshape(*x.shape[:2], *(1,) * len(over))
    return Within(total / count, mean_slack(x, over))


@oracle("MVN", "MVNV2", family=FAMILY)
def mvn(x: Any, eps: float, dice: Dice) -> Any:
    v = dice.values
    over = tuple(axis % 4 for axis in v["axes"]) if v.get("axes") is not None else (1, 2, 3) if v["across_channels"] else (2, 3)
    if x.size == 0:
        return x
    count = math.prod(x.shape[axis] for axis in over)
    mean = x.sum(axis=over, keepdims=True) / count
    away = x - mean
    spread = np.sqrt((away * away).sum(axis=over, keepdims=True) / count)
    y = away if v.get("normalize_variance") is False else away / (spread + eps)
    by = 1.0 if v.get("normalize_variance") is False else 1 / (finite(spread) + eps)
    return Within(y, mean_slack(x, over) * by * (1 + finite(y)))


@shapes("SoftmaxV2WithDropOutDoMaskV3D")
def dropped_call(d: Dice) -> None:
    shape = d.shape(1)
    d.tensor("x", shape, -3, 3)
    d.tensor("mask", d.rng.integers(0, 2, math.prod(shape) + d.choose(0, 3)), dtype=dtypes.UINT8)
    share = d.choose(0.5, 0.75)
    d.attrs["keep_prob"], d.values["keep_prob"] = ("float", share), share
    d.attr("axes", [d.axis(len(shape))])


@oracle("SoftmaxV2WithDropOutDoMaskV3D", family="softmax")
def dropped(x: Any, mask: Any, keep_prob: float, axes: list[int]) -> Any:
    place = axes[0] % x.ndim
    moved = np.moveaxis(x, place, -1)
    y, slack = (np.moveaxis(np.broadcast_to(one, moved.shape), -1, place) for one in soft(moved, finite(moved)))
    kept = np.array([bool(one) for one in mask.ravel()[: x.size]], bool).reshape(x.shape)
    return Within(y, slack), Within(np.where(kept, y / keep_prob, 0.0), slack / keep_prob)


@shapes("QuantBatchMatmul")
def product_call(d: Dice) -> None:
    m, k, n = sizes(d)
    batch = (2,) if d.chance(0.3) and d.kind not in {"one element", "empty", "long"} else ()
    d.tensor("x1", (*batch, *((k, m) if d.attr("adj_x1", True) else (m, k))))
    d.tensor("x2", (n, k) if d.attr("adj_x2", True) else (k, n))
    d.tensor("bias", d.rng.integers(-50, 50, (n,)), dtype=dtypes.INT32)
    scales(d, "deq_scale", n, dtypes.UINT64)
    d.output("y", dtypes.FLOAT16)


@oracle("QuantBatchMatmul", family="matmul")
def quantised(x1: Any, x2: Any, bias: Any, adj_x1: bool, adj_x2: bool, dice: Dice) -> Any:
    y, _ = total_of(np.swapaxes(x1, -1, -2) if adj_x1 else x1, x2.T if adj_x2 else x2)
    return (y + bias.astype(np.float64)) * dice.values["true deq_scale"]
