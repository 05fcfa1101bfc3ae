"""Filled tensors and ranges."""

from __future__ import annotations

from typing import Any

import numpy as np

from hostacl.tensors import dtypes
from random_calls import values
from random_calls.dice import Dice
from random_calls.oracle import Within, oracle, shapes


@shapes("Fill")
def filling(d: Dice) -> None:
    """Dims as a value input, and a scalar."""
    d.value("dims", np.array(d.shape(), np.int64))
    d.tensor("value", d.choose((), (1,)))


@oracle("Fill")
def fill(dims: Any, value: Any) -> Any:
    result = np.empty([int(size) for size in dims], value.dtype)
    for place in np.ndindex(result.shape):
        result[place] = value.item()
    return result


@oracle("ZerosLike")
def zeros_like(x: Any) -> Any:
    return np.full(x.shape, False) if x.dtype == bool else np.array([0] * x.size, x.dtype).reshape(x.shape)


@oracle("OnesLike")
def ones_like(x: Any) -> Any:
    return np.full(x.shape, True) if x.dtype == bool else np.array([1] * x.size, x.dtype).reshape(x.shape)


@shapes("Range")
def ranging(d: Dice) -> None:
    """Start, limit and step of one sign, exact in every type."""
    step = d.choose(1, 2, 3) if values.is_int(d.dtype) else d.choose(0.5, 1, 2)
    count, start = d.int(1, 4 * d.limit), d.int(-5, 5)
    if d.wants("empty"):
        count = 0
    if d.wants("one element"):
        count = 1
    limit = start + step * count - (0 if d.chance() or step == 1 or count == 0 else min(step / 2, 0.5) if not values.is_int(d.dtype) else 1)
    if d.chance(0.3):
        start, limit, step = -start, -limit, -step
    for name, number in (("start", start), ("limit", limit), ("delta", step)):
        d.value(name, np.array(number), d.dtype)
    d.attr("is_closed", False)


@oracle("Range")
def range_(start: Any, limit: Any, delta: Any, dice: Dice) -> Any:
    result, one = [], start.item()
    while (one < limit.item()) if delta.item() > 0 else (one > limit.item()):
        result.append(one)
        one = start.item() + delta.item() * len(result)
    wanted = np.array(result, object if start.dtype == object else np.float64)
    return wanted if dice.dtype in (dtypes.INT32, dtypes.INT64) else Within(wanted, 1e-6)
