"""Running sums, products and extremes, by a loop along the axis."""

from __future__ import annotations

from typing import Any

import numpy as np

from hostacl.tensors import dtypes
from random_calls.dice import Dice
from random_calls.oracle import Within, finite, oracle, shapes


@shapes("Cumsum", "CumsumD", "Cumprod", "CumprodD")
def along_axis(d: Dice) -> None:
    """A tensor, the axis as a value input or an attribute, and how to run."""
    shape = d.shape()
    d.tensor("x", shape, -2, 2)
    axis = d.axis(len(shape))
    if "axis" in d.prototype.attrs:
        d.attr("axis", axis)
    else:
        d.value("axis", np.array(d.choose(axis, [axis])))
    d.attr("exclusive", True, False)
    d.attr("reverse", True, False)


def run_along(x: Any, axis: Any, exclusive: bool, reverse: bool, first: Any, step: Any) -> Any:
    """What has come together before or at each element."""
    place = int(np.asarray(axis).ravel()[0]) % max(x.ndim, 1)
    lines = np.moveaxis(x.reshape(x.shape or (1,)), place, -1)
    result = np.empty(lines.shape, x.dtype)
    for at in np.ndindex(lines.shape[:-1]):
        line, total, out = lines[at].tolist(), first, []
        for one in line[::-1] if reverse else line:
            out.append(total)
            total = step(total, one)
            if not exclusive:
                out[-1] = total
        result[at] = np.array(out[::-1] if reverse else out, x.dtype)
    return np.moveaxis(result, -1, place).reshape(x.shape)


def _bits(dice: Dice) -> int:
    return 52 if dice.dtype in (dtypes.DOUBLE, dtypes.COMPLEX128) else 24


@oracle("Cumsum", "CumsumD")
def cumsum(x: Any, axis: Any, exclusive: bool, reverse: bool, dice: Dice) -> Any:
    wanted = run_along(x, axis, exclusive, reverse, 0, lambda total, one: total + one)
    if x.dtype == object:
        return wanted
    sizes = run_along(finite(x), axis, False, reverse, 0, lambda total, one: total + one)
    return Within(wanted, sizes * x.size * 2.0 ** -_bits(dice))


@oracle("Cumprod", "CumprodD")
def cumprod(x: Any, axis: Any, exclusive: bool, reverse: bool, dice: Dice) -> Any:
    wanted = run_along(x, axis, exclusive, reverse, 1, lambda total, one: total * one)
    return wanted if x.dtype == object else Within(wanted, finite(wanted) * x.size * 2.0 ** -_bits(dice))


@shapes("Cummax", "Cummin")
def extremes(d: Dice) -> None:
    """A tensor with ties and an axis."""
    shape = d.shape()
    d.tensor("x", shape, -2, 2)
    d.attr("dim" if "dim" in d.prototype.attrs else "axis", d.axis(len(shape)))
    d.output("indices", d.choose(dtypes.INT32, dtypes.INT64))


def _order(one: Any) -> Any:
    """What complex numbers are ordered by."""
    return (one.real, one.imag) if isinstance(one, complex) else one


def running(x: Any, axis: int, wins: Any) -> Any:
    """The best so far and where; a NaN wins for good."""
    place = axis % max(x.ndim, 1)
    lines = np.moveaxis(x.reshape(x.shape or (1,)), place, -1)
    best, where = np.empty(lines.shape, x.dtype), np.empty(lines.shape, object)
    for at in np.ndindex(lines.shape[:-1]):
        top, found = None, 0
        for index, one in enumerate(lines[at].tolist()):
            lost = top is not None and top != top  # noqa: PLR0124 - NaN
            if one != one or top is None or (not lost and wins(_order(one), _order(top))):  # noqa: PLR0124
                top, found = one, index
            best[(*at, index)], where[(*at, index)] = top, found
    return tuple(np.moveaxis(one, -1, place).reshape(x.shape) for one in (best, where))


@oracle("Cummax")
def cummax(x: Any, dim: int) -> Any:
    return running(x, dim, lambda one, top: one >= top)


@oracle("Cummin")
def cummin(x: Any, axis: int) -> Any:
    return running(x, axis, lambda one, top: one <= top)
