"""Rotary embedding by its matrix: each pair of elements half the last axis apart is turned."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from random_calls.dice import Dice
from random_calls.oracle import Any_, Within, finite, oracle, shapes


@shapes("RotaryMul", "RotaryMulGrad")
def rotary_call(d: Dice) -> None:
    shape = d.shape(1)
    shape = (*shape[:-1], 2 * shape[-1])
    d.tensor("x", shape)
    angles = tuple(1 if d.chance(0.4) else size for size in shape[:-1]) + shape[-1:]
    d.tensor("r1", angles)
    d.tensor("r2", angles)
    if d.decl("dy") is not None:
        d.tensor("dy", shape)
    if "need_backward" in d.generation.attrs:
        d.attr("need_backward", True)


def matrix(size: int) -> Any:
    """What turns a vector: entry i takes -x[i + size/2] or x[i - size/2]."""
    half = size // 2
    return np.array([[-1.0 if j == i + half else 1.0 if j == i - half else 0.0 for j in range(size)] for i in range(size)])


def pick(x: Any, turn: Any) -> Any:
    """Each row's only entry of the matrix, applied without adding zeros times infinities."""
    if not x.shape[-1]:
        return x
    place = np.abs(turn).argmax(axis=1)
    return x[..., place] * turn[np.arange(len(turn)), place]


@oracle("RotaryMul")
def rotary(x: Any, r1: Any, r2: Any) -> Any:
    one, other = x * r1, pick(x, matrix(x.shape[-1])) * r2
    return Within(one + other, (finite(one) + finite(other)) * 2.0**-22)


def gathered(grads: Any, shape: tuple[int, ...]) -> Any:
    for axis, size in enumerate(shape):
        if size == 1:
            grads = grads.sum(axis=axis, keepdims=True)
    return grads


@oracle("RotaryMulGrad")
def rotary_grad(x: Any, r1: Any, r2: Any, dy: Any) -> Any:
    turn = matrix(x.shape[-1])
    one, other = dy * r1, pick(dy * r2, turn.T)
    found = [Within(one + other, (finite(one) + finite(other)) * 2.0**-22)]
    for part in (dy * x, dy * pick(x, turn)):
        found.append(Within(gathered(part, r1.shape), gathered(finite(part), r1.shape) * 2.0**-22))
    return tuple(found)


@shapes("RotaryPositionEmbedding", "RotaryPositionEmbeddingGrad", "InterleaveRope")
def modes_call(d: Dice) -> None:
    name = "x" if d.decl("dy") is None else "dy"
    shape = d.shape(1)
    shape = (*shape[:-1], 4 * min(shape[-1], 30))
    d.tensor(name, shape)
    angles = tuple(1 if d.chance(0.4) else size for size in shape[:-1]) + shape[-1:]
    d.tensor("cos", angles)
    d.tensor("sin", angles)
    d.wants("optional absent", d.decl("rotate") is not None)
    if name == "dy" and d.optional("x"):
        d.tensor("x", shape)
    if "mode" in d.generation.attrs:
        d.attr("mode", 1, 2, 3)
    else:
        d.values["mode"] = 3


@shapes("ApplyRotaryPosEmb")
def both_call(d: Dice) -> None:
    one, empty = d.wants("one element"), d.wants("empty")
    batch, steps, size = (1, 1, 4) if one else (0 if empty else d.int(1, 3), d.int(1, 3), 4 * d.int(1, 3))
    if d.wants("long"):
        steps = d.int(30, 50)
    for name in ("query", "key"):
        d.tensor(name, (batch, steps, d.int(1, 3), size))
    for name in ("cos", "sin"):
        d.tensor(name, (batch if d.chance() else 1, steps, 1, size))
    d.attr("layout", 1)
    if "rotary_mode" in d.generation.attrs:
        d.attr("rotary_mode", "interleave", "quarter")
    else:
        d.values["rotary_mode"] = "half"


