"""Prototypes: which tensors and attributes an operator takes, from the facts."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cache, cached_property
from pathlib import Path
from typing import Any, Literal

from hostacl.tensors import dtypes

Kind = Literal["required", "optional", "dynamic"]

ATTR_KINDS = {
    "Int": "int", "int": "int", "Float": "float", "Bool": "bool", "String": "string", "Type": "data_type", "Tensor": "tensor",
    "ListInt": "list_int", "ListFloat": "list_float", "ListBool": "list_bool", "ListString": "list_string",
    "ListType": "list_data_type", "ListListInt": "list_list_int",
}  # fmt: skip
"""The kinds of attributes, by the names that prototypes give them."""

ANY_KIND = "any"
"""The kind of an attribute of which only the name is known (older prototypes)."""


@dataclass(frozen=True)
class TensorDecl:
    """One input or output of a prototype. ``dtypes`` are codes in the prototype's order; empty means that nothing is known."""

    name: str
    kind: Kind
    dtypes: tuple[int, ...]

    @cached_property
    def allowed(self) -> frozenset[int]:
        """The dtypes as a set."""
        return frozenset(self.dtypes)


@dataclass(frozen=True)
class AttrDecl:
    """One attribute of a prototype."""

    name: str
    kind: str
    required: bool = False
    default: Any = None


@dataclass(frozen=True)
class Generation:
    """One generation of a prototype: the tensors in order and the attributes by name."""

    inputs: tuple[TensorDecl, ...]
    outputs: tuple[TensorDecl, ...]
    attrs: Mapping[str, AttrDecl]


@dataclass(frozen=True)
class Prototype:
    """A known operator. ``generations``: the newest list of tensors and attributes, then the older one where it differs."""

    op_type: str
    generations: tuple[Generation, ...]

    @property
    def newest(self) -> Generation:
        """The generation that says most."""
        return self.generations[0]

    @property
    def inputs(self) -> tuple[TensorDecl, ...]:
        """Inputs of the newest generation."""
        return self.newest.inputs

    @property
    def outputs(self) -> tuple[TensorDecl, ...]:
        """Outputs of the newest generation."""
        return self.newest.outputs

    @property
    def attrs(self) -> Mapping[str, AttrDecl]:
        """Attributes of the newest generation."""
        return self.newest.attrs

    @cached_property
    def takes(self) -> frozenset[str]:
        """Every name of an input or attribute in any generation."""
        return frozenset(name for one in self.generations for name in (*(tensor.name for tensor in one.inputs), *one.attrs))

    def with_attrs(self, extra: Mapping[str, Any]) -> Prototype:
        """The same with attributes added, or with another default where they exist already."""
        changed = tuple(replace(one, attrs={**one.attrs, **_extra_attrs(one.attrs, extra)}) for one in self.generations)
        return replace(self, generations=changed)

    def with_forms(self, forms: Iterable[Generation]) -> Prototype:
        """The same, and other lists of tensors that clients call it with."""
        return replace(self, generations=(*self.generations, *forms))

    def with_dtypes(self, extra: Mapping[str, Iterable[int]]) -> Prototype:
        """The same with dtypes added to the tensors named."""

        def wider(decl: TensorDecl) -> TensorDecl:
            return replace(decl, dtypes=(*decl.dtypes, *extra[decl.name])) if decl.name in extra else decl

        changed = (
            replace(one, inputs=tuple(map(wider, one.inputs)), outputs=tuple(map(wider, one.outputs)))
            for one in self.generations
        )
        return replace(self, generations=tuple(changed))


def _extra_attrs(known: Mapping[str, AttrDecl], extra: Mapping[str, Any]) -> dict[str, AttrDecl]:
    """Declarations of added attributes; the kind of a new one follows from its default."""
    kinds = {bool: "bool", int: "int", float: "float", str: "string", list: "list_int"}
    return {
        name: replace(known[name], default=default, required=False)
        if name in known
        else AttrDecl(name, kinds[type(default)], False, default)
        for name, default in extra.items()
    }


@cache
def _facts() -> dict[str, Any]:
    """The facts file, read once on first need."""
    content: dict[str, Any] = json.loads((Path(__file__).parent / "facts" / "operators.json").read_bytes())
    return content


def known_operators() -> tuple[str, ...]:
    """The names of all operators that have a prototype."""
    return tuple(_facts()["operators"])


@cache
def prototype(op_type: str) -> Prototype | None:
    """The prototype of an operator, or None when no operator has this name."""
    entry = _facts()["operators"].get(op_type)
    if entry is None:
        return None
    newest = Generation(_tensors(entry["inputs"]), _tensors(entry["outputs"]), _attrs(entry["attrs"]))
    older = (_older(newest, entry["older"]),) if "older" in entry else ()
    return Prototype(op_type, (newest, *older))


def _tensors(entries: Iterable[Mapping[str, Any]]) -> tuple[TensorDecl, ...]:
    return tuple(TensorDecl(entry["name"], entry.get("kind", "required"), _codes(entry["dtypes"])) for entry in entries)


def _codes(names: str | list[str]) -> tuple[int, ...]:
    """Codes of a list of dtype names, or of the alias that stands for one."""
    listed: list[str] = _facts()["aliases"][names] if isinstance(names, str) else names
    return tuple(dtypes.code_of(name) for name in listed)


def _attrs(entries: Iterable[Mapping[str, Any]]) -> dict[str, AttrDecl]:
    return {entry["name"]: _attr(entry) for entry in entries}


def _attr(entry: Mapping[str, Any]) -> AttrDecl:
    kind = ATTR_KINDS[entry["type"]]
    return AttrDecl(entry["name"], kind, entry.get("required", False), _default(kind, entry.get("default")))


def _default(kind: str, default: Any) -> Any:
    """A default in the form attributes arrive in: dtype names as codes, floats as floats."""
    if (kind == "data_type" and default is not None) or (kind == "int" and str(default) in dtypes.BY_NAME):
        return dtypes.code_of(default)
    return float(default) if kind == "float" and default is not None else default


def _older(newest: Generation, names: Mapping[str, list[str]]) -> Generation:
    """The older generation: names in its order, with what the newest says about each; unknown ones take any dtype."""
    inputs = {decl.name: decl for decl in newest.inputs}
    outputs = {decl.name: decl for decl in newest.outputs}
    return Generation(
        tuple(inputs.get(name, TensorDecl(name, "required", ())) for name in names["inputs"]),
        tuple(outputs.get(name, TensorDecl(name, "required", ())) for name in names["outputs"]),
        {name: newest.attrs.get(name, AttrDecl(name, ANY_KIND)) for name in names["attrs"]},
    )


def with_any_kind(op_type: str, *names: str) -> Generation:
    """A form of an operator in which clients set these attributes as another kind than its prototype says."""
    known = prototype(op_type)
    assert known is not None, op_type
    return replace(known.newest, attrs={**known.attrs, **{name: replace(known.attrs[name], kind=ANY_KIND) for name in names}})
