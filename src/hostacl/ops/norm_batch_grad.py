"""Gradients of batch normalisation: whole, in steps, for inference, and across processes."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from hostacl.ops.axes import channel_axes, channels_of, check_channels, described_or, other_axes, per_channel
from hostacl.ops.call import Call
from hostacl.ops.dims import Shape
from hostacl.ops.moments import inverse_root
from hostacl.ops.norm_batch import channels
from hostacl.ops.parts import by_parts
from hostacl.ops.pooling import tiles
from hostacl.ops.registry import kernel
from hostacl.ops.shapes import alike, alike_inputs, broadcasts_to
from hostacl.tensors.spec import TensorSpec

Array = NDArray[Any]
Axes = tuple[int, ...]


def sums(dy: Array, x: Array, mean: Array, root: Array, over: Axes) -> tuple[Array, Array]:
    """For each channel the sums of dy·(x - mean)·root and of dy, in float64; mean and root have one element a channel."""
    axes, kept = other_axes(x.ndim, over), tuple(size if axis in over else 1 for axis, size in enumerate(x.shape))
    scaled, plain = np.zeros(kept), np.zeros(kept)
    middle = per_channel(mean, x.shape, over).astype(np.float64)
    for part in tiles(x) if 0 not in over else (slice(None),):
        grads = dy[part].astype(np.float64)
        plain += np.sum(grads, axis=axes, keepdims=True)
        scaled += np.sum(grads * (x[part] - middle), axis=axes, keepdims=True)
    return scaled * per_channel(root, x.shape, over), plain


def input_gradient(dy: Array, x: Array, mean: Any, root: Array, scale: Any, total: tuple[Any, Any]) -> Array:
    """scale·root·(dy - offset share - (x - mean)·root·scale share), where ``total`` are the channels' two sums, over n.

    All but dy and x are shaped to broadcast, one element a channel.
    """

    def slope(grads: Array, at: Array, middle: Array, inverse: Array, factor: Array, by_scale: Array, by_offset: Array) -> Any:
        return factor * inverse * (grads - by_offset - (at - middle) * inverse * by_scale)

    return by_parts(slope, x.dtype, dy, x, mean, root, np.asarray(scale), *total)


def count_of(x: Array, over: Axes) -> int:
    """How many elements a channel has."""
    return max(int(np.prod([size for axis, size in enumerate(x.shape) if axis not in over])), 1)


def update_grad_shape(call: Call) -> list[Shape]:
    """Both as batch_mean."""
    x = alike_inputs(call, "x", "grads")
    check_channels(call, channels_of(x, channels(call)), "batch_mean", "batch_variance")
    return [described_or(call, name, call.shape("batch_mean")) for name in call.outputs]


@kernel("BNTrainingUpdateGrad", "BN3DTrainingUpdateGrad", shape=update_grad_shape)
def bn_training_update_grad(
    grads: Array, x: Array, batch_mean: Array, batch_variance: Array, epsilon: float, call: Call
) -> tuple[Array, ...]:
    """For each channel diff_scale = sum of grads·(x - mean)/√(variance + epsilon), and diff_offset = sum of grads.

    Channels by the format of x, else axis 1; added up in float64.
    """
    found = sums(grads, x, batch_mean, inverse_root(batch_variance, epsilon), channels(call))
    shapes: list[Any] = update_grad_shape(call)
    return tuple(one.reshape(shape) for one, shape in zip(found, shapes, strict=True))


def reduce_grad_shape(call: Call) -> Shape:
    """The shape of x."""
    x = alike_inputs(call, "x", "grads")
    names = ("diff_scale", "diff_offset", "scale", "batch_mean", "batch_variance")
    check_channels(call, channels_of(x, channels(call)), *names)
    return x


@kernel("BNTrainingReduceGrad", "BN3DTrainingReduceGrad", shape=reduce_grad_shape)
def bn_training_reduce_grad(
    grads: Array, x: Array, diff_scale: Array, diff_offset: Array, scale: Array, batch_mean: Array, batch_variance: Array,
    epsilon: float, call: Call,
) -> Array:  # fmt: skip
    """scale·r·(grads - diff_offset/n - (x - mean)·r·diff_scale/n) with r = 1/√(variance + epsilon), n elements a channel.

    Channels by the format of x, else axis 1.
    """
    over = channels(call)
    each = [per_channel(one, x.shape, over) for one in (batch_mean, inverse_root(batch_variance, epsilon), scale)]
    count = count_of(x, over)
    shares = [per_channel(one, x.shape, over).astype(np.float64) / count for one in (diff_scale, diff_offset)]
    return input_gradient(grads, x, each[0], each[1], each[2], (shares[0], shares[1]))


def infer_channels(call: Call) -> Axes:
    """The channel axes of grads: by its format, else axis 1."""
    grads = call.shape("grads")
    if not grads:
        raise call.refuse("HA516", "grads is a scalar; allowed: 1 or more dims, one of them the channels.")
    return channel_axes(call.format("grads"), len(grads), "NCHW")


def infer_grad_shape(call: Call) -> Shape:
    """The shape of grads."""
    check_channels(call, channels_of(call.shape("grads"), infer_channels(call)), "scale", "batch_variance")
    return call.shape("grads")


@kernel("BNInferGrad", shape=infer_grad_shape)
def bn_infer_grad(grads: Array, scale: Array, batch_variance: Array, epsilon: float, call: Call) -> Array:
    """grads·scale/√(variance + epsilon) for each channel (axis 1, or as the format of grads says)."""
    over = infer_channels(call)
    factor = per_channel(scale * inverse_root(batch_variance.reshape(scale.shape), epsilon), grads.shape, over)
    return by_parts(lambda one, other: one * other, grads.dtype, grads, factor)


def whole_gradients(
    dy: Array, x: Array, scale: Array, mean: Array, root: Array, over: Axes, training: bool
) -> tuple[Array, Array, Array]:
    """The gradients of x, scale and offset; in inference the statistics are constants."""
    by_scale, by_offset = sums(dy, x, mean, root, over)
    count = count_of(x, over)
    share = (by_scale / count, by_offset / count) if training else (np.zeros(()), np.zeros(()))
    each = [per_channel(one, x.shape, over) for one in (mean, root, scale)]
    dx = input_gradient(dy, x, each[0], each[1], each[2], share)
    return dx, by_scale, by_offset


def v3_shape(call: Call) -> list[Shape]:
    """dx as x, the others as weight."""
    x = alike_inputs(call, "x", "dy")
    check_channels(call, channels_of(x, channels(call)), "weight", "running_mean", "running_var", "save_mean", "save_rstd")
    return [x, *(described_or(call, name, call.shape("weight")) for name in ("dweight", "dbias"))]


def weight_dtype(call: Call) -> int:
    """The type of weight."""
    return call.dtype("weight")


@kernel("BatchNormGradV3", shape=v3_shape, mixed=("weight", "running_mean", "running_var"),
        dtype={"dweight": weight_dtype, "dbias": weight_dtype})  # fmt: skip
def batch_norm_grad_v3(
    dy: Array, x: Array, weight: Array, running_mean: Array, running_var: Array, save_mean: Array, save_rstd: Array,
    is_training: bool, epsilon: float, call: Call,
) -> tuple[Array, ...]:  # fmt: skip
    """The gradients of x, weight and bias of BatchNormV3, by save_mean and save_rstd of the batch.

    In inference by running_mean and 1/√(running_var + epsilon), which are constants. Channels by the format of x, else axis 1.
    """
    over = channels(call)
    mean, root = (save_mean, save_rstd) if is_training else (running_mean, inverse_root(running_var, epsilon))
    dx, *others = whole_gradients(dy, x, weight, mean, root, over, is_training)
    return dx, *(one.reshape(weight.shape) for one in others)


def spare_outputs(call: Call) -> list[tuple[TensorSpec, ...]]:
    """What the last two outputs are described as."""
    return [tuple(call.outputs[name].specs) for name in list(call.outputs)[3:]]


def batch_norm_grad_shape(call: Call) -> list[Shape]:
    """x_backprop as x, the next two as scale; the last two hold nothing, in any shape."""
    x = alike_inputs(call, "x", "y_backprop")
    check_channels(call, channels_of(x, channels(call)), "scale", "reserve_space_1", "reserve_space_2")
    spare = spare_outputs(call)
    free: list[Shape] = [one[0].shape if one and not one[0].absent else (0,) for one in spare]
    return [x, *(described_or(call, name, call.shape("scale")) for name in list(call.outputs)[1:3]), *free]


@kernel("BatchNormGrad", "BatchNorm3DGrad", "BatchNormGradExt2", shape=batch_norm_grad_shape)
def batch_norm_grad(
    y_backprop: Array, x: Array, scale: Array, reserve_space_1: Array, reserve_space_2: Array, epsilon: float,
    is_training: bool, call: Call,
) -> tuple[Any, ...]:  # fmt: skip
    """The gradients of x, scale and offset of BatchNorm, with the mean and variance that it gave as reserve_space_1 and 2.

    In inference these are constants. Channels by the format of x, else by data_format. The last two outputs are zeros.
    """
    over = channels(call)
    root = inverse_root(reserve_space_2, epsilon)
    dx, *others = whole_gradients(y_backprop, x, scale, reserve_space_1, root, over, is_training)
    spare = spare_outputs(call)
    empty = [np.zeros(one[0].shape, np.float32) if one and not one[0].absent else None for one in spare]
    return dx, *(one.reshape(scale.shape) for one in others), *empty


SYNC = ("mean", "invstd", "weight", "mean_dy", "mean_dy_xmu")


def sync_shape(call: Call) -> Shape:
    """The shape of both tensors; the others have one element a channel or broadcast."""
    x = alike_inputs(call, "save_input", "grad_output")
    for name in SYNC:
        if len(call.shape(name)) == 1 and len(x) > 1:
            check_channels(call, x[1], name)
        else:
            broadcasts_to(call, name, x, "save_input")
    return x


@kernel("SyncBatchNormBackwardElemt", shape=sync_shape)
def sync_batch_norm_backward_elemt(
    grad_output: Array, save_input: Array, mean: Array, invstd: Array, weight: Array, mean_dy: Array, mean_dy_xmu: Array
) -> Array:
    """weight·invstd·(grad_output - mean_dy - (x - mean)·invstd²·mean_dy_xmu); one element a channel (axis 1), or broadcast."""
    wide = save_input.ndim > 1
    each = [
        per_channel(one, save_input.shape, (1,)) if wide and one.ndim == 1 else one
        for one in (mean, invstd, weight, mean_dy, mean_dy_xmu)
    ]

    def slope(dy: Array, x: Array, middle: Array, root: Array, factor: Array, share: Array, slant: Array) -> Array:
        return factor * root * (dy - share - (x - middle) * (root * root * slant))

    return by_parts(slope, grad_output.dtype, grad_output, save_input, *each)


def reduced_shape(call: Call) -> list[Shape]:
    """The one shape of all."""
    shape = alike("sum_dy", "sum_dy_dx_pad", "mean", "invert_std")(call)
    return [shape, shape]


@kernel("SyncBatchNormBackwardReduce", shape=reduced_shape)
def sync_batch_norm_backward_reduce(
    sum_dy: Array, sum_dy_dx_pad: Array, mean: Array, invert_std: Array
) -> tuple[Array, Array]:
    """sum_dy_xmu = sum_dy_dx_pad - sum_dy·mean, and y = sum_dy_xmu·invert_std."""
    centred = sum_dy_dx_pad.astype(np.float64) - sum_dy.astype(np.float64) * mean
    return centred, centred * invert_std
