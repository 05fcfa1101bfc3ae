"""Segments: elements of one number combined into one row; gradients of embeddings and bags of them."""

from __future__ import annotations

from math import prod
from typing import Any

import ml_dtypes
import numpy as np
from numpy.typing import NDArray

from hostacl.config import settings
from hostacl.errors import Failed
from hostacl.ops import accumulate, dims, precision, runtime
from hostacl.ops.call import Call
from hostacl.ops.dims import Between, Dim, Shape
from hostacl.ops.index import checked_indices
from hostacl.ops.reading import Reads
from hostacl.ops.registry import kernel
from hostacl.ops.shapes import equal_dims, rank_is
from hostacl.tensors import dtypes

Array = NDArray[Any]


def numbered(call: Call) -> Shape:
    """num_segments rows, each with the dims of x that segment_ids does not number."""
    x, ids = call.shape("x"), call.shape("segment_ids")
    told = f"segment_ids = {dims.text(ids)} must have the first dims of x = {dims.text(x)}."
    if len(ids) > len(x):
        raise call.refuse("HA504", told)
    for one, other in zip(ids, x, strict=False):
        equal_dims(call, one, other, told)
    count: Dim = Between(0, None)
    if "num_segments" in call.attrs or call.known("num_segments"):
        count = call.scalar("num_segments")
        if count < 0:
            rule = "HA508" if "num_segments" in call.attrs else "HA519"
            raise call.refuse(rule, f"num_segments = {count}; allowed: 0 or more.")
    return (count, *x[len(ids) :])


def rows_and_updates(call: Call, x: Array, ids: Array, count: int) -> tuple[Array, Array]:
    """The segment of each part of x that has one (negative numbers are dropped), and these parts as rows."""
    flat, wide = ids.reshape(-1), prod(x.shape[ids.ndim :])
    wrong = flat >= count
    if wrong.any():
        place = int(np.argmax(wrong))
        told = f"segment_ids[{place}] = {int(flat[place])}; allowed: below num_segments = {count}, negative ones are dropped"
        raise Failed("HA510", f"{call.op_type}: {told}.")
    parts = x.reshape(flat.size, wide)
    inside = flat >= 0
    return (flat, parts) if inside.all() else (flat[inside], parts[inside])


def segment_sums(rows: Array, parts: Array, count: int) -> Array:
    """The sum of each segment: long float32 ones in float64, integers wrap."""
    if parts.dtype == np.float32:
        return accumulate.sums_of(rows, parts, count)
    return accumulate.add(np.zeros((count, parts.shape[1]), parts.dtype), rows, parts)


def of_halves(call: Call, *fixed: Any) -> Any:
    """The kernel on halves as they are, which its native loop widens; it takes the first two inputs and what is fixed."""
    code, saturate, kernel = call.dtype(next(iter(call.inputs))), settings().saturate, call.operator.kernel
    if code not in dtypes.HALVES:
        return None

    def run(x: Array, ids: Array, *rest: Array) -> None:
        precision.store(kernel(x, ids, *fixed, call), rest[-1], code, saturate)

    return run


def direct_segments(call: Call) -> Any:
    """The same once num_segments is known."""
    known = "num_segments" not in call.attrs and call.known("num_segments")
    return of_halves(call, call.scalar("num_segments")) if known else None


@kernel("UnsortedSegmentSum", "UnsortedSegmentSumD", shape=numbered, values=("num_segments",), direct=direct_segments)
def unsorted_segment_sum(x: Array, segment_ids: Array, num_segments: Any, call: Call) -> Array:
    """The sum of all parts of x with one number; a segment without any is 0, negative numbers are dropped.

    More than 64 half or float32 elements of a segment are added in float64; integers wrap.
    """
    count = runtime.one(num_segments)
    rows, parts = rows_and_updates(call, x, segment_ids, count)
    return segment_sums(rows, parts, count).reshape(count, *x.shape[segment_ids.ndim :])


