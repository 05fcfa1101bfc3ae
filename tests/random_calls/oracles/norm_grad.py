"""Gradients of normalisation, row by row: the transposed Jacobian of the forward formula times the incoming gradient."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from hostacl.tensors import dtypes
from random_calls.dice import Dice
from random_calls.oracle import Within, finite, oracle, shapes
from random_calls.oracles.norm import image

FAMILY = "norm"


def jacobian_row(dy: Any, x: Any, mean: float, root: float, gamma: Any, centred: bool = True) -> tuple[Any, Any]:
    """dy through scaling by gamma and the derivative of (x - mean)·root, and the size of its terms."""
    n = x.size
    normal = (x - mean) * root
    g = dy * gamma
    matrix = np.eye(n) - np.outer(normal, normal) / n - (1 / n if centred else 0)
    size = np.abs(root) * (finite(g) + np.abs(normal) * (np.abs(normal) @ finite(g)) / n + finite(g).sum() / n)
    with np.errstate(all="ignore"):
        return root * (matrix @ g), size


def near(value: Any, size: Any, terms: int = 4) -> Within:
    """A value whose terms, of this size, are added in float64 after inputs were widened exactly."""
    return Within(value, np.asarray(size) * terms * 1e-13)


# --- channels ---


def channel_rows(x: Any, axis: int) -> Any:
    return np.moveaxis(x, axis, 0).reshape(x.shape[axis], x.size // max(x.shape[axis], 1))


def back_from_rows(rows: Any, x: Any, axis: int) -> Any:
    moved = np.moveaxis(x, axis, 0).shape
    return np.moveaxis(rows.reshape(moved), 0, axis)


def plain(d: Dice, name: str, channels: int, low: float = -2, high: float = 2, dtype: int | None = None) -> None:
    """A parameter of ordinary values."""
    d.tensor(name, np.asarray(d.rng.uniform(low, high, channels)), dtype=dtype)


def two_images(d: Dice, gradient: str, source: str = "x") -> int:
    """The incoming gradient and x alike, ordinary values; gives the channel axis."""
    image(d, name=source)
    axis = d.values["channel"]
    one = d.inputs[source][0]
    d.inputs[source] = []
    d.tensor(source, np.asarray(d.rng.uniform(-3, 3, one.spec.shape)), format=one.spec.format)
    d.tensor(gradient, np.asarray(d.rng.uniform(-3, 3, one.spec.shape)), format=one.spec.format)
    d.values.update(axis=axis, layout=one.spec.format, channels=one.spec.shape[axis])
    return int(one.spec.shape[axis])


@shapes("BNTrainingUpdateGrad", "BN3DTrainingUpdateGrad")
def update_grad_call(d: Dice) -> None:
    channels = two_images(d, "grads")
    plain(d, "batch_mean", channels)
    plain(d, "batch_variance", channels, 0.1, 2)
    d.attr("epsilon", 1e-5, 0.25)


@oracle("BNTrainingUpdateGrad", "BN3DTrainingUpdateGrad", family=FAMILY)
def update_grad(grads: Any, x: Any, batch_mean: Any, batch_variance: Any, epsilon: float, dice: Dice) -> Any:
    rows, dy = (channel_rows(one, dice.values["axis"]) for one in (x, grads))
    normal = (rows - batch_mean[:, None]) / np.sqrt(batch_variance[:, None] + epsilon)
    return near((dy * normal).sum(axis=1), np.abs(dy * normal).sum(axis=1)), near(dy.sum(axis=1), np.abs(dy).sum(axis=1))


@shapes("BNTrainingReduceGrad", "BN3DTrainingReduceGrad")
def reduce_grad_call(d: Dice) -> None:
    channels = two_images(d, "grads")
    for name in ("diff_scale", "diff_offset", "scale", "batch_mean"):
        plain(d, name, channels)
    plain(d, "batch_variance", channels, 0.1, 2)
    d.attr("epsilon", 1e-5, 0.25)
    d.output("y", d.dtype, format=d.values["layout"])


@oracle("BNTrainingReduceGrad", "BN3DTrainingReduceGrad", family=FAMILY)
def reduce_grad(
    grads: Any, x: Any, diff_scale: Any, diff_offset: Any, scale: Any, batch_mean: Any, batch_variance: Any,
    epsilon: float, dice: Dice,
) -> Any:  # fmt: skip
    axis = dice.values["axis"]
    rows, dy = (channel_rows(one, axis) for one in (x, grads))
    n = max(rows.shape[1], 1)
    column = [one[:, None] for one in (diff_scale, diff_offset, scale, batch_mean, batch_variance)]
    deviation = np.sqrt(column[4] + epsilon)
    terms = [dy / deviation * column[2], -column[1] / n / deviation * column[2],
             -(rows - column[3]) * column[0] / n / deviation**2 * column[2]]  # fmt: skip
    total, size = sum(terms), sum(np.abs(term) for term in terms)
    return near(back_from_rows(total, x, axis), back_from_rows(size + 0 * rows, x, axis))


@shapes("BNInferGrad")
def infer_grad_call(d: Dice) -> None:
    image(d, name="grads")
    axis = d.values["channel"]
    spec = d.inputs["grads"][0].spec
    plain(d, "scale", spec.shape[axis])
    plain(d, "batch_variance", spec.shape[axis], 0.1, 2)
    d.attr("epsilon", 1e-5, 0.25)
    d.values["axis"] = axis
    d.output("x_backprop", d.dtype, format=spec.format)


@oracle("BNInferGrad", family=FAMILY)
def infer_grad(grads: Any, scale: Any, batch_variance: Any, epsilon: float, dice: Dice) -> Any:
    last = np.moveaxis(grads, dice.values["axis"], -1) * scale / np.sqrt(batch_variance + epsilon)
    return np.moveaxis(last, -1, dice.values["axis"])


def whole(dy: Any, x: Any, scale: Any, mean: Any, root: Any, axis: int, training: bool) -> Any:
    rows, grads = (channel_rows(one, axis) for one in (x, dy))
    dx, size = np.zeros(rows.shape), np.zeros(rows.shape)
    for c in range(len(rows)):
        if training and rows.shape[1]:
            dx[c], size[c] = jacobian_row(grads[c], rows[c], mean[c], root[c], np.full(rows.shape[1], scale[c]))
        else:
            dx[c] = grads[c] * (scale[c] * root[c])
    normal = (rows - mean[:, None]) * root[:, None]
    return (
        near(back_from_rows(dx, x, axis), back_from_rows(size, x, axis)),
        near((grads * normal).sum(axis=1), np.abs(grads * normal).sum(axis=1)),
        near(grads.sum(axis=1), np.abs(grads).sum(axis=1)),
    )


@shapes("BatchNormGradV3")
def v3_grad_call(d: Dice) -> None:
    channels = two_images(d, "dy")
    other = dtypes.FLOAT if d.chance() else d.dtype
    for name in ("weight", "running_mean"):
        plain(d, name, channels, dtype=other)
    plain(d, "running_var", channels, 0.1, 2, dtype=other)
    plain(d, "save_mean", channels)
    plain(d, "save_rstd", channels, 0.5, 2)
    d.attr("is_training", False)
    d.attr("epsilon", 1e-3, 0.25)
    d.output("dx", d.dtype, format=d.values["layout"])
    d.output("dweight", other)
    d.output("dbias", other)


@oracle("BatchNormGradV3", family=FAMILY)
def v3_grad(
    dy: Any, x: Any, weight: Any, running_mean: Any, running_var: Any, save_mean: Any, save_rstd: Any,
    is_training: bool, epsilon: float, dice: Dice,
) -> Any:  # fmt: skip
    mean, root = (save_mean, save_rstd) if is_training else (running_mean, 1 / np.sqrt(running_var + epsilon))
    return whole(dy, x, weight, mean, root, dice.values["axis"], is_training)


@shapes("BatchNormGrad", "BatchNormGradExt2", "BatchNorm3DGrad")
def plain_grad_call(d: Dice) -> None:
    channels = two_images(d, "y_backprop")
    plain(d, "scale", channels)
    plain(d, "reserve_space_1", channels)
    plain(d, "reserve_space_2", channels, 0.1, 2)
    if d.decl("reserve_space_3") is not None and d.optional("reserve_space_3"):
        plain(d, "reserve_space_3", 1)
    d.attr("is_training", False)
    d.attr("epsilon", 1e-3, 0.25)
    d.attrs["data_format"] = ("string", "NCHW")
    d.output("x_backprop", d.dtype, format=d.values["layout"])
    for decl in d.generation.outputs[3:]:
        d.output(decl.name, dtypes.FLOAT, (1,))


@oracle("BatchNormGrad", "BatchNormGradExt2", "BatchNorm3DGrad", family=FAMILY)
def plain_grad(
    y_backprop: Any, x: Any, scale: Any, reserve_space_1: Any, reserve_space_2: Any, epsilon: float, is_training: bool,
    dice: Dice,
) -> Any:  # fmt: skip
    root = 1 / np.sqrt(reserve_space_2 + epsilon)
    found = whole(y_backprop, x, scale, reserve_space_1, root, dice.values["axis"], is_training)
    return *found, np.zeros(1), np.zeros(1)


@shapes("SyncBatchNormBackwardElemt")
def sync_grad_call(d: Dice) -> None:
    shape = d.shape(2)
    for name in ("grad_output", "save_input"):
        d.tensor(name, np.asarray(d.rng.uniform(-3, 3, shape)))
    full = d.chance(0.3)
    for name in ("mean", "invstd", "weight", "mean_dy", "mean_dy_xmu"):
        d.tensor(name, np.asarray(d.rng.uniform(0.2, 2, shape if full else shape[1])))


@oracle("SyncBatchNormBackwardElemt", family=FAMILY)
def sync_grad(
    grad_output: Any, save_input: Any, mean: Any, invstd: Any, weight: Any, mean_dy: Any, mean_dy_xmu: Any
) -> Any:
    ones = [one if one.ndim > 1 else one.reshape(-1, *(1,) * (save_input.ndim - 2))
            for one in (mean, invstd, weight, mean_dy, mean_dy_xmu)]  # fmt: skip
    terms = [grad_output, -ones[3], -(save_input - ones[0]) * ones[1] ** 2 * ones[4]]
    factor = ones[1] * ones[2]
    return near(sum(terms) * factor, sum(np.abs(one) for one in terms) * factor)


@shapes("SyncBatchNormBackwardReduce")
def sync_reduce_call(d: Dice) -> None:
    shape = d.shape()
    for name in ("sum_dy", "sum_dy_dx_pad", "mean", "invert_std"):
        d.tensor(name, np.asarray(d.rng.uniform(-3, 3, shape)))


@oracle("SyncBatchNormBackwardReduce", family=FAMILY)
def sync_reduce(sum_dy: Any, sum_dy_dx_pad: Any, mean: Any, invert_std: Any) -> Any:
    centred, size = sum_dy_dx_pad - sum_dy * mean, np.abs(sum_dy_dx_pad) + np.abs(sum_dy * mean)
    return near(centred, size), near(centred * invert_std, size * np.abs(invert_std))


# --- rows ---

ROWS = {
    "LayerNormGrad": ("dy", "x", "variance", "mean", "gamma"),
    "LayerNormGradV3": ("dy", "x", "rstd", "mean", "gamma"),
    "LayerNormXBackprop": ("dy", "x", "variance", "mean", "gamma"),
    "LayerNormXBackpropV2": ("dy", "x", "variance", "mean", "gamma"),
    "LayerNormXBackpropV3": ("dy", "x", "rstd", "mean", "gamma"),
    "DeepNormGrad": ("dy", "x", "gx", "gamma", "mean", "rstd"),
    "AddLayerNormGrad": ("dy", "x1", "x2", "rstd", "mean", "gamma"),
    "RmsNormGrad": ("dy", "x", "rstd", "gamma"),
}


@shapes(*ROWS)
def row_call(d: Dice) -> None:
    name = d.prototype.op_type
    shape = d.shape(1)
    start = d.int(0, len(shape) - 1)
    statistic = (*shape[:start], *(1,) * (len(shape) - start))
    narrow = dtypes.FLOAT if d.chance() else d.dtype
    own = name.startswith("LayerNorm")
    for tensor in ROWS[name]:
        if tensor in ("mean", "variance", "rstd"):
            plain_shape(d, tensor, statistic, 0.3, 2, (narrow if own else dtypes.FLOAT))
        elif tensor == "gamma":
            plain_shape(d, tensor, shape[start:], -2, 2, narrow if name not in ("DeepNormGrad",) else d.dtype)
        else:
            plain_shape(d, tensor, shape, -3, 3, d.dtype)
    if name == "AddLayerNormGrad" and d.optional("dsum"):
        plain_shape(d, "dsum", shape, -3, 3, d.dtype)
    if name == "DeepNormGrad":
        d.attr("alpha", 0.5, 2.0)
    d.values["start"] = start
    for decl in d.generation.outputs:
        if decl.name in ("pd_gamma", "pd_beta"):
            d.output(decl.name, d.inputs["gamma"][0].spec.dtype)
        else:
            d.output(decl.name, dtypes.FLOAT if len(decl.dtypes) == 1 else d.dtype)


def plain_shape(d: Dice, name: str, shape: tuple[int, ...], low: float, high: float, dtype: int) -> None:
    d.tensor(name, np.asarray(d.rng.uniform(low, high, shape)), dtype=dtype)


def rows(dy: Any, x: Any, mean: Any, root: Any, gamma: Any, start: int) -> tuple[Any, Any, Any]:
    """The gradients of x, gamma and beta, each with the size of its terms."""
    count, width = math.prod(x.shape[:start]), math.prod(x.shape[start:])
    grads, at = dy.reshape(count, width), x.reshape(count, width)
    middle = np.zeros(count) if mean is None else mean.reshape(count)
    inverse, slope = root.reshape(count), gamma.reshape(width)
    dx, size = np.zeros((count, width)), np.zeros((count, width))
    for row in range(count if width else 0):
        dx[row], size[row] = jacobian_row(grads[row], at[row], middle[row], inverse[row], slope, mean is not None)
    terms = grads * (at - middle[:, None]) * inverse[:, None]
    return (
        (dx.reshape(x.shape), size.reshape(x.shape)),
        (terms.sum(axis=0).reshape(gamma.shape), np.abs(terms).sum(axis=0).reshape(gamma.shape)),
        (grads.sum(axis=0).reshape(gamma.shape), np.abs(grads).sum(axis=0).reshape(gamma.shape)),
    )


@oracle("LayerNormGrad", family=FAMILY)
def layer(dy: Any, x: Any, variance: Any, mean: Any, gamma: Any, dice: Dice) -> Any:
    found = rows(dy, x, mean, (variance + 1e-12) ** -0.5, gamma, dice.values["start"])
    return tuple(near(*one) for one in found)


@oracle("LayerNormGradV3", family=FAMILY)
def layer_v3(dy: Any, x: Any, rstd: Any, mean: Any, gamma: Any, dice: Dice) -> Any:
    return tuple(near(*one) for one in rows(dy, x, mean, rstd, gamma, dice.values["start"]))


@oracle("LayerNormXBackprop", family=FAMILY)
def layer_by_x(dy: Any, x: Any, variance: Any, mean: Any, gamma: Any, dice: Dice) -> Any:
    return near(*rows(dy, x, mean, (variance + 1e-12) ** -0.5, gamma, dice.values["start"])[0])


@oracle("LayerNormXBackpropV2", family=FAMILY)
def layer_by_x_v2(dy: Any, x: Any, variance: Any, mean: Any, gamma: Any, dice: Dice) -> Any:
    return layer_by_x_v3(dy, x, (variance + 1e-12) ** -0.5, mean, gamma, dice)


@oracle("LayerNormXBackpropV3", family=FAMILY)
def layer_by_x_v3(dy: Any, x: Any, rstd: Any, mean: Any, gamma: Any, dice: Dice) -> Any:
    return near(*rows(dy, x, mean, rstd, gamma, dice.values["start"])[0]), near((x - mean) * rstd, (finite(x) + mean) * rstd)


@shapes("LayerNormBetaGammaBackprop", "LayerNormBetaGammaBackpropV2")
def by_parameters_call(d: Dice) -> None:
    shape = d.shape(1)
    start = d.int(0, len(shape) - 1)
    statistic = (*shape[:start], *(1,) * (len(shape) - start))
    narrow = dtypes.FLOAT if d.chance() else d.dtype
    plain_shape(d, "dy", shape, -3, 3, d.dtype)
    if d.decl("x") is None:
        plain_shape(d, "res_for_gamma", shape, -3, 3, dtypes.FLOAT)
    else:
        plain_shape(d, "x", shape, -3, 3, d.dtype)
        for name in ("variance", "mean"):
            plain_shape(d, name, statistic, 0.3, 2, narrow)
    gamma = [1 if d.chance(0.2) else size for size in shape[start:]]
    d.attrs["shape_gamma"] = ("list_int", gamma)
    d.values.update(gamma=gamma, start=start)
    for name in ("pd_gamma", "pd_beta"):
        d.output(name, d.choose(d.dtype, dtypes.FLOAT), tuple(gamma))


def parameter_sums(dy: Any, normal: Any, dice: Dice) -> Any:
    gamma, start = dice.values["gamma"], dice.values["start"]
    ones = tuple(start + place for place, size in enumerate(gamma) if size == 1)
    return tuple(
        near(one.sum(axis=(*range(start), *ones)).reshape(gamma), np.abs(one).sum(axis=(*range(start), *ones)).reshape(gamma))
        for one in (dy * normal, dy)
    )


@oracle("LayerNormBetaGammaBackprop", family=FAMILY)
def by_parameters(dy: Any, x: Any, variance: Any, mean: Any, dice: Dice) -> Any:
    return parameter_sums(dy, (x - mean) * (variance + 1e-12) ** -0.5, dice)


@oracle("LayerNormBetaGammaBackpropV2", family=FAMILY)
def by_parameters_v2(dy: Any, res_for_gamma: Any, dice: Dice) -> Any:
    return parameter_sums(dy, res_for_gamma, dice)


@oracle("DeepNormGrad", family=FAMILY)
def deep(dy: Any, x: Any, gx: Any, gamma: Any, mean: Any, rstd: Any, alpha: float, dice: Dice) -> Any:
    dx, dgamma, dbeta = rows(dy, alpha * x + gx, mean, rstd, gamma, dice.values["start"])
    return near(dx[0] * alpha, dx[1] * alpha), near(*dx), near(*dbeta), near(*dgamma)


@oracle("AddLayerNormGrad", family=FAMILY)
def added(dy: Any, x1: Any, x2: Any, rstd: Any, mean: Any, gamma: Any, dsum: Any, dice: Dice) -> Any:
    dx, dgamma, dbeta = rows(dy, x1 + x2, mean, rstd, gamma, dice.values["start"])
    more = 0.0 if dsum is None else dsum
    return near(dx[0] + more, dx[1] + np.abs(more)), near(*dgamma), near(*dbeta)


@oracle("RmsNormGrad", family=FAMILY)
def rms(dy: Any, x: Any, rstd: Any, gamma: Any, dice: Dice) -> Any:
    dx, dgamma, _ = rows(dy, x, None, rstd, gamma, dice.values["start"])
    return near(*dx), near(*dgamma)


@shapes("GroupNormGrad")
def group_call(d: Dice) -> None:
    one = d.wants("one element")
    groups, each, batch = (1, 1, 1) if one else (d.int(1, 3), d.int(1, 3), d.int(1, 2))
    batch = 0 if d.wants("empty") else batch
    spatial = tuple(1 if one else d.int(1, 4) for _ in range(d.int(0, 2)))
    last = d.attr("data_format", "NHWC", "NCHW") == "NHWC" and len(spatial) == 2
    shape = (batch, *spatial, groups * each) if last else (batch, groups * each, *spatial)
    if not last and d.values["data_format"] == "NHWC":
        d.attrs["data_format"] = ("string", "NCHW")
    d.values.update(axis=len(shape) - 1 if last else 1, groups=groups)
    plain_shape(d, "dy", shape, -3, 3, d.dtype)
    plain_shape(d, "x", shape, -3, 3, d.dtype)
    for name in ("mean", "rstd"):
        plain_shape(d, name, (batch, groups), 0.3, 2, d.dtype)
    plain_shape(d, "gamma", (groups * each,), -2, 2, d.dtype)
    d.attrs["num_groups"] = ("int", groups)


@oracle("GroupNormGrad", family=FAMILY)
def group(dy: Any, mean: Any, rstd: Any, x: Any, gamma: Any, dice: Dice) -> Any:
    axis, groups = dice.values["axis"], dice.values["groups"]
    at, grads = (np.moveaxis(one, axis, 1) for one in (x, dy))
    each = at.shape[1] // groups
    dx, size = np.zeros(at.shape), np.zeros(at.shape)
    sums = np.zeros((4, at.shape[1]))
    for n, g in np.ndindex(at.shape[0], groups):
        place = (n, slice(g * each, (g + 1) * each))
        slope = np.broadcast_to(gamma[place[1]].reshape(-1, *(1,) * (at.ndim - 2)), at[place].shape).ravel()
        row, terms = jacobian_row(grads[place].ravel(), at[place].ravel(), mean[n, g], rstd[n, g], slope)
        dx[place], size[place] = row.reshape(at[place].shape), terms.reshape(at[place].shape)
        normal = (at[place] - mean[n, g]) * rstd[n, g] * grads[place]
        axes = tuple(range(1, at.ndim - 1))
        for k, one in enumerate((normal, np.abs(normal), grads[place], np.abs(grads[place]))):
            sums[k, place[1]] += one.sum(axis=axes)
    return near(np.moveaxis(dx, 1, axis), np.moveaxis(size, 1, axis)), near(*sums[:2]), near(*sums[2:])


@shapes("L2NormalizeGrad")
def l2_call(d: Dice) -> None:
    shape = d.shape()
    for name in ("x", "y", "dy"):
        plain_shape(d, name, shape, -2, 2, d.dtype)
    if shape and d.chance(0.7):
        d.attrs["dim"] = ("list_int", d.axes(len(shape)))
        d.values["dim"] = d.attrs["dim"][1]
    else:
        d.attr("dim")
    d.attr("eps", 1e-6, 0.5)


@oracle("L2NormalizeGrad", family=FAMILY)
def l2(x: Any, y: Any, dy: Any, dim: Any, eps: float) -> Any:
    over = tuple(axis % x.ndim for axis in dim) or tuple(range(x.ndim))
    bottom = np.maximum(np.sqrt((x * x).sum(axis=over, keepdims=True)), eps)
    total, size = (y * dy).sum(axis=over, keepdims=True), np.abs(y * dy).sum(axis=over, keepdims=True)
    return near((dy - y * total) / bottom, (np.abs(dy) + np.abs(y) * size) / bottom)
