"""IFMR: every candidate tried, element by element."""

from __future__ import annotations

from fractions import Fraction
from math import inf
from typing import Any

import numpy as np

from hostacl.tensors import dtypes
from random_calls.dice import Dice
from random_calls.oracle import Any_, oracle, shapes

GRIDS = (([0.75, 1.25], 0.0625), ([0.5, 1.5], 0.25), ([1.0, 1.0], 0.5), ([0.875, 1.0], 0.75))


@shapes("IFMR")
def searched_call(d: Dice) -> None:
    data = d.tensor("data", d.shape(empty=False), -4, 4)
    good = np.asarray(data, np.float64)[np.isfinite(np.asarray(data, np.float64))]
    low, high = (float(good.min()), float(good.max())) if good.size else (-1.0, 1.0)
    stored = d.choose((), (1,), (1, 1))
    bins = d.int(1, 9)
    d.tensor("data_min", np.full(stored, low))
    d.tensor("data_max", np.full(stored, high))
    ends = np.sort(d.rng.integers(0, data.size + 1, bins))
    ends[-1] = data.size
    d.tensor("cumsum", ends, dtype=dtypes.INT32)
    for name in ("min_percentile", "max_percentile"):
        d.attr(name, 1.0, 0.9375, 0.75)
    place = d.int(0, len(GRIDS) - 1)
    d.attr("search_range", GRIDS[place][0])
    d.attr("search_step", GRIDS[place][1])
    d.attr("with_offset", True, False)
    d.values["bits"] = d.attr("quant_bits", 4, 8) or 8
    for name in ("scale", "offset"):
        d.output(name, dtypes.FLOAT)


def edge(cumsum: Any, share: float, size: int, low: float, high: float) -> float:
    """The lower edge of the first bin that reaches this share of the data."""
    below = sum(Fraction(int(one), size) < Fraction(share) for one in np.ravel(cumsum))
    return below / np.size(cumsum) * (high - low) + low


def tried(data: Any, first: float, last: float, by: float, offset: bool, bits: int) -> tuple[float, float, float]:
    """Scale, offset and summed loss of a candidate."""
    half = 2 ** (bits - 1)
    wide = last * by - first if offset else max(abs(first), abs(last)) * by
    scale = float(np.float32(wide / (2 * half - 1 if offset else half - 1)))
    scale = 1.0 if wide / (2 * half - 1 if offset else half - 1) < 2.0**-23 else scale
    moved = -(float(np.rint(first / scale)) + half) if offset else 0.0
    levels = np.minimum(np.maximum(np.rint(data / scale) + moved, -half), half - 1)
    return scale, moved, float((((levels - moved) * scale - data) ** 2).sum())


@oracle("IFMR", family="quant")
def searched(data: Any, data_min: Any, data_max: Any, cumsum: Any, min_percentile: float, max_percentile: float,
             search_range: Any, search_step: float, with_offset: bool, dice: Dice) -> Any:  # fmt: skip
    bits = dice.values["bits"]
    low, high = float(np.ravel(data_min)[0]), float(np.ravel(data_max)[0])
    last = edge(cumsum, max_percentile, data.size, low, high)
    first = edge(cumsum, 1 - min_percentile, data.size, low, high)
    if with_offset:
        first, last = min(first, 0.0), max(last, 0.0)
    by = np.arange(search_range[0], search_range[1] + search_step / 2**10, search_step)
    found = [tried(data.ravel(), first, last, float(one), with_offset, bits) for one in by]
    least = min((one[2] for one in found if np.isfinite(one[2])), default=inf)
    good = [one for one in found if one[2] <= least * (1 + 1e-9)] if least < inf else found[:1]

    def among(place: int) -> Any:
        return lambda got: any(np.float32(one[place]) == np.ravel(got)[0] for one in good)

    return Any_(data_min.shape, among(0)), Any_(data_min.shape, among(1))
