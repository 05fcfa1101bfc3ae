"""Further losses: L2, Poisson, and of the angle between vectors."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from hostacl.ops import dims
from hostacl.ops.call import Call
from hostacl.ops.dims import Shape
from hostacl.ops.loss import REDUCTIONS, one_shape, reduction_of
from hostacl.ops.pooling import tiles
from hostacl.ops.registry import kernel
from hostacl.ops.shapes import broadcast_shapes

Array = NDArray[Any]


def scalar(call: Call) -> Shape:
    """One number."""
    return ()


@kernel("L2Loss", shape=scalar)
def l2_loss(x: Array) -> Array:
    """Half of the sum of squares."""
    flat = x.reshape(-1)
    return np.asarray(sum(float(np.sum(np.square(flat[part].astype(np.float64)))) for part in tiles(flat)) / 2)


def poisson_shape(call: Call) -> Shape:
    """The shape of both inputs, or a scalar when the loss is reduced."""
    shape = one_shape(call, "input_x", "target")
    return shape if reduction_of(call, *REDUCTIONS) == "none" else ()


@kernel("PoissonNllLoss", shape=poisson_shape)
def poisson_nll_loss(input_x: Array, target: Array, log_input: bool, full: bool, eps: float, reduction: str) -> Array:
    """e^x - target·x, without log_input x - target·log(x + eps); with full plus Stirling's log(target!) where target > 1.

    That is target·log(target) - target + log(2π·target)/2. reduction none, mean or sum.
    """
    x, y = input_x.astype(np.float64), target.astype(np.float64)
    loss = np.exp(x) - y * x if log_input else x - y * np.log(x + eps)
    if full:
        loss = loss + np.where(y > 1, y * np.log(y) - y + 0.5 * np.log(2 * np.pi * y), 0)
    return reduced(loss, reduction)


def reduced(loss: Array, how: str) -> Array:
    """The loss, its sum or its mean."""
    return loss if how == "none" else np.asarray(loss.sum() if how == "sum" else loss.sum() / np.float64(loss.size))


def cosine_shape(call: Call) -> Shape:
    """What x1 and x2 without axis 1 give with target, or a scalar when the loss is reduced."""
    vectors = broadcast_shapes(call.shape("x1"), call.shape("x2"))
    if vectors is None or len(vectors) < 2:
        told = f"x1 = {dims.text(call.shape('x1'))}, x2 = {dims.text(call.shape('x2'))}"
        raise call.refuse("HA504", f"{told}; they must broadcast, to 2 or more dims: axis 1 holds the vectors.")
    shape = broadcast_shapes((vectors[0], *vectors[2:]), call.shape("target"))
    if shape is None:
        told = f"target = {dims.text(call.shape('target'))}"
        raise call.refuse("HA504", f"{told} does not broadcast with {dims.text((vectors[0], *vectors[2:]))}, one a vector.")
    return shape if reduction_of(call, *REDUCTIONS) == "none" else ()


TINY = 1e-12
"""What is added to squared lengths, so that a vector of zeros has an angle."""


@kernel("CosineEmbeddingLoss", shape=cosine_shape, mixed=("x1", "x2", "target"))
def cosine_embedding_loss(x1: Array, x2: Array, target: Array, margin: float, reduction: str) -> Array:
    """1 - cos of the angle between the vectors along axis 1 where target is 1, max(0, cos - margin) where it is -1, else 0.

    cos = x1·x2 / √((x1² + 1e-12)·(x2² + 1e-12)). reduction none, mean or sum.
    """
    first, second = (np.asarray(one, np.float64) for one in (x1, x2))
    first, second = np.broadcast_arrays(first, second)
    lengths = [np.sum(one * one, axis=1) + TINY for one in (first, second)]
    cosine = np.sum(first * second, axis=1) / np.sqrt(lengths[0] * lengths[1])
    loss = np.where(target == 1, 1 - cosine, np.where(target == -1, np.maximum(cosine - margin, 0), 0))
    return reduced(loss, reduction)