@kernel("UnsortedSegmentProd", "UnsortedSegmentProdD", shape=numbered, values=("num_segments",), direct=direct_segments)
def unsorted_segment_prod(x: Array, segment_ids: Array, num_segments: Any, call: Call) -> Array:
    """The product of all parts of x with one number; a segment without any is 1, negative numbers are dropped."""
    count = runtime.one(num_segments)
    rows, parts = rows_and_updates(call, x, segment_ids, count)
    result = accumulate.multiply(np.ones((count, parts.shape[1]), x.dtype), rows, parts)
    return result.reshape(count, *x.shape[segment_ids.ndim :])


def extreme(call: Call, lowest: bool) -> Any:
    """The lowest or highest number of a dtype, infinities not counted."""
    dtype = dtypes.numpy_dtype(call.dtype("x"))
    info: Any = np.iinfo(dtype) if dtype.kind in "iu" else ml_dtypes.finfo(dtype)  # type: ignore[no-untyped-call]
    return info.min if lowest else info.max


def segment_extremes(call: Call, x: Array, ids: Array, count: int, largest: bool) -> Array:
    """The largest or smallest of each segment."""
    rows, parts = rows_and_updates(call, x, ids, count)
    start = np.full((count, parts.shape[1]), extreme(call, largest), x.dtype)
    found = np.zeros(count, np.bool_)
    found[rows] = True
    if x.dtype.kind not in "iu":
        start[found] = -np.inf if largest else np.inf
    combine = accumulate.maximum if largest else accumulate.minimum
    return combine(start, rows, parts).reshape(count, *x.shape[ids.ndim :])


@kernel("UnsortedSegmentMax", "UnsortedSegmentMaxD", shape=numbered, values=("num_segments",), direct=direct_segments)
def unsorted_segment_max(x: Array, segment_ids: Array, num_segments: Any, call: Call) -> Array:
    """The largest of all parts of x with one number, NaN when one is; negative numbers are dropped.

    A segment without any is the lowest number of its dtype (finite for floats).
    """
    return segment_extremes(call, x, segment_ids, runtime.one(num_segments), True)


@kernel("UnsortedSegmentMin", "UnsortedSegmentMinD", shape=numbered, values=("num_segments",), direct=direct_segments)
def unsorted_segment_min(x: Array, segment_ids: Array, num_segments: Any, call: Call) -> Array:
    """The smallest of all parts of x with one number, NaN when one is; negative numbers are dropped.

    A segment without any is the highest number of its dtype (finite for floats).
    """
    return segment_extremes(call, x, segment_ids, runtime.one(num_segments), False)


def sorted_ids(call: Call) -> Shape:
    """One row more than the last number; segment_ids is a vector with a number for each row of x."""
    x = call.shape("x")
    if not x:
        raise call.refuse("HA516", "x is a scalar; allowed: 1 dim or more.")
    if "segment_ids" in call.inputs:
        rank_is(call, "segment_ids", 1)
    if "segment_ids" in call.attrs or call.known("segment_ids"):
        ids = call.ints("segment_ids")
        equal_dims(call, len(ids), x[0], f"segment_ids has {len(ids)} elements; x = {dims.text(x)} has {x[0]} rows.")
        _ascending(call, ids)
        return (ids[-1] + 1 if ids else 0, *x[1:])
    (length,) = rank_is(call, "segment_ids", 1)
    equal_dims(call, length, x[0], f"segment_ids = {dims.text((length,))}; x = {dims.text(x)} has {x[0]} rows.")
    return (Between(0, None), *x[1:])


def _ascending(call: Call, ids: Any) -> None:
    listed = np.asarray(ids, np.int64)
    if listed.size and (listed[0] < 0 or (np.diff(listed) < 0).any()):
        rule = "HA508" if "segment_ids" in call.attrs else "HA519"
        raise call.refuse(rule, f"segment_ids = {list(ids)[:20]} must ascend from 0 or more. UnsortedSegment* take any order.")


