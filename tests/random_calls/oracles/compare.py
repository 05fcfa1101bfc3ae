"""Comparisons and selection."""

from __future__ import annotations

from typing import Any

import numpy as np

from random_calls.dice import Dice
from random_calls.oracle import oracle, shapes


@shapes("Equal", "NotEqual", "Greater", "GreaterEqual", "Less", "LessEqual")
def comparing(d: Dice) -> None:
    """Two tensors that broadcast, with many equal elements."""
    first, second = d.shapes_that_broadcast(2)
    d.tensor("x1", first, -2, 2)
    d.tensor("x2", second, -2, 2)


def each(function: Any, x1: Any, x2: Any) -> Any:
    """Python's own comparison, element by element."""
    return np.asarray(np.frompyfunc(function, 2, 1)(x1, x2)).astype(bool)


@oracle("Equal")
def equal(x1: Any, x2: Any) -> Any:
    return each(lambda a, b: a == b, x1, x2)


@oracle("NotEqual")
def not_equal(x1: Any, x2: Any) -> Any:
    return each(lambda a, b: not a == b, x1, x2)  # noqa: SIM201 - said by another operator


@oracle("Greater")
def greater(x1: Any, x2: Any) -> Any:
    return each(lambda a, b: b < a, x1, x2)


@oracle("GreaterEqual")
def greater_equal(x1: Any, x2: Any) -> Any:
    return each(lambda a, b: b <= a, x1, x2)


@oracle("Less")
def less(x1: Any, x2: Any) -> Any:
    return each(lambda a, b: b > a, x1, x2)


@oracle("LessEqual")
def less_equal(x1: Any, x2: Any) -> Any:
    return each(lambda a, b: b >= a, x1, x2)


@shapes("Select")
def selecting(d: Dice) -> None:
    """x1 and x2 of one shape; the condition of the same, of its first dim, or a scalar."""
    shape = d.shape()
    condition = shape
    if d.wants("broadcast"):
        shape = shape or (2,)
        condition = d.choose((), shape[:1])
    elif d.chance(0.2):
        condition = d.choose((), shape[:1])
    d.tensor("condition", condition)
    d.tensor("x1", shape)
    d.tensor("x2", shape)


@oracle("Select")
def select(condition: Any, x1: Any, x2: Any) -> Any:
    wide = condition.reshape(condition.shape + (1,) * (x1.ndim - condition.ndim))
    result = x2.copy()
    for place in np.ndindex(x1.shape):
        if np.broadcast_to(wide, x1.shape)[place]:
            result[place] = x1[place]
    return result
