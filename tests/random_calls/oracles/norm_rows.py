"""Layer, RMS, group and instance norms, Lp norms and their kin, row by row in float64."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np

from hostacl.tensors import dtypes, formats
from random_calls.dice import Dice
from random_calls.oracle import Within, finite, oracle, shapes
from random_calls.oracles.norm import FOUR, by_channel, close, image

FAMILY = "norm"


def rows_of(x: Any, start: int) -> Any:
    """x as rows over the axes from ``start`` on."""
    return x.reshape(int(np.prod(x.shape[:start])), int(np.prod(x.shape[start:])))


def centred(x: Any, start: int) -> tuple[Any, Any]:
    """Mean and variance of each row, shaped with 1 from ``start`` on."""
    rows = rows_of(x, start)
    mean = np.array([row.sum() / len(row) if len(row) else np.nan for row in rows])
    spread = np.array([((row - m) ** 2).sum() / len(row) if len(row) else np.nan for row, m in zip(rows, mean, strict=True)])
    shape = (*x.shape[:start], *(1,) * (x.ndim - start))
    return mean.reshape(shape), spread.reshape(shape)


def layered(x: Any, start: int, eps: float, gamma: Any, beta: Any, source: Any = 0.0) -> tuple[Within, Within, Within, Within]:
    """y, mean, variance and rstd; ``source`` are the sizes of what x was added up from."""
    mean, spread = centred(x, start)
    root = 1 / np.sqrt(spread + eps)
    scale = 1.0 if gamma is None else gamma
    y = (x - mean) * root * scale + (0.0 if beta is None else beta)
    top = np.abs(finite(x)).max(axis=tuple(range(start, x.ndim)), keepdims=True, initial=0.0)
    lost = (top + finite(source)) * 2.0**-23 * finite(root)  # what the rounding of x costs, relative to the deviation
    sizes = finite((np.abs(finite(x)) + top) * finite(root) * finite(scale))
    slack = sizes * 2.0**-21 + lost * finite(scale) * (1 + finite(y)) * 4 + finite(y) * 2.0**-21
    slack = slack + (0 if beta is None else finite(beta) * 2.0**-21)
    root_slack = finite(root) * (2.0**-20 + lost * lost + 4 * lost)
    huge = top + finite(source) > 3e38  # a sum may overflow on the way
    mean_slack = (top + finite(source) + finite(mean)) * 2.0**-20
    return (Within(y, np.where(huge, np.inf, slack)), Within(mean, np.where(huge, np.inf, mean_slack)),
            close(spread, top * top), Within(root, np.where(huge, np.inf, root_slack)))  # fmt: skip


def matrix(d: Dice, low: int = 1, name: str = "x") -> tuple[tuple[int, ...], int]:
    """The shape of x and the axis from which on it is normalised."""
    shape = d.shape(low)
    if len(shape) > 1 and 0 in shape and d.chance():
        shape = (0, *(max(one, 1) for one in shape[1:]))
    return shape, d.axis(len(shape)) % len(shape)


def sent_axis(d: Dice, name: str, place: int, rank: int) -> None:
    value = place - rank if d.wants("negative axis") else place
    d.attrs[name] = ("int", value)
    d.values[name] = value


@shapes("LayerNorm", "LayerNormV3")
def layer_call(d: Dice) -> None:
    shape, start = matrix(d)
    if d.wants("attributes absent"):
        start = 0
    d.tensor("x", shape, -9, 9)
    for name in ("gamma", "beta"):
        d.tensor(name, shape[start:], -3, 3)
    if start or d.wants("attributes default") or d.wants("attributes varied"):
        sent_axis(d, "begin_norm_axis", start, len(shape))
        sent_axis(d, "begin_params_axis", start, len(shape))
    else:
        d.values.update(begin_norm_axis=0, begin_params_axis=0)
    d.attr("epsilon", 1e-3)
    third = d.generation.outputs[2].name
    if d.dtype != dtypes.FLOAT and d.chance(0.3):
        d.output("mean", dtypes.FLOAT)
        d.output(third, dtypes.FLOAT)


@oracle("LayerNorm", family=FAMILY)
def layer_norm(x: Any, gamma: Any, beta: Any, begin_norm_axis: int, epsilon: float) -> Any:
    return layered(x, begin_norm_axis % x.ndim, epsilon, gamma, beta)[:3]


@oracle("LayerNormV3", family=FAMILY)
def layer_norm_v3(x: Any, gamma: Any, beta: Any, begin_norm_axis: int, epsilon: float) -> Any:
    y, mean, _, root = layered(x, begin_norm_axis % x.ndim, epsilon, gamma, beta)
    return y, mean, root


@shapes("LayerNormV4")
def layer_v4_call(d: Dice) -> None:
    shape, start = matrix(d)
    d.tensor("x", shape, -9, 9)
    d.value("normalized_shape", np.array(shape[start:]))
    for name in ("gamma", "beta"):
        if d.optional(name):
            d.tensor(name, shape[start:], -3, 3)
    d.attr("epsilon", 1e-3)


@oracle("LayerNormV4", family=FAMILY)
def layer_norm_v4(x: Any, normalized_shape: Any, gamma: Any, beta: Any, epsilon: float) -> Any:
    y, mean, _, root = layered(x, x.ndim - len(normalized_shape), epsilon, gamma, beta)
    return y, mean, root


@shapes("AddLayerNorm", "InplaceAddLayerNorm", "DeepNorm", "RmsNorm", "AddRmsNorm", "InplaceAddRmsNorm")
def tail_call(d: Dice) -> None:
    shape, start = matrix(d)
    names = {"AddLayerNorm": ("x1", "x2"), "DeepNorm": ("x", "gx"), "RmsNorm": ("x",), "AddRmsNorm": ("x1", "x2")}
    for name in names[d.prototype.op_type.removeprefix("Inplace")]:
        d.tensor(name, shape, -9, 9)
    for name in ("gamma", "beta"):
        if d.decl(name) is not None:
            d.tensor(name, shape[start:], -3, 3)
    if d.decl("bias") is not None and d.optional("bias"):
        d.tensor("bias", d.choose(shape, shape[start:]), -3, 3)
    for name, choice in (("epsilon", 1e-3), ("alpha", 1.5), ("additional_output", True)):
        if name in d.generation.attrs:
            d.attr(name, choice)


@oracle("AddLayerNorm", "InplaceAddLayerNorm", family=FAMILY)
def add_layer_norm(x1: Any, x2: Any, gamma: Any, beta: Any, bias: Any, epsilon: float) -> Any:
    x = x1 + x2 + (0.0 if bias is None else bias)
    sizes = finite(x1) + finite(x2) + (0.0 if bias is None else finite(bias))
    start = x.ndim - gamma.ndim
    top = sizes.max(axis=tuple(range(start, x.ndim)), keepdims=True, initial=0.0)
    y, mean, _, root = layered(x, start, epsilon, gamma, beta, top)
    return y, mean, root, Within(x, np.where(sizes > 3e38, np.inf, sizes * 2.0**-22))


@oracle("DeepNorm", family=FAMILY)
def deep_norm(x: Any, gx: Any, beta: Any, gamma: Any, alpha: float, epsilon: float) -> Any:
    total = alpha * x + gx
    start = x.ndim - gamma.ndim
    top = (finite(alpha * x) + finite(gx)).max(axis=tuple(range(start, x.ndim)), keepdims=True, initial=0.0)
    y, mean, _, root = layered(total, start, epsilon, gamma, beta, top)
    return mean, root, y


def rms(x: Any, gamma: Any, epsilon: float, sizes: Any) -> tuple[Within, Within]:
    start = x.ndim - gamma.ndim
    rows = rows_of(x, start)
    squares = np.array([(row * row).sum() / len(row) if len(row) else np.nan for row in rows])
    root = (1 / np.sqrt(squares + epsilon)).reshape((*x.shape[:start], *(1,) * gamma.ndim))
    y = x * root * gamma
    top = finite(sizes).max(axis=tuple(range(start, x.ndim)), keepdims=True, initial=0.0)
    lost = np.where(top > 3e38, np.inf, top * finite(root) * 2.0**-23)
    slack = finite(y) * (2.0**-20 + 4 * lost) + finite(sizes * root * gamma) * 2.0**-22
    return (Within(y, np.where(top > 3e38, np.inf, slack)),
            Within(root, finite(root) * (2.0**-20 + 4 * lost)))  # fmt: skip


@oracle("RmsNorm", family=FAMILY)
def rms_norm(x: Any, gamma: Any, epsilon: float) -> Any:
    return rms(x, gamma, epsilon, 0.0 * finite(x))


@oracle("AddRmsNorm", "InplaceAddRmsNorm", family=FAMILY)
def add_rms_norm(x1: Any, x2: Any, gamma: Any, epsilon: float) -> Any:
    sizes = finite(x1) + finite(x2)
    return *rms(x1 + x2, gamma, epsilon, sizes), Within(x1 + x2, np.where(sizes > 3e38, np.inf, sizes * 2.0**-22))


def grouped(x: Any, axis: int, groups: int, eps: float, gamma: Any, beta: Any) -> tuple[Within, Any, Any]:
    """Each group of each image on its own: y, mean and variance as (N, groups)."""
    planes = np.moveaxis(x, axis, 1)
    each = planes.shape[1] // groups
    y, slack = np.empty(planes.shape), np.empty(planes.shape)
    mean, spread = np.empty((x.shape[0], groups)), np.empty((x.shape[0], groups))
    for image_, group in itertools.product(range(x.shape[0]), range(groups)):
        part = (image_, slice(group * each, (group + 1) * each))
        block = planes[part]
        m = mean[image_, group] = block.sum() / block.size
        v = spread[image_, group] = ((block - m) ** 2).sum() / block.size
        root = 1 / np.sqrt(v + eps)
        ones = (-1, *(1,) * (x.ndim - 2))
        scale, offset = ((np.full(each, plain) if one is None else one[part[1]]).reshape(ones)
                         for one, plain in ((gamma, 1.0), (beta, 0.0)))  # fmt: skip
        y[part] = (block - m) * root * scale + offset
        top = finite(block).max(initial=0.0)
        size = top * finite(root) * finite(scale) + finite(offset) + finite(y[part])
        slack[part] = np.where(size > 3e38, np.inf, size * 2.0**-20)  # a float32 between may be out of range
    return Within(np.moveaxis(y, 1, axis), np.moveaxis(slack, 1, axis)), mean, spread


@shapes("GroupNorm", "GroupNormV2", "GroupNormSilu")
def group_call(d: Dice) -> None:
    layout = formats.NCHW if "data_format" not in d.generation.attrs else d.choose(*FOUR)
    axis = FOUR[layout]
    one = d.wants("one element")
    groups, each = (1, 1) if one else (d.int(1, 3), d.int(1, 3))
    sizes = [1 if one else d.int(1, 3) for _ in range(4)]
    sizes[axis] = groups * each
    if d.wants("long"):
        sizes[2] = d.int(30, 60)
        sizes[axis] = groups * each if axis != 2 else sizes[2]
    if d.wants("empty"):
        sizes[0] = 0
    d.values["channel"] = axis
    d.tensor("x", tuple(sizes), -9, 9, format=layout)
    d.output("y", format=layout)
    for name in ("gamma", "beta", "scale", "offset"):
        decl = d.decl(name)
        if decl is not None and (decl.kind != "optional" or d.optional(name)):
            d.tensor(name, (sizes[axis],), -3, 3, dtype=d.dtype)
    for name, low in (("mean", -3), ("variance", 0.5)):
        if d.decl(name) is not None:
            d.tensor(name, np.asarray(d.rng.uniform(low, 3, sizes[0] * groups)), dtype=d.dtype)
    d.attrs["num_groups"] = ("int", groups)
    d.values["num_groups"] = groups
    for name, choice in (("eps", 1e-3), ("epsilon", 1e-3), ("is_training", True), ("activate_silu", False)):
        if name in d.generation.attrs:
            d.attr(name, *((True, False) if "scale" in d.inputs and name == "is_training" else (choice,)))
    if "data_format" in d.generation.attrs:
        d.attr("data_format", "NCHW" if axis == 1 else "NHWC") if d.kind != "attributes absent" else None
    if d.prototype.op_type == "GroupNorm":
        for decl in d.generation.outputs[1:]:
            d.output(decl.name, d.dtype, (sizes[0] * groups,))
    else:
        for decl in d.generation.outputs[1:]:
            d.output(decl.name, d.dtype)


def flat(value: Any, sizes: Any, shape: Any) -> Within:
    return Within(value.reshape(shape), np.broadcast_to((finite(value) + sizes) * 2.0**-20, value.shape).reshape(shape))


@oracle("GroupNorm", family=FAMILY)
def group_norm(
    x: Any, gamma: Any, beta: Any, num_groups: int, eps: Any, epsilon: Any, is_training: bool, dice: Dice
) -> Any:
    axis = dice.values["channel"]
    older = "scale" in dice.inputs
    scale, offset, mean, variance = (
        np.asarray(dice.inputs[name][0].data, np.float64) if older else None for name in ("scale", "offset", "mean", "variance")
    )
    narrow = epsilon if older else eps
    first, second = (scale, offset) if older else (gamma, beta)
    y, own, spread = grouped(x, axis, num_groups, narrow, first, second)
    if older and not is_training:
        own, spread = (one.reshape(x.shape[0], num_groups) for one in (mean, variance))
        each = x.shape[axis] // num_groups
        m, v = (np.repeat(one, each, axis=1).reshape(x.shape[0], x.shape[axis], 1, 1) for one in (own, spread))
        planes = np.moveaxis(x, axis, 1)
        root = 1 / np.sqrt(v + narrow)
        result = (planes - m) * root * by_channel(first, planes, 1) + by_channel(second, planes, 1)
        size = (finite(planes) + finite(m)) * finite(root) * finite(by_channel(first, planes, 1)) + finite(
            by_channel(second, planes, 1)
        )
        y = Within(np.moveaxis(result, 1, axis), np.moveaxis((size + finite(result)) * 2.0**-20, 1, axis))
    top = finite(x).max(initial=0.0)
    shape = (-1,) if x.shape[0] * num_groups else (0,)
    statistics = [flat(own, top, shape), flat(spread, top * top, shape)]
    return (y, *statistics, *statistics) if older else (y, *statistics)


@oracle("GroupNormV2", family=FAMILY)
def group_norm_v2(x: Any, gamma: Any, beta: Any, num_groups: int, eps: float, dice: Dice) -> Any:
    y, mean, spread = grouped(x, dice.values["channel"], num_groups, eps, gamma, beta)
    top = finite(x).max(initial=0.0)
    return y, flat(mean, top, mean.shape), flat(1 / np.sqrt(spread + eps), 0, mean.shape)


@oracle("GroupNormSilu", family=FAMILY)
def group_norm_silu(x: Any, gamma: Any, beta: Any, num_groups: int, eps: float, activate_silu: Any, dice: Dice) -> Any:
    y, mean, spread = grouped(x, 1, num_groups, eps, gamma, beta)
    top = finite(x).max(initial=0.0)
    third = 1 / np.sqrt(spread + eps) if dice.generation.outputs[2].name == "rstd" else spread
    if activate_silu is not False:
        y = Within(y.value / (1 + np.exp(-y.value)), 1.2 * y.slack)
    return y, flat(mean, top, mean.shape), flat(third, top * top, mean.shape)


@shapes("InstanceNorm")
def instance_call(d: Dice) -> None:
    channels = image(d, {formats.NCHW: 1, formats.NHWC: 3, formats.NCDHW: 1, formats.NDHWC: 4})
    for name in ("gamma", "beta"):
        d.tensor(name, (channels,), -3, 3)
    layout = d.inputs["x"][0].spec.format
    name = formats.format_name(layout)
    if d.kind != "attributes absent" and (d.chance() or name == "NDHWC"):
        d.attrs["data_format"] = ("string", name)
    d.attr("epsilon", 1e-3)


@oracle("InstanceNorm", family=FAMILY)
def instance_norm(x: Any, gamma: Any, beta: Any, epsilon: float, dice: Dice) -> Any:
    axis = dice.values["channel"]
    y, mean, spread = grouped(x, axis, x.shape[axis], epsilon, gamma, beta)
    shape = tuple(size if place in (0, axis) else 1 for place, size in enumerate(x.shape))
    top = finite(x).max(initial=0.0)
    return y, flat(mean, top, shape), flat(spread, top * top, shape)


@shapes("LRN")
def lrn_call(d: Dice) -> None:
    image(d)
    d.attr("depth_radius", 1, 2, 0)
    for name, choice in (("bias", 2.0), ("alpha", 0.5), ("beta", 0.75)):
        d.attr(name, choice)
    d.attr("norm_region", "WITHIN_CHANNEL")


@oracle("LRN", family=FAMILY)
def lrn(x: Any, depth_radius: int, bias: float, alpha: float, beta: float, norm_region: str, dice: Dice) -> Any:
    planes = np.moveaxis(x, dice.values["channel"], 1)
    total = np.empty(planes.shape)
    r = depth_radius
    for place in itertools.product(*map(range, planes.shape)):
        around = [slice(max(at - r, 0), at + r + 1) for at in place]
        index: Any = (place[0], around[1], *place[2:]) if norm_region == "ACROSS_CHANNELS" else (*place[:2], *around[2:])
        total[place] = (planes[index] ** 2).sum()
    result = planes / (bias + alpha * total) ** beta
    return close(np.moveaxis(result, 1, dice.values["channel"]))


@shapes("LRNGrad")
def lrn_grad_call(d: Dice) -> None:
    image(d)
    spec = d.inputs.pop("x")[0].spec
    for name in ("grads", "x", "y"):
        d.tensor(name, np.asarray(d.rng.uniform(-3, 3, spec.shape)), format=spec.format)
    d.attr("depth_radius", 1, 2, 0)
    for name, choice in (("bias", 2.0), ("alpha", 0.5), ("beta", 0.75)):
        d.attr(name, choice)
    d.outputs.clear()
    d.output("z", format=spec.format)


@oracle("LRNGrad", family=FAMILY)
def lrn_grad(
    grads: Any, x: Any, y: Any, depth_radius: int, bias: float, alpha: float, beta: float, dice: Dice
) -> Any:
    """Row by row of channels: the matrix of which are near each other, times what comes back."""
    dy, source, found = (np.moveaxis(one, dice.values["channel"], -1) for one in (grads, x, y))
    places = np.arange(source.shape[-1])
    near = (np.abs(places[:, None] - places[None]) <= depth_radius) * 1.0
    total = bias + alpha * (source**2 @ near)
    direct, back = dy / total**beta, 2 * alpha * beta * source * ((dy * found / total) @ near)
    size = finite(direct) + 2 * alpha * beta * finite(source) * (finite(dy * found / total) @ near)
    return close(np.moveaxis(direct - back, -1, dice.values["channel"]), np.moveaxis(size, -1, dice.values["channel"]))


@shapes("L2Normalize")
def l2_call(d: Dice) -> None:
    shape = d.shape()
    d.tensor("x", shape)
    d.attr("axis", *([d.axes(len(shape), 1)] if shape else []), d.axes(len(shape)))
    d.attr("eps", 1e-2)


@oracle("L2Normalize", family=FAMILY)
def l2(x: Any, axis: Any, eps: float) -> Any:
    over = tuple(place % x.ndim for place in axis) or tuple(range(x.ndim))
    total = (x * x).sum(axis=over, keepdims=True)
    return close(x * np.maximum(total, eps) ** -0.5)


@shapes("NormalizeV2")
def normalize_call(d: Dice) -> None:
    channels = image(d)
    layout = d.outputs.pop("y")[2]
    d.tensor("mean", (channels,), -3, 3)
    d.tensor("variance", np.asarray(d.rng.uniform(0.5, 3, channels)), dtype=dtypes.FLOAT)
    d.output("y", d.attr("dtype", 1), format=layout)


@oracle("NormalizeV2", family=FAMILY)
def normalize(x: Any, mean: Any, variance: Any, dice: Dice) -> Any:
    axis = dice.values["channel"]
    m, v = by_channel(mean, x, axis), by_channel(variance, x, axis)
    return close((x - m) / v, x / v, m / v)


@shapes("NormalizeBatch")
def steps_call(d: Dice) -> None:
    one = d.wants("one element")
    batch, features, time = (1, 1, 1) if one else (d.int(1, 3), d.int(1, 3), d.int(60, 90) if d.wants("long") else d.int(2, 6))
    batch = 0 if d.wants("empty") else batch
    d.tensor("input_x", (batch, features, time), -9, 9)
    d.tensor("seq_len", d.rng.integers(min(2, time), time + 1, batch))
    d.attr("normalize_type", "per_feature", "all_features")
    d.attr("epsilon", 1e-3)


@oracle("NormalizeBatch", family=FAMILY)
def steps(input_x: Any, seq_len: Any, normalize_type: str, epsilon: float) -> Any:
    y, sizes = np.empty(input_x.shape), np.empty(input_x.shape)
    for row, feature in itertools.product(range(input_x.shape[0]), range(input_x.shape[1])):
        rows = input_x[row, feature : feature + 1] if normalize_type == "per_feature" else input_x[row]
        valid = rows[:, : int(seq_len[row])].ravel()
        mean = valid.sum() / valid.size
        squares = ((valid - mean) ** 2).sum()
        spread = np.sqrt(np.float64(squares) / (valid.size - 1))
        y[row, feature] = (input_x[row, feature] - mean) / (spread + epsilon)
        sizes[row, feature] = (finite(input_x[row, feature]) + finite(mean)) / (spread + epsilon)
    return close(y, sizes)


INFINITE = (2**31 - 1, -(2**31))


@shapes("LpNorm", "LpNormV2", "LpNormReduceV2")
def lp_call(d: Dice) -> None:
    shape = d.shape()
    d.tensor("x", shape)
    whole = d.prototype.op_type == "LpNorm"
    d.attr("p", *((1, 3, 0, *INFINITE) if whole else (1.0, 2.5, 0.0, float(INFINITE[0]), float(INFINITE[1]))))
    d.attr("axes", *([d.axes(len(shape), 1)] if shape else []), d.axes(len(shape)))
    d.attr("keepdim", True)
    d.attr("epsilon", 0.0, 0.5)


def total_of(x: Any, p: float, axes: Any, keepdim: bool) -> Any:
    over = tuple(place % x.ndim for place in axes) or tuple(range(x.ndim))
    if abs(p) > 1e9:
        start = -np.inf if p > 0 else np.inf
        edge = np.maximum if p > 0 else np.minimum
        result = edge.reduce(np.abs(x), axis=over, keepdims=keepdim, initial=start)
        return np.where(np.isneginf(result), 0, result)
    terms = np.where(x == 0, 0.0, 1.0) if p == 0 else np.abs(x) ** p
    return terms.sum(axis=over, keepdims=keepdim)


def root_of(total: Any, p: float) -> Any:
    return total if p == 0 or abs(p) > 1e9 else total ** (1 / p)


@oracle("LpNorm", "LpNormV2", family=FAMILY)
def lp_norm(x: Any, p: float, axes: Any, keepdim: bool, epsilon: float) -> Any:
    return close(np.maximum(root_of(total_of(x, p, axes, keepdim), p), epsilon), ulps=max(8, x.size))


@oracle("LpNormReduceV2", family=FAMILY)
def lp_reduce(x: Any, p: float, axes: Any, keepdim: bool) -> Any:
    return close(total_of(x, p, axes, keepdim), ulps=max(8, x.size))


@shapes("LpNormUpdateV2")
def update_call(d: Dice) -> None:
    d.tensor("x", d.shape())
    d.attr("p", 1.0, 2.5, 0.0, float(INFINITE[0]))
    d.attr("epsilon", 0.0, 0.5)


@oracle("LpNormUpdateV2", family=FAMILY)
def lp_update(x: Any, p: float, epsilon: float) -> Any:
    return close(np.maximum(root_of(x, p), epsilon))
