"""The scale and offset with which quantised data come closest to themselves."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from hostacl.ops import dims
from hostacl.ops.call import Call
from hostacl.ops.dims import Shape
from hostacl.ops.parts import ELEMENTS
from hostacl.ops.registry import kernel
from hostacl.ops.shapes import one_element

Array = NDArray[Any]

SMALLEST_SCALE = float(np.finfo(np.float32).eps)
"""A scale below counts as 1: all data are 0, or as good as that."""

MOST_CANDIDATES = 1 << 16


def searched_shape(call: Call) -> list[Shape]:
    """The shape of data_min, twice; refuses what leaves nothing to search."""
    one_element(call, "data_min", "data_max")
    for name, told in (("data", "1 or more elements"), ("cumsum", "1 or more bins")):
        if dims.known(*call.shape(name)) and dims.count(call.shape(name)) == 0:
            raise call.refuse("HA504", f"{name} = {dims.text(call.shape(name))} is empty; allowed: {told}.")
    for name in ("min_percentile", "max_percentile"):
        if not 0 <= call.attr(name) <= 1:
            raise call.refuse("HA508", f"{name} = {call.attr(name)}; allowed: 0 to 1, a share of the data.")
    if not 2 <= call.attr("quant_bits") <= 16:
        raise call.refuse("HA508", f"quant_bits = {call.attr('quant_bits')}; allowed: 2 to 16.")
    check_range(call)
    return [call.shape("data_min")] * 2


def check_range(call: Call) -> None:
    """Refuses ranges and steps that give no candidates, or too many."""
    limits, step = list(call.attr("search_range")), call.attr("search_step")
    if len(limits) != 2 or not 0 < limits[0] <= limits[1]:
        raise call.refuse("HA508", f"search_range = {limits}; allowed: two factors above 0, the first one not the larger.")
    if not step > 0 or (limits[1] - limits[0]) / step > MOST_CANDIDATES:
        told = f"allowed: above 0, at most {MOST_CANDIDATES} steps from {limits[0]} to {limits[1]}"
        raise call.refuse("HA508", f"search_step = {step}; {told}.")


@kernel("IFMR", shape=searched_shape, attrs={"quant_bits": 8})
def ifmr(
    data: Array, data_min: Array, data_max: Array, cumsum: Array, min_percentile: float, max_percentile: float,
    search_range: list[float], search_step: float, with_offset: bool, quant_bits: int,
) -> tuple[Array, Array]:  # fmt: skip
    """The scale and offset whose quantised data, made floats again, have the least squared difference from the data.

    cumsum holds a running count over bins of equal width from data_min to data_max. The largest value is the lower edge of the
    first bin that reaches max_percentile of the data (data_max where none does), the smallest that of the first one that
    reaches 1 - min_percentile. Candidates are the largest value times search_range[0], and so on by search_step up to
    search_range[1], which is one of them; the first one of the best wins. with_offset: both ends are moved so that 0 lies
    within, scale = (largest - smallest) / 255, offset = -128 - round(smallest / scale), the smallest value is not varied.
    Without: scale = the larger magnitude of both / 127, offset 0. Our choices: other quant_bits have 2^bits - 1 and
    2^(bits - 1) - 1 steps; scales below 2^-23 count as 1 in both cases; shares, scales and differences are in float64, the
    scales rounded to float32 first; halves are rounded to even. NaN among the data: the first candidate.
    """
    low, high = (float(one.reshape(())) for one in (data_min, data_max))
    share = cumsum.reshape(-1).astype(np.float64) / data.size
    last, first = (int((share < one).sum()) / share.size * (high - low) + low for one in (max_percentile, 1 - min_percentile))
    scale, offset = candidates(first, last, factors(search_range, search_step), with_offset, quant_bits)
    best = int(np.argmin(losses(data.reshape(-1), scale, offset, quant_bits)))
    return tuple(np.full(data_min.shape, one[best]) for one in (scale, offset))  # type: ignore[return-value]


def factors(search_range: list[float], search_step: float) -> Array:
    """From the first of a range to the second, both included, as far as steps of this size come."""
    first, last = search_range
    count = int((last - first) / search_step * (1 + 1e-6)) + 1
    return first + search_step * np.arange(count)


def candidates(first: float, last: float, by: Array, with_offset: bool, bits: int) -> tuple[Array, Array]:
    """Scales, which float32 holds, and offsets."""
    if with_offset:
        first, last = min(first, 0.0), max(last, 0.0)
        scale = held_scale((last * by - first) / (2**bits - 1))
        return scale, -(np.rint(first / scale) + 2 ** (bits - 1))
    scale = held_scale(max(abs(first), abs(last)) * by / (2 ** (bits - 1) - 1))
    return scale, np.zeros(scale.size)


def held_scale(scale: Array) -> Array:
    """Scales as float32 holds them; those next to 0 count as 1."""
    return np.where(scale < SMALLEST_SCALE, 1.0, scale).astype(np.float32).astype(np.float64)


def losses(data: Array, scale: Array, offset: Array, bits: int) -> Array:
    """The sum of squared differences for each candidate, over parts of the data."""
    total, half = np.zeros(scale.size), 2 ** (bits - 1)
    for start in range(0, data.size, ELEMENTS):
        part = data[start : start + ELEMENTS].astype(np.float64)
        for place, (one, moved) in enumerate(zip(scale, offset, strict=True)):
            levels = np.clip(np.rint(part / one) + moved, -half, half - 1) - moved
            total[place] += np.square(levels * one - part).sum()
    return total
