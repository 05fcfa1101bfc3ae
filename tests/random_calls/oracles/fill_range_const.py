"""Filled tensors and ranges."""

from __future__ import annotations

from fractions import Fraction
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
    short = 1 if values.is_int(d.dtype) else min(step / 2, 0.5)  # a limit between two elements
    limit = start + step * count - (0 if d.chance() or step == 1 or count == 0 else short)
    if d.chance(0.3):
        start, limit, step = -start, -limit, -step
    if d.wants("special values", d.dtype == dtypes.INT64):  # whole numbers that no float holds
        far = int(d.choose(2**53 + 1, 2**62 + 3, -(2**53) - 1, -(2**62) - 3))
        start, limit = start + far, limit + far
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


@shapes("FillD")
def filling_by_attribute(d: Dice) -> None:
    """Dims as an attribute, and a scalar."""
    d.tensor("value", d.choose((), (1,)))
    d.attr("dims", list(d.shape()))


@oracle("FillD")
def fill_d(value: Any, dims: Any) -> Any:
    return fill(dims, value)


@shapes("FillV2", "FillV2D")
def filling_with_number(d: Dice) -> None:
    """Dims as a value input or an attribute, and a number."""
    shape = list(d.shape())
    if d.prototype.inputs:
        d.value("dims", np.array(shape, np.int64))
    else:
        d.attr("dims", shape)
    d.attr("value", 3.0, -7.0, 2.0)
    d.output("y", d.dtype if not d.prototype.inputs else int(d.choose(*d.prototype.outputs[0].dtypes)))


@oracle("FillV2", "FillV2D")
def fill_v2(dims: Any, value: float, dice: Dice) -> Any:
    shape = tuple(int(size) for size in np.asarray(dims).ravel())
    return np.array([cast(value, dice)] * int(np.prod(shape))).reshape(shape)


@shapes("Fills")
def filling_like(d: Dice) -> None:
    """A tensor and a number."""
    d.tensor("x", d.shape())
    d.attr("value", 2.5, -1.0, 100.0)


def cast(value: float, dice: Dice) -> Any:
    """A number in the type of the output, the nearest bound where it is out of range."""
    code = (dice.outputs.get("y") or (dice.dtype,))[0]
    if code == dtypes.BOOL or not values.is_int(code or dice.dtype):
        return value
    info = np.iinfo(values.logical(code or dice.dtype))
    return min(max(int(value), int(info.min)), int(info.max))


@oracle("Fills")
def fills(x: Any, value: float, dice: Dice) -> Any:
    return np.full(x.shape, cast(value, dice), x.dtype)


@shapes("Eye")
def identities(d: Dice) -> None:
    """Rows, columns and a batch."""
    rows, columns = d.int(1, 4), d.int(0, 4)
    if d.wants("one element"):
        rows, columns = 1, 0
    d.attr("num_rows", 0 if d.wants("empty") else rows)
    d.attr("num_columns", columns)
    d.attr("batch_shape", *([[1, 2, 1, 2, 1, 1]] if d.wants("8-d") else [[2], [], [1, 2]]))
    d.attrs["dtype"], d.values["dtype"] = ("int", d.dtype), d.dtype


@oracle("Eye")
def eye(num_rows: int, num_columns: int, batch_shape: Any) -> Any:
    columns = num_columns or num_rows
    one = np.zeros((num_rows, columns))
    for place in range(min(num_rows, columns)):
        one[place, place] = 1.0
    return np.tile(one, (*(batch_shape or []), 1, 1)) if batch_shape else one


@shapes("RangeD")
def ranging_with_help(d: Dice) -> None:
    """0, 1, 2 … and attributes."""
    count = d.shape(1, 1)[0]
    d.tensor("x", np.arange(count))
    d.attr("start", 1.0, -2.0)
    d.attr("limit", 1000.0)
    d.attr("delta", 0.5, 2.0)


@oracle("RangeD")
def range_d(x: Any, start: float, delta: float) -> Any:
    line = [start + index * delta for index in range(x.size)]
    return np.array([int(one) for one in line], object) if x.dtype == object else np.array(line)


@shapes("LinSpace")
def spacing(d: Dice) -> None:
    """Two ends and a number."""
    d.tensor("start", d.choose((), (1,)), -5, 5)
    d.tensor("stop", d.choose((), (1,)), -5, 5)
    count = d.shape(1, 1)[0]
    d.value("num", d.choose(np.array(count), np.array([count])), dtypes.INT32)


@oracle("LinSpace")
def lin_space(start: Any, stop: Any, num: Any) -> Any:
    first, last, count = start.item(), stop.item(), int(num.item())
    if not np.isfinite([first, last]).all():
        between = [first + index * (last - first) for index in range(1, count - 1)]
        return np.array([first, *between, *[last] * (count > 1)][:count])
    steps = [Fraction(index, max(count - 1, 1)) for index in range(count)]
    line = [float(Fraction(first) * (1 - step) + Fraction(last) * step) for step in steps]
    return Within(np.array(line), (abs(first) + abs(last)) * 2.0**-50)


@shapes("LogSpaceD")
def log_spacing(d: Dice) -> None:
    """0, 1, 2 … and attributes."""
    count = d.shape(1, 1, long=False)[0]
    d.tensor("assist", np.arange(count))
    d.attr("start", -1.0, 0.0)
    d.attr("end", 1.0, 2.0)
    d.attrs["steps"], d.values["steps"] = ("int", count), count
    d.attr("base", 2.0)
    d.attrs["dtype"] = ("int", d.dtype)


@oracle("LogSpaceD")
def log_space_d(start: float, end: float, steps: int, base: float) -> Any:
    powers = [start + (end - start) * index / max(steps - 1, 1) for index in range(steps)]
    wanted = np.exp(np.array(powers) * np.log(base))
    return Within(wanted, wanted * 2.0**-23)
