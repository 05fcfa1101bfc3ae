"""Batch normalisation: whole, in steps, and for inference."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hostacl.config import settings
from hostacl.ops import dims
from hostacl.ops.axes import channel_axes, channels_of, check_channels, described_or, other_axes, per_channel
from hostacl.ops.axis_cuts import channel_cuts
from hostacl.ops.call import Call
from hostacl.ops.dims import Dim, Shape
from hostacl.ops.moments import inverse_root, mean_of, moments, rescaled
from hostacl.ops.norm_fixed import normalise_into, normalised
from hostacl.ops.registry import kernel
from hostacl.ops.shapes import alike_inputs, broadcasts_to, equal_dims

Array = NDArray[Any]


def channels(call: Call) -> tuple[int, ...]:
    """The channel axes of x: by its format, else by data_format (NCHW where there is no such attribute)."""
    x = call.shape("x")
    if not x:
        raise call.refuse("HA516", "x is a scalar; allowed: 1 or more dims, one of them the channels.")
    return channel_axes(call.format("x"), len(x), call.attrs.get("data_format") or "NCHW")


def unbiased(x: Array, over: tuple[int, ...]) -> float:
    """n/(n-1) for the n elements of a channel, 1 for a single one."""
    count = x.size // max(int(np.prod([x.shape[axis] for axis in over])), 1)
    return count / max(count - 1, 1)


def batch_norm_shape(call: Call) -> list[Shape]:
    """y as x, statistics as scale; the last reserve space is free."""
    names = ("scale", "offset", "mean", "variance")
    check_channels(call, channels_of(call.shape("x"), channels(call)), *names)
    if not call.attr("is_training") and not (call.has("mean") and call.has("variance")):
        raise call.refuse("HA513", "mean and variance are required with is_training false.")
    spare = call.outputs["reserve_space_3"].specs
    free = spare[0].shape if spare and not spare[0].absent else (1,)
    statistics = [described_or(call, name, call.shape("scale")) for name in list(call.outputs)[1:5]]
    return [call.shape("x"), *statistics, free]


def direct_inference(call: Call) -> Callable[..., None] | None:
    """Straight from x as it lies in memory into y: what runs BNInfer, and BatchNorm that does not train; else None."""
    if call.attrs.get("is_training") or settings().saturate:
        return None
    over, epsilon = channels(call), call.attr("epsilon")

    def run(x: Array, scale: Array, offset: Array, mean: Array, variance: Array, y: Array, *statistics: Array) -> None:
        given = (mean, variance) * 2
        kept = [one.copy() for one in given] if statistics else []
        normalise_into(x, y, mean, variance, epsilon, scale, offset, over)
        for one, out in zip(kept, statistics[:4], strict=False):
            np.copyto(out, one.reshape(out.shape))
        for spare in statistics[4:]:
            spare[...] = 0

    return run


@kernel("BatchNorm", shape=batch_norm_shape, direct=direct_inference, cuts=channel_cuts(channels))
def batch_norm(
    x: Array, scale: Array, offset: Array, mean: Array | None, variance: Array | None, epsilon: float, is_training: bool,
    exponential_avg_factor: float | None, call: Call,
) -> tuple[Any, ...]:  # fmt: skip
    """scale·(x - mean)/√(variance + epsilon) + offset for each channel; channels by the format of x, else by data_format.

    Training: mean and variance are those of the batch. batch_mean and batch_variance are the running ones: the batch's own
    (variance · n/(n-1), or itself for n = 1), mixed with mean and variance by exponential_avg_factor; reserve_space_1 and 2
    are what y was made with. Inference: all four are mean and variance as given. reserve_space_3 holds nothing: zeros.
    """
    over, shape = channels(call), scale.shape
    if is_training:
        own_mean, own_variance = moments(x, other_axes(x.ndim, over))
        running = own_mean.reshape(shape), own_variance.reshape(shape) * unbiased(x, over)
        if exponential_avg_factor not in (None, 1) and mean is not None and variance is not None:
            rest = 1 - exponential_avg_factor
            running = tuple(rest * old.reshape(shape) + exponential_avg_factor * new  # type: ignore[assignment]
                            for old, new in zip((mean, variance), running, strict=True))  # fmt: skip
        y = rescaled(x, own_mean, inverse_root(own_variance, epsilon) * per_channel(scale, x.shape, over),
                     per_channel(offset, x.shape, over))  # fmt: skip
    else:
        assert mean is not None
        assert variance is not None
        running = own_mean, own_variance = mean, variance
        y = normalised(x, mean, variance, epsilon, scale, offset, over)
    spare = call.outputs["reserve_space_3"].specs
    empty = np.zeros(spare[0].shape, np.float32) if spare and not spare[0].absent else None
    return y, *(np.asarray(one).reshape(shape) for one in (*running, own_mean, own_variance)), empty


def batch_norm_v3_shape(call: Call) -> list[Shape]:
    """y as x, statistics as the running mean."""
    check_channels(call, channels_of(call.shape("x"), channels(call)), "weight", "bias", "running_mean", "running_var")
    statistics = [described_or(call, name, call.shape("running_mean")) for name in list(call.outputs)[1:]]
    return [call.shape("x"), *statistics]


@kernel("BatchNormV3", shape=batch_norm_v3_shape, mixed=("weight", "bias"), cuts=channel_cuts(channels))
def batch_norm_v3(
    x: Array, weight: Array, bias: Array, running_mean: Array, running_var: Array,
    epsilon: float, momentum: float, is_training: bool, call: Call,
) -> tuple[Array, ...]:  # fmt: skip
    """weight·(x - mean)/√(variance + epsilon) + bias for each channel (axis 1, or as the format of x says).

    Training: the batch's statistics; the running ones move to them by momentum, the variance by n/(n-1) times its own.
    Inference: the running statistics, which stay. save_mean and save_rstd are what y was made with.
    """
    over, shape = channels(call), running_mean.shape
    if is_training:
        mean, variance = moments(x, other_axes(x.ndim, over))
        fresh = mean.reshape(shape), variance.reshape(shape) * unbiased(x, over)
        running = [(1 - momentum) * old + momentum * new for old, new in
                   zip((running_mean.astype(np.float64), running_var.astype(np.float64)), fresh, strict=True)]  # fmt: skip
        root = inverse_root(variance, epsilon)
        y = rescaled(x, mean, root * per_channel(weight, x.shape, over), per_channel(bias, x.shape, over))
        return y, *running, np.asarray(mean).reshape(shape), root.reshape(shape)
    y = normalised(x, running_mean, running_var, epsilon, weight, bias, over)
    return y, running_mean, running_var, running_mean, inverse_root(running_var, epsilon)


def infer_shape(call: Call) -> Shape:
    """The shape of x."""
    check_channels(call, channels_of(call.shape("x"), channels(call)), "scale", "offset", "mean", "variance")
    return call.shape("x")


@kernel("BNInfer", shape=infer_shape, direct=direct_inference, cuts=channel_cuts(channels))
def bn_infer(
    x: Array, scale: Array, offset: Array, mean: Array, variance: Array, epsilon: float, call: Call
) -> Array:  # fmt: skip
    """scale·(x - mean)/√(variance + epsilon) + offset for each channel (axis 1, or as the format of x says)."""
    return normalised(x, mean, variance, epsilon, scale, offset, channels(call))


def reduce_shape(call: Call) -> list[Shape]:
    """One element a channel for both sums, in any shape that they are described with."""
    x, over = call.shape("x"), channels(call)
    plain = tuple(x[axis] for axis in over)
    shape = plain if len(over) == 1 else tuple(x[axis] if axis in over else 1 for axis in range(len(x)))
    return [described_or(call, name, shape) for name in call.outputs]


@kernel("BNTrainingReduce", "BN3DTrainingReduce", shape=reduce_shape, attrs={"epsilon": 0.0}, cuts=channel_cuts(channels))
def bn_training_reduce(x: Array, call: Call) -> tuple[Array, Array]:
    """The sum and the sum of squares of each channel (axis 1, or as the format of x says), added up in float64.

    A client's epsilon is taken and has no meaning here.
    """
    axes = other_axes(x.ndim, channels(call))
    count = int(np.prod([x.shape[axis] for axis in axes]))
    shapes: list[Any] = reduce_shape(call)
    if count == 0:
        return np.zeros(shapes[0]), np.zeros(shapes[1])
    sums = mean_of(x, axes, lambda part, _: part) * count
    squares = mean_of(x, axes, lambda part, _: np.square(part, dtype=np.float64)) * count
    return sums.reshape(shapes[0]), squares.reshape(shapes[1])


def update_shape(call: Call) -> list[Shape]:
    """y as x, statistics as sum."""
    names = ("sum", "square_sum", "scale", "offset", "mean", "variance")
    check_channels(call, channels_of(call.shape("x"), channels(call)), *names)
    return [call.shape("x"), *(described_or(call, name, call.shape("sum")) for name in list(call.outputs)[1:])]


@kernel("BNTrainingUpdate", "BN3DTrainingUpdate", shape=update_shape, cuts=channel_cuts(channels))
def bn_training_update(
    x: Array, sum: Array, square_sum: Array, scale: Array, offset: Array, mean: Array, variance: Array,
    factor: float, epsilon: float, call: Call,
) -> tuple[Array, ...]:  # fmt: skip
    """scale·(x - m)/√(v + epsilon) + offset with the batch's m = sum/n and v = square_sum/n - m² (at least 0).

    The outputs mean and variance are the running ones: (1 - factor) of what they were plus factor times m and v·n/(n-1), or
    v for n = 1; clients describe them in the inputs' memory. batch_mean and batch_variance are m and v.
    """
    over = channels(call)
    count = max(x.size // max(scale.size, 1), 1)
    own = sum.astype(np.float64) / count
    spread = np.maximum(square_sum.reshape(own.shape).astype(np.float64) / count - own * own, 0)
    running_mean = (1 - factor) * mean.reshape(own.shape).astype(np.float64) + factor * own
    running = (1 - factor) * variance.reshape(own.shape).astype(np.float64) + factor * spread * (count / max(count - 1, 1))
    each = [per_channel(one, x.shape, over) for one in (scale, offset, own, spread)]
    y = rescaled(x, each[2], inverse_root(each[3], epsilon) * each[0], each[1])
    return y, running_mean, running, own, spread


@kernel("SyncBNTrainingUpdate", shape=lambda call: alike_inputs(call, "mean", "running_mean"))
def sync_bn_training_update(mean: Array, running_mean: Array, momentum: float) -> Array:
    """momentum·mean + (1 - momentum)·running_mean."""
    return momentum * mean.astype(np.float64) + (1 - momentum) * running_mean


def gather_shape(call: Call) -> list[Shape]:
    """All four as mean; the sums have one row for each process."""
    shape = alike_inputs(call, "mean", "variance")
    check_rows(call, dims.count(shape), "total_sum", "total_square_sum")
    return [shape] * 4


def check_rows(call: Call, channels: Dim, *names: str) -> None:
    """Refuses statistics that are not rows of one element a channel."""
    rows = call.shape(names[0])[:1]
    for name in names:
        shape = call.shape(name)
        width = dims.count(shape[1:])
        if shape and rows:
            told = f"{names[0]} = {dims.text(call.shape(names[0]))}, {name} = {dims.text(shape)}: as many rows."
            equal_dims(call, rows[0], shape[0], told)
        if not shape or (dims.known(width, channels) and width != channels):
            told = f"{name} = {dims.text(shape)}; allowed: rows of one element for each of the {channels} channels."
            raise call.refuse("HA504", told)


def counted_shape(call: Call) -> list[Shape]:
    """Both as running_var; the statistics have one row for each process, and the others broadcast to them."""
    check_rows(call, dims.count(call.shape("running_var")), "mean_all", "invert_std_all")
    for name in ("count_all", "mean_broadcast", "count_sum"):
        broadcasts_to(call, name, call.shape("mean_all"), "mean_all")
    return [call.shape("running_var")] * 2


@kernel("SyncBatchNormGatherStats", shape=gather_shape)
def sync_batch_norm_gather_stats(
    total_sum: Array, total_square_sum: Array, sample_count: Array, mean: Array, variance: Array, momentum: float, eps: float
) -> tuple[Array, ...]:
    """The statistics of all processes' rows together: mean, 1/√(variance + eps), and the running mean and variance.

    total_sum and total_square_sum are (processes, channels), sample_count (processes). The running ones move by momentum, the
    variance by n/(n-1) times its own (n = 1: its own).
    """
    count = float(np.sum(sample_count, dtype=np.int64))
    size = (total_sum.shape[0], mean.size)
    own, squares = (np.sum(one.reshape(size), axis=0, dtype=np.float64) / count for one in (total_sum, total_square_sum))
    spread = np.maximum(squares - own * own, 0)
    fresh = own, spread * (count / max(count - 1, 1))
    running = [momentum * new.reshape(mean.shape) + (1 - momentum) * old.astype(np.float64)
               for new, old in zip(fresh, (mean, variance), strict=True)]  # fmt: skip
    return own.reshape(mean.shape), inverse_root(spread, eps).reshape(mean.shape), *running


@kernel("SyncBatchNormGatherStatsWithCounts", shape=counted_shape)
def sync_batch_norm_gather_stats_with_counts(
    mean_all: Array, invert_std_all: Array, count_all: Array, mean_broadcast: Array, count_sum: Array, running_var: Array,
    momentum: float, epsilon: float,
) -> tuple[Array, Array]:  # fmt: skip
    """1/√(variance + epsilon) over all processes, and the running variance moved by momentum to variance · n/(n-1).

    Each process' variance is 1/invert_std² - epsilon about its own mean; count_all weighs them, count_sum is their sum, and
    mean_broadcast the common mean.
    """
    rows, size = (mean_all.shape[0], running_var.size), running_var.shape
    local = 1 / np.square(invert_std_all.reshape(rows).astype(np.float64)) - epsilon
    common = np.broadcast_to(mean_broadcast, mean_all.shape).reshape(rows)
    offset = mean_all.reshape(rows).astype(np.float64) - common
    weights = np.broadcast_to(count_all, mean_all.shape).reshape(rows)
    count = np.broadcast_to(count_sum, mean_all.shape).reshape(rows)[0]
    spread = np.sum((local + offset * offset) * weights, axis=0) / count
    fresh = momentum * spread * count / np.maximum(count - 1, 1)
    return inverse_root(spread, epsilon).reshape(size), fresh.reshape(size) + (1 - momentum) * running_var


