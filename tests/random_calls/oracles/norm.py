"""Normalisations: channel by channel, row by row, in float64."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np

from hostacl.tensors import dtypes, formats
from random_calls.dice import Dice
from random_calls.oracle import Within, finite, oracle, shapes

FOUR = {formats.NCHW: 1, formats.NHWC: 3}
FIVE = {formats.NCDHW: 1, formats.NDHWC: 4}


def image(d: Dice, layouts: dict[int, int] | None = None, name: str = "x") -> int:
    """x as an image in a drawn format; the number of its channels. Notes the channel axis."""
    layouts = layouts or FOUR
    layout = d.choose(*layouts)
    rank = 5 if layout in FIVE else 4
    one = d.wants("one element")
    sizes = [1 if one else d.int(1, 4) for _ in range(rank)]
    axis = layouts[layout]
    if d.wants("long"):
        sizes[2] = d.int(40, 80)
    if d.wants("empty"):
        sizes[0] = 0
    d.tensor(name, tuple(sizes), format=layout)
    d.values["channel"] = axis
    d.output("y", format=layout)
    return sizes[axis]


def by_channel(parameter: Any, x: Any, axis: int) -> Any:
    return parameter.reshape([-1 if place == axis else 1 for place in range(x.ndim)])


def statistics(x: Any, axis: int) -> tuple[Any, Any, int]:
    """Mean, population variance and number of elements of each channel."""
    rows = np.moveaxis(x, axis, 0).reshape(x.shape[axis], -1) if x.size else np.zeros((x.shape[axis], 0))
    mean = np.array([row.sum() / len(row) if len(row) else np.nan for row in rows])
    spread = np.array([((row - m) ** 2).sum() / len(row) if len(row) else np.nan for row, m in zip(rows, mean, strict=True)])
    return mean, spread, rows.shape[1]


def close(value: Any, *sizes: Any, ulps: float = 8) -> Within:
    """A value whose terms have these sizes, each held in single precision."""
    total = sum((finite(np.asarray(size, np.float64)) for size in sizes), finite(np.asarray(value, np.float64)))
    return Within(value, total * ulps * 2.0**-24)


def normal(x: Any, mean: Any, variance: Any, eps: float, scale: Any, offset: Any) -> Within:
    """scale·(x - mean)/√(variance + eps) + offset."""
    factor = scale / np.sqrt(variance + eps)
    return close((x - mean) * factor + offset, x * factor, mean * factor, offset)


@shapes("BatchNorm")
def batch_norm_call(d: Dice) -> None:
    d.values["channel"] = 1
    channels = image(d)
    training = d.attr("is_training", False)
    shape = (channels,)
    for name, low in (("scale", -3), ("offset", -3)):
        d.tensor(name, shape, low, 3)
    if not training or d.optional("mean"):
        for name, low in (("mean", -3), ("variance", 0.1)):
            d.tensor(name, np.asarray(d.rng.uniform(low, 3, shape)), dtype=dtypes.FLOAT)
    d.attr("epsilon", 1e-3, 1e-5)
    if d.chance(0.3) and d.kind not in {"attributes absent"}:
        d.attrs["data_format"] = ("string", "NCHW" if d.values["channel"] == 1 else "NHWC")
    if "exponential_avg_factor" in d.generation.attrs:
        d.attr("exponential_avg_factor", 1.0, 0.25)
    for place in range(1, 4):
        d.output(f"reserve_space_{place}", dtypes.FLOAT)


@oracle("BatchNorm")
def batch_norm(
    x: Any, scale: Any, offset: Any, mean: Any, variance: Any, epsilon: float, is_training: bool,
    exponential_avg_factor: Any, dice: Dice,
) -> Any:  # fmt: skip
    axis = dice.values["channel"]
    own, spread, count = statistics(x, axis)
    free = np.zeros(1)
    if not is_training:
        y = normal(x, *(by_channel(one, x, axis) for one in (mean, variance)), epsilon,
                   *(by_channel(one, x, axis) for one in (scale, offset)))  # fmt: skip
        return y, mean, variance, mean, variance, free
    y = normal(x, by_channel(own, x, axis), by_channel(spread, x, axis), epsilon,
               *(by_channel(one, x, axis) for one in (scale, offset)))  # fmt: skip
    running = [own, spread * count / max(count - 1, 1)]
    factor = 1.0 if exponential_avg_factor is None or mean is None else exponential_avg_factor
    if factor != 1:
        running = [(1 - factor) * old + factor * new for old, new in zip((mean, variance), running, strict=True)]
    sizes = np.sqrt(spread) + finite(own)
    return y, close(running[0], sizes), close(running[1], sizes), close(own, sizes), close(spread, sizes), free


@shapes("BatchNormV3")
def batch_norm_v3_call(d: Dice) -> None:
    channels = image(d)
    for name in ("weight", "bias"):
        d.tensor(name, (channels,), -3, 3)
    for name, low in (("running_mean", -3), ("running_var", 0.1)):
        d.tensor(name, np.asarray(d.rng.uniform(low, 3, channels)), dtype=dtypes.FLOAT)
    d.attr("epsilon", 1e-3)
    d.attr("momentum", 0.5)
    d.attr("is_training", False)


@oracle("BatchNormV3")
def batch_norm_v3(
    x: Any, weight: Any, bias: Any, running_mean: Any, running_var: Any, epsilon: float, momentum: float,
    is_training: bool, dice: Dice,
) -> Any:  # fmt: skip
    axis = dice.values["channel"]
    own, spread, count = statistics(x, axis)
    mean, variance = (own, spread) if is_training else (running_mean, running_var)
    each = [by_channel(one, x, axis) for one in (mean, variance, weight, bias)]
    y = normal(x, each[0], each[1], epsilon, each[2], each[3])
    running = [running_mean, running_var]
    if is_training:
        fresh = (own, spread * count / max(count - 1, 1))
        running = [(1 - momentum) * old + momentum * new for old, new in zip(running, fresh, strict=True)]
    sizes = finite(np.sqrt(spread)) + finite(own)
    return y, close(running[0], sizes), close(running[1], sizes), close(mean, sizes), close(1 / np.sqrt(variance + epsilon))


@shapes("BNInfer")
def infer_call(d: Dice) -> None:
    channels = image(d)
    for name, low in (("scale", -3), ("offset", -3), ("mean", -3), ("variance", 0.1)):
        d.tensor(name, np.asarray(d.rng.uniform(low, 3, channels)), dtype=dtypes.FLOAT)
    d.attr("epsilon", 1e-3, 1e-5)


@oracle("BNInfer")
def bn_infer(x: Any, scale: Any, offset: Any, mean: Any, variance: Any, epsilon: float, dice: Dice) -> Any:
    axis = dice.values["channel"]
    each = [by_channel(one, x, axis) for one in (mean, variance, scale, offset)]
    return normal(x, each[0], each[1], epsilon, each[2], each[3])


@shapes("BNTrainingReduce", "BN3DTrainingReduce")
def reduce_call(d: Dice) -> None:
    channels = image(d, {**FIVE} if "3D" in d.prototype.op_type else FOUR)
    d.outputs.clear()
    shape = (channels,)
    d.output("sum", dtypes.FLOAT, shape)
    d.output("square_sum", dtypes.FLOAT, shape)


@oracle("BNTrainingReduce", "BN3DTrainingReduce")
def bn_reduce(x: Any, dice: Dice) -> Any:
    rows = np.moveaxis(x, dice.values["channel"], 0)
    total = np.array([row.sum() for row in rows])
    size = np.array([finite(row).sum() for row in rows])
    squares = np.array([(row * row).sum() for row in rows])
    return Within(total, size * rows.size * 2.0**-24), Within(squares, finite(squares) * rows.size * 2.0**-24)


@shapes("BNTrainingUpdate", "BN3DTrainingUpdate")
def update_call(d: Dice) -> None:
    channels = image(d, {**FIVE} if "3D" in d.prototype.op_type else FOUR)
    x = d.inputs["x"][0].data
    wide = np.moveaxis(np.asarray(x, np.float64), d.values["channel"], 0)
    rows = wide.reshape(channels, -1) if x.size else np.zeros((channels, 0))
    rows = np.nan_to_num(rows, posinf=9, neginf=-9).clip(-1e4, 1e4)
    for name, value in (("sum", rows.sum(axis=1)), ("square_sum", (rows * rows).sum(axis=1) + 0.5 * max(rows.shape[1], 1))):
        d.tensor(name, value, dtype=dtypes.FLOAT)
    for name, low in (("scale", -3), ("offset", -3), ("mean", -3), ("variance", 0.1)):
        d.tensor(name, np.asarray(d.rng.uniform(low, 3, channels)), dtype=dtypes.FLOAT)
    d.attr("factor", 0.1, 0.5)
    d.attr("epsilon", 1e-3, 1e-5)


@oracle("BNTrainingUpdate", "BN3DTrainingUpdate")
def bn_update(
    x: Any, sum: Any, square_sum: Any, scale: Any, offset: Any, mean: Any, variance: Any, factor: float, epsilon: float,
    dice: Dice,
) -> Any:  # fmt: skip
    axis = dice.values["channel"]
    count = max(x.size // max(x.shape[axis], 1), 1)
    own = sum / count
    spread = square_sum / count - own**2
    each = [by_channel(one, x, axis) for one in (own, spread, scale, offset)]
    y = normal(x, each[0], each[1], epsilon, each[2], each[3])
    fresh = spread * (count / (count - 1) if count > 1 else 1)
    return (y, close((1 - factor) * mean + factor * own, own), close((1 - factor) * variance + factor * fresh, own**2),
            close(own), close(spread, own**2))  # fmt: skip


@shapes("SyncBNTrainingUpdate")
def sync_update_call(d: Dice) -> None:
    shape = d.shape()
    d.tensor("mean", shape)
    d.tensor("running_mean", shape)
    d.attr("momentum", 0.5)


@oracle("SyncBNTrainingUpdate")
def sync_update(mean: Any, running_mean: Any, momentum: float) -> Any:
    return close(running_mean * (1 - momentum) + mean * momentum, mean, running_mean)


@shapes("SyncBatchNormGatherStats")
def gather_call(d: Dice) -> None:
    one = d.wants("one element")
    rows, channels = (1, 1) if one else (d.int(1, 4), d.int(60, 90) if d.wants("long") else d.int(1, 4))
    channels = 0 if d.wants("empty") else channels
    counts = d.rng.integers(1 + (not one), 6, rows)
    d.tensor("total_sum", (rows, channels), -2, 2)
    d.tensor("total_square_sum", np.asarray(d.rng.uniform(30, 40, (rows, channels))), dtype=d.dtype)
    d.tensor("sample_count", counts, dtype=dtypes.INT32)
    d.tensor("mean", (channels,), -2, 2)
    d.tensor("variance", np.asarray(d.rng.uniform(0.5, 2, channels)), dtype=d.dtype)
    d.attr("momentum", 0.5)
    d.attr("eps", 1e-3)


@oracle("SyncBatchNormGatherStats")
def gather(
    total_sum: Any, total_square_sum: Any, sample_count: Any, mean: Any, variance: Any, momentum: float, eps: float
) -> Any:  # fmt: skip
    count = sum(map(int, sample_count))
    own = total_sum.sum(axis=0) / count
    spread = np.maximum(total_square_sum.sum(axis=0) / count - own**2, 0)
    fresh = spread * count / max(count - 1, 1)
    running = mean * (1 - momentum) + own * momentum
    return (close(own, finite(total_sum).sum(axis=0)), close(1 / np.sqrt(spread + eps), own), close(running, mean, own),
            close(variance * (1 - momentum) + fresh * momentum, fresh, variance))  # fmt: skip


@shapes("SyncBatchNormGatherStatsWithCounts")
def counted_call(d: Dice) -> None:
    one = d.wants("one element")
    rows, channels = (1, 1) if one else (d.int(1, 4), d.int(60, 90) if d.wants("long") else d.int(1, 4))
    channels = 0 if d.wants("empty") else channels
    counts = np.repeat(d.rng.integers(2, 6, (rows, 1)), channels, axis=1).astype(np.float64)
    d.tensor("mean_all", np.asarray(d.rng.uniform(-2, 2, (rows, channels))), dtype=d.dtype)
    d.tensor("invert_std_all", np.asarray(d.rng.uniform(0.5, 2, (rows, channels))), dtype=d.dtype)
    d.tensor("count_all", counts, dtype=d.dtype)
    d.tensor("mean_broadcast", np.repeat(d.rng.uniform(-1, 1, (1, channels)), rows, axis=0), dtype=d.dtype)
    d.tensor("count_sum", np.repeat(counts.sum(axis=0, keepdims=True), rows, axis=0), dtype=d.dtype)
    d.tensor("running_var", np.asarray(d.rng.uniform(0.5, 2, channels)), dtype=d.dtype)
    d.attr("momentum", 0.5)
    d.attr("epsilon", 1e-5)


@oracle("SyncBatchNormGatherStatsWithCounts")
def counted(
    mean_all: Any, invert_std_all: Any, count_all: Any, mean_broadcast: Any, count_sum: Any, running_var: Any,
    momentum: float, epsilon: float,
) -> Any:  # fmt: skip
    spread = np.zeros(running_var.shape)
    for row, channel in itertools.product(*map(range, mean_all.shape)):
        local = invert_std_all[row, channel] ** -2 - epsilon + (mean_all[row, channel] - mean_broadcast[row, channel]) ** 2
        spread[channel] += local * count_all[row, channel] / count_sum[0, channel]
    fresh = spread * count_sum[0] / (count_sum[0] - 1)
    return close(1 / np.sqrt(spread + epsilon)), close((1 - momentum) * running_var + momentum * fresh, fresh)
