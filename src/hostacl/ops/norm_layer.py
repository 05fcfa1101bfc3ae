"""Normalisation of rows: layer norm and RMS norm in their forms."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hostacl.ops import dims
from hostacl.ops.axis_cuts import broadcast_cuts
from hostacl.ops.call import Call
from hostacl.ops.dims import Shape
from hostacl.ops.moments import inverse_root, mean_of, moments, rescaled
from hostacl.ops.norm_rows import direct_rows, fits, normalised_rows
from hostacl.ops.registry import kernel
from hostacl.ops.shapes import axis, broadcast_shapes, one_or
from hostacl.tensors import dtypes

Array = NDArray[Any]


def ranked(call: Call, name: str) -> Shape:
    """The shape of an input of 1 or more dims."""
    shape = call.shape(name)
    if not shape:
        raise call.refuse("HA516", f"{name} is a scalar; allowed: 1 or more dims.")
    return shape


def check_tail(call: Call, x: Shape, start: int, *names: str) -> None:
    """Refuses parameters that do not broadcast to the dims of x from ``start`` on."""
    for name in names:
        if call.has(name):
            shape = call.shape(name)
            joined = broadcast_shapes(x[start:], shape)
            fits = joined is not None and len(joined) == len(x) - start
            if not fits or (dims.known(*x[start:], *joined) and joined != x[start:]):  # type: ignore[misc]
                raise call.refuse("HA504", f"{name} = {dims.text(shape)}; allowed: {dims.text(x[start:])}, the last dims of x.")


def kept_ones(x: Shape, start: int) -> Shape:
    """x with 1 from an axis on."""
    return (*x[:start], *(1,) * (len(x) - start))


def statistic_dtype(call: Call) -> tuple[int, ...]:
    """Statistics have the type of x, or float32."""
    code = call.dtype("x")
    return (code, dtypes.FLOAT) if code != dtypes.FLOAT else (code,)


def layer_shape(call: Call) -> list[Shape]:
    """y as x; the statistics with 1 from begin_norm_axis on."""
    x = ranked(call, "x")
    start = axis(call, call.attr("begin_norm_axis"), len(x), "begin_norm_axis")
    check_tail(call, x, axis(call, call.attr("begin_params_axis"), len(x), "begin_params_axis"), "gamma", "beta")
    return [x, kept_ones(x, start), kept_ones(x, start)]


def tail_axes(rank: int, start: int) -> tuple[int, ...]:
    """The axes from ``start`` on."""
    return tuple(range(start, rank))


def aligned(parameter: Array | None, rank: int, start: int) -> Array | None:
    """A parameter with its first axis at axis ``start`` of a tensor of this rank, in float64."""
    if parameter is None:
        return None
    wide = parameter.astype(np.float64)
    return wide.reshape((1,) * start + parameter.shape + (1,) * (rank - start - parameter.ndim))


def layer_normalised(
    x: Array, axes: Sequence[int], epsilon: float, gamma: Array | None, beta: Array | None, inverse: bool = False
) -> tuple[Array, Array, Array]:
    """(x - mean)/√(variance + epsilon)·gamma + beta with mean and variance, which keep their axes as 1.

    ``inverse``: with 1/√(variance + epsilon) in the place of the variance. The axes are the last ones.
    """
    start = x.ndim - len(axes)
    if x.dtype == np.float32 and fits(x.shape, start, [None if one is None else one.shape for one in (gamma, beta)]):
        return normalised_rows(x, start, epsilon, gamma, beta, inverse=inverse)
    mean, variance = moments(x, tuple(axes))
    root = inverse_root(variance, epsilon)
    return rescaled(x, mean, root, beta, gamma), mean, root if inverse else variance


def norm_start(call: Call) -> int:
    """The first axis that is normalised over."""
    return int(call.attr("begin_norm_axis")) % call.rank("x")


def gamma_start(call: Call) -> int:
    """The same where gamma has all dims that are normalised over."""
    return call.rank("x") - call.rank("gamma")


NORM_ROWS = broadcast_cuts(lambda call: call.rank("x") - norm_start(call))
GAMMA_ROWS = broadcast_cuts(lambda call: call.rank("gamma"))
"""The cuts of what is normalised from begin_norm_axis on, and over the dims that gamma has."""

STATISTICS: dict[str, Any] = {"mixed": ("gamma", "beta", "mean", "variance", "rstd")}


@kernel("LayerNorm", shape=layer_shape, dtype={"mean": statistic_dtype, "variance": statistic_dtype},
        direct=direct_rows(norm_start, ("y", "mean", "variance"), inverse=False), cuts=NORM_ROWS, **STATISTICS)  # fmt: skip
def layer_norm(
    x: Array, gamma: Array, beta: Array, begin_norm_axis: int, begin_params_axis: int, epsilon: float
) -> tuple[Array, ...]:
    """(x - mean)/√(variance + epsilon)·gamma + beta over the axes from begin_norm_axis on, and mean and variance.

    gamma and beta are the dims of x from begin_params_axis on. The statistics keep the axes as 1; half types are rounded once.
    """
    return layered(x, gamma, beta, begin_norm_axis, begin_params_axis, epsilon, False)


def layered(
    x: Array, gamma: Array, beta: Array, first: int, start: int, epsilon: float, inverse: bool
) -> tuple[Array, Array, Array]:
    """LayerNorm with the variance, or with ``inverse`` 1/√(variance + epsilon)."""
    each = [aligned(one, x.ndim, max(start % x.ndim, x.ndim - one.ndim)) for one in (gamma, beta)]
    return layer_normalised(x, range(first % x.ndim, x.ndim), epsilon, each[0], each[1], inverse=inverse)


@kernel("LayerNormV3", shape=layer_shape, dtype={"mean": statistic_dtype, "rstd": statistic_dtype},
        direct=direct_rows(norm_start, ("y", "mean", "rstd")), cuts=NORM_ROWS, **STATISTICS)  # fmt: skip
def layer_norm_v3(
    x: Array, gamma: Array, beta: Array, begin_norm_axis: int, begin_params_axis: int, epsilon: float
) -> tuple[Array, ...]:
    """As LayerNorm, with rstd = 1/√(variance + epsilon) in the place of the variance."""
    return layered(x, gamma, beta, begin_norm_axis, begin_params_axis, epsilon, True)


def layer_v4_shape(call: Call) -> list[Shape]:
    """y as x; the statistics with 1 in the dims that normalized_shape has."""
    x = ranked(call, "x")
    count = dims.count(call.shape("normalized_shape"))
    if not isinstance(count, int):
        return [x, *((tuple(map(one_or, x)),) * 2)]
    if not 1 <= count <= len(x):
        raise call.refuse("HA504", f"normalized_shape has {count} entries; allowed: 1 to the {len(x)} dims of x.")
    start = len(x) - count
    if call.known("normalized_shape"):
        wanted = call.ints("normalized_shape")
        if dims.known(*x) and wanted != x[start:]:
            raise call.refuse("HA519", f"normalized_shape = {list(wanted)}; allowed: {dims.text(x[start:])}, as x has.")
    check_tail(call, x, start, "gamma", "beta")
    return [x, kept_ones(x, start), kept_ones(x, start)]


def v4_start(call: Call) -> int:
    """The first axis of those that normalized_shape has."""
    return call.rank("x") - int(np.prod(call.spec("normalized_shape").shape))


@kernel("LayerNormV4", shape=layer_v4_shape, values=("normalized_shape",), direct=direct_rows(v4_start, ("y", "mean", "rstd")),
        cuts=broadcast_cuts(lambda call: call.rank("x") - v4_start(call)),
        dtype={"mean": statistic_dtype, "rstd": statistic_dtype}, **STATISTICS)  # fmt: skip
def layer_norm_v4(
    x: Array, normalized_shape: Array, gamma: Array | None, beta: Array | None, epsilon: float
) -> tuple[Array, ...]:
    """(x - mean)/√(variance + epsilon)·gamma + beta over the last dims, those of normalized_shape; and mean, rstd.

    gamma is 1 and beta 0 where they are left out; rstd = 1/√(variance + epsilon).
    """
    start = x.ndim - normalized_shape.size
    each = [aligned(one, x.ndim, x.ndim - one.ndim) if one is not None else None for one in (gamma, beta)]
    return layer_normalised(x, range(start, x.ndim), epsilon, each[0], each[1], inverse=True)


def added_shape(call: Call) -> list[Shape]:
    """y and x as x1; the statistics with 1 in the dims that gamma has."""
    x = same_shape(call, "x1", "x2")
    start = len(x) - len(ranked(call, "gamma"))
    check_start(call, x, start)
    check_tail(call, x, start, "gamma", "beta")
    check_tail(call, x, 0, "bias")
    return [x, kept_ones(x, start), kept_ones(x, start), x]


def check_start(call: Call, x: Shape, start: int) -> None:
    """Refuses a gamma of more dims than x."""
    if start < 0:
        raise call.refuse("HA516", f"gamma = {dims.text(call.shape('gamma'))} has more dims than x, {dims.text(x)}.")


def same_shape(call: Call, one: str, other: str) -> Shape:
    """The shape that two inputs have; they do not broadcast."""
    first, second = ranked(call, one), call.shape(other)
    if dims.known(*first, *second) and first != second:
        raise call.refuse("HA504", f"{one} = {dims.text(first)}, {other} = {dims.text(second)}; they must have one shape.")
    return first


@kernel("AddLayerNorm", "InplaceAddLayerNorm", cuts=GAMMA_ROWS, shape=added_shape, mixed=("gamma", "beta", "bias"))
def add_layer_norm(
    x1: Array, x2: Array, gamma: Array, beta: Array, bias: Array | None, epsilon: float
) -> tuple[Array, ...]:
    """LayerNorm of x = x1 + x2 + bias over the dims that gamma has, with mean and rstd = 1/√(variance + epsilon), and x.

    x is written whether additional_output asks for it or not; what is normalised is x before it is rounded.
    """
    x = x1 + x2 if bias is None else x1 + x2 + bias
    start = x.ndim - gamma.ndim
    each = [aligned(one, x.ndim, x.ndim - one.ndim) for one in (gamma, beta)]
    return *layer_normalised(x, range(start, x.ndim), epsilon, each[0], each[1], inverse=True), x


def deep_shape(call: Call) -> list[Shape]:
    """y as x; the statistics with 1 in the dims that gamma has."""
    x = same_shape(call, "x", "gx")
    start = len(x) - len(ranked(call, "gamma"))
    check_start(call, x, start)
    check_tail(call, x, start, "gamma", "beta")
    return [kept_ones(x, start), kept_ones(x, start), x]


@kernel("DeepNorm", cuts=GAMMA_ROWS, shape=deep_shape)
def deep_norm(x: Array, gx: Array, beta: Array, gamma: Array, alpha: float, epsilon: float) -> tuple[Array, ...]:
    """LayerNorm of alpha·x + gx over the dims that gamma has: mean, rstd = 1/√(variance + epsilon), and y."""
    total = x.astype(np.float64)  # rounded, it would be far from what rows of nearly one value become
    total *= alpha
    total += gx
    start = x.ndim - gamma.ndim
    each = [aligned(one, x.ndim, x.ndim - one.ndim) for one in (gamma, beta)]
    y, mean, root = layer_normalised(total, range(start, x.ndim), epsilon, each[0], each[1], inverse=True)
    return mean, root, y


def rms_shape(call: Call) -> list[Shape]:
    """y as x; rstd with 1 in the dims that gamma has; and for AddRmsNorm x."""
    added = "x1" in call.inputs
    x = same_shape(call, "x1", "x2") if added else ranked(call, "x")
    start = len(x) - len(ranked(call, "gamma"))
    check_start(call, x, start)
    check_tail(call, x, start, "gamma")
    return [x, kept_ones(x, start), x] if added else [x, kept_ones(x, start)]


@kernel("RmsNorm", cuts=GAMMA_ROWS, shape=rms_shape, mixed=("gamma",),
        direct=direct_rows(gamma_start, ("y", "rstd"), centred=False))  # fmt: skip
def rms_norm(x: Array, gamma: Array, epsilon: float) -> tuple[Array, Array]:
    """x·rstd·gamma with rstd = 1/√(mean of x² + epsilon) over the dims that gamma has, and rstd."""
    start = x.ndim - gamma.ndim
    if x.dtype == np.float32 and fits(x.shape, start, [gamma.shape]):
        y, _, root = normalised_rows(x, start, epsilon, gamma, None, centred=False)
        return y, root
    squares = mean_of(x, tail_axes(x.ndim, start), lambda part, _: np.square(part, dtype=np.float64))
    root = inverse_root(squares, epsilon)
    return rescaled(x, 0.0, root, None, aligned(gamma, x.ndim, start)), root


@kernel("AddRmsNorm", "InplaceAddRmsNorm", cuts=GAMMA_ROWS, shape=rms_shape)
def add_rms_norm(x1: Array, x2: Array, gamma: Array, epsilon: float) -> tuple[Array, Array, Array]:
    """RmsNorm of x = x1 + x2 over the dims that gamma has: y, rstd, and x; x is normalised before it is rounded."""
    x = x1 + x2
    y, root = rms_norm(x, gamma, epsilon)
    return y, root, x

