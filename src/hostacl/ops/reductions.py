"""Means, extremes, products, logarithms of sums, standard deviations and truth over axes."""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hostacl import _kernels
from hostacl.ops.call import Call
from hostacl.ops.centred import about_mean, deviation, direct_lines, listed_axes, log_sum, log_sum_exp, square_sum
from hostacl.ops.dims import Shape
from hostacl.ops.precision import widest
from hostacl.ops.reduce import Axes, axes_of, direct_reduction, reduced_by, reduction, sum_over
from hostacl.ops.registry import kernel
from hostacl.ops.shapes import broadcasts_to, reduced
from hostacl.tensors import dtypes

Array = NDArray[Any]


def count_over(x: Array, axes: Axes) -> int:
    """How many elements go into one result."""
    return prod(x.shape[axis] for axis in axes)


def mean_over(x: Array, axes: Axes, keep: bool) -> Any:
    """The mean. Integers: exact, then cut off toward zero. Of nothing: NaN, or 0 for integers."""
    if x.dtype == np.float32 and x.size and axes:
        return reduced_by(_kernels.axis_sum, x, axes, keep, float(count_over(x, axes)))
    if x.dtype.kind not in "iub":
        return sum_over(x, axes, keep) / x.dtype.type(count_over(x, axes))
    wide = np.dtype(np.uint64 if x.dtype.kind == "u" else np.int64)
    count = wide.type(max(count_over(x, axes), 1))
    if x.dtype == wide:  # the sum may not fit: quotients and remainders are summed apart
        quotient, rest = np.divmod(x, count)
        whole, left = (np.sum(part, axis=axes, keepdims=keep, dtype=wide) for part in (quotient, rest))
        floor, rest = whole + left // count, left % count
    else:
        floor, rest = np.divmod(np.sum(x, axis=axes, keepdims=keep, dtype=wide), count)
    return np.where((floor < 0) & (rest != 0), floor + wide.type(1), floor)


def lowest(dtype: np.dtype[Any]) -> Any:
    """What the largest of no elements is: -Inf, or the smallest integer."""
    return dtype.type(-np.inf) if dtype.kind in "fc" else np.iinfo(dtype).min


def highest(dtype: np.dtype[Any]) -> Any:
    """What the smallest of no elements is: +Inf, or the largest integer."""
    return dtype.type(np.inf) if dtype.kind in "fc" else np.iinfo(dtype).max


def max_over(x: Array, axes: Axes, keep: bool) -> Any:
    """The largest element; NaN when there is one; of nothing -Inf, or the smallest integer. Complex: by the real part first."""
    if x.size == 0:
        return np.max(x, axis=axes, keepdims=keep, initial=lowest(x.dtype))
    if x.dtype == np.float32 and axes:
        return reduced_by(_kernels.axis_max, x, axes, keep)
    return np.max(x, axis=axes, keepdims=keep)


def min_over(x: Array, axes: Axes, keep: bool) -> Any:
    """The smallest element; NaN when there is one; of nothing +Inf, or the largest integer. Complex: by the real part first."""
    if x.dtype == np.float32 and axes and x.size:
        return reduced_by(_kernels.axis_min, x, axes, keep)
    return np.min(x, axis=axes, keepdims=keep, **({"initial": highest(x.dtype)} if x.size == 0 else {}))


def prod_over(x: Array, axes: Axes, keep: bool) -> Any:
    """The product, of nothing 1; integers wrap in their type, half types and float32 are multiplied in float64."""
    if x.dtype == np.float32 and axes and x.size:
        return reduced_by(_kernels.axis_product, x, axes, keep)
    wide = {"f": np.float64, "c": np.complex128}.get(x.dtype.kind, x.dtype)
    return np.prod(x, axis=axes, keepdims=keep, dtype=wide)


def any_over(x: Array, axes: Axes, keep: bool) -> Any:
    """Whether one of the elements is true; of nothing false."""
    return np.any(x, axis=axes, keepdims=keep)


def all_over(x: Array, axes: Axes, keep: bool) -> Any:
    """Whether all elements are true; of nothing true."""
    return np.all(x, axis=axes, keepdims=keep)


def direct_truth(function: np.ufunc) -> Callable[[Call], Any]:
    """The ``direct`` of truth over axes: NumPy's own reduction of bool."""

    def direct(call: Call) -> Any:
        if not call.known("axes"):
            return None
        over = axes_of(call.ints("axes"), call.rank("x"), bool(call.attr("noop_with_empty_axes")))
        keep = bool(call.attr("keep_dims"))
        if call.dtype("x") != dtypes.BOOL or not over:
            return None
        return lambda *arrays: function.reduce(arrays[0], axis=over, keepdims=keep, out=arrays[-1])

    return direct


def sum_as_float(x: Array, axes: Axes, keep: bool) -> Array:
    """The sum as float64 or complex128. That of integers is exact before it is rounded: their halves are summed apart."""
    if x.dtype.kind not in "iu":
        return np.asarray(np.sum(widest(x), axis=axes, keepdims=keep))
    wide = whole(x)
    parts = (wide >> wide.dtype.type(32), wide & wide.dtype.type(0xFFFFFFFF))
    high, low = (np.sum(part, axis=axes, keepdims=keep, dtype=wide.dtype) for part in parts)
    return np.asarray(high * 2.0**32 + low)


