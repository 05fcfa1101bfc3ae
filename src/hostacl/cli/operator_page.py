"""What there is to say about one operator, for the terminal and for docs/operators."""

from __future__ import annotations

import ast
import inspect
import textwrap
from collections.abc import Callable, Iterator
from functools import cache
from types import CodeType, FunctionType
from typing import Any, NamedTuple

import numpy as np

from hostacl.cli.examples import Row, example_rows
from hostacl.ops import registry, schema, usage
from hostacl.ops.operator import Operator
from hostacl.ops.schema import AttrDecl, Generation, Prototype, TensorDecl
from hostacl.tensors.dtypes import allowed_of, dtype_name

REFUSING = {"refuse": None, "Refused": None, "Failed": None, "equal_dims": "HA504"}
"""Functions that refuse: with the rule as their first argument and the text as the second, or by a rule, the text last."""


class Page(NamedTuple):
    """One operator, in words and rows.

    ``tensors``: (input or output, name, optional or dynamic, dtypes); ``attrs``: (name, kind, default); ``notes``: a line
    each; ``refusals``: (rule, text with an ellipsis for each value); ``example``: rows as cli/examples.py gives them.
    """

    op_type: str
    family: str
    call_sites: int
    works: bool
    meaning: str
    tensors: tuple[tuple[str, str, str, str], ...]
    attrs: tuple[tuple[str, str, str], ...]
    notes: tuple[str, ...]
    refusals: tuple[tuple[str, str], ...]
    example: tuple[Row, ...]


def page(known: Prototype, operator: Operator | None) -> Page:
    """The page of a prototype; ``operator`` is what computes it, if anything does."""
    return Page(
        known.op_type,
        usage.family(known.op_type),
        usage.call_sites(known.op_type),
        operator is not None,
        _meaning(operator.kernel) if operator else "",
        (*_tensors("input", known.inputs), *_tensors("output", known.outputs)),
        tuple(_attr(known.op_type, decl) for decl in known.attrs.values()),
        (*_beyond(known), *_values(operator), *_twins(operator), *map(_older, known.generations[1:])),
        _refusals(operator) if operator else (),
        example_rows(known.op_type),
    )


def _meaning(kernel: Callable[..., Any]) -> str:
    """A kernel's docstring; NumPy's name of what it captured where it has none."""
    if meaning := inspect.getdoc(kernel):
        return meaning
    ufuncs = [one for one in _captured(kernel) if isinstance(one, np.ufunc)]
    return f"numpy.{ufuncs[0].__name__}, element by element." if ufuncs else ""


def _captured(function: Any) -> list[Any]:
    """What a function holds from where it was made."""
    cells = getattr(function, "__closure__", None) or ()
    return [cell.cell_contents for cell in cells if _filled(cell)]


def _tensors(side: str, decls: tuple[TensorDecl, ...]) -> Iterator[tuple[str, str, str, str]]:
    for decl in decls:
        yield side, decl.name, "" if decl.kind == "required" else decl.kind, _dtypes(decl)


def _dtypes(decl: TensorDecl) -> str:
    names = [dtype_name(code) for code in allowed_of(decl.dtypes)]
    return " ".join(dict.fromkeys(names)) or "any"


def _attr(op_type: str, decl: AttrDecl) -> tuple[str, str, str]:
    if decl.required:
        return decl.name, decl.kind, "required"
    published = schema.prototype(op_type)
    first = published.attrs.get(decl.name, decl) if published else decl
    if decl.default is None and first.default is not None:
        return decl.name, decl.kind, f"{_default(first)}; not set may mean otherwise"
    return decl.name, decl.kind, _default(decl)


def _default(decl: AttrDecl) -> str:
    if decl.default is None:
        return "none"
    return dtype_name(decl.default) if decl.kind == "data_type" else repr(decl.default)


def _beyond(known: Prototype) -> Iterator[str]:
    """The types that the prototype lists and no tensor has here."""
    decls = (*known.inputs, *known.outputs)
    codes = [code for decl in decls for code in decl.dtypes if code not in allowed_of(decl.dtypes)]
    if codes:
        names = " and ".join(dict.fromkeys(map(dtype_name, codes)))
        yield f"The prototype lists {names} too; tensors of these have no elements in device memory here and are refused."


