"""Tensors made of a number: zeros, ones, constants, the identity, ranges and spaces."""

from __future__ import annotations

from collections.abc import Callable
from math import ceil, floor
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hostacl.config import settings
from hostacl.ops import dims, precision
from hostacl.ops.call import Call
from hostacl.ops.dims import Between, Shape
from hostacl.ops.reading import Reads
from hostacl.ops.registry import BOOL_TOO, kernel
from hostacl.ops.shapes import equal_dims, one_element, rank_is, same_as, sizes, unknown_sizes
from hostacl.tensors import dtypes

Array = NDArray[Any]

TOO_MANY = 1 << 63
"""Elements that no dim can count."""


def fills_with(call: Call, value: float) -> Callable[[Any, Array], None]:
    """Writes a number, in the output's type, into a whole tensor."""
    code = call.outputs["y"].specs[0].dtype
    cell = np.empty((), dtypes.numpy_dtype(code))
    precision.store(np.asarray(value, np.float64), cell, code, settings().saturate)
    return lambda x, y: np.copyto(y, cell)


@kernel("ZerosLike", shape=same_as("x"), bits=True, dtypes=BOOL_TOO, direct=lambda call: fills_with(call, 0),
        reads={"x": Reads.NOTHING})  # fmt: skip
def zeros_like(x: Array) -> Array:
    """Zeros in the shape and type of x."""
    return np.zeros(x.shape, x.dtype)


@kernel("OnesLike", shape=same_as("x"), direct=lambda call: fills_with(call, 1), reads={"x": Reads.NOTHING})
def ones_like(x: Array) -> Array:
    """Ones in the shape and type of x."""
    return np.broadcast_to(np.ones((), x.dtype), x.shape)


@kernel("Fills", shape=same_as("x"), direct=lambda call: fills_with(call, call.attr("value")), reads={"x": Reads.NOTHING})
def fills(x: Array, value: float) -> Array:
    """A tensor in the shape and type of x, each element ``value``, cast as Cast does."""
    return np.broadcast_to(np.float64(value), x.shape)


def dims_named(call: Call) -> Shape:
    """The dims that an attribute or a value input gives."""
    return sizes(call, "dims") if "dims" in call.attrs or call.known("dims") else unknown_sizes(call, "dims")


@kernel("FillV2", "FillV2D", shape=dims_named, values=("dims",))
def fill_v2(dims: Any, value: float) -> Array:
    """A tensor of these dims, each element ``value``, cast to the output's type as Cast does."""
    return np.broadcast_to(np.float64(value), tuple(int(size) for size in np.asarray(dims).ravel()))


def identity_shape(call: Call) -> Shape:
    """batch_shape, then rows and columns; 0 columns are as many as rows."""
    rows, columns = call.attr("num_rows"), call.attr("num_columns")
    for name, value in (("num_rows", rows), ("num_columns", columns)):
        if value < 0:
            raise call.refuse("HA508", f"{name} = {value}; allowed: 0 or more.")
    return (*sizes(call, "batch_shape"), rows, columns or rows)


@kernel("Eye", shape=identity_shape)
def eye(num_rows: int, num_columns: int, batch_shape: list[int]) -> Array:
    """Identity matrices of num_rows by num_columns (0: square), one for each place of batch_shape."""
    columns = num_columns or num_rows
    return np.broadcast_to(np.eye(num_rows, columns, dtype=np.float32), (*batch_shape, num_rows, columns))


def number(call: Call, name: str) -> Any:
    """The one element of a value input: an integer, or a float."""
    value = call.value(name)
    if value.size != 1:
        raise call.refuse("HA504", f"{name} = {dims.text(value.shape)}; allowed: one element.")
    return value.reshape(-1)[0].item() if value.dtype.kind in "iu" else float(value.reshape(-1)[0])


def steps_between(start: Any, limit: Any, delta: Any, closed: bool) -> int:
    """How many steps lead from start to limit: exact for integers, in float64 for floats."""
    if isinstance(delta, int):
        return max((limit - start) // delta, -1) + 1 if closed else max(-((start - limit) // delta), 0)
    steps = min((limit - start) / delta, float(TOO_MANY))
    return max(floor(steps), -1) + 1 if closed else max(ceil(steps), 0)


def range_shape(call: Call) -> Shape:
    """As many elements as there are steps from start to limit."""
    if not call.known("start", "limit", "delta"):
        return (Between(0, None),)
    start, limit, delta = (number(call, name) for name in ("start", "limit", "delta"))
    if delta == 0 or not np.isfinite([float(start), float(limit), float(delta)]).all():
        raise call.refuse("HA519", f"start = {start}, limit = {limit}, delta = {delta}; allowed: finite ones, delta not 0.")
    if (count := steps_between(start, limit, delta, bool(call.attrs.get("is_closed")))) >= TOO_MANY:
        raise call.refuse("HA519", f"start = {start}, limit = {limit}, delta = {delta} are {count} steps; allowed: below 2^63.")
    return (count,)


def one_number(value: Array) -> Any:
    """A value input's element."""
    return value.reshape(-1)[0].item()


@kernel("Range", shape=range_shape, values=("start", "limit", "delta"), attrs={"is_closed": False})
def range_(start: Array, limit: Array, delta: Array, is_closed: bool) -> Array:
    """start, start + delta … up to limit, which is left out unless is_closed.

    Integers are exact, floats rounded once from float64. A delta that leads away from limit gives no element; 0 is refused.
    """
    first, last, step = (one_number(value) for value in (start, limit, delta))
    count = steps_between(first, last, step, is_closed)
    if isinstance(step, int):
        return np.arange(count, dtype=np.int64) * step + first
    return np.arange(count) * float(step) + float(first)


@kernel("RangeD", shape=same_as("x"))
def range_d(x: Array, start: float, limit: float, delta: float) -> Array:
    """start + delta·x, where x holds 0, 1, 2 …; as many elements as x has. Integers are cut off toward zero."""
    return x.astype(np.float64) * delta + start


def space_shape(call: Call) -> Shape:
    """``num`` elements; all three inputs are one number."""
    one_element(call, "start", "stop", "num")
    if not call.known("num"):
        return (Between(0, None),)
    count = call.scalar("num")
    if count < 0:
        raise call.refuse("HA519", f"num = {count}; allowed: 0 or more.")
    return (count,)


@kernel("LinSpace", shape=space_shape, values=("num",))
def lin_space(start: Array, stop: Array, num: Array) -> Array:
    """``num`` numbers from start to stop, both included, evenly spaced; start alone when num is 1."""
    line = np.linspace(one_number(start), one_number(stop), int(one_number(num)))
    line[:1] = start.reshape(-1)  # also where the other end is not finite
    return line


def log_space_shape(call: Call) -> Shape:
    """``steps`` elements, as many as assist has."""
    (length,) = rank_is(call, "assist", 1)
    steps = call.attr("steps")
    if steps < 0:
        raise call.refuse("HA508", f"steps = {steps}; allowed: 0 or more.")
    equal_dims(call, length, steps, f"assist = {dims.text((length,))}; allowed: steps = {steps} elements, 0, 1, 2 ….")
    return (steps,)


@kernel("LogSpaceD", shape=log_space_shape)
def log_space_d(assist: Array, start: float, end: float, steps: int, base: float) -> Array:
    """base to powers evenly spaced from start to end, both included: base^(start + assist·(end-start)/(steps-1)).

    assist holds 0, 1, 2 …; a negative base gives NaN for broken powers.
    """
    step = (end - start) / (steps - 1) if steps > 1 else 0.0
    return np.power(float(base), assist.astype(np.float64) * step + start)