def whole(x: Array) -> Array:
    """Integers in 64 bits."""
    return x.astype(np.uint64 if x.dtype.kind == "u" else np.int64, copy=False)


def log_sum_over(x: Array, axes: Axes, keep: bool) -> Any:
    """The logarithm of the sum: NaN below 0, of nothing -Inf. Integers are summed exactly; the result is cut off toward 0."""
    return np.log(sum_as_float(x, axes, keep))


def log_sum_exp_whole(x: Array, axes: Axes, keep: bool) -> Array:
    """log(Σ e^x) of integers, cut off toward zero: exactly the largest, and what the others add to it."""
    wide, bound = whole(x), np.iinfo(x.dtype)
    top = np.asarray(np.max(wide, axis=axes, keepdims=True, initial=bound.min))
    gaps = top.view(np.uint64) - wide.view(np.uint64)
    total = np.sum(np.exp(-gaps.astype(np.float64)), axis=axes, keepdims=True)
    more = np.log(np.where(total == 0, 1, total))
    steps = np.floor(more).astype(wide.dtype)
    found = np.where(top > bound.max - steps, wide.dtype.type(bound.max), top + steps)
    cut = found + ((found < 0) & (more > steps)).astype(wide.dtype)
    return cut if keep else cut.reshape(np.sum(total, axis=axes).shape)


def log_sum_exp_over(x: Array, axes: Axes, keep: bool) -> Any:
    """log(Σ e^x), shifted by the largest element: no overflow; of nothing -Inf, or the smallest integer.

    Integers: the exact sum of the largest and what the others add to it, cut off toward zero.
    """
    if x.dtype.kind in "iu":
        return log_sum_exp_whole(x, axes, keep)
    wide = widest(x)
    top = np.max(wide.real, axis=axes, keepdims=True, initial=-np.inf)
    top = np.where(np.isfinite(top), top, 0)
    summed = np.log(np.sum(np.exp(wide - top), axis=axes, keepdims=keep))
    return summed + (top if keep else top.reshape(summed.shape))


reduction("ReduceMean", function=mean_over, direct=direct_reduction(_kernels.axis_sum, mean=True))
reduction("ReduceMax", "ReduceMaxD", function=max_over, direct=direct_reduction(_kernels.axis_max))
reduction("ReduceMin", "ReduceMinD", function=min_over, direct=direct_reduction(_kernels.axis_min))
reduction("ReduceProd", "ReduceProdD", function=prod_over, direct=direct_reduction(_kernels.axis_product))
reduction("ReduceAny", "ReduceAnyD", function=any_over, direct=direct_truth(np.logical_or))
reduction("ReduceAll", "ReduceAllD", function=all_over, direct=direct_truth(np.logical_and))
reduction("ReduceLogSum", function=log_sum_over, direct=direct_lines(listed_axes("axes"), log_sum))
reduction("ReduceLogSumExp", function=log_sum_exp_over, direct=direct_lines(listed_axes("axes"), log_sum_exp))


@kernel("ReduceMeanD", shape=reduced(), direct=direct_reduction(_kernels.axis_sum, mean=True, noop=False))
def reduce_mean_d(x: Array, axes: list[int], keep_dims: bool, noop_with_empty_axes: bool) -> Any:
    """The mean over axes; an empty list is all axes unless noop_with_empty_axes is true (its default here is false)."""
    return mean_over(x, axes_of(axes, x.ndim, noop_with_empty_axes), keep_dims)


def cast_dtype(call: Call) -> int | tuple[int, ...]:
    """The type that the attribute says; without it what the output is described as, else that of x."""
    code = call.attr("dtype")
    allowed = call.outputs["y"].decl.dtypes
    if code in (None, dtypes.UNDEFINED, 28):
        return (call.dtype("x"), *allowed)
    if code not in allowed:
        told = ", ".join(f"{one} ({dtypes.ge_name(one)})" for one in allowed)
        raise call.refuse("HA508", f"dtype = {code} ({dtypes.ge_name(code)}); allowed: -1 (as described), {told}.")
    return int(code)


@kernel("ReduceMeanWithCast", shape=reduced(), values=("axes",), dtype={"y": cast_dtype}, dtype_attrs={})
def reduce_mean_with_cast(x: Array, axes: Any, keep_dims: bool, noop_with_empty_axes: bool, out: Any) -> Any:
    """The mean over axes of x cast to the output's type first: attribute dtype, or what the output is described as.

    Integers and what becomes them are cast as Cast does; floats that become narrower ones are rounded only in the end.
    """
    wanted = out[0].dtype
    if x.dtype.kind in "fc" and wanted.kind in "iu":
        cast = np.empty(x.shape, wanted)
        _kernels.convert(np.ascontiguousarray(x.real), cast)
        x = cast
    elif x.dtype.kind in "iu":
        x = x.astype(np.float64 if wanted.kind in "fc" else wanted)
    return mean_over(x, axes_of(axes, x.ndim, noop_with_empty_axes), keep_dims)


