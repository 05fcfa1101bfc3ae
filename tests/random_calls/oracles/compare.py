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


@shapes("SelectV2")
def selecting_broadcast(d: Dice) -> None:
    """A condition and two tensors that broadcast."""
    condition, then, other = d.shapes_that_broadcast(3)
    d.tensor("condition", condition)
    d.tensor("then", then)
    d.tensor("else", other)


@oracle("SelectV2")
def select_v2(condition: Any, then: Any, else_: Any) -> Any:
    condition, then, other = np.broadcast_arrays(condition, then, else_)
    result = other.copy()
    for place in np.ndindex(condition.shape):
        if condition[place]:
            result[place] = then[place]
    return result


@shapes("IsClose")
def nearly(d: Dice) -> None:
    """Two tensors that broadcast, with attributes."""
    comparing(d)
    d.attr("rtol", 0.5, 0.0)
    d.attr("atol", 0.25, 1.0)
    d.attr("equal_nan", True, False)


@oracle("IsClose")
def is_close(x1: Any, x2: Any, rtol: float, atol: float, equal_nan: bool) -> Any:
    def one(a: Any, b: Any) -> bool:
        a, b = (int(a), int(b)) if isinstance(a, bool) else (a, b)
        if a == b:
            return True
        if a != a or b != b:  # noqa: PLR0124 - NaN
            return equal_nan and a != a and b != b  # noqa: PLR0124
        return bool(np.isfinite(complex(b)) and np.isfinite(complex(a)) and abs(a - b) <= atol + rtol * abs(b))

    return each(one, x1, x2)


@shapes("ApproximateEqual")
def approximately(d: Dice) -> None:
    """Two tensors that broadcast, with a tolerance."""
    comparing(d)
    d.attr("tolerance", 0.5, 2.0)


@oracle("ApproximateEqual")
def approximate_equal(x1: Any, x2: Any, tolerance: float) -> Any:
    return each(lambda a, b: abs(a - b) < tolerance, x1, x2)


@shapes("TensorEqual")
def whole_tensors(d: Dice) -> None:
    """Two tensors, often equal, now and then of different shapes."""
    shape = d.shape()
    first = d.tensor("input_x", shape, -2, 2)
    if d.chance():
        d.tensor("input_y", first)
    else:
        d.tensor("input_y", d.choose(shape, (2, *shape)) if len(shape) < 8 else shape, -2, 2)


@oracle("TensorEqual")
def tensor_equal(input_x: Any, input_y: Any) -> Any:
    same = input_x.shape == input_y.shape
    return np.array(same and all(a == b for a, b in zip(input_x.ravel().tolist(), input_y.ravel().tolist(), strict=True)))
