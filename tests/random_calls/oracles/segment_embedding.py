"""Segments and embeddings, one row after the other."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np

from hostacl.tensors import dtypes
from random_calls.dice import Dice
from random_calls.oracle import finite, oracle, shapes, summed
from random_calls.oracles.scatter import larger, smaller

LONG = (dtypes.DOUBLE, dtypes.COMPLEX128)


@shapes(*(f"UnsortedSegment{how}{form}" for how in ("Sum", "Prod", "Max", "Min") for form in ("", "D")))
def numbering(d: Dice) -> None:
    shape = d.shape(1)
    lead = d.int(1, min(2, len(shape)))
    count = d.int(1, 4)
    d.tensor("x", shape)
    d.tensor("segment_ids", d.rng.integers(-1, count, shape[:lead]))
    if d.decl("num_segments") is not None:
        d.value("num_segments", np.array(count))
    else:
        d.attr("num_segments", count)


def segments(x: Any, ids: Any, count: Any, start: Any, combine: Any) -> tuple[Any, Any]:
    """Each segment's result, and how large what went in was."""
    total = int(np.ravel(count)[0])
    result = np.empty((total, *x.shape[ids.ndim :]), x.dtype)
    result[...] = start
    size, seen = np.zeros(result.shape), np.zeros(total, bool)
    for place in np.ndindex(ids.shape):
        row = int(ids[place])
        if row >= 0:
            result[row] = combine(result[row], x[place]) if seen[row] else x[place]
            seen[row] = True
            size[row] += finite(abs(x[place])) if x.dtype != object else 0
    return result, size


@oracle("UnsortedSegmentSum", "UnsortedSegmentSumD")
def unsorted_segment_sum(x: Any, segment_ids: Any, num_segments: Any, dice: Dice) -> Any:
    result, size = segments(x, segment_ids, num_segments, 0, lambda one, other: one + other)
    return result if x.dtype == object else summed(result, size, x.size, 53 if dice.dtype in LONG else 24)


@oracle("UnsortedSegmentProd", "UnsortedSegmentProdD")
def unsorted_segment_prod(x: Any, segment_ids: Any, num_segments: Any, dice: Dice) -> Any:
    result, _ = segments(x, segment_ids, num_segments, 1, lambda one, other: one * other)
    if x.dtype == object:
        return result
    large = finite(abs(result))
    free = ~np.isfinite(result) | ((large > 1e37) if dice.dtype not in LONG else False) | (large < 1e-37)
    return summed(result, np.where(free, np.inf, large), 4 + x.size, 53 if dice.dtype in LONG else 24)


def each(choose: Any) -> Any:
    """The choice for arrays, element by element where they hold Python integers."""

    def combine(one: Any, other: Any) -> Any:
        return np.frompyfunc(choose, 2, 1)(one, other) if np.asarray(one).dtype == object else choose(one, other)

    return combine


def bound(dice: Dice, lowest: bool) -> Any:
    dtype = dtypes.numpy_dtype(dice.dtype)
    info: Any = np.iinfo(dtype) if dtype.kind in "iu" else ml_dtypes.finfo(dtype)
    value = info.min if lowest else info.max
    return int(value) if dtype.kind in "iu" else float(value)


@oracle("UnsortedSegmentMax", "UnsortedSegmentMaxD")
def unsorted_segment_max(x: Any, segment_ids: Any, num_segments: Any, dice: Dice) -> Any:
    return segments(x, segment_ids, num_segments, bound(dice, True), each(larger))[0]


@oracle("UnsortedSegmentMin", "UnsortedSegmentMinD")
def unsorted_segment_min(x: Any, segment_ids: Any, num_segments: Any, dice: Dice) -> Any:
    return segments(x, segment_ids, num_segments, bound(dice, False), each(smaller))[0]


@shapes("SegmentSum", "SegmentMax", "SegmentMaxD")
def ascending(d: Dice) -> None:
    shape = d.shape(1)
    ids = np.sort(d.rng.integers(0, 4, shape[0]))
    d.tensor("x", shape)
    if d.decl("segment_ids") is not None:
        d.value("segment_ids", ids)
    else:
        d.attr("segment_ids", [int(one) for one in ids])
    d.output("y", d.dtype, (rows_of(ids), *shape[1:]))


def rows_of(ids: Any) -> int:
    """How many segments ascending numbers name."""
    return int(ids[-1]) + 1 if len(ids) else 0


@oracle("SegmentSum")
def segment_sum(x: Any, segment_ids: Any, dice: Dice) -> Any:
    return unsorted_segment_sum(x, segment_ids, rows_of(segment_ids), dice)


@oracle("SegmentMax", "SegmentMaxD")
def segment_max(x: Any, segment_ids: Any) -> Any:
    return segments(x, np.array(segment_ids), rows_of(segment_ids), 0, each(larger))[0]