def counted_shape(call: Call) -> Shape:
    """The shape of x without the axes; both counts broadcast to x."""
    for name in ("count", "count_sum"):
        broadcasts_to(call, name, call.shape("x"), "x")
    return reduced()(call)


@kernel("ReduceMeanWithCount", shape=counted_shape)
def reduce_mean_with_count(x: Array, count: Array, count_sum: Array, axes: list[int], keep_dims: bool) -> Any:
    """Σ x·count/count_sum over axes: the mean of means that stand for ``count`` elements each. All three broadcast to x."""
    over = axes_of(axes, x.ndim, True)
    found = np.asarray(sum_over(x * np.broadcast_to(count / count_sum, x.shape), over, keep_dims))
    if np.isfinite(found).all():
        return found
    share = widest(count) / widest(count_sum)  # in which nothing is out of range on the way
    return sum_over(widest(x) * np.broadcast_to(share, x.shape), over, keep_dims)


@kernel("SquareSumV1", shape=reduced("x", "axis"), direct=direct_lines(listed_axes("axis"), square_sum))
def square_sum_v1(x: Array, axis: list[int], keep_dims: bool) -> Any:
    """The sum of squares over axes, in float32 blocks; an empty list squares and sums nothing up."""
    return sum_over(x * x, axes_of(axis, x.ndim, True), keep_dims)


def over_dims(keep: str = "keepdim") -> Callable[[Call], Any]:
    """The shape of x without the axes ``dim``, all of them when it is empty; one for each output."""

    def rule(call: Call) -> Any:
        if "mean" in call.inputs:
            broadcasts_to(call, "mean", call.shape("x"), "x")
        every = (1,) * call.rank("x") if call.attr(keep) else ()
        return [reduced("x", "dim", keep)(call) if call.ints("dim") else every] * len(call.outputs)

    return rule


def variance(x: Array, mean: Array, axes: Axes, keep: bool, correction: int) -> Array:
    """Σ (x-mean)²/(n - correction), Inf or NaN when nothing is left to divide by."""
    centred = np.asarray(np.subtract(x, mean, dtype=np.float64))
    total: Array = np.asarray(np.sum(np.square(centred, out=centred), axis=axes, keepdims=keep))
    return total / np.float64(max(count_over(x, axes) - correction, 0))


def degrees(unbiased: bool, correction: int | None) -> int:
    """What is subtracted from the number of elements: ``correction`` (1 where a generation lacks it), 0 when not unbiased."""
    return (1 if correction is None else correction) if unbiased else 0


def finished_std(call: Call) -> Callable[[Array], Array]:
    """The root of a variance, or with invert 1/√(variance + epsilon)."""
    invert, epsilon = call.attr("invert"), call.attr("epsilon")
    return lambda spread: 1 / np.sqrt(spread + epsilon) if invert else np.sqrt(spread)


def finished_update(call: Call) -> Callable[[Array], Array]:
    """The variance, or with if_std its root."""
    return np.sqrt if call.attr("if_std") else np.asarray


@kernel("ReduceStdWithMean", shape=over_dims(), direct=direct_lines(listed_axes("dim"), about_mean(finished_std)))
def reduce_std_with_mean(
    x: Array, mean: Array, dim: list[int], unbiased: bool, keepdim: bool, invert: bool, epsilon: float, correction: int | None
) -> Any:
    """The standard deviation over axes ``dim`` (none: all), about a mean that broadcasts to x; divided by n - correction.

    With invert 1/√(variance + epsilon).
    """
    over = axes_of(dim, x.ndim, False)
    spread = variance(x, mean, over, keepdim, degrees(unbiased, correction))
    return 1 / np.sqrt(spread + epsilon) if invert else np.sqrt(spread)


@kernel("ReduceStdV2Update", shape=over_dims(), direct=direct_lines(listed_axes("dim"), about_mean(finished_update)))
def reduce_std_v2_update(
    x: Array, mean: Array, dim: list[int], if_std: bool, unbiased: bool, keepdim: bool, correction: int | None
) -> Any:
    """The variance over axes ``dim``, about a mean that broadcasts to x; with if_std its root; divided by n - correction."""
    spread = variance(x, mean, axes_of(dim, x.ndim, False), keepdim, degrees(unbiased, correction))
    return np.sqrt(spread) if if_std else spread


@kernel("ReduceStd", shape=over_dims(), direct=direct_lines(listed_axes("dim"), deviation))
def reduce_std(x: Array, dim: list[int], unbiased: bool, keepdim: bool) -> Any:
    """The standard deviation and the mean over axes ``dim`` (none: all); divided by n - 1 when unbiased, else by n."""
    over = axes_of(dim, x.ndim, False)
    mean = np.asarray(mean_over(x, over, True))
    spread = variance(x, mean, over, keepdim, degrees(unbiased, None))
    return np.asarray(np.sqrt(spread)), mean.reshape(spread.shape)
