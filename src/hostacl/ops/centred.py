"""Standard deviations, sums of squares and logarithms of sums by native loops, on tensors as they lie in memory."""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hostacl import _kernels
from hostacl.config import settings
from hostacl.ops import precision
from hostacl.ops.call import Call
from hostacl.ops.reduce import Axes, axes_of, reduce_into, runs_of
from hostacl.tensors import dtypes

Array = NDArray[Any]
Results = Callable[..., tuple[Array, ...]]

NARROW = frozenset({*dtypes.HALVES, dtypes.FLOAT})
SMALLEST = 1e-25
"""Sums of float32 squares below it may have lost some that are subnormal or 0."""


def lines_of(x: Array, axes: Axes) -> Array:
    """x as three axes: before, along, after those that are reduced; moved to the end where they are not neighbours."""
    runs = runs_of(x.ndim, axes)
    if len(runs) == 1:
        ((first, behind),) = runs
        return x.reshape(prod(x.shape[:first]), prod(x.shape[first:behind]), prod(x.shape[behind:]))
    moved = np.moveaxis(x, axes, range(x.ndim - len(axes), x.ndim))
    length = prod(x.shape[axis] for axis in axes)
    return np.ascontiguousarray(moved).reshape(x.size // length, length, 1)


def each_line(loop: Callable[..., None], x: Array, axes: Axes, *divisor: float) -> Array:
    """A native reduction to one float32 for each line."""
    out = np.empty(x.size // prod(x.shape[axis] for axis in axes), np.float32)
    reduce_into(loop, x, axes, out, *divisor)
    return out


def squares(x: Array, axes: Axes, centre: Array | None) -> Array:
    """Σ (x - centre)² of each line, in float32 where that holds it; centre is a float32 for each line, or lines as x has."""
    lines = lines_of(x, axes)
    out = np.empty(lines.shape[0] * lines.shape[2])
    _kernels.axis_squares(lines, centre, out)
    if x.dtype == np.float16 or (out.min() > SMALLEST and np.isfinite(out).all()):
        return out
    wide = lines.astype(np.float64)
    if centre is not None:
        wide -= centre.astype(np.float64) if centre.ndim == 3 else centre.reshape(lines.shape[0], 1, lines.shape[2])
    return np.square(wide, out=wide).sum(axis=1).reshape(-1)


def direct_lines(
    axes: Callable[[Call], Axes | None], function: Callable[[Call, Axes], Results | None]
) -> Callable[[Call], Any]:
    """The ``direct`` of reductions of float32 and halves: function(call, axes) gives what works out float64 or float32."""

    def direct(call: Call) -> Any:
        over = axes(call)
        if not over or 0 in call.shape("x") or call.dtype("x") not in NARROW:
            return None
        results, count, saturate = function(call, over), call.inputs_sent, settings().saturate
        codes = [bound.specs[0].dtype for bound in call.outputs.values()]
        if results is None:
            return None

        def run(*arrays: Array) -> None:
            for one, out, code in zip(results(*arrays[:count]), arrays[count:], codes, strict=True):
                precision.store(one.reshape(out.shape), out, code, saturate)

        return run

    return direct


def listed_axes(name: str) -> Callable[[Call], Axes | None]:
    """The axes that a tensor or attribute names; none where they are not known. An empty list is none, or all where so told."""

    def axes(call: Call) -> Axes | None:
        if name not in call.attrs and not call.known(name):
            return None
        return axes_of(call.ints(name), call.rank("x"), name != "dim" and bool(call.attrs.get("noop_with_empty_axes", True)))

    return axes


def log_sum(call: Call, axes: Axes) -> Results:
    """The logarithm of the sum."""
    return lambda x, *_: (np.log(each_line(_kernels.axis_sum, x, axes), dtype=np.float64),)


def log_sum_exp(call: Call, axes: Axes) -> Results:
    """The same of powers of e, shifted by the largest element."""

    def results(x: Array, *_: Array) -> tuple[Array, ...]:
        top = each_line(_kernels.axis_max, x, axes)
        top[~np.isfinite(top)] = 0
        lines = lines_of(x, axes)
        total = np.empty(top.shape)
        _kernels.axis_exponentials(lines, top, total)
        return (np.log(total, out=total) + top,)

    return results


def square_sum(call: Call, axes: Axes) -> Results:
    """The sum of squares."""
    return lambda x: (squares(x, axes, None),)


def spread(total: Array, left: int) -> Array:
    """total divided by the degrees of freedom that are left, Inf or NaN when none is."""
    return np.asarray(total / np.float64(max(left, 0)))


def deviation(call: Call, axes: Axes) -> Results:
    """The standard deviation and the mean."""
    size = prod(call.spec("x").shape[axis] for axis in axes)
    left = size - bool(call.attr("unbiased"))

    def results(x: Array) -> tuple[Array, ...]:
        mean = each_line(_kernels.axis_sum, x, axes, float(size))
        return np.sqrt(spread(squares(x, axes, mean), left)), mean

    return results


def about_mean(finish: Callable[[Call], Callable[[Array], Array]]) -> Callable[[Call, Axes], Results | None]:
    """What ``finish`` makes of the variance about a mean of x's shape, or one for each line."""

    def function(call: Call, axes: Axes) -> Results | None:
        shape, mean = call.spec("x").shape, call.spec("mean").shape
        kept = tuple(1 if axis in axes else size for axis, size in enumerate(shape))
        if mean not in (shape, kept) or call.dtype("mean") != call.dtype("x"):
            return None
        given = call.attrs.get("correction")
        correction = (1 if given is None else given) if call.attr("unbiased") else 0
        left, made = prod(shape[axis] for axis in axes) - correction, finish(call)

        def results(x: Array, about: Array) -> tuple[Array, ...]:
            same = about.shape == x.shape
            centre = lines_of(about, axes) if same else precision.widen(about, call.dtype("mean")).reshape(-1)
            return (made(spread(squares(x, axes, centre), left)),)

        return results

    return function
