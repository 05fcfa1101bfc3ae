"""Gradients of layer norm in two steps: that of x with what the parameters' need, and those of gamma and beta."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hostacl.ops import dims
from hostacl.ops.call import Call
from hostacl.ops.dims import Shape
from hostacl.ops.moments import inverse_root
from hostacl.ops.norm_layer_grad import LAYER_EPSILON, layer_backward, tail_start
from hostacl.ops.parts import by_parts
from hostacl.ops.registry import kernel
from hostacl.ops.shapes import alike_inputs, equal_dims
from hostacl.tensors import dtypes

Array = NDArray[Any]


def x_shape(call: Call) -> Shape:
    """The shape of x; gamma has its last dims, the statistics one element a row before them."""
    x = alike_inputs(call, "x", "dy")
    tail_start(call, x, "mean", "variance" if "variance" in call.inputs else "rstd")
    return x


def both_shape(call: Call) -> list[Shape]:
    """Both as x."""
    return [x_shape(call)] * 2


def normalised(x: Array, mean: Array, root: Array, gamma: Array) -> Array:
    """(x - mean)·root in float32; the statistics have one element a row."""
    kept = (*x.shape[: x.ndim - gamma.ndim], *(1,) * gamma.ndim)
    return by_parts(lambda at, middle, inverse: (at - middle) * inverse, np.float32, x, mean.reshape(kept), root.reshape(kept))


MIXED = ("mean", "variance", "rstd", "gamma")


@kernel("LayerNormXBackprop", shape=x_shape, mixed=MIXED)
def layer_norm_x_backprop(dy: Array, x: Array, variance: Array, mean: Array, gamma: Array) -> Array:
    """The gradient of x of LayerNorm over the dims that gamma has, as LayerNormGrad's; 1e-12 is added to the variance."""
    return layer_backward(dy, x, mean, inverse_root(variance, LAYER_EPSILON), gamma)[0]


@kernel("LayerNormXBackpropV2", shape=both_shape, mixed=MIXED)
def layer_norm_x_backprop_v2(dy: Array, x: Array, variance: Array, mean: Array, gamma: Array) -> tuple[Array, Array]:
    """The gradient of x of LayerNorm, and res_for_gamma: (x - mean)/√(variance + 1e-12) for LayerNormBetaGammaBackpropV2."""
    root = inverse_root(variance, LAYER_EPSILON)
    return layer_backward(dy, x, mean, root, gamma)[0], normalised(x, mean, root, gamma)


@kernel("LayerNormXBackpropV3", shape=both_shape, mixed=MIXED)
def layer_norm_x_backprop_v3(dy: Array, x: Array, rstd: Array, mean: Array, gamma: Array) -> tuple[Array, Array]:
    """The gradient of x of LayerNormV3 by its rstd, and res_for_gamma: (x - mean)·rstd for LayerNormBetaGammaBackpropV2."""
    return layer_backward(dy, x, mean, rstd, gamma)[0], normalised(x, mean, rstd, gamma)


def parameters_shape(call: Call) -> list[Shape]:
    """shape_gamma twice: the last dims of dy, or 1 where gamma was broadcast."""
    dy, gamma = alike_inputs(call, "dy", "x", "res_for_gamma"), tuple(call.attr("shape_gamma"))
    start = len(dy) - len(gamma)
    text = f"shape_gamma = {list(gamma)}; allowed: 1 or more of the last dims of dy = {dims.text(dy)}, or 1 for any of them."
    if start < 0 or not gamma:
        raise call.refuse("HA508", text)
    for size, own in zip(gamma, dy[start:], strict=True):
        if size != 1:
            equal_dims(call, own, size, text)
    for name in ("mean", "variance"):
        if call.has(name):
            given = call.shape(name)
            told = f"{name} = {dims.text(given)}; allowed: one element for each row of dy = {dims.text(dy)}."
            equal_dims(call, dims.count(given), dims.count(dy[:start]), told)
    return [gamma, gamma]


def summed_dtype(call: Call) -> tuple[int, ...]:
    """The type of dy, or float32."""
    return tuple(dict.fromkeys((call.dtype("dy"), dtypes.FLOAT)))


PARAMETERS: dict[str, Any] = {"shape": parameters_shape, "dtype": {"pd_gamma": summed_dtype, "pd_beta": summed_dtype}}


def parameter_sums(dy: Array, normal: Array, shape: Sequence[int]) -> tuple[Array, Array]:
    """The sums of dy·normal and of dy over all rows, and over the dims that are 1 in the shape; in float64."""
    start = dy.ndim - len(shape)
    ones = [start + place for place, size in enumerate(shape) if size == 1]
    over = (*range(start), *ones)
    products = by_parts(lambda grads, at: grads * at, np.float64, dy, normal)
    return np.sum(products, axis=over).reshape(shape), np.sum(dy, axis=over, dtype=np.float64).reshape(shape)


@kernel("LayerNormBetaGammaBackprop", mixed=("mean", "variance"), **PARAMETERS)
def layer_norm_beta_gamma_backprop(
    dy: Array, x: Array, variance: Array, mean: Array, shape_gamma: Sequence[int]
) -> tuple[Array, Array]:
    """The gradients of gamma and beta of LayerNorm, of shape shape_gamma: the sums over the rows of dy·x' and of dy.

    x' = (x - mean)/√(variance + 1e-12).
    """
    kept = (*x.shape[: x.ndim - len(shape_gamma)], *(1,) * len(shape_gamma))
    middle, root = mean.reshape(kept), inverse_root(variance, LAYER_EPSILON).reshape(kept)
    normal = by_parts(lambda at, one, other: (at - one) * other, np.float64, x, middle, root)
    return parameter_sums(dy, normal, shape_gamma)


@kernel("LayerNormBetaGammaBackpropV2", mixed=("res_for_gamma",), **PARAMETERS)
def layer_norm_beta_gamma_backprop_v2(
    dy: Array, res_for_gamma: Array, shape_gamma: Sequence[int]
) -> tuple[Array, Array]:
    """The gradients of gamma and beta, of shape shape_gamma: the sums over the rows of dy·res_for_gamma and of dy."""
    return parameter_sums(dy, res_for_gamma, shape_gamma)
