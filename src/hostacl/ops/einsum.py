"""Products by an equation, and of two vectors."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from hostacl.ops import dims
from hostacl.ops.call import Call
from hostacl.ops.dims import Dim, Shape
from hostacl.ops.registry import kernel
from hostacl.ops.shapes import rank_is

Array = NDArray[Any]


def ger_shape(call: Call) -> Shape:
    """(elements of x1, elements of x2)."""
    return (*rank_is(call, "x1", 1), *rank_is(call, "x2", 1))


@kernel("Ger", shape=ger_shape)
def ger(x1: Array, x2: Array) -> Array:
    """The outer product: each element of x1 times each of x2."""
    return np.multiply.outer(x1, x2)


def parts(call: Call) -> tuple[list[str], str]:
    """The letters of each input and of the output; without an arrow those that stand once, in order."""
    equation = str(call.attr("equation")).replace(" ", "")
    left, arrow, right = equation.partition("->")
    terms = left.split(",")
    letters = left.replace(",", "")
    told = f"equation = {call.attr('equation')!r}"
    if "." in equation or not all(one.isascii() and one.isalpha() for one in letters + right):
        raise call.refuse("HA508", f"{told}; allowed: letters, commas and an arrow, such as 'ij,jk->ik'.")
    if not arrow:
        right = "".join(sorted(one for one in set(letters) if letters.count(one) == 1))
    if len(set(right)) != len(right) or not set(right) <= set(letters):
        raise call.refuse("HA508", f"{told}; each letter behind the arrow stands there once and before it, too.")
    return terms, right


def einsum_shape(call: Call) -> Shape:
    """The sizes of the output's letters, which all inputs that have a letter agree on."""
    (terms, right), shapes = parts(call), call.shapes("x")
    if len(terms) != len(shapes) or [len(one) for one in terms] != [len(shape) for shape in shapes]:
        told = f"equation = {call.attr('equation')!r} for {', '.join(dims.text(one) for one in shapes)}"
        raise call.refuse("HA504", f"{told}; allowed: one term for each input, one letter for each of its dims.")
    sizes: dict[str, Dim] = {}
    for term, shape in zip(terms, shapes, strict=True):
        for letter, size in zip(term, shape, strict=True):
            before = sizes.setdefault(letter, size)
            if dims.known(before, size) and before != size:
                raise call.refuse("HA504", f"{letter} is {before} in one input and {size} in another; they must be equal.")
    return tuple(sizes[letter] for letter in right)


@kernel("Einsum", shape=einsum_shape)
def einsum(x: list[Array], call: Call) -> Array:
    """Sums of products by an equation, such as 'bij,bjk->bik': letters that the output lacks are added up.

    Without an arrow the output has the letters that stand once, in alphabetical order; a letter twice in one term is a
    diagonal. Halves are added up in float32, three terms and more in float64, integers wrap.
    """
    terms, right = parts(call)
    floats = x[0].dtype.kind == "f"
    ready = [one.astype(np.float64) for one in x] if floats and len(x) > 2 else x  # products of two may be out of range
    return np.asarray(np.einsum(",".join(terms) + "->" + right, *ready, optimize=len(x) > 1 and floats))
