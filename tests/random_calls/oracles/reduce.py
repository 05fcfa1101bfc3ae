"""Reductions: exact integers, floats in float64 with a bound for any order of float32 sums."""

from __future__ import annotations

import functools
import itertools
import math
import operator
from fractions import Fraction
from typing import Any

import numpy as np
import scipy.special

from hostacl.tensors import dtypes
from random_calls import tolerance, values
from random_calls.dice import Dice
from random_calls.oracle import Within, finite, oracle, shapes, summed


@shapes("ReduceSum", "ReduceMean")
def over_axes(d: Dice) -> None:
    """A tensor, and axes as a 1-D or scalar value input."""
    shape = d.shape()
    d.tensor("x", shape)
    axes: Any = d.axes(len(shape), 1)
    if len(axes) == 1 and d.chance():
        axes = axes[0]
    d.value("axes", axes)
    d.attr("keep_dims", True, False)


@shapes("ReduceSumD")
def over_attribute(d: Dice) -> None:
    """A tensor, and axes as an attribute."""
    shape = d.shape()
    d.tensor("x", shape)
    d.attr("axes", d.axes(len(shape), 1))
    d.attr("keep_dims", True, False)


def fold(x: Any, axes: Any, keep: bool, function: Any) -> Any:
    """The reduction of every group of elements that share the indices outside the axes, by an explicit loop."""
    along = {int(axis) % max(x.ndim, 1) for axis in np.atleast_1d(np.asarray(axes, dtype=object)).ravel()}
    kept = [range(size) if place not in along else range(1) for place, size in enumerate(x.shape)]
    shape = tuple(len(one) for one in kept)
    result = np.empty(shape, x.dtype)
    for place in itertools.product(*kept):
        group = x[tuple(slice(None) if axis in along else index for axis, index in enumerate(place))]
        result[place] = function(np.ravel(group))
    return result if keep else result.reshape([size for place, size in enumerate(shape) if place not in along])


@oracle("ReduceSum", "ReduceSumD")
def reduce_sum(x: Any, axes: Any, keep_dims: bool, dice: Dice) -> Any:
    if np.asarray(axes).size == 0:
        return x
    total = fold(x, axes, keep_dims, lambda group: sum(group.tolist(), x.dtype.type(0) if x.dtype != object else 0))
    return total if x.dtype == object else _bounded(x, total, axes, keep_dims, dice)


@oracle("ReduceMean")
def reduce_mean(x: Any, axes: Any, keep_dims: bool, dice: Dice) -> Any:
    if np.asarray(axes).size == 0:
        return x
    if x.dtype == object:
        return fold(x, axes, keep_dims, _whole_mean)
    total = fold(x, axes, keep_dims, lambda group: sum(group.tolist()) / len(group) if len(group) else np.nan)
    return _bounded(x, total, axes, keep_dims, dice, mean=True)


def _whole_mean(group: Any) -> int:
    """The exact mean of integers, cut off."""
    total = sum(group.tolist())
    return abs(total) // max(len(group), 1) * (-1 if total < 0 else 1)


def _bounded(x: Any, total: Any, axes: Any, keep: bool, dice: Dice, mean: bool = False) -> Any:
    bits = 53 if dice.dtype in (dtypes.DOUBLE, dtypes.COMPLEX128) else 24
    sizes = fold(finite(x), axes, keep, lambda group: group.sum() / (max(len(group), 1) if mean else 1))
    return summed(total, sizes, x.size, bits)


@shapes("ReduceMeanD")
def mean_attribute(d: Dice) -> None:
    """A tensor, and axes as an attribute, at times none."""
    shape = d.shape()
    d.tensor("x", shape)
    d.attr("axes", d.axes(len(shape)))
    d.attr("keep_dims", True, False)
    d.attr("noop_with_empty_axes", True, False)


@oracle("ReduceMeanD")
def reduce_mean_d(x: Any, axes: Any, keep_dims: bool, noop_with_empty_axes: bool, dice: Dice) -> Any:
    every = list(range(x.ndim)) if not axes and not noop_with_empty_axes else axes
    return reduce_mean(x, every, keep_dims, dice)


LISTED = ("Max", "Min", "Prod", "Any", "All")


@shapes(*(f"Reduce{name}{kind}" for name in LISTED for kind in ("", "D")), "ReduceLogSum", "ReduceLogSumExp")
def folding(d: Dice) -> None:
    """A tensor, and axes as a value input or an attribute."""
    shape = d.shape()
    d.tensor("x", shape, *((0.1, 5) if "LogSum" in d.prototype.op_type else (-3, 3)))
    axes: Any = d.axes(len(shape), 1)
    if "axes" in d.prototype.attrs:
        d.attr("axes", axes)
    else:
        d.value("axes", np.array(axes[0] if len(axes) == 1 and d.chance() else axes, np.int64))
    d.attr("keep_dims", True, False)


def _order(one: Any) -> Any:
    """What complex numbers are ordered by."""
    return (one.real, one.imag) if isinstance(one, complex) else one


