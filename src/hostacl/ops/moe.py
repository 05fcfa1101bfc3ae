"""Mixtures of experts: which experts each row goes to, rows sorted by expert, and their results put together."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from hostacl.errors import Failed
from hostacl.ops import dims
from hostacl.ops.call import Call
from hostacl.ops.dims import Between, Dim, Shape
from hostacl.ops.index import checked_indices
from hostacl.ops.registry import kernel
from hostacl.ops.shapes import alike_inputs, equal_dims, rank_is

Array = NDArray[Any]


def check_k(call: Call, experts: Dim) -> int:
    """k: from 1 to the number of experts."""
    k: int = call.attr("k")
    if k < 1 or (isinstance(experts, int) and k > experts):
        raise call.refuse("HA508", f"k = {k}; allowed: 1 to the number of experts, {dims.text((experts,))}.")
    return k


def gating_shape(call: Call) -> list[Shape]:
    """k for each row of x, three times."""
    x = rank_is(call, "x", *range(2, 9))
    k = check_k(call, x[-1])
    if call.has("finished"):
        finished = call.shape("finished")
        text = f"finished = {dims.text(finished)}; allowed: {dims.text(x[:-1])}, one for each row of x."
        if len(finished) != len(x) - 1:
            raise call.refuse("HA504", text)
        for one, other in zip(finished, x[:-1], strict=True):
            equal_dims(call, one, other, text)
    return [(*x[:-1], k)] * 3


def softmax(x: Array) -> Array:
    """The softmax of each row."""
    shifted = np.exp(x - np.max(x, axis=-1, keepdims=True, initial=-np.inf))
    return np.asarray(shifted / np.sum(shifted, axis=-1, keepdims=True))


def largest(x: Array, k: int) -> Array:
    """Where the k largest of each row are, largest first; of equal ones the first, NaN before all."""
    order = np.argsort(-x, axis=-1, kind="stable")
    missing = np.isnan(x)
    if missing.any():
        order = np.take_along_axis(order, np.argsort(~np.take_along_axis(missing, order, -1), axis=-1, kind="stable"), -1)
    return order[..., :k]


@kernel("MoeGatingTopKSoftmax", shape=gating_shape)
def moe_gating_top_k_softmax(x: Array, finished: Array | None, k: int) -> tuple[Array, Array, Array]:
    """The k largest of each row's softmax, largest first; which experts they are; and j·rows + i for place j of row i.

    Of equal ones the first counts as larger. Rows that are finished name the expert after the last one instead.
    """
    weights = softmax(x.astype(np.float64))
    found = largest(weights, k)
    y = np.take_along_axis(weights, found, -1)
    if finished is not None:
        found = np.where(finished[..., None], x.shape[-1], found)
    rows = int(np.prod(x.shape[:-1]))
    return y, found, np.arange(rows * k).reshape(k, rows).T.reshape(found.shape)


def grouped_shape(call: Call) -> list[Shape]:
    """k for each row of x, twice, and x again."""
    x = rank_is(call, "x", *range(2, 9))
    k, groups, chosen = check_k(call, x[-1]), call.attr("group_count"), call.attr("k_group")
    for name, allowed in (("norm_type", (0, 1)), ("group_select_mode", (0, 1)), ("renorm", (0, 1))):
        if call.attr(name) not in allowed:
            raise call.refuse("HA508", f"{name} = {call.attr(name)}; allowed: 0, 1.")
    if isinstance(x[-1], int):
        each = x[-1] // max(groups, 1)
        if groups < 1 or x[-1] % groups:
            raise call.refuse("HA508", f"group_count = {groups}; allowed: a divisor of the number of experts, {x[-1]}.")
        if not 1 <= chosen <= groups or chosen * each < k:
            told = f"allowed: 1 to {groups}, enough groups of {each} experts for k = {k}."
            raise call.refuse("HA508", f"k_group = {chosen}; {told}")
        if call.attr("group_select_mode") == 1 and groups > 1 and each < 2:
            raise call.refuse("HA508", f"group_select_mode = 1 adds the two best of a group; groups of {each} have not two.")
    if call.has("bias"):
        bias = call.shape("bias")
        text = f"bias = {dims.text(bias)}; allowed: {dims.text(x[-1:])}, one for each expert."
        if len(bias) != 1:
            raise call.refuse("HA504", text)
        equal_dims(call, bias[0], x[-1], text)
    return [(*x[:-1], k), (*x[:-1], k), x]


@kernel("MoeGatingTopK", shape=grouped_shape)
def moe_gating_top_k(
    x: Array, bias: Array | None, k: int, k_group: int, group_count: int, group_select_mode: int, renorm: int, norm_type: int,
    out_flag: bool, routed_scaling_factor: float, eps: float,
) -> tuple[Any, ...]:  # fmt: skip
    """The experts of each row with the k largest scores, their weights, and (with out_flag) the weights of all in out.

    Weights are the softmax of x (norm_type 0) or its sigmoid (1); scores are weights + bias. With several groups, experts of
    the k_group best ones only count: by their largest score, or the sum of their two largest (group_select_mode 1). The weights
    chosen are divided by their sum + eps where norm_type or renorm is 1, then multiplied by routed_scaling_factor. Of equal
    scores the first counts as larger.
    """
    wide = x.astype(np.float64)
    weights = 1 / (1 + np.exp(-wide)) if norm_type else softmax(wide)
    scores = weights if bias is None else weights + bias
    if k_group < group_count:
        groups = scores.reshape(*scores.shape[:-1], group_count, x.shape[-1] // group_count)
        best = np.sort(groups, axis=-1)[..., -2 if group_select_mode else -1 :].sum(-1)
        kept = np.zeros(best.shape, np.bool_)
        np.put_along_axis(kept, largest(best, k_group), True, -1)
        scores = np.where(kept[..., None], groups, -np.inf).reshape(scores.shape)
    found = largest(scores, k)
    y = np.take_along_axis(weights, found, -1)
    if norm_type or renorm:
        y = y / (np.sum(y, axis=-1, keepdims=True) + eps)
    return y * routed_scaling_factor, found, weights if out_flag else None


def routing_shape(call: Call) -> list[Shape]:
    """The rows that go to an expert, and for all of them where each went and to which expert."""
    rows, width = rank_is(call, "x", 2)
    index = alike_inputs(call, "expert_idx", "row_idx")
    if len(index) != 2:
        raise call.refuse("HA516", f"expert_idx = {dims.text(index)} has {len(index)} dims; allowed: 2.")
    told = f"x = {dims.text(call.shape('x'))}, expert_idx = {dims.text(index)}: the first dims must be equal."
    equal_dims(call, index[0], rows, told)
    if (active := call.attr("active_num")) < 0:
        raise call.refuse("HA508", f"active_num = {active}; allowed: 0 or more rows.")
    kept = min(rows, active) if isinstance(rows, int) else Between(0, active)
    count = dims.count(index)
    return [(kept * index[1], width), (count,), (count,)]


@kernel("MoeInitRouting", shape=routing_shape)
def moe_init_routing(x: Array, row_idx: Array, expert_idx: Array, active_num: int, call: Call) -> tuple[Array, Array, Array]:
    """x sorted by expert: its rows, each as often as it has experts, those of the first expert first, stably.

    expanded_x holds the first min(active_num, rows)·k of them, expanded_row_idx where the row with number row_idx went,
    expanded_expert_idx the experts in order. row_idx numbers the pairs as MoeGatingTopKSoftmax does: j·rows + i.
    """
    order = np.argsort(expert_idx, axis=None, kind="stable")
    numbers = row_idx.ravel()[order]
    where = checked_indices(call.op_type, numbers, expert_idx.size)
    if len(np.unique(where)) != where.size:
        told = f"row_idx names a row twice; allowed: each number from 0 to {where.size - 1} once."
        raise Failed("HA510", f"{call.op_type}: {told}")
    places = np.empty(where.size, np.int64)
    places[where] = np.arange(where.size)
    kept = min(x.shape[0], active_num) * expert_idx.shape[1]
    return x[where[:kept] % max(x.shape[0], 1)], places, expert_idx.ravel()[order]


def finalize_shape(call: Call) -> Shape:
    """The shape of x1; scales and indices have k for each row."""
    x1 = alike_inputs(call, "x1", "x2")
    rows, width = rank_is(call, "x1", 2)
    _, wide = rank_is(call, "expanded_x", 2)
    _, bias = rank_is(call, "bias", 2)
    scales, experts = rank_is(call, "scales", 2), rank_is(call, "expanded_expert_idx", 2)
    for name, size in (("expanded_x", wide), ("bias", bias)):
        told = f"{name} = {dims.text(call.shape(name))}, x1 = {dims.text(x1)}: the last dims must be equal."
        equal_dims(call, size, width, told)
    for name, shape in (("scales", scales), ("expanded_expert_idx", experts)):
        equal_dims(call, shape[0], rows, f"{name} = {dims.text(shape)}, x1 = {dims.text(x1)}: the first dims must be equal.")
    equal_dims(call, scales[1], experts[1], f"scales = {dims.text(scales)}, expanded_expert_idx = {dims.text(experts)} differ.")
    index, count = rank_is(call, "expanded_row_idx", 1), dims.count(scales)
    equal_dims(call, index[0], count, f"expanded_row_idx = {dims.text(index)}; allowed: {dims.text((count,))}, rows times k.")
    return x1


@kernel("MoeFinalizeRouting", shape=finalize_shape)
def moe_finalize_routing(
    expanded_x: Array, x1: Array, x2: Array | None, bias: Array, scales: Array, expanded_row_idx: Array,
    expanded_expert_idx: Array, call: Call,
) -> Array:  # fmt: skip
    """x1 (+ x2), and to row i added scales[i, j]·(expanded_x[p] + bias[e]) for each of its experts.

    p is expanded_row_idx[j·rows + i], e is expanded_expert_idx[i, j].
    """
    rows, k = scales.shape
    experts = checked_indices(call.op_type, expanded_expert_idx, bias.shape[0])
    places = checked_indices(call.op_type, expanded_row_idx, expanded_x.shape[0]).reshape(k, rows)
    total = x1.astype(np.float64) if x2 is None else x1.astype(np.float64) + x2
    for j in range(k):
        total += scales[:, j, None].astype(np.float64) * (expanded_x[places[j]].astype(np.float64) + bias[experts[:, j]])
    return total


def tokens_shape(call: Call) -> Shape:
    """One for each expert."""
    rank_is(call, "sorted_experts", 1)
    if (count := call.attr("num_experts")) < 1:
        raise call.refuse("HA508", f"num_experts = {count}; allowed: 1 or more.")
    return (call.attr("num_experts"),)


@kernel("MoeComputeExpertTokens", shape=tokens_shape)
def moe_compute_expert_tokens(sorted_experts: Array, num_experts: int) -> Array:
    """For each expert how many rows go to it or one before; sorted_experts are in ascending order."""
    return np.searchsorted(sorted_experts, np.arange(num_experts), side="right")
