"""Dims that may be unknown: integers, or intervals that ordinary arithmetic carries through a shape rule."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from math import prod
from typing import TypeAlias

NO_BOUND = -1


@dataclass(frozen=True)
class Between:
    """A dim known only to lie between two bounds; ``high`` None means that there is no upper one.

    What shape rules compute is monotone, so it works on the bounds. ``==`` compares bounds: ask ``known(dim)`` first.
    """

    low: int = 0
    high: int | None = None

    def __add__(self, other: Dim) -> Between:
        low, high = bounds(other)
        return Between(self.low + low, None if self.high is None or high is None else self.high + high)

    __radd__ = __add__

    def __sub__(self, other: int) -> Between:
        return self + -other

    def __mul__(self, other: Dim) -> Between:
        low, high = bounds(other)
        return Between(self.low * low, None if self.high is None or high is None else self.high * high)

    __rmul__ = __mul__

    def __floordiv__(self, other: int) -> Between:
        return Between(self.low // other, None if self.high is None else self.high // other)

    def at_least(self, low: int) -> Between:
        """The same with both bounds no lower than ``low``."""
        return Between(max(self.low, low), None if self.high is None else max(self.high, low))


Dim: TypeAlias = "int | Between"
Shape: TypeAlias = tuple[Dim, ...]


def bounds(dim: Dim) -> tuple[int, int | None]:
    """The least and the greatest value of a dim."""
    return (dim.low, dim.high) if isinstance(dim, Between) else (dim, dim)


def known(*dims: Dim) -> bool:
    """Whether all of these dims are numbers."""
    return not any(isinstance(dim, Between) for dim in dims)


def dim_of(size: int, index: int, ranges: tuple[tuple[int, int], ...]) -> Dim:
    """The dim that a descriptor gives: a number, or for -1 what its range says."""
    if size >= 0:
        return size
    low, high = ranges[index] if index < len(ranges) else (0, NO_BOUND)
    return Between(low, None if high == NO_BOUND else high)


def count(dims: Iterable[Dim]) -> Dim:
    """The product of dims: how many elements there are."""
    listed = list(dims)
    if known(*listed):
        return prod(dim for dim in listed if isinstance(dim, int))
    if 0 in listed:
        return 0
    total: Dim = Between(1, 1)
    for dim in listed:
        total = total * dim
    return total


def may_be(dim: Dim, value: int) -> bool:
    """Whether a dim can have this value."""
    low, high = bounds(dim)
    return low <= value and (high is None or value <= high)


def text(shape: Iterable[Dim] | None) -> str:
    """A shape as messages show it: ``[2,3]``, ``[0..8,4]``."""
    if shape is None:
        return "[unknown rank]"
    shown = (f"{dim.low}..{'' if dim.high is None else dim.high}" if isinstance(dim, Between) else str(dim) for dim in shape)
    return f"[{','.join(shown)}]"