def _extreme(group: Any, sign: int, empty: Any) -> Any:
    """The first extreme of a list, or its first NaN."""
    best = empty
    for place, one in enumerate(group):
        if one != one:  # noqa: PLR0124 - NaN
            return one
        if place == 0 or (_order(one) > _order(best) if sign > 0 else _order(one) < _order(best)):
            best = one
    return best


def _bound(dice: Dice, sign: int) -> Any:
    """What the extreme of nothing is."""
    if values.is_float(dice.dtype) or values.is_complex(dice.dtype):
        return -sign * np.inf
    info = np.iinfo(values.logical(dice.dtype))
    return int(info.min if sign > 0 else info.max)


@oracle("ReduceMax", "ReduceMaxD")
def reduce_max(x: Any, axes: Any, keep_dims: bool, dice: Dice) -> Any:
    return fold(x, axes, keep_dims, lambda group: _extreme(group.tolist(), 1, _bound(dice, 1)))


@oracle("ReduceMin", "ReduceMinD")
def reduce_min(x: Any, axes: Any, keep_dims: bool, dice: Dice) -> Any:
    return fold(x, axes, keep_dims, lambda group: _extreme(group.tolist(), -1, _bound(dice, -1)))


def _bits(dice: Dice) -> int:
    return 52 if dice.dtype in (dtypes.DOUBLE, dtypes.COMPLEX128) else 24


@oracle("ReduceProd", "ReduceProdD")
def reduce_prod(x: Any, axes: Any, keep_dims: bool, dice: Dice) -> Any:
    total = fold(x, axes, keep_dims, lambda group: functools.reduce(operator.mul, group.tolist(), 1))
    return total if x.dtype == object else Within(total, finite(total) * x.size * 2.0 ** -_bits(dice))


@oracle("ReduceAny", "ReduceAnyD")
def reduce_any(x: Any, axes: Any, keep_dims: bool) -> Any:
    return fold(x, axes, keep_dims, lambda group: True in group.tolist())


@oracle("ReduceAll", "ReduceAllD")
def reduce_all(x: Any, axes: Any, keep_dims: bool) -> Any:
    return fold(x, axes, keep_dims, lambda group: False not in group.tolist())


def _logarithms(x: Any, axes: Any, keep: bool, dice: Dice, function: Any) -> Any:
    result = fold(x.astype(np.complex128 if np.iscomplexobj(x) else np.float64), axes, keep, function)
    return Within(result, (finite(result) + 2) * x.size * 2.0 ** -_bits(dice))


def _whole_logarithms(x: Any, axes: Any, keep: bool, dice: Dice, function: Any) -> Any:
    """A logarithm for each group of Python integers, cut off within the type; None is that of nothing."""
    info = np.iinfo(values.logical(dice.dtype))

    def one(group: Any) -> int:
        found = function(group.tolist())
        return int(info.min) if found is None else min(max(int(found), int(info.min)), int(info.max))

    return fold(x, axes, keep, one)


def _log_whole(total: int) -> float | None:
    """The logarithm of an integer; 0 stands for NaN."""
    return None if total == 0 else 0.0 if total < 0 else math.log(total)


def _log_sum_exp_whole(group: list[int]) -> Fraction | None:
    """log(Σ e^x) of integers: the largest, exactly, and the rest."""
    if not group:
        return None
    return max(group) + Fraction(math.log(sum(math.exp(max(one - max(group), -1000)) for one in group)))


@oracle("ReduceLogSum")
def reduce_log_sum(x: Any, axes: Any, keep_dims: bool, dice: Dice) -> Any:
    if x.dtype == object:
        return _whole_logarithms(x, axes, keep_dims, dice, lambda group: _log_whole(sum(group)))
    return _logarithms(x, axes, keep_dims, dice, lambda group: np.log(sum(group.tolist(), group.dtype.type(0))))


@oracle("ReduceLogSumExp")
def reduce_log_sum_exp(x: Any, axes: Any, keep_dims: bool, dice: Dice) -> Any:
    if x.dtype == object:
        return _whole_logarithms(x, axes, keep_dims, dice, _log_sum_exp_whole)

    def one(group: Any) -> Any:
        if group.size == 0:
            return -np.inf
        if np.isnan(group).any() or np.iscomplexobj(group):
            return np.log(np.sum(np.exp(group)))
        return scipy.special.logsumexp(group)

    return _logarithms(x, axes, keep_dims, dice, one)


@shapes("ReduceMeanWithCast")
def casting_mean(d: Dice) -> None:
    """A tensor, axes, and the output's type."""
    over_axes(d)
    if d.kind in {"in place", "partial overlap"} or d.chance():
        return
    targets = [dtypes.FLOAT, dtypes.DOUBLE, *(dtypes.INT8, dtypes.INT64, dtypes.UINT16)[: 0 if values.is_float(d.dtype) else 3]]
    target = int(d.choose(*targets)) if not values.is_complex(d.dtype) else dtypes.COMPLEX128
    d.attrs["dtype"], d.values["dtype"] = ("data_type", target), target
    d.output("y", target)