@shapes("EmbeddingDenseGrad")
def looking_up(d: Dice) -> None:
    lead, count = d.shape(0, 7, long=False, grows=1), d.int(1, 5)
    d.tensor("grad", (*lead, d.int(1, 4)))
    d.tensor("indices", d.rng.integers(0, count, lead))
    d.attr("num_weights", count)
    d.attr("padding_idx", d.int(0, count - 1))
    d.attr("scale_grad_by_freq", True)


@oracle("EmbeddingDenseGrad")
def embedding_dense_grad(grad: Any, indices: Any, num_weights: int, padding_idx: int, scale_grad_by_freq: bool) -> Any:
    result, size = np.zeros((num_weights, grad.shape[-1])), np.zeros((num_weights, grad.shape[-1]))
    often = [sum(int(one) == row for one in indices.flat) for row in range(num_weights)]
    for place in np.ndindex(indices.shape):
        row = int(indices[place])
        if row != padding_idx:
            result[row] += grad[place] / (often[row] if scale_grad_by_freq else 1)
            size[row] += finite(grad[place])
    return summed(result, size, indices.size + 4)


@shapes("EmbeddingBag")
def bagging(d: Dice) -> None:
    rows, width = d.shape(2, 2, long=False)
    older = len(d.generation.outputs) > 1
    mode = d.attr("mode", "sum", "mean", "max")
    d.attr("scale_grad_by_freq", True)
    d.attr("sparse", True)
    last = d.attr("include_last_offset", True)
    d.tensor("weight", (rows, width))
    if d.optional("offsets"):
        size, count = d.int(0, 6) if rows else 0, d.int(1, 3)
        starts = np.sort(np.concatenate([[0], d.rng.integers(0, size + 1, count - 1)])).astype(np.int64)
        d.tensor("indices", d.rng.integers(0, max(rows, 1), size))
        d.inputs.pop("offsets", None)
        d.tensor("offsets", np.concatenate([starts, [size]]) if last else starts, dtype=dtypes.INT32)
    else:
        d.tensor("indices", d.rng.integers(0, max(rows, 1), (d.int(0, 3), d.int(0, 3) if rows else 0)))
    shape = d.inputs["indices"][0].spec.shape
    if mode == "sum" and d.optional("per_sample_weights"):
        d.inputs.pop("per_sample_weights", None)
        d.tensor("per_sample_weights", shape, dtype=dtypes.FLOAT)
    elif mode != "sum":
        d.inputs["per_sample_weights"] = []
        d.optional("per_sample_weights") and d.inputs.pop("per_sample_weights")
    if older:
        padding = d.choose(-1, d.int(0, max(rows - 1, 0)))
        d.attrs["padding_idx"], d.values["padding_idx"] = ("int", padding), padding
        for name in ("offset2bag", "bag_size", "max_indices"):
            d.output(name, dtypes.INT32)


@oracle("EmbeddingBag")
def embedding_bag(
    weight: Any, indices: Any, offsets: Any, per_sample_weights: Any, mode: str, include_last_offset: bool, dice: Dice
) -> Any:
    flat = [int(one) for one in indices.flat]
    if offsets is None:
        bag = [place // indices.shape[1] for place in range(len(flat))]
        count = indices.shape[0]
    else:
        starts = [int(one) for one in offsets]
        count = len(starts) - bool(include_last_offset)
        bag = [max(number for number in range(count) if starts[number] <= place) for place in range(len(flat))]
    padding = dice.values.get("padding_idx", -1)
    scale = [1.0] * len(flat) if per_sample_weights is None else [float(one) for one in per_sample_weights.flat]
    y, where = np.zeros((count, weight.shape[1])), np.full((count, weight.shape[1]), -1, object)
    counted = [place for place in range(len(flat)) if flat[place] != padding]
    inside = [[place for place in counted if bag[place] == number] for number in range(count)]
    sizes = [len(rows) for rows in inside]
    slack = np.zeros(y.shape)
    for number, rows in enumerate(inside):
        for column in range(weight.shape[1]):
            values = [weight[flat[place], column] * scale[place] for place in rows]
            slack[number, column] = sum(finite(one) for one in values)
            if rows and mode == "max":
                best = max(
                    range(len(values)),
                    key=lambda at, values=values: (values[at] != values[at], values[at] if values[at] == values[at] else 0),
                )
                y[number, column], where[number, column] = values[best], flat[rows[best]]
            elif rows:
                y[number, column] = sum(values) / (len(rows) if mode == "mean" else 1)
    value = summed(y, slack, 8)
    if len(dice.generation.outputs) == 1:
        return value
    numbers = [np.array([*one, None], object)[:-1] for one in (bag, sizes)]
    return value, numbers[0], numbers[1], where if mode == "max" else np.zeros(count, int).astype(object)