@kernel("SegmentSum", shape=sorted_ids, values=("segment_ids",))
def segment_sum(x: Array, segment_ids: Array) -> Array:
    """The sum of all rows of x with one number; the numbers ascend, one that is left out gives 0."""
    count = int(segment_ids[-1]) + 1 if segment_ids.size else 0
    return segment_sums(segment_ids, x.reshape(len(x), prod(x.shape[1:])), count).reshape(count, *x.shape[1:])


@kernel("SegmentMax", "SegmentMaxD", shape=sorted_ids, values=("segment_ids",))
def segment_max(x: Array, segment_ids: Any) -> Array:
    """The largest of all rows of x with one number, NaN when one is; the numbers ascend, one that is left out gives 0."""
    ids = np.asarray(segment_ids, np.int64)
    count = int(ids[-1]) + 1 if ids.size else 0
    flat = x.reshape(len(x), prod(x.shape[1:]))
    result = np.zeros((count, flat.shape[1]), x.dtype)
    starts = np.flatnonzero(np.diff(ids, prepend=-1))
    if flat.size:
        result[ids[starts]] = np.maximum.reduceat(flat, starts, axis=0)
    return result.reshape(count, *x.shape[1:])


def weights_shape(call: Call) -> Shape:
    """num_weights rows of as many elements as grad has in its last dim."""
    grad, indices, count = call.shape("grad"), call.shape("indices"), call.attr("num_weights")
    told = f"grad = {dims.text(grad)} must have the dims of indices = {dims.text(indices)} and one more."
    if len(grad) != len(indices) + 1:
        raise call.refuse("HA504", told)
    for one, other in zip(grad, indices, strict=False):
        equal_dims(call, one, other, told)
    if count < 0:
        raise call.refuse("HA508", f"num_weights = {count}; allowed: 0 or more.")
    return (count, grad[-1])


def direct_dense_grad(call: Call) -> Any:
    """The kernel on halves as they are."""
    return of_halves(call, *map(call.attr, ("num_weights", "padding_idx", "scale_grad_by_freq")))


@kernel("EmbeddingDenseGrad", shape=weights_shape, direct=direct_dense_grad)
def embedding_dense_grad(
    grad: Array, indices: Array, num_weights: int, padding_idx: int, scale_grad_by_freq: bool, call: Call
) -> Array:
    """The sum of the rows of grad that each row of the weights was looked up for; row padding_idx stays 0 (-1: none).

    scale_grad_by_freq divides each sum by how often its row was looked up. Long sums are in float64; all are rounded once.
    """
    rows = checked_indices(call.op_type, indices, num_weights).reshape(-1)
    parts = grad.reshape(rows.size, grad.shape[-1])
    if padding_idx >= 0:
        parts, rows = parts[rows != padding_idx], rows[rows != padding_idx]
    sums = accumulate.sums_of(rows, parts, num_weights)
    if scale_grad_by_freq:
        sums /= np.maximum(np.bincount(rows, minlength=num_weights), 1)[:, None]
    return sums


def bags(call: Call) -> list[Shape]:
    """A row for each bag; with the older prototype also offset2bag, bag_size and max_indices."""
    weight, indices, count = rank_is(call, "weight", 2), rank_is(call, "indices", 1, 2), bag_count(call)
    if call.attr("mode") not in ("sum", "mean", "max"):
        raise call.refuse("HA508", f"mode = {call.attr('mode')!r}; allowed: sum, mean, max.")
    if call.has("per_sample_weights"):
        if call.attr("mode") != "sum":
            raise call.refuse("HA508", f"mode = {call.attr('mode')!r} with per_sample_weights; allowed: sum.")
        told = f"per_sample_weights = {dims.text(call.shape('per_sample_weights'))} must have the shape of indices."
        for one, other in zip(rank_is(call, "per_sample_weights", len(indices)), indices, strict=True):
            equal_dims(call, one, other, told)
    positions = (count, weight[1]) if call.attr("mode") == "max" else (count,)
    return [(count, weight[1]), (dims.count(indices),), (count,), positions]


