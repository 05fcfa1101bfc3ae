"""Binding: which of the tensors and attributes that a client sent is which of the prototype's."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias

from hostacl.errors import Refused
from hostacl.ops.schema import ANY_KIND, AttrDecl, TensorDecl
from hostacl.tensors.spec import TensorSpec

Attr: TypeAlias = tuple[str, Any]
"""An attribute as set: its kind (bool, int, float, string, data_type, list_int …) and its value."""


class Bound(NamedTuple):
    """A tensor of the prototype with what stands for it: positions among the client's tensors, and their descriptors.

    An optional tensor left out has neither; a dynamic one has any number.
    """

    decl: TensorDecl
    positions: tuple[int, ...]
    specs: tuple[TensorSpec, ...]

    @property
    def given(self) -> bool:
        """Whether there is a tensor at all."""
        return bool(self.specs)

    def label(self, index: int) -> str:
        """How messages name one of these tensors: the prototype's name, with a number when there may be several."""
        return f"{self.decl.name}{index}" if self.decl.kind == "dynamic" else self.decl.name


def bind_tensors(
    op: str, side: str, decls: Sequence[TensorDecl], specs: Sequence[TensorSpec], length: int | None
) -> dict[str, Bound]:
    """Each declared tensor with its descriptors, by position. ``side`` is "input" or "output"; ``length`` the number that
    attribute N (or num_split) gives for a dynamic tensor, if any. Trailing outputs and optional inputs may be missing.
    """
    dynamic = [decl for decl in decls if decl.kind == "dynamic"]
    if not dynamic:
        return _one_to_one(op, side, decls, specs)
    counts = _counts(op, side, decls, dynamic, specs, length)
    bound, place = {}, 0
    for decl in decls:
        width = counts[decl.name] if decl.kind == "dynamic" else 1
        bound[decl.name] = _bound(op, side, decl, specs, range(place, min(place + width, len(specs))))
        place += width
    if place < len(specs):
        raise _too_many(op, side, decls, specs)
    return bound


def _one_to_one(op: str, side: str, decls: Sequence[TensorDecl], specs: Sequence[TensorSpec]) -> dict[str, Bound]:
    if len(specs) > len(decls):
        raise _too_many(op, side, decls, specs)
    return {
        decl.name: _bound(op, side, decl, specs, range(place, min(place + 1, len(specs)))) for place, decl in enumerate(decls)
    }


def _bound(op: str, side: str, decl: TensorDecl, specs: Sequence[TensorSpec], places: range) -> Bound:
    """A declared tensor with the descriptors at these positions; refuses a required input that is not there."""
    present = [place for place in places if side == "output" or not specs[place].absent]
    if side == "input" and decl.kind == "required" and not present:
        how = "its descriptor says UNDEFINED" if len(places) else f"only {len(specs)} inputs were given"
        rule = "HA515" if len(places) else "HA513"
        text = f"{op}: {decl.name} is an input that must be given, but {how}. Only optional inputs may be left out."
        raise Refused(rule, text)
    return Bound(decl, tuple(present), tuple(specs[place] for place in present))


def _too_many(op: str, side: str, decls: Sequence[TensorDecl], specs: Sequence[TensorSpec]) -> Refused:
    names = ", ".join(decl.name for decl in decls) or "none"
    return Refused("HA513", f"{op}: {len(specs)} {side}s given; allowed: at most {len(decls)} ({names}). Leave the others out.")


