"""Feed-forward layers and gradients of projections by sums of products."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from hostacl.tensors import dtypes
from random_calls import values as kinds
from random_calls.dice import Dice
from random_calls.oracle import Any_, Within, finite, oracle, shapes

CURVES = {
    "relu": lambda x: max(x, 0.0),
    "gelu": lambda x: x / 2 * (1 + math.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3))),
    "fastgelu": lambda x: x / (1 + math.exp(-1.702 * x)),
    "silu": lambda x: x / (1 + math.exp(-x)),
}


@shapes("FFN")
def layer_call(d: Dice) -> None:
    one, whole = d.wants("one element"), kinds.is_int(d.dtype)
    rows, inner, middle, outer = (1, 1, 1, 1) if one else (d.int(1, 5), d.int(1, 3), d.int(1, 4), d.int(1, 3))
    rows = 0 if d.wants("empty") else d.int(30, 40) if d.wants("long") else rows

    def draw(name: str, *shape: int, code: int = d.dtype) -> Any:
        data = d.rng.integers(-2, 3, shape) if whole else d.rng.uniform(-1, 1, shape)
        return d.tensor(name, data, dtype=code).astype(np.float64)

    experts = d.int(1, 3) if d.optional("expert_tokens") else 0
    lead = (experts,) if experts else ()
    shape = (rows, inner) if d.chance() else (1, rows, inner)
    v: dict[str, Any] = {"x": draw("x", *shape), "w1": draw("weight1", *lead, inner, middle)}
    v.update(w2=draw("weight2", *lead, middle, outer), ends=[rows])
    code = dtypes.INT32 if whole else d.dtype
    v["b1"] = draw("bias1", *lead, middle, code=code) if d.optional("bias1") else np.zeros((*lead, middle))
    v["b2"] = draw("bias2", *lead, outer, code=code) if d.optional("bias2") else np.zeros((*lead, outer))
    if not experts:
        v.update({name: v[name][None] for name in ("w1", "w2", "b1", "b2")})
    else:
        v["ends"] = sorted(d.int(0, rows) for _ in range(experts))
        ends = d.attr("tokens_index_flag", True)
        d.tensor("expert_tokens", np.array(v["ends"] if ends else np.diff(v["ends"], prepend=0)))
    v["curve"] = d.choose(*CURVES)
    d.attrs["activation"] = ("string", v["curve"])
    d.attr("inner_precise", 1)
    d.output("y", dtypes.FLOAT16)
    d.values["v"] = v


@oracle("FFN", family="matmul")
def layer(dice: Dice) -> Any:
    v = dice.values["v"]
    rows, start = v["x"].reshape(-1, v["x"].shape[-1]), 0
    result = np.zeros((len(rows), v["w2"].shape[2]))
    for at, end in enumerate(v["ends"]):
        for row in range(start, end):
            inner = [CURVES[v["curve"]](float(rows[row] @ v["w1"][at][:, j] + v["b1"][at][j])) for j in range(v["w1"].shape[2])]
            result[row] = [math.fsum(np.array(inner) * v["w2"][at][:, j]) + v["b2"][at][j] for j in range(result.shape[1])]
        start = end
    return Within(result.reshape(*v["x"].shape[:-1], result.shape[1]), 1e-4)


@shapes("AttentionQKVGradX", "AttentionQKVGradW")
def projection_call(d: Dice) -> None:
    one = d.wants("one element")
    rows, width, out = (1, 1, 1) if one else (d.int(1, 4), d.int(1, 3), d.int(1, 3))
    rows = 0 if d.wants("empty") else d.int(30, 40) if d.wants("long") else rows
    backward = d.prototype.op_type.endswith("X")
    one_turn, other_turn = d.attr("trans_a", backward), d.attr("trans_b", not backward)

    def matrix(name: str, high: int, wide: int, turn: bool) -> None:
        d.tensor(name, np.asarray(d.rng.uniform(-2, 2, (wide, high) if turn else (high, wide))))

    if backward:
        for name in ("query_dx", "key_dw", "value_dw"):
            matrix(name, rows, out, one_turn)
        for name in ("kernel_query", "kernel_key", "kernel_value"):
            matrix(name, out, width, other_turn)
        if d.optional("ln_dx"):
            matrix("ln_dx", rows, width, False)
        return
    d.attr("trans_dw", True)
    matrix("x", width, rows, one_turn)
    for name in ("query_dx", "key_dw", "value_dw"):
        if name == "query_dx" or d.optional(name):
            matrix(name, rows, out, other_turn)
    d.values["shapes"] = (width, out)


def product(x: Any, y: Any) -> Within:
    total, size = np.zeros((len(x), y.shape[1])), np.zeros((len(x), y.shape[1]))
    for i, j in np.ndindex(*total.shape):
        total[i, j], size[i, j] = math.fsum(x[i] * y[:, j]), math.fsum(finite(x[i] * y[:, j]))
    return Within(total, size * 1e-5)


@oracle("AttentionQKVGradX", family="matmul")
def gradient_of_input(trans_a: bool, trans_b: bool, ln_dx: Any, dice: Dice) -> Any:
    total, slack = 0 if ln_dx is None else ln_dx, 1e-6
    for dy, weight in (("query_dx", "kernel_query"), ("key_dw", "kernel_key"), ("value_dw", "kernel_value")):
        one, other = (dice.inputs[name][0].data.astype(np.float64) for name in (dy, weight))
        part = product(one.T if trans_a else one, other.T if trans_b else other)
        total, slack = total + part.value, slack + part.slack
    return Within(total, slack)


@oracle("AttentionQKVGradW", family="matmul")
def gradients_of_weights(x: Any, trans_a: bool, trans_b: bool, trans_dw: bool, dice: Dice) -> Any:
    weights, biases = [], []
    width, out = dice.values["shapes"]
    for name in ("query_dx", "key_dw", "value_dw"):
        given = dice.inputs[name][0].data if name in dice.inputs else None
        if given is None:
            weights.append(Any_((out, width) if trans_dw else (width, out)))
            biases.append(Any_((out,)))
            continue
        dy = given.astype(np.float64).T if trans_b else given.astype(np.float64)
        part = product(x.T if trans_a else x, dy)
        weights.append(Within(part.value.T, part.slack.T) if trans_dw else part)
        biases.append(Within(dy.sum(0), finite(dy).sum(0) * 1e-6))
    return (*weights, *biases)
