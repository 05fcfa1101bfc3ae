"""Further activations, losses and products, element by element."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np

from hostacl.tensors import dtypes
from random_calls import values
from random_calls.dice import Dice
from random_calls.oracle import Within, beyond, finite, oracle, shapes


@shapes("BNLL", "Relu6D", "ThresholdedRelu")
def plain_call(d: Dice) -> None:
    d.tensor("x", d.shape(), *((0, 12) if d.prototype.op_type == "Relu6D" else ()))
    for name, choice in (("scale", 2.0), ("alpha", 0.5)):
        if name in d.generation.attrs:
            d.attr(name, choice)


@oracle("BNLL", family="activation")
def bnll(x: Any) -> Any:
    return np.logaddexp(x, 0.0)


@oracle("Relu6D", family="activation")
def relu6(x: Any, scale: float) -> Any:
    if x.dtype == object:
        return np.array([int(min(max(one, 0), 6) * scale) for one in x.ravel()], object).reshape(x.shape)
    return np.where(np.isnan(x), np.nan, np.clip(x, 0, 6) * scale)


@oracle("ThresholdedRelu", family="activation")
def thresholded(x: Any, alpha: float) -> Any:
    return np.array([one if one > alpha else 0.0 for one in x.ravel()]).reshape(x.shape)


@shapes("Celu")
def celu_call(d: Dice) -> None:
    d.tensor("x", d.shape())
    if "alpha" in d.generation.attrs:
        value = d.choose(0.5, 2.0)
        d.attrs["alpha"], d.values["each"] = ("float", value), (value, value, 1.0)
    else:
        d.values["each"] = tuple(d.attr(f"alpha{place}", 0.5, 2.0) for place in (1, 2, 3))


@oracle("Celu", family="activation")
def celu(x: Any, dice: Dice) -> Any:
    first, second, third = dice.values["each"]
    return np.where(np.isnan(x), np.nan, np.where(x > 0, third * x, first * np.expm1(np.minimum(x, 0) / second)))


@shapes("L2Loss")
def square_call(d: Dice) -> None:
    d.tensor("x", d.shape())


@oracle("L2Loss", family="loss")
def l2(x: Any) -> Any:
    total = sum(float(one) * float(one) for one in x.ravel()) / 2
    return Within(np.asarray(total), np.nan_to_num(abs(total), posinf=0) * 2.0**-22)


@shapes("PoissonNllLoss")
def poisson_call(d: Dice) -> None:
    shape = d.shape()
    d.attr("log_input", False)
    d.tensor("input_x", shape, 0.125, 4, dtype=d.dtype)
    d.tensor("target", shape, 0, 5, dtype=d.dtype)
    d.attr("full", True)
    d.attr("eps", 1e-3)
    d.attr("reduction", "none", "sum")


def averaged(loss: Any, slack: Any, how: str) -> Within:
    if how == "none":
        return Within(loss, slack)
    count = loss.size if how == "mean" else 1
    total = np.asarray(loss.sum() / count if count else np.nan)
    return Within(total, np.asarray(np.nan_to_num(finite(slack).sum()) / max(count, 1)))


@oracle("PoissonNllLoss", family="loss")
def poisson(input_x: Any, target: Any, log_input: bool, full: bool, eps: float, reduction: str) -> Any:
    def one(x: float, y: float) -> float:
        loss = np.exp(x) - y * x if log_input else x - y * np.log(x + eps)
        return float(loss + (y * np.log(y) - y + 0.5 * np.log(2 * np.pi * y) if full and y > 1 else 0))

    with np.errstate(all="ignore"):
        pairs = zip(input_x.ravel(), target.ravel(), strict=True)
        loss = np.array([one(np.float64(x), np.float64(y)) for x, y in pairs]).reshape(input_x.shape)
    return averaged(loss, finite(loss) * 2.0**-20 + finite(input_x) * finite(target) * 2.0**-20, reduction)


@shapes("CosineEmbeddingLoss")
def cosine_call(d: Dice) -> None:
    shape = d.shape(2, 6)
    for name in ("x1", "x2"):
        d.tensor(name, shape, *((0, 5) if values.is_int(d.dtype) else (-3, 3)), dtype=d.dtype)
    d.tensor("target", d.rng.choice([1, 0] if "uint" in dtypes.dtype_name(d.dtype) else [1, -1, 0], (shape[0], *shape[2:])),
             dtype=d.dtype)  # fmt: skip
    d.attr("margin", 0.25)
    d.attr("reduction", "none", "sum")
    d.output("y", dtypes.FLOAT)


@oracle("CosineEmbeddingLoss", family="loss")
def cosine(x1: Any, x2: Any, target: Any, margin: float, reduction: str) -> Any:
    first, second = (np.moveaxis(one.astype(np.float64), 1, -1) for one in (x1, x2))
    loss = np.zeros(target.shape)
    for place in np.ndindex(target.shape):
        a, b, t = first[place], second[place], int(target[place])
        cos = (a * b).sum() / math.sqrt((a * a).sum() + 1e-12) / math.sqrt((b * b).sum() + 1e-12)
        apart = cos if math.isnan(cos) else max(0.0, cos - margin)
        loss[place] = 1 - cos if t == 1 else apart if t == -1 else 0
    return averaged(loss, np.full(loss.shape, 1e-6), reduction)


@shapes("Ger")
def outer_call(d: Dice) -> None:
    for place, name in enumerate(("x1", "x2")):
        size = 0 if place == 0 and d.wants("empty") else 1 if d.wants("one element") else d.int(1, 6)
        d.tensor(name, (d.int(60, 90) if place and d.wants("long") else size,))


@oracle("Ger", family="matmul")
def ger(x1: Any, x2: Any) -> Any:
    return np.array([[a * b for b in x2] for a in x1]).reshape(len(x1), len(x2))


EQUATIONS = ("ij,jk->ik", "ij,jk", "bij,bjk->bik", "ij->ji", "ii->i", "ij->", "i,j,k->kji", "bhid,bhjd->bhij", "ij,ij->i")


@shapes("Einsum")
def equation_call(d: Dice) -> None:
    several = d.wants("many of a list")
    equation = d.choose("ij->ji", "ii->i") if d.wants("one of a list") else d.choose(*EQUATIONS[:3] if several else EQUATIONS)
    one, empty, long = d.wants("one element"), d.wants("empty"), d.wants("long")
    sizes = {letter: 1 if one else d.int(1, 4) for letter in "bdhijk"}
    terms = equation.partition("->")[0].split(",")
    if empty:
        sizes[terms[0][0]] = 0
    if long:
        sizes[terms[0][-1]] = d.int(60, 80)
    for term in terms:
        d.tensor("x", tuple(sizes[letter] for letter in term), -3, 3)
    d.attrs["equation"], d.values["equation"] = ("string", equation), equation
    d.attrs["N"] = ("int", len(terms))


@oracle("Einsum", family="matmul")
def by_equation(x: Any, equation: str) -> Any:
    left, arrow, right = equation.partition("->")
    terms = left.split(",")
    letters = sorted(set(left) - {","})
    if not arrow:
        right = "".join(one for one in letters if left.count(one) == 1)
    sizes = {letter: size for term, one in zip(terms, x, strict=True) for letter, size in zip(term, one.shape, strict=True)}
    shape = tuple(sizes[letter] for letter in right)
    whole = x[0].dtype == object
    total = np.zeros(shape, object) if whole else np.zeros(shape)
    bound = np.zeros(shape)
    for place in itertools.product(*(range(sizes[letter]) for letter in letters)):
        at = dict(zip(letters, place, strict=True))
        term: Any = 1
        for name, one in zip(terms, x, strict=True):
            term = term * one[tuple(at[letter] for letter in name)]
        where = tuple(at[letter] for letter in right)
        total[where] += term
        bound[where] += 0 if whole else float(finite(np.asarray(term)))
    count = math.prod(sizes[letter] for letter in letters)
    return total if whole else Within(total, bound * (count + 8) * 2.0**-23 + beyond(bound))
