"""Counting: histograms and weighted counts."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from hostacl.errors import Failed
from hostacl.ops import dims, runtime
from hostacl.ops.call import Call
from hostacl.ops.dims import Between, Shape
from hostacl.ops.registry import kernel
from hostacl.ops.shapes import equal_dims, one_element
from hostacl.tensors import dtypes

Array = NDArray[Any]

CHUNK = 1 << 22


def binned(call: Call) -> Shape:
    """One count for each bin."""
    bins = call.attr("bins")
    if bins < 1:
        raise call.refuse("HA508", f"bins = {bins}; allowed: 1 or more.")
    return (bins,)


def counted_in(call: Call) -> tuple[int, ...]:
    """int32 for integers, else float32; the client may describe the other."""
    return (dtypes.INT32, dtypes.FLOAT) if call.dtype("x") == dtypes.INT32 else (dtypes.FLOAT, dtypes.INT32)


def histogram_of(op: str, x: Array, bins: int, low: float, high: float) -> Array:
    """How many elements fall into each of equal bins from low to high, both included; the data's range when these are equal."""
    if low == high and x.size:
        low, high = float(x.min()), float(x.max())
        if not (np.isfinite(low) and np.isfinite(high)):
            raise Failed("HA510", f"{op}: x holds NaN or Inf, so it has no range; give min and max.")
    if low == high:
        low, high = low - 1, high + 1
    counts = np.zeros(bins, np.int64)
    flat = x.reshape(-1)
    for start in range(0, flat.size, CHUNK):
        part = flat[start : start + CHUNK].astype(np.float64)
        part = part[(part >= low) & (part <= high)]
        counts += np.bincount(bins_of(part, bins, low, high), minlength=bins)
    return counts


def bins_of(x: Array, bins: int, low: float, high: float) -> Array:
    """The bin of each element within the range: by arithmetic, put right by comparing with the edges."""
    edges = low + np.arange(bins + 1) * ((high - low) / bins)
    places = np.minimum(((x - low) * (bins / (high - low))).astype(np.int64), bins - 1)
    places -= (x < edges[places]) & (places > 0)
    places += (x >= edges[places + 1]) & (places < bins - 1)
    return places


def finite_range(call: Call, low: float, high: float) -> None:
    """Refuses a range that is none."""
    if not (np.isfinite(low) and np.isfinite(high)) or low > high:
        raise call.refuse("HA508", f"min = {low}, max = {high}; allowed: finite numbers, min at most max.")


@kernel("Histogram", shape=binned, dtype={"y": counted_in})
def histogram(x: Array, bins: int, min: float, max: float, call: Call) -> Array:
    """How many elements of x fall into each of equal bins from min to max (both included; NaN and others are not counted).

    When min equals max the range is that of x; when that is one value too, from one below to one above it.
    """
    finite_range(call, min, max)
    return histogram_of(call.op_type, x, bins, min, max)


def binned_in_range(call: Call) -> Shape:
    """bins counts; each end of the range is one element."""
    one_element(call, "min", "max")
    return binned(call)


@kernel("HistogramV2", shape=binned_in_range)
def histogram_v2(x: Array, min: Array, max: Array, bins: int, call: Call) -> Array:
    """Histogram with the range as tensors of one element."""
    low, high = float(min.reshape(())), float(max.reshape(()))
    finite_range(call, low, high)
    return histogram_of(call.op_type, x, bins, low, high)


def fixed_bins(call: Call) -> Shape:
    """nbins counts."""
    if "nbins" not in call.attrs and not call.known("nbins"):
        return (Between(0, None),)
    bins = call.scalar("nbins")
    if bins < 1:
        raise call.refuse("HA508" if "nbins" in call.attrs else "HA519", f"nbins = {bins}; allowed: 1 or more.")
    return (bins,)


@kernel("HistogramFixedWidth", "HistogramFixedWidthD", shape=fixed_bins, values=("nbins",))
def histogram_fixed_width(x: Array, range: Array, nbins: Any, call: Call) -> Array:
    """How many elements of x fall into each of nbins equal bins of the range; what lies outside counts in the outer ones."""
    if range.size != 2 or not -np.inf < float(range.ravel()[0]) < float(range.ravel()[1]) < np.inf:
        told = "allowed: two finite numbers, the first below the second."
        raise call.refuse("HA519", f"range = {range.ravel().tolist()}; {told}")
    low, high, bins = float(range.ravel()[0]), float(range.ravel()[1]), runtime.one(nbins)
    part = x.reshape(-1).astype(np.float64)
    part = part[~np.isnan(part)]
    return np.bincount(bins_of(np.clip(part, low, high), bins, low, high), minlength=bins)


def sized(call: Call) -> Shape:
    """size counts; weights are as many as array has elements, or none."""
    array, weights = call.shape("array"), call.shape("weights")
    if dims.known(*weights) and dims.count(weights) != 0:
        told = f"weights = {dims.text(weights)}; array = {dims.text(array)}: as many elements, or none."
        equal_dims(call, dims.count(array), dims.count(weights), told)
    one_element(call, "size")
    if not call.known("size"):
        return (Between(0, None),)
    size = call.scalar("size")
    if size < 0:
        raise call.refuse("HA519", f"size = {size}; allowed: 0 or more.")
    return (size,)


@kernel("Bincount", shape=sized, values=("size",))
def bincount(array: Array, size: Array, weights: Array, call: Call) -> Array:
    """For each number below size the sum of the weights of the elements that are it, or how many there are without weights.

    Numbers of size or more are not counted, negative ones fail. float32 sums are in float64, int64 ones exact.
    """
    flat, length = array.reshape(-1), runtime.one(size)
    if flat.size and flat.min() < 0:
        place = int(np.argmax(flat < 0))
        raise Failed("HA510", f"{call.op_type}: array[{place}] = {int(flat[place])}; allowed: 0 or more.")
    inside = flat < length
    if weights.size == 0:
        return np.bincount(flat[inside], minlength=length)
    wide = np.float64 if weights.dtype.kind == "f" else weights.dtype
    sums = np.zeros(length, wide)
    np.add.at(sums, flat[inside], weights.reshape(-1)[inside].astype(wide))
    return sums