@oracle("ReduceMeanWithCast")
def reduce_mean_with_cast(x: Any, axes: Any, keep_dims: bool, dice: Dice) -> Any:
    target = dice.values.get("dtype")
    if target is not None and x.dtype == object:
        x = tolerance.rounded(x, target).astype(object) if values.is_int(target) else x.astype(np.float64)
    return reduce_mean(x, axes, keep_dims, dice)


@shapes("ReduceMeanWithCount")
def counted(d: Dice) -> None:
    """Means, how many elements each stands for, and how many there are."""
    shape = d.shape(1)
    d.tensor("x", shape)
    d.tensor("count", shape, 1, 9)
    d.tensor("count_sum", shape, 10, 30)
    d.attr("axes", d.axes(len(shape), 1))
    d.attr("keep_dims", True, False)


@oracle("ReduceMeanWithCount")
def reduce_mean_with_count(x: Any, count: Any, count_sum: Any, axes: Any, keep_dims: bool) -> Any:
    terms = x * count / count_sum
    total = fold(terms, axes, keep_dims, lambda group: sum(group.tolist()))
    return summed(total, fold(finite(terms), axes, keep_dims, np.sum), x.size + 4)


@shapes("SquareSumV1")
def squaring(d: Dice) -> None:
    """A tensor and axes."""
    shape = d.shape()
    d.tensor("x", shape)
    d.attr("axis", d.axes(len(shape)))
    d.attr("keep_dims", True, False)


@oracle("SquareSumV1")
def square_sum(x: Any, axis: Any, keep_dims: bool) -> Any:
    total = fold(x, axis, keep_dims, lambda group: float(np.dot(group, group))) if len(axis) else x**2
    return summed(total, finite(total), x.size + 2)


@shapes("ReduceStd", "ReduceStdWithMean", "ReduceStdV2Update")
def spreading(d: Dice) -> None:
    """A tensor, its mean, the axes and the kind of deviation."""
    shape = d.shape(0 if not d.prototype.attrs["dim"].required else 1)
    x = d.tensor("x", shape)
    chosen = d.axes(len(shape), 1)
    d.attr("dim", chosen, *([] if d.prototype.attrs["dim"].required else [[]]))
    if d.decl("mean"):
        axes = tuple(d.values["dim"] or range(len(shape)))
        with np.errstate(all="ignore"):
            mean = x.astype(np.float64).mean(axis=axes, keepdims=True) if x.size else np.zeros(shape)
            d.tensor("mean", np.broadcast_to(mean, shape))
    both = (True, False)
    choices = {"unbiased": both, "keepdim": both, "invert": both, "if_std": both, "epsilon": (0.5,), "correction": (0, 2)}
    for name, some in choices.items():
        if name in d.prototype.attrs:
            d.attr(name, *some)


def _variance(x: Any, mean: Any, dim: Any, keep: bool, taken: int) -> Any:
    axes = [int(axis) % x.ndim for axis in dim] or list(range(x.ndim))
    count = int(np.prod([x.shape[axis] for axis in axes]))
    total = np.asarray(fold((x - mean) ** 2, axes, keep, lambda group: float(np.sum(group))))
    return total / max(count - taken, 0)


def _taken(unbiased: bool, correction: int | None) -> int:
    """What is subtracted from the number of elements."""
    return (1 if correction is None else int(correction)) if unbiased else 0


def _near(value: Any, x: Any) -> Within:
    """A deviation, whose centred squares are summed in single precision."""
    return Within(value, finite(value) * (x.size + 8) * 2.0**-22 + 1e-7)


@oracle("ReduceStdWithMean")
def reduce_std_with_mean(
    x: Any, mean: Any, dim: Any, unbiased: bool, keepdim: bool, invert: bool, epsilon: float, correction: Any
) -> Any:
    spread = _variance(x, mean, dim or [], keepdim, _taken(unbiased, correction))
    return _near((spread + epsilon) ** -0.5 if invert else np.sqrt(spread), x)


@oracle("ReduceStdV2Update")
def reduce_std_v2_update(x: Any, mean: Any, dim: Any, if_std: bool, unbiased: bool, keepdim: bool, correction: Any) -> Any:
    spread = _variance(x, mean, dim, keepdim, _taken(unbiased, correction))
    return _near(np.sqrt(spread) if if_std else spread, x)


@oracle("ReduceStd")
def reduce_std(x: Any, dim: Any, unbiased: bool, keepdim: bool) -> Any:
    axes = [int(axis) % x.ndim for axis in dim or []] or list(range(x.ndim))
    mean = np.asarray(fold(x, axes, True, lambda group: sum(group.tolist()) / group.size if group.size else np.nan))
    spread = _variance(x, mean, axes, keepdim, int(unbiased))
    largest = float(np.max(finite(x), initial=0))
    return (
        Within(np.sqrt(spread), (finite(np.sqrt(spread)) + largest) * (x.size + 8) * 2.0**-22 + 1e-7),
        Within(mean.reshape(spread.shape), largest * (x.size + 2) * 2.0**-23),
    )
