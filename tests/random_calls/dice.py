"""Dice: what a shaper draws with. Each throw obeys the kind of call that is wanted and notes that it could."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from hostacl.ops.schema import AttrDecl, Prototype, TensorDecl
from hostacl.tensors import dtypes, formats
from hostacl.tensors.spec import TensorSpec
from random_calls import values

Array = values.Array
Shape = tuple[int, ...]

PLAIN_KINDS = {bool: "bool", int: "int", float: "float", str: "string", list: "list_int"}
"""The kind an attribute is set as when the prototype knows only its name."""


@dataclass
class Tensor:
    """A drawn tensor: descriptor and elements (None: left out); ``way`` is how a value input arrives."""

    name: str
    spec: TensorSpec
    data: Array | None
    way: str = ""


@dataclass
class Dice:
    """Draws the parts of one call of ``op_type`` whose main dtype is ``dtype``; ``limit`` is the largest ordinary dim."""

    prototype: Prototype
    dtype: int
    kind: str
    rng: np.random.Generator
    limit: int = 4
    inputs: dict[str, list[Tensor]] = field(default_factory=dict)
    attrs: dict[str, tuple[str, Any]] = field(default_factory=dict)
    values: dict[str, Any] = field(default_factory=dict)
    outputs: dict[str, tuple[int | None, Shape | None, int]] = field(default_factory=dict)
    served: set[str] = field(default_factory=set)

    def __post_init__(self) -> None:
        older = self.wants("older prototype", len(self.prototype.generations) > 1)
        self.generation = self.prototype.generations[1 if older else 0]

    # --- kinds ---

    def wants(self, kind: str, possible: bool = True) -> bool:
        """Whether this kind is wanted and possible here; notes that it was obeyed."""
        if kind != self.kind or not possible:
            return False
        self.served.add(kind)
        return True

    def chance(self, probability: float = 0.5) -> bool:
        """True now and then."""
        return bool(self.rng.random() < probability)

    def choose(self, *options: Any) -> Any:
        """One of the options."""
        return options[int(self.rng.integers(len(options)))]

    def int(self, low: int, high: int) -> int:
        """An integer, both ends included."""
        return int(self.rng.integers(low, high + 1))

    # --- shapes ---

    def shape(self, low: int = 0, high: int = 8, empty: bool = True, long: bool = True, grows: int = 0) -> Shape:
        """A shape of low..high dims; 0-d, empty, one-element, 8-d and long ones when such are wanted.

        ``grows`` says how many dims more the largest tensor of the call has: with them it is the one of 8.
        """
        if self.wants("0-d", low == 0):
            return ()
        if self.wants("8-d", high + grows >= 8):
            return tuple(self.int(1, 2) if place else 2 for place in range(8 - grows))
        rank = self.int(max(low, min(1, high)), max(low, min(high, 4)))
        if self.wants("one element"):
            return (1,) * rank
        dims = [self.int(1, self.limit + 1) for _ in range(rank)]
        if rank and self.wants("empty", empty):
            dims[self.int(0, rank - 1)] = 0
        if rank and self.wants("long", long):
            dims = [1 if place else self.int(60, 300) for place in range(rank)]
            self.rng.shuffle(dims)
        if rank and self.kind in {"in place", "partial overlap"}:
            return (dims[0],) * rank  # so that a transpose, say, keeps the shape
        return tuple(dims)

    def shapes_that_broadcast(self, count: int) -> list[Shape]:
        """Shapes that broadcast to one, different ones when "broadcast" is wanted."""
        full = self.shape()
        if self.wants("broadcast", count > 1):
            full = self.shape(1) if full == () else full
            return (
                [full[1:], *(self._thinner(full) for _ in range(count - 2)), full]
                if self.chance()
                else [*(self._thinner(full) for _ in range(count - 1)), full]
            )
        if self.kind in {"", "special values", "mixed dtypes"} and self.chance(0.3):
            return [self._thinner(full) if self.chance() else full for _ in range(count)]
        return [full] * count

    def _thinner(self, full: Shape) -> Shape:
        """A shape that broadcasts to the full one: some dims 1, leading ones left out."""
        dims = tuple(1 if self.chance(0.4) else dim for dim in full)
        if dims == full and full:
            dims = (1, *full[1:])
        return dims[self.int(0, len(dims)) if self.chance(0.3) else 0 :]

    def axis(self, rank: int) -> int:
        """An axis of a tensor of this rank (0 or -1 for a scalar), a negative one when such is wanted."""
        size = max(rank, 1)
        place = self.int(0, size - 1)
        if self.wants("negative axis"):
            return place - size
        return place - size if self.chance(0.2) else place

    def axes(self, rank: int, least: int = 0) -> list[int]:
        """Different axes of a tensor of this rank."""
        count = self.int(min(least, rank), rank)
        chosen = [int(one) for one in self.rng.permutation(rank)[:count]]
        if chosen and self.wants("negative axis"):
            return [one - rank for one in chosen]
        return [one - rank if self.chance(0.2) else one for one in chosen]

    # --- tensors ---

    def decl(self, name: str) -> TensorDecl | None:
        """The declaration of an input in the generation drawn from."""
        return next((decl for decl in self.generation.inputs if decl.name == name), None)

    def dtype_of(self, name: str) -> int:
        """The dtype an input gets: the main one where it is the same list, else one of its own."""
        decl = self.decl(name)
        if decl is None or not decl.dtypes or decl.allowed == main_input(self.prototype).allowed:
            return self.dtype
        if self.dtype in decl.allowed and not decl.allowed <= {dtypes.INT32, dtypes.INT64}:
            return self.dtype
        return int(self.choose(*(code for code in decl.dtypes if dtypes.has_arrays(code))))

    def data(self, code: int, shape: Shape, low: float | None = None, high: float | None = None) -> Array:
        """Random elements of a dtype, extremes among them when special values are wanted."""
        return values.draw(self.rng, code, shape, self.wants("special values", code != dtypes.BOOL), low, high)

    def tensor(
        self,
        name: str,
        data: Shape | Array,
        low: float | None = None,
        high: float | None = None,
        dtype: int | None = None,
        format: int = formats.ND,
    ) -> Array:
        """Adds an input (again: the next of a dynamic one) with this data, or random data of this shape; gives the data."""
        code = self.dtype_of(name) if dtype is None else dtype
        array = self.data(code, data, low, high) if isinstance(data, tuple) else np.asarray(data).astype(values.logical(code))
        if self.decl(name) is not None:
            self.inputs.setdefault(name, []).append(Tensor(name, TensorSpec(code, array.shape, format), array))
        return array

    def value(self, name: str, data: Any, dtype: int | None = None) -> None:
        """Adds a value input (axis, shape …): as const, in host or in device memory."""
        self.tensor(name, np.asarray(data), dtype=dtype)
        if name in self.inputs:
            self.inputs[name][-1].way = self._way()

    def _way(self) -> str:
        ways = [way for way in ("const value", "host value", "device value") if self.wants(way)]
        return ways[0] if ways else str(self.choose("const value", "host value", "device value"))

    def optional(self, name: str) -> bool:
        """Whether an optional input is to be given; when not, it is marked as left out."""
        if self.wants("optional absent") or (not self.wants("optional present") and self.chance()):
            if self.decl(name) is not None:
                self.inputs[name] = [Tensor(name, TensorSpec(-1, (), -1), None)]
            return False
        return self.decl(name) is not None

    def count(self, most: int = 4) -> int:
        """How many tensors a dynamic input or output has."""
        if self.wants("one of a list"):
            return 1
        return self.int(2, most) if self.wants("many of a list") else self.int(1, most)

    # --- attributes and outputs ---

    def attr(self, name: str, *choices: Any) -> Any:
        """Draws an attribute among the choices, or its default, sent or not; gives the value in force."""
        decl = self.generation.attrs.get(name)
        if decl is None:
            return self.prototype.attrs[name].default if name in self.prototype.attrs else None
        value, sent = self._attr(decl, choices)
        if sent:
            value = as_sent(value)
            self.attrs[name] = (PLAIN_KINDS[type(value)] if decl.kind == "any" else decl.kind, value)
        self.values[name] = value
        return value

    def _attr(self, decl: AttrDecl, choices: Sequence[Any]) -> tuple[Any, bool]:
        if decl.required or decl.default is None or decl.kind == "any":
            return self.choose(*choices), True
        if self.wants("attributes absent"):
            return decl.default, False
        if self.wants("attributes default"):
            return decl.default, True
        value = self.choose(*choices, *([] if self.wants("attributes varied", len(choices) > 0) else [decl.default]))
        return value, value != decl.default or self.chance()

    def output(self, name: str, dtype: int | None = None, shape: Shape | None = None, format: int = formats.ND) -> None:
        """Says what is described for an output where the dtype is not the main one or the shape only a bound."""
        self.outputs[name] = (dtype, shape, format)


def as_sent(value: Any) -> Any:
    """An attribute's value as the API keeps it: floats are float32 there."""
    if isinstance(value, list):
        return [as_sent(one) for one in value]
    return float(np.float32(value)) if isinstance(value, float) else value


def main_input(prototype: Prototype) -> TensorDecl:
    """The input whose dtype a call is drawn for: the first with the longest list of dtypes; an output when there is none."""
    ordinary = [decl for decl in prototype.inputs if decl.kind != "optional"] or prototype.inputs or prototype.outputs
    return max(ordinary, key=lambda decl: len(decl.dtypes))
