"""The registry of oracles and shapers, and what they hand back."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from random_calls.dice import Dice

Array = NDArray[Any]
Function = TypeVar("Function", bound=Callable[..., Any])


class Within(NamedTuple):
    """An expected output that may be missed by ``slack`` (absolute, an array or a number) beyond the table's ulp."""

    value: Any
    slack: Any


class Any_(NamedTuple):  # noqa: N801 - it means "any value"
    """An expected output of known shape; ``holds(array)`` says whether it is acceptable."""

    shape: tuple[int, ...]
    holds: Callable[[Array], bool] = lambda array: True


@dataclass(frozen=True)
class Oracle:
    """An operator's meaning: a function of the prototype's inputs and attributes by name, and the family for its tolerance.

    A parameter that the prototype does not have keeps its default.
    """

    function: Callable[..., Any]
    family: str
    parameters: tuple[str, ...]
    with_default: frozenset[str] = frozenset()


_oracles: dict[str, Oracle] = {}
_shapers: dict[str, Callable[[Dice], None]] = {}


def oracle(*op_types: str, family: str = "") -> Callable[[Function], Function]:
    """Declares what these operators compute.

    Parameters are the prototype's inputs and attributes (``lambda_`` for lambda), and ``dice`` for the Dice that drew the call.
    Floats come as float64, integers as arrays of Python ints; the result is rounded (integers: wrapped) to the output's dtype.
    ``family`` picks the row of tolerance.py; the file's name without it.
    """

    def declare(function: Function) -> Function:
        signature = inspect.signature(function).parameters.values()
        own = frozenset(one.name for one in signature if one.default is not inspect.Parameter.empty)
        names = tuple(one.name for one in signature)
        entry = Oracle(function, family or function.__module__.rpartition(".")[2], names, own)
        _oracles.update(dict.fromkeys(op_types, entry))
        return function

    return declare


def shapes(*op_types: str) -> Callable[[Function], Function]:
    """Declares how consistent tensors and attributes of these operators are drawn from a Dice."""

    def declare(function: Function) -> Function:
        _shapers.update(dict.fromkeys(op_types, function))
        return function

    return declare


@cache
def _load() -> None:
    """Imports every family once."""
    package = importlib.import_module("random_calls.oracles")
    for entry in pkgutil.iter_modules(package.__path__):
        importlib.import_module(f"random_calls.oracles.{entry.name}")


def find_oracle(op_type: str) -> Oracle | None:
    """The oracle of an operator, or None."""
    _load()
    return _oracles.get(op_type)


def find_shaper(op_type: str) -> Callable[[Dice], None] | None:
    """The shaper of an operator; None for those that need none."""
    _load()
    return _shapers.get(op_type)


def with_oracle() -> tuple[str, ...]:
    """The names of all operators that have an oracle."""
    _load()
    return tuple(sorted(_oracles))


def summed(value: Any, magnitude: Any, terms: int, bits: int = 24) -> Within:
    """A sum of ``terms`` terms whose finite absolute values sum to ``magnitude``, accumulated with ``bits`` bits in any order.

    Where that sum is beyond float32, anything may come out: a partial sum may overflow.
    """
    size = np.asarray(magnitude, np.float64)
    return Within(value, np.where((size < 3.4e38) | (bits > 24), size * (max(terms, 1) * 2.0**-bits), np.inf))


def beyond(size: Any) -> Any:
    """The room of sums whose sizes add up to more than float32 holds: they may overflow on the way and give anything."""
    return np.where(np.asarray(size, np.float64) < 3.4e38, 0.0, np.inf)


def finite(x: Any) -> Any:
    """Absolute values, 0 for infinities and NaN."""
    return np.where(np.isfinite(x), np.abs(x), 0)
