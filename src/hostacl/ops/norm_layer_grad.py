"""Gradients of layer norm, RMS norm, group norm and L2 normalisation."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hostacl.ops import dims, parts
from hostacl.ops.axes import check_channels
from hostacl.ops.call import Call
from hostacl.ops.dims import Shape
from hostacl.ops.norm_group import channel_axis, checked_group_count
from hostacl.ops.norm_layer import check_start, check_tail, kept_ones, ranked
from hostacl.ops.registry import kernel
from hostacl.ops.shapes import alike_inputs, equal_dims
from hostacl.ops.shapes import axes as checked_axes
from hostacl.tensors import dtypes

Array = NDArray[Any]

LAYER_EPSILON = 1e-12
"""What LayerNormGrad, which has no such attribute, adds to the variance."""


def rows_backward(
    dy: Array, x: Array, mean: Array | None, root: Array, gamma: Array | None
) -> tuple[Array, Array, Array]:
    """Of rows (R, n): the gradient of x, and the sums over rows of dy·x' and of dy, where x' = (x - mean)·root.

    dx = root·(g - mean of g - x'·mean of g·x') with g = dy·gamma; without a mean (RMS norm) the first mean is left out.
    """
    rows, width = x.shape
    dx = np.empty(x.shape, x.dtype)
    by_gamma, by_beta = np.zeros(width), np.zeros(width)
    step = max(1, parts.ELEMENTS // max(width, 1))
    for start in range(0, rows if width else 0, step):
        part = slice(start, start + step)
        grads, at, inverse = dy[part].astype(np.float64), x[part].astype(np.float64), root[part].astype(np.float64)
        normal = (at if mean is None else at - mean[part]) * inverse
        by_gamma += np.sum(grads * normal, axis=0)
        by_beta += np.sum(grads, axis=0)
        scaled = grads if gamma is None else grads * gamma
        slant = np.mean(scaled * normal, axis=1, keepdims=True)
        level = 0 if mean is None else np.mean(scaled, axis=1, keepdims=True)
        dx[part] = inverse * (scaled - level - normal * slant)
    return dx, by_gamma, by_beta


def tail_start(call: Call, x: Shape, *statistics: str) -> int:
    """Where the normalised dims start: those that gamma has. The statistics have one element for each row before."""
    start = len(x) - len(ranked(call, "gamma"))
    check_start(call, x, start)
    check_tail(call, x, start, "gamma")
    rows = dims.count(x[:start])
    for name in statistics:
        given = call.shape(name)
        text = f"{name} = {dims.text(given)}; allowed: {dims.text(kept_ones(x, start))}, one element a row of x."
        equal_dims(call, dims.count(given), rows, text)
    return start


def layer_backward(
    dy: Array, x: Array, mean: Array | None, root: Array, gamma: Array
) -> tuple[Array, Array, Array]:
    """The gradients of x, gamma and beta; the normalised dims are those of gamma."""
    start = x.ndim - gamma.ndim
    shape = (prod(x.shape[:start]), prod(x.shape[start:]))
    column = (shape[0], 1)
    slope = np.broadcast_to(gamma.astype(np.float64), x.shape[start:]).reshape(-1)
    middle = None if mean is None else mean.reshape(column)
    dx, *others = rows_backward(dy.reshape(shape), x.reshape(shape), middle, root.reshape(column), slope)
    ones = tuple(axis for axis, size in enumerate(gamma.shape) if size == 1)
    totals = [one.reshape(x.shape[start:]).sum(axis=ones, keepdims=True).reshape(gamma.shape) for one in others]
    return dx.reshape(x.shape), totals[0], totals[1]


def layer_grad_shape(call: Call) -> list[Shape]:
    """pd_x as x, the others as gamma."""
    x = alike_inputs(call, "x", "dy")
    tail_start(call, x, "mean", "variance" if "variance" in call.inputs else "rstd")
    return [x, call.shape("gamma"), call.shape("gamma")]


def parameter_dtype(call: Call) -> tuple[int, ...]:
    """The type of gamma, or float32."""
    code = call.dtype("gamma")
    return (code, dtypes.FLOAT) if code != dtypes.FLOAT else (code,)


LAYER: dict[str, Any] = {
    "shape": layer_grad_shape,
    "mixed": ("mean", "variance", "rstd", "gamma"),
    "dtype": {"pd_gamma": parameter_dtype, "pd_beta": parameter_dtype},
}


@kernel("LayerNormGrad", **LAYER)
def layer_norm_grad(dy: Array, x: Array, variance: Array, mean: Array, gamma: Array) -> tuple[Array, ...]:
    """The gradients of x, gamma and beta of LayerNorm over the dims that gamma has; 1e-12 is added to the variance.

    With r = 1/√(variance + 1e-12), x' = (x - mean)·r and g = dy·gamma: r·(g - mean of g - x'·mean of g·x'), and the sums over
    the rows of dy·x' and dy.
    """
    return layer_backward(dy, x, mean, 1 / np.sqrt(variance.astype(np.float64) + LAYER_EPSILON), gamma)


@kernel("LayerNormGradV3", **LAYER)
def layer_norm_grad_v3(dy: Array, x: Array, rstd: Array, mean: Array, gamma: Array) -> tuple[Array, ...]:
    """The gradients of x, gamma and beta of LayerNormV3 or V4, by its rstd = 1/√(variance + epsilon) and mean."""
    return layer_backward(dy, x, mean, rstd, gamma)


def deep_grad_shape(call: Call) -> list[Shape]:
    """dx and dgx as x, the others as gamma."""
    x = alike_inputs(call, "x", "gx", "dy")
    tail_start(call, x, "mean", "rstd")
    return [x, x, call.shape("gamma"), call.shape("gamma")]


@kernel("DeepNormGrad", shape=deep_grad_shape)
def deep_norm_grad(
    dy: Array, x: Array, gx: Array, gamma: Array, mean: Array, rstd: Array, alpha: float
) -> tuple[Array, ...]:
    """The gradients of x, gx, beta and gamma of DeepNorm, LayerNorm of alpha·x + gx: dx = alpha·dgx."""
    total = x.astype(np.float64) * alpha + gx
    dgx, dgamma, dbeta = layer_backward(dy, total, mean, rstd, gamma)
    return dgx * alpha, dgx, dbeta, dgamma


def added_grad_shape(call: Call) -> list[Shape]:
    """dx as x1, the others as gamma."""
    x = alike_inputs(call, "x1", "x2", "dy", "dsum")
    tail_start(call, x, "rstd", "mean")
    return [x, call.shape("gamma"), call.shape("gamma")]


@kernel("AddLayerNormGrad", shape=added_grad_shape, mixed=("gamma",))
def add_layer_norm_grad(
    dy: Array, x1: Array, x2: Array, rstd: Array, mean: Array, gamma: Array, dsum: Array | None
) -> tuple[Array, ...]:
    """The gradients of x1 (and x2), gamma and beta of AddLayerNorm; dsum, the gradient of its sum, is added to the first."""
    dx, dgamma, dbeta = layer_backward(dy, x1.astype(np.float64) + x2, mean, rstd, gamma)
    return (dx if dsum is None else dx + dsum), dgamma, dbeta


def rms_grad_shape(call: Call) -> list[Shape]:
    """dx as x, dgamma as gamma."""
    x = alike_inputs(call, "x", "dy")
    tail_start(call, x, "rstd")
    return [x, call.shape("gamma")]


@kernel("RmsNormGrad", shape=rms_grad_shape, mixed=("gamma",))
def rms_norm_grad(dy: Array, x: Array, rstd: Array, gamma: Array) -> tuple[Array, Array]:
    """The gradients of x and gamma of RmsNorm: rstd·(g - x'·mean of g·x') with x' = x·rstd, g = dy·gamma; and Σ dy·x'."""
    dx, dgamma, _ = layer_backward(dy, x, None, rstd, gamma)
    return dx, dgamma


def group_grad_shape(call: Call) -> list[Shape]:
    """dx as x, the others as gamma; the statistics have one element for each group of each image."""
    x = alike_inputs(call, "x", "dy")
    channels = x[channel_axis(call)]
    groups = checked_group_count(call, channels)
    check_channels(call, channels, "gamma")
    for name in ("mean", "rstd"):
        given = call.shape(name)
        text = f"{name} = {dims.text(given)}; allowed: one element for each of the {groups} groups of each image."
        equal_dims(call, dims.count(given), x[0] * groups, text)
    return [x, call.shape("gamma"), call.shape("gamma")]


def gamma_dtype(call: Call) -> int:
    """The type of gamma."""
    return call.dtype("gamma")


@kernel("GroupNormGrad", shape=group_grad_shape, mixed=("mean", "rstd", "gamma"),
        dtype={"dgamma": gamma_dtype, "dbeta": gamma_dtype})  # fmt: skip
def group_norm_grad(
    dy: Array, mean: Array, rstd: Array, x: Array, gamma: Array, num_groups: int, dx_is_require: bool,
    dgamma_is_require: bool, dbeta_is_require: bool, call: Call,
) -> tuple[Any, ...]:  # fmt: skip
    """The gradients of x, gamma and beta of GroupNorm by its mean and rstd; one that is not required is not written.

    Channels by the format of x, else by data_format.
    """
    place = channel_axis(call)
    sizes = (x.shape[0], x.shape[place], prod(x.shape) // max(x.shape[0] * x.shape[place], 1))
    flat = [np.moveaxis(one, place, 1).reshape(sizes) for one in (dy, x)]
    dx = np.empty(flat[1].shape, x.dtype)
    by_channel = np.zeros((2, x.shape[place]))
    each = x.shape[place] // num_groups
    statistics = [one.reshape(x.shape[0], num_groups) for one in (mean, rstd)]
    for image, group in np.ndindex(x.shape[0], num_groups):
        lanes = slice(group * each, (group + 1) * each)
        row = [one[image, lanes].reshape(1, -1) for one in flat]
        middle, root = (one[image, group].reshape(1, 1) for one in statistics)
        slope = np.repeat(gamma.ravel()[lanes].astype(np.float64), sizes[2])
        found, *sums = rows_backward(row[0], row[1], middle, root, slope)
        dx[image, lanes] = found.reshape(each, sizes[2])
        by_channel[:, lanes] += [one.reshape(each, sizes[2]).sum(axis=1) for one in sums]
    moved = np.moveaxis(dx.reshape(np.moveaxis(x, place, 1).shape), 1, place)
    totals = [one.reshape(gamma.shape) for one in by_channel]
    required = (dx_is_require, dgamma_is_require, dbeta_is_require)
    return tuple(one if wanted else None for one, wanted in zip((moved, *totals), required, strict=True))


def l2_grad_shape(call: Call) -> Shape:
    """The one shape of x, y and dy."""
    x = alike_inputs(call, "x", "y", "dy")
    checked_axes(call, call.attr("dim"), max(len(x), 1), "dim")
    return x


@kernel("L2NormalizeGrad", shape=l2_grad_shape)
def l2_normalize_grad(x: Array, y: Array, dy: Array, dim: Sequence[int], eps: float) -> Array:
    """(dy - y·sum(y·dy)) / max(√sum(x²), eps) over the dims, all of them when none are given; y is x normalised."""
    over = list(dim) if x.ndim and dim else list(range(x.ndim))

    def slope(at: Array, normal: Array, grads: Array) -> Array:
        length = np.sqrt(np.sum(at * at, axis=1, keepdims=True))
        return (grads - normal * np.sum(normal * grads, axis=1, keepdims=True)) / np.maximum(length, eps)

    return parts.by_rows(slope, over, x.dtype, x, y, dy)