def bag_count(call: Call) -> Dim:
    """How many bags there are: one for each offset, but for the end when that is included; one for each row of a matrix."""
    indices = call.shape("indices")
    if len(indices) == 2:
        if call.has("offsets"):
            raise call.refuse("HA504", "offsets are given, but indices is a matrix, whose rows are the bags. Leave them out.")
        return indices[0]
    if not call.has("offsets"):
        raise call.refuse("HA515", "offsets is missing; indices is a vector, so offsets must say where its bags begin.")
    (length,) = rank_is(call, "offsets", 1)
    last = bool(call.attr("include_last_offset"))
    if last and length == 0:
        raise call.refuse("HA504", "offsets is empty; include_last_offset needs one element at least.")
    return length - 1 if last else length


@kernel("EmbeddingBag", shape=bags, reads={"weight": Reads.PARTS})
def embedding_bag(
    weight: Array, indices: Array, offsets: Array | None, per_sample_weights: Array | None, mode: str,
    padding_idx: int | None, call: Call,
) -> tuple[Array, Array, Array, Array]:  # fmt: skip
    """The sum, mean or largest of the rows of weight in each bag of indices; an empty bag is 0.

    A bag is what lies between two offsets, or a row of a matrix of indices. per_sample_weights scale the rows (mode sum).
    The older prototype adds offset2bag (the bag of each index), bag_size and, for mode max, the index of each largest
    element (-1: an empty bag); rows padding_idx do not count there (-1: none).
    """
    rows = checked_indices(call.op_type, indices, len(weight)).reshape(-1)
    bag, count = bag_numbers(call, indices, offsets)
    keep = np.ones(rows.size, np.bool_) if padding_idx is None or padding_idx < 0 else rows != padding_idx
    keep &= bag >= 0
    taken = np.take(weight, rows[keep], axis=0)
    sizes = np.bincount(bag[keep], minlength=count)
    if mode == "max":
        result, positions = largest(taken, bag[keep], rows[keep], count)
        return result, bag, sizes, positions
    scale = None if per_sample_weights is None else per_sample_weights.reshape(-1)[keep]
    total = accumulate.sums_of(bag[keep], taken if scale is None else taken * scale[:, None].astype(np.float64), count)
    if mode == "mean":
        total /= np.maximum(sizes, 1)[:, None]
    return total, bag, sizes, np.zeros(count, np.int64)


def bag_numbers(call: Call, indices: Array, offsets: Array | None) -> tuple[Array, int]:
    """The bag of each index (-1: none), and how many bags there are."""
    if offsets is None:
        return np.repeat(np.arange(indices.shape[0]), indices.shape[1]), indices.shape[0]
    starts = offsets.astype(np.int64)
    if starts.size and (starts[0] != 0 or (np.diff(starts) < 0).any() or starts[-1] > indices.size):
        told = f"offsets must ascend from 0 to at most {indices.size}, the number of indices"
        raise Failed("HA510", f"{call.op_type}: {told}; they are {starts[:20].tolist()}.")
    bag = np.searchsorted(starts, np.arange(indices.size), side="right") - 1
    count = starts.size - bool(call.attr("include_last_offset"))
    return np.where(bag < count, bag, -1), count


def largest(taken: Array, bag: Array, rows: Array, count: int) -> tuple[Array, Array]:
    """The largest row elements of each bag, and the indices that they come from."""
    result = np.zeros((count, taken.shape[1]), taken.dtype)
    positions = np.full(result.shape, -1, np.int64)
    starts = np.flatnonzero(np.diff(bag, prepend=-1))
    if taken.size:
        result[bag[starts]] = np.maximum.reduceat(taken, starts, axis=0)
        same = (taken == result[bag]) | (np.isnan(taken) & np.isnan(result[bag]))
        order = np.where(same, np.arange(len(taken))[:, None], len(taken))
        positions[bag[starts]] = rows[np.minimum.reduceat(order, starts, axis=0)]
    return result, positions