def _counts(
    op: str,
    side: str,
    decls: Sequence[TensorDecl],
    dynamic: Sequence[TensorDecl],
    specs: Sequence[TensorSpec],
    length: int | None,
) -> dict[str, int]:
    """How many tensors each dynamic one has: by descriptor names, by attribute, or by what the others leave."""
    named = {decl.name: sum(_belongs(spec, decl.name) for spec in specs) for decl in dynamic}
    if all(named.values()):
        return named
    surplus = len(specs) - (len(decls) - len(dynamic))
    if side == "output" and surplus <= 0 and length is None:
        return dict.fromkeys(named, 0)
    if len(dynamic) == 1:
        return {dynamic[0].name: _single_count(op, side, dynamic[0], decls, specs, length, surplus)}
    optional = sum(decl.kind == "optional" for decl in decls)
    if any(named.values()) and surplus <= sum(named.values()) <= surplus + optional:
        return named  # some of the lists are empty
    for total in range(surplus, surplus + optional + 1):
        if total >= len(dynamic) and total % len(dynamic) == 0:
            return {decl.name: total // len(dynamic) for decl in dynamic}
    names = ", ".join(decl.name for decl in dynamic)
    raise Refused(
        "HA513",
        f"{op}: {len(specs)} {side}s do not divide among {names}. Name them {dynamic[0].name}0, {dynamic[0].name}1 …",
    )


def _single_count(
    op: str,
    side: str,
    decl: TensorDecl,
    decls: Sequence[TensorDecl],
    specs: Sequence[TensorSpec],
    length: int | None,
    surplus: int,
) -> int:
    """The number of tensors of the only dynamic one; a given N must leave room for the others."""
    optional = sum(other.kind == "optional" for other in decls)
    low, high = max(surplus, 0), max(surplus, 0) + optional
    if side == "output" and surplus < 0 and length is not None:
        return length
    if length is not None and low <= length <= high:
        return length
    if length is not None and optional == 0 and length != surplus and side == "input" and surplus < 1:
        raise Refused("HA513", f"{op}: attribute says {length} tensors {decl.name}, but {len(specs)} {side}s were given.")
    return next((count for count in range(low, high + 1) if _fits(decl, decls, specs, count)), low)


def _fits(decl: TensorDecl, decls: Sequence[TensorDecl], specs: Sequence[TensorSpec], count: int) -> bool:
    """Whether all dtypes are allowed when the dynamic one has this many tensors and trailing ones are missing."""
    place = 0
    for other in decls:
        width = count if other is decl else 1
        part = specs[place : place + width]
        if any(not spec.absent and other.dtypes and spec.dtype not in other.allowed for spec in part):
            return False
        if other.kind == "required" and not part:
            return False
        place += width
    return count > 0


def _belongs(spec: TensorSpec, name: str) -> bool:
    """Whether a descriptor says by its name (x0, x1 …) or its dynamic-input mark that it is one of these."""
    if spec.dynamic_input:
        return spec.dynamic_input == name
    return spec.name.startswith(name) and spec.name[len(name) :].isdigit()


class Attrs(NamedTuple):
    """Attributes after checking: every value the prototype knows, which of them were given, and what was dropped."""

    values: dict[str, Any]
    given: frozenset[str]
    reports: tuple[tuple[str, str], ...]


def bind_attrs(op: str, decls: Mapping[str, AttrDecl], given: Mapping[str, Attr]) -> Attrs:
    """Values of all declared attributes. An unknown one is dropped and reported; a wrong kind or a missing one is refused."""
    values = {name: _value(op, decl, given.get(name)) for name, decl in decls.items()}
    unknown = [name for name in given if name not in decls]
    known = ", ".join(decls) or "none"
    reports = [
        ("HA507", f"{op}: {name} is no attribute of the prototype and was dropped; it has: {known}.") for name in unknown
    ]
    return Attrs(values, frozenset(given) & frozenset(decls), tuple(reports))


def _value(op: str, decl: AttrDecl, attr: Attr | None) -> Any:
    if attr is None:
        if decl.required:
            raise Refused(
                "HA505",
                f"{op}: {decl.name} is an attribute ({decl.kind}) that must be set, and was not. "
                f"Set it with set_attr_{decl.kind}.",
            )
        return decl.default
    kind, value = attr
    if decl.kind != ANY_KIND and _one_kind(kind) != _one_kind(decl.kind):
        raise Refused(
            "HA506",
            f"{op}: {decl.name} was set as {kind} ({value!r}); the prototype's attribute is {decl.kind}. "
            f"Set it with set_attr_{decl.kind}.",
        )
    return value


def _one_kind(kind: str) -> str:
    """int and data type are one kind, in lists too."""
    return kind.replace("data_type", "int")
