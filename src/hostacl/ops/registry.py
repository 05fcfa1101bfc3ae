"""The registry: how an operator is declared, and how it is found by its name."""

from __future__ import annotations

import importlib
import inspect
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

from hostacl.ops.call import Call
from hostacl.ops.operator import DtypeRule, Operator, ShapeRule
from hostacl.ops.reading import ReadsRule
from hostacl.ops.schema import Generation, Prototype, prototype
from hostacl.tensors.dtypes import BOOL

Function = TypeVar("Function", bound=Callable[..., Any])

SPECIAL = frozenset({"out", "formats", "call"})
"""Parameters that a kernel may ask for beside the prototype's: the described outputs, the formats by name, the bound call."""

BOOL_TOO: Mapping[str, Iterable[int]] = dict.fromkeys(("x", "y"), (BOOL,))
"""For operators that only move elements: ONNX Runtime and torch-npu send them bool, which the prototypes' lists lack."""

_operators: dict[str, Operator] = {}


def kernel(
    *op_types: str,
    shape: ShapeRule,
    values: Sequence[str] = (),
    mixed: Iterable[str] = (),
    dtype: Mapping[str, DtypeRule] | None = None,
    attrs: Mapping[str, Any] | None = None,
    dtypes: Mapping[str, Iterable[int]] | None = None,
    dtype_attrs: Mapping[str, str] | None = None,
    names: Mapping[str, str] | None = None,
    bits: bool = False,
    direct: Callable[..., Any] | None = None,
    batch: Sequence[str] = (),
    updates: Sequence[str] = (),
    forms: Sequence[Generation] = (),
    cuts: Callable[[Call], Iterable[Any]] | None = None,
    reads: ReadsRule | None = None,
) -> Callable[[Function], Function]:
    """Declares a function to be the meaning of these operators (a D twin shares it with its base).

    Its parameters are the prototype's inputs and attributes (``lambda_`` for lambda). docs/contributing.md has every option.
    """

    def declare(function: Function) -> Function:
        for op_type in op_types:
            known = _prototype(op_type).with_forms(forms).with_attrs(attrs or {}).with_dtypes(dtypes or {})
            register(
                Operator(
                    op_type,
                    known,
                    function,
                    _parameters(op_type, known, function, names or {}),
                    shape,
                    tuple(values),
                    frozenset(mixed),
                    dict(dtype or {}),
                    dtype_attrs,
                    bits,
                    direct,
                    tuple(batch),
                    tuple(updates),
                    cuts,
                    reads or {},
                )
            )
        return function

    return declare


def twin(op_type: str, of: str, **names: str) -> Operator:
    """An operator that is another one under other names: ``twin("A", of="B", x="input_x")``, parameter = prototype's name."""
    base = _operators[of]
    known = _prototype(op_type)
    parameters = _parameters(op_type, known, base.kernel, names)
    return register(
        Operator(
            op_type,
            known,
            base.kernel,
            parameters,
            base.shape_rule,
            base.value_inputs,
            base.mixed,
            base.dtype_rules,
            base.dtype_attrs,
            base.bits,
            base.direct,
            base.batch,
            base.updates,
            reads=base.reads,
        )
    )


def register(operator: Operator) -> Operator:
    """Makes an operator findable by its name; a later one of the same name replaces it (a user's own kernel)."""
    _operators[operator.op_type] = operator
    return operator


def find(op_type: str) -> Operator | None:
    """The operator of this name, its family imported if need be; None when there is no kernel for it."""
    if op_type not in _operators and (module := families().get(op_type)):
        importlib.import_module(module)
    return _operators.get(op_type)


def implemented() -> tuple[str, ...]:
    """The names of all operators that have a kernel."""
    return tuple(sorted({*families(), *_operators}))


def _prototype(op_type: str) -> Prototype:
    known = prototype(op_type)
    if known is None:
        raise LookupError(f"{op_type} has no prototype in ops/facts/operators.json")
    return known


def _parameters(
    op_type: str, known: Prototype, function: Callable[..., Any], names: Mapping[str, str]
) -> tuple[tuple[str, str], ...]:
    """(parameter, prototype's name) of a kernel; a name the prototype does not have is an error of the author."""
    pairs = tuple((name, names.get(name, name.rstrip("_"))) for name in inspect.signature(function).parameters)
    wrong = [name for _, name in pairs if name not in known.takes and name not in SPECIAL]
    if wrong:
        raise TypeError(
            f"{op_type}: kernel parameter {', '.join(wrong)} is not in the prototype; it has {', '.join(sorted(known.takes))}"
        )
    return pairs


_DECLARATION = re.compile(r'^@?(?:\w+ = )?[a-z_]+\(\s*((?:"[A-Z]\w*",?\s*)+)', re.MULTILINE)


@cache
def families() -> dict[str, str]:
    """Which module declares which operator, read from the declarations at the left margin of the family files."""
    found: dict[str, str] = {}
    folder = Path(__file__).parent
    for path in sorted(folder.glob("*.py")):
        for names in _DECLARATION.findall(path.read_text("utf-8")):
            found.update((name, f"hostacl.ops.{path.stem}") for name in re.findall(r'"(\w+)"', names))
    return found
