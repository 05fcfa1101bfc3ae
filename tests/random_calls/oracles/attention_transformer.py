"""Rotary embedding by its matrix: each pair of elements half the last axis apart is turned."""

from __future__ import annotations

from typing import Any

import numpy as np

from random_calls.dice import Dice
from random_calls.oracle import Within, finite, oracle, shapes


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
