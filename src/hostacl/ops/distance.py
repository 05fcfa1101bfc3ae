"""Distances and products of vectors: cross product, distances of rows, the factors of renorm."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from hostacl.ops import dims
from hostacl.ops.call import Call
from hostacl.ops.dims import Shape
from hostacl.ops.registry import kernel
from hostacl.ops.shapes import axis, broadcast_inputs, broadcast_shapes, equal_dims, rank_is

Array = NDArray[Any]

ANY_DIM = -65530
"""The dim attribute of Cross that means the first axis of three elements."""

BLOCK = 1 << 22
"""Differences of a block."""


def cross_axis(call: Call, shape: Shape) -> int:
    """The axis of three elements along which vectors lie."""
    dim = call.attr("dim")
    if dim == ANY_DIM:
        found = [place for place, size in enumerate(shape) if dims.may_be(size, 3)]
        if not found:
            raise call.refuse("HA504", f"x1 and x2 give {dims.text(shape)}: no dim has 3 elements.")
        return found[0]
    place = axis(call, dim, len(shape), "dim")
    if isinstance(shape[place], int) and shape[place] != 3:
        text = f"dim = {dim}: axis {place} of {dims.text(shape)} has {shape[place]} elements; it must have 3."
        raise call.refuse("HA504", text)
    return place


def cross_shape(call: Call) -> Shape:
    """The common shape."""
    shape = broadcast_inputs(call, "x1", "x2")
    cross_axis(call, shape)
    return shape


@kernel("Cross", shape=cross_shape)
def cross(x1: Array, x2: Array, call: Call) -> Array:
    """The cross product along ``dim``, by default the first axis of three elements. Integers wrap."""
    shape = np.broadcast_shapes(x1.shape, x2.shape)
    place = cross_axis(call, shape)
    dtype = np.float64 if x1.dtype.kind == "f" else x1.dtype
    one, other = (np.moveaxis(np.broadcast_to(x, shape), place, 0).astype(dtype) for x in (x1, x2))
    parts = [one[(i + 1) % 3] * other[(i + 2) % 3] - one[(i + 2) % 3] * other[(i + 1) % 3] for i in range(3)]
    return np.moveaxis(np.stack(parts), 0, place)


def check_p(call: Call) -> None:
    """Refuses a negative p, but for -1: torch-npu sends it for infinity."""
    if not (call.attr("p") >= 0 or call.attr("p") == -1):
        raise call.refuse("HA508", f"p = {call.attr('p'):g}; allowed: 0 or more, infinity (also as -1) too.")


def is_largest(p: float) -> bool:
    """Whether the norm is the largest element."""
    return bool(np.isinf(p)) or p > 1e9 or p == -1


def length(away: Array, p: float) -> Array:
    """The p-norm along the last axis: 0 counts what is not 0, infinity takes the largest."""
    size = np.abs(away)
    if p == 0:
        return np.count_nonzero(size, axis=-1).astype(np.float64)
    if is_largest(p):
        return np.max(size, axis=-1, initial=0)
    if p == 2:
        return np.sqrt(np.sum(size * size, axis=-1))
    return np.sum(size, axis=-1) if p == 1 else np.power(np.sum(np.power(size, p), axis=-1), 1 / p)


def pairs_shape(call: Call) -> Shape:
    """(…, rows of x1, rows of x2); for rows that the caller has paired already, their dims without the last."""
    check_p(call)
    one, other = rank_is(call, "x1", *range(2, 9)), rank_is(call, "x2", *range(2, 9))
    text = f"x1 = {dims.text(one)}, x2 = {dims.text(other)}"
    equal_dims(call, one[-1], other[-1], f"{text}: the last dims must be equal.")
    if paired(call):
        return one[:-1]
    front = broadcast_shapes(one[:-2], other[:-2])
    if front is None:
        raise call.refuse("HA504", f"{text}: the leading dims do not broadcast; each must be equal or 1.")
    return (*front, one[-2], other[-2])


def paired(call: Call) -> bool:
    """Whether x1 and x2 have one shape and y is described as that without its last dim: row against row."""
    one, described = call.shape("x1"), call.outputs["y"].specs
    return bool(described) and one == call.shape("x2") and len(one) > 2 and described[0].shape == one[:-1]


@kernel("Cdist", shape=pairs_shape)
def cdist(x1: Array, x2: Array, p: float, call: Call) -> Array:
    """The p-norm of the difference of each row of x1 and each of x2; p 0 counts differing elements, infinity the largest.

    p -1 is infinity, too. Where y is described without the second rows, as by torch-npu, each row of x1 is taken against its
    own row of x2.
    """
    if paired(call):
        return length(x1.astype(np.float64) - x2, p).astype(x1.dtype)
    front = np.broadcast_shapes(x1.shape[:-2], x2.shape[:-2])
    one, other = (np.broadcast_to(x, (*front, *x.shape[-2:])) for x in (x1, x2))
    result = np.empty((*front, x1.shape[-2], x2.shape[-2]), x1.dtype)
    step = max(1, BLOCK // max(x2.shape[-2] * x2.shape[-1], 1))
    for place in np.ndindex(*front):
        for start in range(0, x1.shape[-2], step):
            rows = one[place][start : start + step, None, :].astype(np.float64)
            result[place][start : start + step] = length(rows - other[place][None], p)
    return result


def pdist_shape(call: Call) -> Shape:
    """One element for each pair of rows."""
    check_p(call)
    rows, _ = rank_is(call, "x", 2)
    if isinstance(rows, int):
        return (rows * (rows - 1) // 2,)
    return (dims.Between(),)


@kernel("Pdist", shape=pdist_shape)
def pdist(x: Array, p: float) -> Array:
    """The p-norm of the difference of each two rows: (0,1), (0,2) … (1,2) …"""
    first, second = np.triu_indices(x.shape[0], 1)
    result = np.empty(first.size, x.dtype)
    step = max(1, BLOCK // max(x.shape[1], 1))
    for start in range(0, first.size, step):
        part = slice(start, start + step)
        result[part] = length(x[first[part]].astype(np.float64) - x[second[part]], p)
    return result


def renorm_shape(call: Call) -> Shape:
    """The shape of x; 1 in all dims but ``dim`` where the output is described so."""
    x = call.shape("x")
    if not x:
        raise call.refuse("HA516", "x is a scalar; allowed: 1 dim or more.")
    place = axis(call, call.attr("dim"), len(x), "dim")
    check_p(call)
    factors = tuple(size if at == place else 1 for at, size in enumerate(x))
    specs = call.outputs["y"].specs
    told = specs[0].shape if specs and not specs[0].absent else None
    return factors if told == factors and told != x else x


@kernel("Renorm", shape=renorm_shape)
def renorm(x: Array, p: float, dim: int, maxnorm: float, call: Call) -> Array:
    """x with each slice along ``dim`` scaled so that its p-norm is at most maxnorm: by maxnorm / (norm + 1e-7) where above.

    When y is described with 1 in all other dims it gets these factors, 1 for slices that stay, instead of the scaled x.
    """
    place = dim % max(x.ndim, 1)
    count = x.shape[place]
    rows = np.moveaxis(x, place, 0).reshape(count, x.size // max(count, 1))
    norms, step = np.empty(count), max(1, BLOCK // max(rows.shape[1], 1))
    for start in range(0, count, step):
        part = rows[start : start + step]
        norms[start : start + step] = length(part if x.dtype.kind == "c" else part.astype(np.float64), p)
    factors = np.where(norms > maxnorm, maxnorm / (norms + 1e-7), 1.0)
    shaped = factors.reshape([-1 if at == place else 1 for at in range(x.ndim)])
    return shaped if renorm_shape(call) != x.shape else x * shaped


def spread_out(call: Call) -> bool:
    """Whether all inputs are given for each difference, (…, rows, others, elements), as torch-npu does."""
    shapes = [call.shape(name) for name in ("grad", "x1", "x2", "cdist")]
    alike = len(shapes[0]) > 2 and all(shape == shapes[0] for shape in shapes)
    specs = call.outputs["y"].specs
    described = specs[0].shape if specs and not specs[0].absent else None
    square = len(set(shapes[0][-3:])) == 1 or (len(shapes[0]) > 2 and shapes[0][-1] == shapes[0][-2])
    return alike and (not square or (described is not None and len(described) == len(shapes[0]) - 1))


def distance_gradient_shape(call: Call) -> Shape:
    """The shape of x1; grad and cdist are what Cdist gives. Or all four come for each difference."""
    if spread_out(call):
        shape = call.shape("grad")
        return (*shape[:-2], shape[-1])
    want, x1 = pairs_shape(call), call.shape("x1")
    for name in ("grad", "cdist"):
        given = call.shape(name)
        text = f"{name} = {dims.text(given)}; allowed: {dims.text(want)}, the shape of the distances."
        if len(given) != len(want):
            raise call.refuse("HA504", text)
        for one, other in zip(given, want, strict=True):
            equal_dims(call, one, other, text)
    if len(want) != len(x1) or any(dims.known(*pair) and pair[0] != pair[1] for pair in zip(want[:-1], x1[:-1], strict=True)):
        text = f"x1 = {dims.text(x1)}, the distances are {dims.text(want)}: the leading dims of x1 must not broadcast."
        raise call.refuse("HA504", text)
    return x1


@kernel("CdistGrad", shape=distance_gradient_shape)
def cdist_grad(grad: Array, x1: Array, x2: Array, cdist: Array, p: float, call: Call) -> Array:
    """The gradient of Cdist by x1: over all rows of x2 the sum of grad times the derivative of the distance.

    0 for a distance of 0 and for p 0; for p below 1 also where elements are equal. For infinity the largest differences count,
    each in full. All four may also come for each difference, (…, rows of x1, rows of x2, elements).
    """
    if spread_out(call):
        away = x1.astype(np.float64) - x2
        slope = np.where(cdist == 0, 0, derivative(away, np.where(cdist == 0, 1, cdist).astype(np.float64), p))
        return np.asarray(np.sum(slope * grad, axis=-2))
    front = grad.shape[:-2]
    other = np.broadcast_to(x2, (*front, *x2.shape[-2:]))
    result = np.empty(x1.shape, np.float64)
    step = max(1, BLOCK // max(other.shape[-2] * other.shape[-1], 1))
    for place in np.ndindex(*front):
        for start in range(0, x1.shape[-2], step):
            rows = slice(start, start + step)
            away = x1[place][rows, None, :].astype(np.float64) - other[place][None]
            apart = cdist[place][rows, :, None].astype(np.float64)
            slope = np.where(apart == 0, 0, derivative(away, np.where(apart == 0, 1, apart), p))
            result[place][rows] = np.sum(slope * grad[place][rows, :, None], axis=1)
    return result


def derivative(away: Array, apart: Array, p: float) -> Array:
    """The derivative of the p-norm of the differences ``away``, which is ``apart``, by each difference."""
    if p == 0:
        return np.zeros(away.shape)
    size, sign = np.abs(away), np.sign(away)
    if is_largest(p):
        largest = np.max(size, axis=-1, keepdims=True, initial=0)
        return np.asarray(sign * (size == largest))
    if p == 1:
        return np.asarray(sign)
    return np.where(size == 0, 0, sign * np.power(np.where(size == 0, 1, size) / apart, p - 1))