def turns(size: int, mode: int) -> tuple[Any, Any]:
    """What lays a vector out, and what turns that: matrices of single entries, row by row."""
    laid, turn = np.eye(size), np.zeros((size, size))
    if mode == 3:
        laid = laid[[2 * i % size + (i >= size // 2) for i in range(size)]]
    if mode == 1:
        pairs = [(i, i + 1) for i in range(0, size, 2)]
    elif mode == 2:
        pairs = [(half + i, half + i + size // 4) for half in (0, size // 2) for i in range(size // 4)]
    else:
        pairs = [(i, i + size // 2) for i in range(size // 2)]
    for first, second in pairs:
        turn[first, second], turn[second, first] = -1.0, 1.0
    return laid, turn


def turned(x: Any, cos: Any, sin: Any, mode: int) -> Within:
    laid, turn = turns(x.shape[-1], mode)
    x = pick(x, laid)
    one, other = x * cos, pick(x, turn) * sin
    return Within(one + other, (finite(one) + finite(other)) * 2.0**-22)


@oracle("RotaryPositionEmbedding", "InterleaveRope")
def embedding(x: Any, cos: Any, sin: Any, dice: Dice) -> Any:
    return turned(x, cos, sin, dice.values["mode"])


@oracle("ApplyRotaryPosEmb")
def both(query: Any, key: Any, cos: Any, sin: Any, dice: Dice) -> Any:
    mode = ("half", "interleave", "quarter").index(dice.values["rotary_mode"])
    return turned(query, cos, sin, mode), turned(key, cos, sin, mode)


@oracle("RotaryPositionEmbeddingGrad")
def embedding_grad(dy: Any, cos: Any, sin: Any, x: Any, mode: int) -> Any:
    laid, turn = turns(dy.shape[-1], mode)
    one, other = dy * cos, pick(dy * sin, turn.T)
    size = finite(one) + finite(other)
    found: list[Any] = [Within(pick(one + other, laid.T), pick(size, laid.T) * 2.0**-22)]
    if x is None:
        return (*found, Any_(cos.shape), Any_(sin.shape))
    x = pick(x, laid)
    for part in (dy * x, dy * pick(x, turn)):
        found.append(Within(gathered(part, cos.shape), gathered(finite(part), cos.shape) * 2.0**-22))
    return tuple(found)


def rows_and_experts(d: Dice) -> tuple[int, int, int]:
    """Rows, experts, experts of a row."""
    if d.wants("one element"):
        return 1, 1, 1
    experts = 4 * d.int(1, 3)
    return 0 if d.wants("empty") else d.int(30, 60) if d.wants("long") else d.int(1, 5), experts, d.int(1, min(experts, 4))


def distinct(d: Dice, rows: int, experts: int) -> Any:
    """Numbers of which no two in a row are equal, nor become so when rounded."""
    return np.array([d.rng.permutation(experts) for _ in range(rows)]).reshape(rows, experts) / 4 - 1


@shapes("MoeGatingTopKSoftmax")
def gating_call(d: Dice) -> None:
    rows, experts, k = rows_and_experts(d)
    d.tensor("x", distinct(d, rows, experts))
    if d.optional("finished"):
        d.tensor("finished", d.rng.random(rows) < 0.4, dtype=12)
    d.attrs["k"] = ("int", k)
    d.values["k"] = k


@oracle("MoeGatingTopKSoftmax")
def gating(x: Any, finished: Any, k: int) -> Any:
    y, index = np.zeros((len(x), k)), np.zeros((len(x), k), object)
    for i, row in enumerate(x):
        order = sorted(range(len(row)), key=lambda e: -row[e])[:k]
        total = math.fsum(math.exp(one) for one in row)
        y[i] = [math.exp(row[e]) / total for e in order]
        index[i] = [len(row)] * k if finished is not None and finished[i] else order
    numbers = np.array([[j * len(x) + i for j in range(k)] for i in range(len(x))], object).reshape(len(x), k)
    return Within(y, 1e-7), index, numbers


@shapes("MoeGatingTopK")
def grouped_call(d: Dice) -> None:
    rows, experts, k = rows_and_experts(d)
    d.tensor("x", distinct(d, rows, experts))
    if d.optional("bias"):
        d.tensor("bias", d.rng.permutation(experts) / 128)
    groups = d.attr("group_count", 2) if experts > 1 else 1
    d.attr("k_group", 1)
    each = d.values.get("k_group", 1) * experts // groups
    k = min(k, each)
    d.attr("group_select_mode", *([1] if experts // groups > 1 else []))
    for name in ("renorm", "norm_type"):
        d.attr(name, 1)
    d.attr("out_flag", True)
    d.attr("routed_scaling_factor", 2.5)
    d.attr("eps", 1e-3)
    d.attrs["k"] = ("int", k)
    d.values.update(k=k, groups=groups)


@oracle("MoeGatingTopK")
def grouped(x: Any, bias: Any, k: int, dice: Dice) -> Any:
    v, experts = dice.values, x.shape[1]
    each = experts // v["groups"]
    y, index, weights = np.zeros((len(x), k)), np.zeros((len(x), k), object), np.zeros(x.shape)
    for i, row in enumerate(x):
        powers = [math.exp(one) for one in row]
        weights[i] = [one / (1 + one) for one in powers] if v["norm_type"] else [one / math.fsum(powers) for one in powers]
        scores = [weights[i][e] + (0 if bias is None else bias[e]) for e in range(experts)]

        def worth(group: int, scores: list[float] = scores) -> float:
            best = sorted(scores[group * each : (group + 1) * each])
            return sum(best[-2:]) if v["group_select_mode"] else best[-1]

        kept = sorted(range(v["groups"]), key=lambda group: -worth(group))[: v["k_group"]]
        order = sorted((e for e in range(experts) if e // each in kept), key=lambda e: (-scores[e], e))[:k]
        y[i], index[i] = [weights[i][e] for e in order], order
    if v["norm_type"] or v["renorm"]:
        y = y / (y.sum(1, keepdims=True) + v["eps"])
    return Within(y * v["routed_scaling_factor"], 1e-6), index, Within(weights, 1e-6) if v["out_flag"] else Any_(x.shape)


@shapes("MoeInitRouting")
def routing_call(d: Dice) -> None:
    rows, experts, k = rows_and_experts(d)
    d.tensor("x", (rows, d.int(1, 4)))
    d.tensor("row_idx", np.arange(rows * k).reshape(k, rows).T)
    d.tensor("expert_idx", d.rng.integers(0, experts, (rows, k)))
    active = d.choose(0, 1, rows, rows + 3)
    d.attrs["active_num"] = ("int", active)
    d.values["active_num"] = active


@oracle("MoeInitRouting", family="shape_slice_concat_pad")
def routing(x: Any, expert_idx: Any, active_num: int) -> Any:
    rows, k = expert_idx.shape
    pairs = sorted(((expert_idx[i, j], i, j) for i in range(rows) for j in range(k)), key=lambda pair: pair[0])
    places = np.zeros(rows * k, object)
    for place, (_, i, j) in enumerate(pairs):
        places[j * rows + i] = place
    kept = [x[i] for _, i, _ in pairs[: min(rows, active_num) * k]]
    experts = np.array([expert for expert, _, _ in pairs], object)
    return np.stack(kept) if kept else np.zeros((0, x.shape[1])), places, experts


@shapes("MoeFinalizeRouting")
def finalize_call(d: Dice) -> None:
    rows, experts, k = rows_and_experts(d)
    width = d.int(1, 4)
    d.tensor("expanded_x", (rows * k, width))
    d.tensor("x1", (rows, width))
    if d.optional("x2"):
        d.tensor("x2", (rows, width))
    d.tensor("bias", (experts, width))
    d.tensor("scales", (rows, k))
    d.tensor("expanded_row_idx", d.rng.permutation(rows * k))
    d.tensor("expanded_expert_idx", d.rng.integers(0, experts, (rows, k)))


@oracle("MoeFinalizeRouting")
def finalize(expanded_x: Any, x1: Any, x2: Any, bias: Any, scales: Any, expanded_row_idx: Any, expanded_expert_idx: Any) -> Any:
    y, size = np.zeros(x1.shape), np.zeros(x1.shape)
    for i, c in np.ndindex(*x1.shape):
        terms = [x1[i, c], *([] if x2 is None else [x2[i, c]])]
        for j in range(scales.shape[1]):
            parts = expanded_x[expanded_row_idx[j * len(x1) + i], c], bias[expanded_expert_idx[i, j], c]
            terms.append(scales[i, j] * (parts[0] + parts[1]))
            size[i, c] += finite(scales[i, j]) * (finite(parts[0]) + finite(parts[1]))
        y[i, c] = sum(terms)
        size[i, c] += sum(finite(term) for term in terms)
    return Within(y, size * 1e-7)


@shapes("MoeComputeExpertTokens")
def tokens_call(d: Dice) -> None:
    rows, experts, _ = rows_and_experts(d)
    d.tensor("sorted_experts", np.sort(d.rng.integers(0, experts, rows)))
    d.attrs["num_experts"] = ("int", experts)
    d.values["num_experts"] = experts


@oracle("MoeComputeExpertTokens")
def tokens(sorted_experts: Any, num_experts: int) -> Any:
    return np.array([sum(one <= expert for one in sorted_experts) for expert in range(num_experts)], object)


@shapes("AttentionUpdate")
def update_call(d: Dice) -> None:
    parts, rows, width = d.count(3), rows_and_experts(d)[0], d.int(1, 4)
    for _ in range(parts):
        d.tensor("lse", d.rng.uniform(-4, 4, rows), dtype=0)
        d.tensor("go", (rows, width), dtype=d.dtype)
    kind = d.int(0, 1)
    d.attrs.update(sp=("int", parts), update_type=("int", kind))
    d.values["update_type"] = kind
    d.output("output", d.dtype)


@oracle("AttentionUpdate")
def update(lse: Any, go: Any, update_type: int) -> Any:
    powers = np.exp(np.stack(lse))
    parts = [one * (power / powers.sum(0))[:, None] for one, power in zip(go, powers, strict=True)]
    output = Within(sum(parts), sum(finite(part) for part in parts) * 1e-6)
    return output, Within(np.log(powers.sum(0)), 1e-6) if update_type else Any_(lse[0].shape)


@shapes("MoeInitRoutingV3")
def range_call(d: Dice) -> None:
    rows, experts, k = rows_and_experts(d)
    d.tensor("x", (rows, 2 * d.int(1, 3)))
    d.tensor("expert_idx", d.rng.integers(0, experts, (rows, k)))
    if d.optional("scale"):
        d.tensor("scale", (rows,), dtype=0)
    d.wants("optional absent")
    first = d.int(0, experts - 1)
    whole = d.chance() or d.kind in ("attributes absent", "attributes default")
    if not whole:
        d.attrs["active_expert_range"] = ("list_int", [first, experts])
    active = d.attr("active_num", 0, 1, max(rows * k - 1, 1))
    d.attrs["expert_num"] = ("int", experts)
    for name, choices in (("expert_capacity", [3]), ("drop_pad_mode", []), ("quant_mode", []), ("row_idx_type", [1]),
                          ("expert_tokens_num_type", [1, 2]), ("expert_tokens_num_flag", [True])):  # fmt: skip
        d.attr(name, *choices)
    d.values.update(first=0 if whole else first, experts=experts, active=active)
    d.output("expanded_scale", 0)


@oracle("MoeInitRoutingV3", family="shape_slice_concat_pad")
def in_range(x: Any, expert_idx: Any, scale: Any, row_idx_type: int, dice: Dice) -> Any:
    v, (rows, k) = dice.values, expert_idx.shape
    pairs = [(expert_idx[i, j], i * k + j) for i in range(rows) for j in range(k) if expert_idx[i, j] >= v["first"]]
    pairs.sort()
    size = min(v["active"], rows * k) if v["active"] > 0 else rows * k
    kept = pairs[:size]
    expanded, scales = np.zeros((size, x.shape[1]), x.dtype), np.zeros(size)
    places = np.full(rows * k, -1, object)
    for place, (_, pair) in enumerate(kept):
        expanded[place] = x[pair // k]
        scales[place] = 0 if scale is None else scale[pair // k]
        places[place if row_idx_type else pair] = pair if row_idx_type else place
    counts = [sum(expert == one for expert, _ in pairs) for one in range(v["first"], v["experts"])]
    kind = v["expert_tokens_num_type"]
    if kind == 2:
        used = [[one + v["first"], count] for one, count in enumerate(counts) if count]
        told = np.array(used + [[0, 0]] * (v["experts"] - len(used)), object)
    else:
        told = np.array([sum(counts[: at + 1]) for at in range(len(counts))] if kind == 0 else counts, object)
    told = told if v["expert_tokens_num_flag"] else Any_(told.shape)
    return expanded, places, told, scales if scale is not None else Any_((size,))
