"""Norms without parameters: mean and variance taken away, the mean of all pixels."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hostacl.ops import dims
from hostacl.ops.axis_cuts import free_cuts
from hostacl.ops.call import Call
from hostacl.ops.dims import Shape
from hostacl.ops.moments import moments
from hostacl.ops.registry import kernel
from hostacl.ops.shapes import axes as checked_axes

Array = NDArray[Any]


def pooled_shape(call: Call) -> Shape:
    """x with 1 in all dims behind the channels."""
    x = call.shape("x")
    if len(x) < 3:
        raise call.refuse("HA516", f"x = {dims.text(x)} has {len(x)} dims; allowed: 3 or more, N, C and what is averaged.")
    return (*x[:2], *(1,) * (len(x) - 2))


@kernel("GlobalAveragePool", shape=pooled_shape, cuts=free_cuts(lambda call: range(2, call.rank("x"))))
def global_average_pool(x: Array) -> Array:
    """The mean over all dims behind the channels, which stay as 1."""
    over = tuple(range(2, x.ndim))
    return np.asarray(np.sum(x, axis=over, keepdims=True, dtype=np.float64) / np.float64(np.prod(x.shape[2:])))


def mvn_shape(call: Call) -> Shape:
    """The shape of x."""
    x = call.shape("x")
    if "axes" in call.attrs:
        checked_axes(call, call.attr("axes"), len(x))
    elif len(x) != 4:
        raise call.refuse("HA516", f"x = {dims.text(x)} has {len(x)} dims; allowed: 4, NCHW.")
    return x


@kernel("MVN", shape=mvn_shape, cuts=free_cuts(lambda call: (1, 2, 3) if call.attr("across_channels") else (2, 3)))
def mvn(x: Array, normalize_variance: bool, across_channels: bool, eps: float) -> Array:
    """(x - mean) / (standard deviation + eps) over H and W, with across_channels over C, too.

    Without normalize_variance only the mean is taken away. The deviation is that of all elements.
    """
    return without_moments(x, (1, 2, 3) if across_channels else (2, 3), normalize_variance, eps)


@kernel("MVNV2", shape=mvn_shape, cuts=free_cuts(lambda call: call.attr("axes")))
def mvn_v2(x: Array, axes: Sequence[int], eps: float) -> Array:
    """(x - mean) / (standard deviation + eps) over axes; the deviation is that of all elements."""
    return without_moments(x, tuple(axis % x.ndim for axis in axes), True, eps)


def without_moments(x: Array, over: tuple[int, ...], divide: bool, eps: float) -> Array:
    """x without its mean over axes, and divided by the deviation there."""
    if x.size == 0:
        return x
    mean, variance = moments(x, over)
    return (x - mean) / (np.sqrt(variance) + eps) if divide else x - mean
