"""Foreach operators: the function of one tensor, for each of a list."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from hostacl.tensors import dtypes
from random_calls.dice import Dice
from random_calls.oracle import oracle, shapes
from random_calls.oracles.elementwise_binary import _integer_power, maximum, minimum, sums, whole
from random_calls.oracles.elementwise_unary import by_python


def from_zero(function: Any, zero: float = 0.0) -> Any:
    """A logarithm, which is -Inf where its argument is 0."""
    return lambda x: np.where(x == zero, -np.inf, by_python(function)(x))


def raised(x: Any, power: Any) -> Any:
    """x to a power; integers stay integers."""
    return whole(_integer_power, x, power) if x.dtype == object else np.power(x.astype(np.longdouble), power).astype(np.float64)


FUNCTIONS = {
    "ACos": by_python(math.acos),
    "ASin": by_python(math.asin),
    "ATan": by_python(math.atan),
    "Abs": abs,
    "Cos": by_python(math.cos),
    "Cosh": by_python(math.cosh),
    "Exp": by_python(math.exp),
    "Expm1": by_python(math.expm1),
    "Log": from_zero(math.log),
    "Log10": from_zero(math.log10),
    "Log1p": from_zero(math.log1p, -1.0),
    "Log2": from_zero(math.log2),
    "Sigmoid": lambda x: 1 / (1 + np.exp(-x)),
    "Sin": by_python(math.sin),
    "Sinh": lambda x: np.copysign(by_python(lambda one: math.sinh(abs(one)))(x), x),
    "Tan": by_python(math.tan),
    "Tanh": by_python(math.tanh),
}
PAIRS = {
    "Add": sums,
    "Sub": lambda a, b: sums(a, -b),
    "Mul": lambda a, b: a * b,
    "Div": lambda a, b: np.asarray(a, np.float64) / np.asarray(b, np.float64),
    "Maximum": maximum,
    "Minimum": minimum,
    "Pow": raised,
}


def several(d: Dice, *names: str) -> int:
    """Lists of tensors, pairwise of one shape; gives how many."""
    listed = [d.shape() for _ in range(d.count(3))]
    positive = any(word in d.prototype.op_type for word in ("Log", "Pow"))
    for name in names:
        for shape in listed:
            d.tensor(name, shape, *((0.1, 3) if positive else (-9, 9)))
    return len(listed)


@shapes(*(f"Foreach{name}" for name in FUNCTIONS))
def one_list(d: Dice) -> None:
    """A list of tensors."""
    several(d, "x")


@oracle(*(f"Foreach{name}" for name in FUNCTIONS))
def each(x: Any, dice: Dice) -> Any:
    return [FUNCTIONS[dice.prototype.op_type.removeprefix("Foreach")](one) for one in x]


@shapes(*(f"Foreach{name}List" for name in PAIRS))
def two_lists(d: Dice) -> None:
    """Two lists of tensors, and alpha where there is one."""
    several(d, "x1", "x2")
    if d.decl("alpha"):
        d.tensor("alpha", d.choose((), (1,)), 1, 3)


@oracle(*(f"Foreach{name}List" for name in ("Div", "Mul", "Maximum", "Minimum", "Pow")))
def pair_by_pair(x1: Any, x2: Any, dice: Dice) -> Any:
    function = PAIRS[dice.prototype.op_type.removeprefix("Foreach").removesuffix("List")]
    return [function(one, other) for one, other in zip(x1, x2, strict=True)]


@oracle("ForeachAddList", "ForeachSubList")
def with_alpha(x1: Any, x2: Any, alpha: Any, dice: Dice) -> Any:
    function = PAIRS[dice.prototype.op_type.removeprefix("Foreach").removesuffix("List")]
    return [function(one, other * alpha.item()) for one, other in zip(x1, x2, strict=True)]


@shapes(*(f"Foreach{name}Scalar{kind}" for name in PAIRS for kind in ("", "List")))
def numbers(d: Dice) -> None:
    """A list of tensors, and one number or a number each."""
    count = several(d, "x")
    if d.decl("scalar"):
        d.tensor("scalar", d.choose((), (1,)), 1, 3)
    else:
        d.tensor("scalars", (count,), 1, 3)
    if "Div" in d.prototype.op_type and d.dtype == dtypes.INT32:
        d.output("y", dtypes.FLOAT)


@oracle(*(f"Foreach{name}Scalar" for name in PAIRS))
def one_number(x: Any, scalar: Any, dice: Dice) -> Any:
    function = PAIRS[dice.prototype.op_type.removeprefix("Foreach").removesuffix("Scalar")]
    return [function(one, np.array(scalar.item(), scalar.dtype)) for one in x]


@oracle(*(f"Foreach{name}ScalarList" for name in PAIRS))
def a_number_each(x: Any, scalars: Any, dice: Dice) -> Any:
    function = PAIRS[dice.prototype.op_type.removeprefix("Foreach").removesuffix("ScalarList")]
    return [function(one, np.array(number, scalars.dtype)) for one, number in zip(x, scalars, strict=True)]