def _values(operator: Operator | None) -> Iterator[str]:
    inputs = {decl.name for decl in operator.prototype.inputs} if operator else set()
    if operator and (names := [name for name in operator.value_inputs if name in inputs]):
        yield f"The output's shape depends on the values of {', '.join(names)}: const, in host memory, or in device memory."


def _twins(operator: Operator | None) -> Iterator[str]:
    if operator and (names := [name for name in _sharing(operator.kernel) if name != operator.op_type]):
        yield f"One kernel computes {', '.join(names)} as well."


def _sharing(kernel: Callable[..., Any]) -> list[str]:
    """The operators of a kernel that was declared for several; one made for each operator has a name of its own."""
    module = registry.families()
    here = [name for name, family in module.items() if family == getattr(kernel, "__module__", None)]
    found = [operator.op_type for name in here if (operator := registry.find(name)) and operator.kernel is kernel]
    return sorted(found)


def _older(generation: Generation) -> str:
    """A generation that is taken, too: names in its order."""
    parts = [
        f"{title} {', '.join(names) or 'none'}"
        for title, names in (
            ("inputs", [decl.name for decl in generation.inputs]),
            ("outputs", [decl.name for decl in generation.outputs]),
            ("attributes", list(generation.attrs)),
        )
    ]
    return f"An older prototype is taken, too: {'; '.join(parts)}."


def _refusals(operator: Operator) -> tuple[tuple[str, str], ...]:
    """(rule, text) of everything that the shape rule, the dtype rules and the kernel refuse, wherever they call it."""
    found: dict[tuple[str, str], None] = {}
    seen: set[CodeType] = set()
    for function in (operator.shape_rule, *operator.dtype_rules.values(), operator.kernel):
        for part in _reached(function, seen):
            found.update(dict.fromkeys(_said(part)))
    return tuple(sorted(found))


def _reached(function: Any, seen: set[CodeType]) -> Iterator[FunctionType]:
    """A function of the operator library and those that it calls, captures or hands on."""
    if not isinstance(function, FunctionType) or not function.__module__.startswith("hostacl.ops."):
        return
    if function.__code__ in seen:
        return
    seen.add(function.__code__)
    yield function
    names = set(function.__code__.co_names)
    for code in function.__code__.co_consts:
        names |= set(code.co_names) if isinstance(code, CodeType) else set()
    for one in [*map(function.__globals__.get, sorted(names)), *_captured(function)]:
        yield from _reached(one, seen)


def _filled(cell: Any) -> bool:
    try:
        return cell.cell_contents is not None
    except ValueError:
        return False


@cache
def _said(function: FunctionType) -> tuple[tuple[str, str], ...]:
    """(rule, text) of each refusal that stands in a function's source."""
    try:
        tree = ast.parse(textwrap.dedent(inspect.getsource(function)))
    except (OSError, SyntaxError, TypeError):  # made at run time, or a lambda in the middle of an expression
        return ()
    told = {name: value for node in ast.walk(tree) for name, value in _named_texts(node)}
    calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call) and _name(node.func) in REFUSING]
    found = [(_rule(node), _text(_message(node), told)) for node in calls if len(node.args) > 1]
    return tuple((rule, text) for rule, text in found if rule and text.strip("…"))


def _message(call: ast.Call) -> ast.expr:
    return call.args[-1 if REFUSING[_name(call.func)] else 1]


def _rule(call: ast.Call) -> str:
    """The rule that a refusing call names; "" when it is handed on."""
    first = call.args[0]
    given = first.value if isinstance(first, ast.Constant) and isinstance(first.value, str) else ""
    return REFUSING[_name(call.func)] or given


def _name(node: ast.expr) -> str:
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""


def _named_texts(node: ast.AST) -> Iterator[tuple[str, ast.expr]]:
    """Texts that a function puts together before it refuses: ``told = f"..."``."""
    match node:
        case ast.Assign([ast.Name(name)], ast.JoinedStr() | ast.Constant() as value):
            yield name, value


def _text(node: ast.expr, told: dict[str, ast.expr]) -> str:
    """A message, an ellipsis for each value."""
    if isinstance(node, ast.JoinedStr):
        return "".join(_text(part, told) for part in node.values)
    if isinstance(node, ast.FormattedValue):
        return _text(node.value, told)
    if isinstance(node, ast.Constant):
        return str(node.value)
    if isinstance(node, ast.Name) and node.id in told:
        return _text(told[node.id], {name: value for name, value in told.items() if name != node.id})
    return "…"
