"""Distances by loops over rows, cross products by their components."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from hostacl.tensors import dtypes
from random_calls import values
from random_calls.dice import Dice
from random_calls.oracle import Within, finite, oracle, shapes

ORDERS = (0.0, 1.0, 2.0, 3.0, math.inf)


def norm(row: Any, p: float) -> float:
    sizes = [float(abs(one)) for one in row]
    if p == 0:
        return float(sum(size != 0 for size in sizes))
    if math.isinf(p):
        return math.nan if any(math.isnan(size) for size in sizes) else max(sizes, default=0.0)
    return math.fsum(size**p for size in sizes) ** (1 / p) if sizes else 0.0


@shapes("Cross")
def cross_call(d: Dice) -> None:
    shape = list(d.shape(1))
    place = d.int(0, len(shape) - 1)
    shape[place] = 3
    for name in ("x1", "x2"):
        d.tensor(name, tuple(shape))
    if d.chance() and 3 not in shape[:place]:
        d.attr("dim")
        d.values["dim"] = place
    else:
        d.attrs["dim"] = ("int", place)
        d.values["dim"] = place
        d.wants("attributes varied")


@oracle("Cross")
def cross(x1: Any, x2: Any, dim: int) -> Any:
    a, b = np.moveaxis(x1, dim, 0), np.moveaxis(x2, dim, 0)
    pairs = [(1, 2), (2, 0), (0, 1)]
    result = np.moveaxis(np.stack([a[i] * b[j] - a[j] * b[i] for i, j in pairs]), 0, dim)
    if x1.dtype == object:
        return result
    size = np.moveaxis(np.stack([finite(a[i] * b[j]) + finite(a[j] * b[i]) for i, j in pairs]), 0, dim)
    return Within(result, size * 1e-13)


@shapes("Cdist", "Pdist")
def rows_call(d: Dice) -> None:
    one = d.wants("one element")
    width = 1 if one else d.int(1, 4)
    if d.prototype.op_type == "Pdist":
        d.tensor("x", np.asarray(d.rng.uniform(-3, 3, (2 if one else d.int(0, 6), width))))
    else:
        front = d.shape(0, 2)[:2]
        for name in ("x1", "x2"):
            d.tensor(name, np.asarray(d.rng.uniform(-3, 3, (*front, 1 if one else d.int(1, 4), width))))
    d.attr("p", *ORDERS)


@oracle("Cdist")
def cdist(x1: Any, x2: Any, p: float) -> Any:
    result = np.zeros((*x1.shape[:-1], x2.shape[-2]))
    for place in np.ndindex(*result.shape):
        result[place] = norm(x1[place[:-1]] - x2[(*place[:-2], place[-1])], p)
    return Within(result, result * 1e-12)


@oracle("Pdist")
def pdist(x: Any, p: float) -> Any:
    found = np.array([norm(x[i] - x[j], p) for i in range(len(x)) for j in range(i + 1, len(x))])
    return Within(found, found * 1e-12)


@shapes("Renorm")
def renorm_call(d: Dice) -> None:
    shape = d.shape(1)
    dim = d.axis(len(shape))
    if values.is_int(d.dtype):
        d.tensor("x", np.clip(d.data(d.dtype, shape), 0, 3))
    else:
        array = d.rng.uniform(-2, 2, shape)
        d.tensor("x", (array + 1j * array).astype(dtypes.numpy_dtype(d.dtype)) if d.dtype in (16, 17) else np.asarray(array))
    d.attrs.update(dim=("int", dim), p=("float", 2.0), maxnorm=("float", 1.5))
    d.values.update(dim=dim)
    if dtypes.has_arrays(d.dtype):
        d.output("y", d.dtype)


@oracle("Renorm")
def renorm(x: Any, dim: int, dice: Dice) -> Any:
    rows = np.moveaxis(x, dim, 0)
    found = []
    for one in rows:
        size = norm(np.ravel(one), 2.0)
        found.append(one * (1.5 / (size + 1e-7)) if size > 1.5 else one * 1.0)
    result = np.moveaxis(np.stack(found), 0, dim) if found else x * 1.0
    if values.is_int(dice.dtype):
        return np.array([int(one) for one in result.ravel()], object).reshape(x.shape)
    return Within(result, np.abs(result) * (1e-6 if values.is_complex(dice.dtype) else 1e-12))


@shapes("CdistGrad")
def gradient_call(d: Dice) -> None:
    one = d.wants("one element")
    width, rows, others = (1, 1, 1) if one else (d.int(1, 4), d.int(1, 4), d.int(1, 4))
    if d.wants("long"):
        rows = d.int(30, 50)
    front = (0,) if d.wants("empty") else d.shape(0, 2)[:2]
    order = d.attr("p", *ORDERS)
    x1, x2 = (d.rng.permutation(4 * 60 * width)[: n * width].reshape(n, width) / 32 for n in (rows, others))
    x1, x2 = (np.broadcast_to(x, (*front, *x.shape)) + odd for x, odd in ((x1, 0.0), (x2, 1 / 64)))
    apart = np.array([[norm(a - b, order) for b in x2[place]] for place in np.ndindex(*front) for a in x1[place]])
    shape = (*front, rows, others)
    d.tensor("grad", np.asarray(d.rng.uniform(-2, 2, shape)))
    d.tensor("x1", x1)
    d.tensor("x2", x2)
    d.tensor("cdist", apart.reshape(shape))


@oracle("CdistGrad")
def cdist_grad(grad: Any, x1: Any, x2: Any, cdist: Any, p: float) -> Any:
    result = np.zeros(x1.shape)
    for *place, j in np.ndindex(*grad.shape):
        *front, i = place
        away = x1[(*front, i)] - x2[(*front, j)]
        apart, dy = float(cdist[(*place, j)]), float(grad[(*place, j)])
        for k, one in enumerate(away):
            if apart == 0 or p == 0 or one == 0:
                continue
            if math.isinf(p):
                slope = float(abs(one) == max(abs(other) for other in away))
            else:
                slope = abs(one) ** (p - 1) / apart ** (p - 1)
            result[(*front, i, k)] += math.copysign(slope, one) * dy
    return Within(result, np.abs(result) * 1e-9 + 1e-9)
