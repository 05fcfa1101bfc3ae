"""Normalisation of groups of channels: group norm, instance norm, local response, L2."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import gcd, prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hostacl import _kernels
from hostacl.ops import dims, exponential
from hostacl.ops.axes import channel_axes, channels_of, check_channels, described_or, letters, per_channel
from hostacl.ops.axis_cuts import channel_cuts, free_cuts, image_cuts
from hostacl.ops.batches import Cut, Grain, Piece, grain_along, shorter
from hostacl.ops.call import Call
from hostacl.ops.dims import Dim, Shape
from hostacl.ops.moments import inverse_root, moments, rescaled
from hostacl.ops.norm_rows import fits, normalised_rows
from hostacl.ops.pooling import tiles
from hostacl.ops.registry import kernel
from hostacl.ops.shapes import alike_inputs
from hostacl.ops.shapes import axes as checked_axes

Array = NDArray[Any]


def channel_axis(call: Call) -> int:
    """The channel axis of x: by its format, else by data_format (NCHW where there is no such attribute)."""
    x = call.shape("x")
    if len(x) < 2:
        raise call.refuse("HA516", f"x = {dims.text(x)} has {len(x)} dims; allowed: 2 or more, with a batch and channels.")
    order = letters(call.format("x"), len(x), call.attrs.get("data_format") or "NCHW")
    if order[0] != "N":
        raise call.refuse("HA504", f"x has the axes {order}; allowed: those that begin with N, the images. Transpose it first.")
    return order.index("C")


def checked_group_count(call: Call, channels: Dim) -> int:
    """num_groups, which divides the channels."""
    groups: int = call.attr("num_groups")
    if groups < 1 or (isinstance(channels, int) and channels % groups):
        raise call.refuse("HA508", f"num_groups = {groups}; allowed: a divisor of the {channels} channels.")
    return groups


def group_shape(call: Call) -> list[Shape]:
    """y as x; the statistics have one element for each group of each image, in any shape they are described with."""
    x, axis = call.shape("x"), channel_axis(call)
    groups = checked_group_count(call, x[axis])
    check_channels(call, x[axis], "gamma", "beta", "scale", "offset")
    names = list(call.outputs)
    plain = (x[0] * groups,) if call.op_type == "GroupNorm" else (x[0], groups)
    return [x, *(described_or(call, name, plain) for name in names[1:])]


def group_normalised(
    x: Array, axis: int, groups: int, epsilon: float, gamma: Array | None, beta: Array | None,
    given: tuple[Array, Array] | None = None, inverse: bool = False,
) -> tuple[Array, Array, Array]:  # fmt: skip
    """Each group of channels of each image normalised, with mean and variance (inverse: its rstd) as (N, groups)."""
    rows = max(len(x) * groups, 1)
    if given is None and x.dtype == np.float32 and axis == 1 and fits((rows, x.size // rows), 1, []):
        return by_rows(x, groups, epsilon, gamma, beta, inverse)
    split = (*x.shape[:axis], groups, x.shape[axis] // groups, *x.shape[axis + 1 :])
    grouped, kept = x.reshape(split), (0, axis)
    if given is None:
        mean, variance = moments(grouped, tuple(place for place in range(len(split)) if place not in kept))
    else:
        ones = tuple(size if place in kept else 1 for place, size in enumerate(split))
        mean, variance = (one.reshape(ones).astype(np.float64) for one in given)
    ones = tuple(size if place in (axis, axis + 1) else 1 for place, size in enumerate(split))
    scale, offset = (None if one is None else one.reshape(ones).astype(np.float64) for one in (gamma, beta))
    root = inverse_root(variance, epsilon)
    y = rescaled(grouped, mean, root, offset, scale).reshape(x.shape)
    shape = (x.shape[0], groups)
    return y, mean.reshape(shape), (root if inverse else variance).reshape(shape)


def by_rows(
    x: Array, groups: int, epsilon: float, gamma: Array | None, beta: Array | None, inverse: bool = False
) -> tuple[Array, Array, Array]:  # fmt: skip
    """The same for float32 with channels on axis 1: each group of an image is a row; then come gamma and beta."""
    count, channels = x.shape[:2]
    y, mean, variance = normalised_rows(x.reshape(count, groups, -1), 2, epsilon, None, None, inverse=inverse)
    lines = y.reshape(count, channels, -1)
    for function, one in ((_kernels.multiply, gamma), (_kernels.add, beta)):
        if one is not None:
            function(lines, one.astype(np.float32).reshape(1, channels, 1), lines)
    return y.reshape(x.shape), mean.reshape(count, groups), variance.reshape(count, groups)


def group_cuts(call: Call) -> Iterator[Cut]:
    """By images, and by groups of one."""
    yield from image_cuts(call)
    first, *others = call.outputs
    (count, *_), groups, axis = call.spec("x").shape, call.attr("num_groups"), channel_axis(call)
    specs = [call.outputs[name].specs[0] for name in others]
    known = call.inputs.keys() <= {"x", "gamma", "beta"} and not any(one.absent or prod(one.shape) != groups for one in specs)
    grain = grain_along((spec, axis) for spec in (call.spec("x"), call.outputs[first].specs[0]))
    each = call.spec("x").shape[axis] // groups
    if count != 1 or not known or grain is None:
        return

    def piece(part: slice) -> Piece:
        channels = slice(part.start * each, part.stop * each)
        parts = {"x": {axis: channels}, first: {axis: channels}} | {name: {0: channels} for name in ("gamma", "beta")}
        parts |= {name: {len(one.shape) - 1: part} for name, one in zip(others, specs, strict=True)}
        return shorter(call, parts, {"num_groups": part.stop - part.start})

    yield Cut(groups, piece, grain=Grain(grain.unit // gcd(grain.unit, each), grain.fine and grain.unit % each == 0))


@kernel("GroupNorm", shape=group_shape, attrs={"data_format": "NCHW"}, cuts=group_cuts)  # torch-npu sends ND without one
def group_norm(
    x: Array, gamma: Array | None, beta: Array | None, scale: Array | None, offset: Array | None, mean: Array | None,
    variance: Array | None, num_groups: int, eps: float | None, epsilon: float | None, is_training: bool, call: Call,
) -> tuple[Any, ...]:  # fmt: skip
    """Each group of channels of each image normalised to (x - mean)/√(variance + eps)·gamma + beta; y, mean and variance.

    Channels by the format of x, else by data_format. The older form (scale, offset, mean, variance) takes the given mean and
    variance, one for each group of each image, when is_training is false; both reserve spaces repeat mean and variance.
    """
    narrow = eps if eps is not None else 1e-4 if epsilon is None else epsilon
    first, second = (gamma, beta) if gamma is not None else (scale, offset)
    given = None if is_training or mean is None or variance is None else (mean, variance)
    y, own, spread = group_normalised(x, channel_axis(call), num_groups, narrow, first, second, given)
    flat = [one.reshape(shape) for one, shape in zip((own, spread, own, spread), _shapes(call)[1:], strict=False)]
    return y, *flat


def _shapes(call: Call) -> list[Any]:
    """The shapes of all outputs when the call runs."""
    return group_shape(call)


@kernel("GroupNormV2", shape=group_shape, cuts=group_cuts)
def group_norm_v2(
    x: Array, gamma: Array, beta: Array, num_groups: int, eps: float, call: Call
) -> tuple[Array, Array, Array]:  # fmt: skip
    """Each group of channels of each image normalised to (x - mean)/√(variance + eps)·gamma + beta; y, mean and rstd.

    rstd = 1/√(variance + eps). Channels by the format of x, else by data_format. is_training or not, mean and variance are x's.
    """
    y, mean, root = group_normalised(x, channel_axis(call), num_groups, eps, gamma, beta, inverse=True)
    shapes = _shapes(call)
    return y, mean.reshape(shapes[1]), root.reshape(shapes[2])


@kernel("GroupNormSilu", shape=group_shape, cuts=group_cuts)
def group_norm_silu(
    x: Array, gamma: Array | None, beta: Array | None, num_groups: int, eps: float, activate_silu: bool | None, call: Call
) -> tuple[Array, Array, Array]:
    """GroupNorm over channel axis 1 (or as the format of x says), then z·sigmoid(z) unless activate_silu is false.

    The third output is the variance, or 1/√(variance + eps) in the form that calls it rstd.
    """
    y, mean, third = group_normalised(
        x, channel_axis(call), num_groups, eps, gamma, beta, inverse="rstd" in call.outputs
    )
    if activate_silu is not False:
        y = exponential.gated(y, exponential.wide(y))
    shapes = _shapes(call)
    return y, mean.reshape(shapes[1]), third.reshape(shapes[2])


def instance_shape(call: Call) -> list[Shape]:
    """y as x; the statistics with 1 in the spatial dims."""
    x, axis = call.shape("x"), channel_axis(call)
    check_channels(call, x[axis], "gamma", "beta")
    kept = tuple(size if place in (0, axis) else 1 for place, size in enumerate(x))
    return [x, *(described_or(call, name, kept) for name in ("mean", "variance"))]


def instance_cuts(call: Call) -> Iterator[Cut]:
    """By images, and by channels."""
    yield from image_cuts(call)
    yield from channel_cuts(lambda one: (channel_axis(one),))(call)


@kernel("InstanceNorm", shape=instance_shape, cuts=instance_cuts)
def instance_norm(
    x: Array, gamma: Array, beta: Array, epsilon: float, call: Call
) -> tuple[Array, Array, Array]:  # fmt: skip
    """Each channel of each image normalised to (x - mean)/√(variance + epsilon)·gamma + beta; y, mean and variance.

    Channels by the format of x, else by data_format; the statistics have 1 in the spatial dims.
    """
    axis = channel_axis(call)
    shapes: list[Any] = instance_shape(call)
    if x.dtype == np.float32 and axis == 1 and fits(x.shape, 2, []):
        y, mean, variance = by_rows(x, x.shape[1], epsilon, gamma, beta)
        return y, mean.reshape(shapes[1]), variance.reshape(shapes[2])
    mean, variance = moments(x, tuple(place for place in range(x.ndim) if place not in (0, axis)))
    each = [per_channel(one, x.shape, (axis,)).astype(np.float64) for one in (gamma, beta)]
    y = rescaled(x, mean, inverse_root(variance, epsilon), each[1], each[0])
    return y, mean.reshape(shapes[1]), variance.reshape(shapes[2])


def lrn_shape(call: Call) -> Shape:
    """The shape of x."""
    x = call.shape("x")
    if len(x) != 4:
        raise call.refuse("HA516", f"x = {dims.text(x)} has {len(x)} dims; allowed: 4.")
    if call.attr("norm_region") not in ("ACROSS_CHANNELS", "WITHIN_CHANNEL"):
        told = f"norm_region = {call.attr('norm_region')!r}; allowed: ACROSS_CHANNELS, WITHIN_CHANNEL."
        raise call.refuse("HA508", told)
    if call.attr("depth_radius") < 0:
        raise call.refuse("HA508", f"depth_radius = {call.attr('depth_radius')}; allowed: 0 or more.")
    return x


@kernel("LRN", shape=lrn_shape, batch=("x",))
def lrn(x: Array, depth_radius: int, bias: float, alpha: float, beta: float, norm_region: str, call: Call) -> Array:
    """x / (bias + alpha · sum of squares nearby)^beta, nearby being depth_radius channels on both sides.

    alpha is not divided by their number. WITHIN_CHANNEL: nearby are depth_radius rows and columns on all sides.
    """
    order = letters(call.format("x"), 4, "NCHW")
    over = [order.index(letter) for letter in ("C" if norm_region == "ACROSS_CHANNELS" else "HW")]
    y = np.empty(x.shape, x.dtype)
    for part in (slice(None),) if 0 in over else tiles(x):
        total = np.square(x[part], dtype=np.float64)
        for axis in over:
            total = nearby_sum(total, axis, depth_radius)
        y[part] = x[part] * np.power(bias + alpha * total, -beta)
    return y


def lrn_grad_shape(call: Call) -> Shape:
    """The one shape of grads, x and y."""
    shape = alike_inputs(call, "x", "y", "grads")
    if len(shape) != 4:
        raise call.refuse("HA516", f"x = {dims.text(shape)} has {len(shape)} dims; allowed: 4.")
    if call.attr("depth_radius") < 0:
        raise call.refuse("HA508", f"depth_radius = {call.attr('depth_radius')}; allowed: 0 or more.")
    return shape


@kernel("LRNGrad", shape=lrn_grad_shape)
def lrn_grad(
    grads: Array, x: Array, y: Array, depth_radius: int, bias: float, alpha: float, beta: float, call: Call
) -> Array:
    """The gradient of LRN across channels: grads/n^beta - 2·alpha·beta·x·(sum of grads·y/n nearby).

    n = bias + alpha · sum of squares nearby, nearby being depth_radius channels on both sides; y is what LRN gave.
    """
    (axis,) = channel_axes(call.format("x"), 4, "NCHW")
    z = np.empty(x.shape, x.dtype)
    for part in tiles(x) if axis else (slice(None),):
        source, dy = x[part].astype(np.float64), grads[part].astype(np.float64)
        total = bias + alpha * nearby_sum(np.square(source), axis, depth_radius)
        shared = nearby_sum(dy * y[part] / total, axis, depth_radius)
        z[part] = dy * np.power(total, -beta) - 2 * alpha * beta * source * shared
    return z


def nearby_sum(x: Array, axis: int, radius: int) -> Array:
    """The sum of each element and its neighbours along an axis."""
    moved = np.moveaxis(x, axis, -1)
    total, size = moved.copy(), moved.shape[-1]
    for step in range(1, min(radius, size - 1) + 1):
        total[..., step:] += moved[..., : size - step]
        total[..., : size - step] += moved[..., step:]
    return np.moveaxis(total, -1, axis)


def l2_shape(call: Call) -> Shape:
    """The shape of x, once the axes are known to be its axes."""
    x = call.shape("x")
    checked_axes(call, call.attr("axis"), max(len(x), 1), "axis")
    return x


@kernel("L2Normalize", shape=l2_shape, cuts=free_cuts(lambda call: call.attr("axis") or range(call.rank("x"))))
def l2_normalize(x: Array, axis: Sequence[int], eps: float) -> Array:
    """x / √max(sum of squares over the axes, eps); no axes: over all of x."""
    over = tuple(place % max(x.ndim, 1) for place in axis) or tuple(range(x.ndim))
    squares = np.square(x, dtype=np.float64)
    total = np.sum(squares, axis=over if x.ndim else None, keepdims=True)
    return np.asarray(x / np.sqrt(np.maximum(total, eps)))


def normalize_dtype(call: Call) -> int:
    """float32 for dtype 0, float16 for 1."""
    return int(call.attr("dtype"))


def normalize_v2_shape(call: Call) -> Shape:
    """The shape of x; dtype is float32 or float16."""
    if call.attr("dtype") not in (0, 1):
        raise call.refuse("HA508", f"dtype = {call.attr('dtype')}; allowed: 0 (DT_FLOAT), 1 (DT_FLOAT16).")
    x = call.shape("x")
    channel = channel_axes(call.format("x"), len(x), "NCHW")
    check_channels(call, channels_of(x, channel), "mean", "variance")
    return x


@kernel("NormalizeV2", shape=normalize_v2_shape, dtype={"y": normalize_dtype}, batch=("x",))
def normalize_v2(x: Array, mean: Array, variance: Array, call: Call) -> Array:
    """(x - mean) / variance for each channel (axis 1, or as the format of x says): variance is what an image is divided by."""
    channel = channel_axes(call.format("x"), x.ndim, "NCHW")
    first, second = (per_channel(one, x.shape, channel).astype(np.float64) for one in (mean, variance))
    return rescaled(x, first, 1 / second)


def batch_shape(call: Call) -> Shape:
    """The shape of input_x; seq_len has an entry for each of its rows."""
    x = call.shape("input_x")
    if len(x) != 3:
        raise call.refuse("HA516", f"input_x = {dims.text(x)} has {len(x)} dims; allowed: 3 (batch, features, time).")
    if call.attr("normalize_type") not in ("per_feature", "all_features"):
        raise call.refuse("HA508", f"normalize_type = {call.attr('normalize_type')!r}; allowed: per_feature, all_features.")
    size = dims.count(call.shape("seq_len"))
    if dims.known(size, x[0]) and size != x[0]:
        raise call.refuse("HA504", f"seq_len has {size} entries, input_x {x[0]} in its batch; they must be equal.")
    return x


@kernel("NormalizeBatch", shape=batch_shape)
def normalize_batch(input_x: Array, seq_len: Array, normalize_type: str, epsilon: float, call: Call) -> Array:
    """(x - mean) / (deviation + epsilon) of (batch, features, time), both taken over the first seq_len steps, n - 1 below.

    per_feature: for each feature; all_features: over the features together. Steps behind seq_len are rescaled as well.
    """
    if np.any((seq_len < 0) | (seq_len > input_x.shape[2])):
        raise call.refuse("HA510", f"seq_len has entries outside 0..{input_x.shape[2]}, the time steps of input_x.")
    over = (1,) if normalize_type == "per_feature" else (0, 1)
    y = np.empty(input_x.shape, input_x.dtype)
    for row, length in enumerate(seq_len.ravel()):
        valid = input_x[row, :, : int(length)].astype(np.float64)
        count = int(length) * (1 if over == (1,) else input_x.shape[1])
        mean = np.sum(valid, axis=over, keepdims=True) / np.float64(count)
        spread = np.sum(np.square(valid - mean), axis=over, keepdims=True) / np.float64(count - 1)
        y[row] = (input_x[row] - mean) / (np.sqrt(spread) + epsilon)
    return y


