"""Operators of the user's own: a Python function and a prototype, found wherever a built-in operator would be.

    import hostacl

    @hostacl.op("AddCustom", inputs={"x": "float16 float32", "y": "float16 float32"}, outputs={"z": "float16 float32"})
    def add_custom(x, y):
        return x + y

Put it into a file that HOSTACL_OPS names (several, separated by ``:``), or into a package with an entry point of the group
``hostacl.ops``; importing it by hand does as well.
"""

from __future__ import annotations

import inspect
import os
import runpy
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal, TypeAlias, TypeVar

from hostacl import _machine
from hostacl.config import settings
from hostacl.errors import AclError, HostaclError
from hostacl.ops import registry, shapes
from hostacl.ops.call import Call
from hostacl.ops.operator import Operator
from hostacl.ops.schema import AttrDecl, Generation, Prototype, TensorDecl
from hostacl.tensors import dtypes

Function = TypeVar("Function", bound=Callable[..., Any])
Tensors: TypeAlias = Mapping[str, str | Sequence[str]]
ShapeRule: TypeAlias = Callable[[Call], Any]

ENTRY_POINTS = "hostacl.ops"
BAD_FILE = 500002
"""ACL_ERROR_GE_FAILURE: a file of user operators that cannot be run."""

_MARKS: Mapping[str, Literal["optional", "dynamic"]] = {"?": "optional", "*": "dynamic"}
_KINDS: Mapping[type, str] = {bool: "bool", int: "int", float: "float", str: "string"}


def op(
    op_type: str,
    *,
    inputs: Tensors,
    outputs: Tensors,
    attrs: Mapping[str, Any] | None = None,
    shape: str | ShapeRule | None = None,
    values: Sequence[str] = (),
) -> Callable[[Function], Function]:
    """Registers the decorated function as the operator ``op_type``, in place of a built-in one of that name.

    inputs, outputs: name → data types, by name ("float16 int32" or a list). A name that ends in ``?`` is optional (the function
    gets None), in ``*`` a list of tensors. attrs: name → default; a type (``float``, ``[int]`` for a list) makes it required.
    shape: the name of the input whose shape the output has, or a function of the call (``call.shape("x")``,
    ``call.attr("axis")``, ``call.value("size")``) that gives it, a list of shapes for several outputs; default: what the inputs
    broadcast to. values: inputs whose data, not only shape, the shape depends on.

    The function takes NumPy arrays by the prototype's names and attributes by name; float16 and bfloat16 arrive as float32 and
    the result is rounded once. It returns an array, or a tuple of one for each output.
    TypeError: an unknown data type, a parameter that the prototype lacks.
    """

    def declare(function: Function) -> Function:
        generation = Generation(_tensors(op_type, inputs), _tensors(op_type, outputs), _attrs(op_type, attrs or {}))
        registry.register(_operator(op_type, Prototype(op_type, (generation,)), function, shape, values))
        _machine.drop_plans(0)
        return function

    return declare


def _operator(
    op_type: str, known: Prototype, function: Callable[..., Any], shape: str | ShapeRule | None, values: Sequence[str]
) -> Operator:
    return Operator(
        op_type=op_type,
        prototype=known,
        kernel=function,
        parameters=_parameters(op_type, known, function),
        shape_rule=_shape_rule(known, shape),
        value_inputs=tuple(values),
        mixed=frozenset(decl.name for decl in known.inputs),
        dtype_rules={},
        dtype_attrs={},
        bits=False,
        direct=None,
    )


def _parameters(op_type: str, known: Prototype, function: Callable[..., Any]) -> tuple[tuple[str, str], ...]:
    names = tuple((name, name.rstrip("_")) for name in inspect.signature(function).parameters)
    wrong = [name for name, source in names if source not in known.takes and name not in registry.SPECIAL]
    if wrong:
        has = ", ".join(sorted(known.takes))
        raise TypeError(f"{op_type}: parameter {', '.join(wrong)} is not in the prototype; it has {has}")
    return names


def _shape_rule(known: Prototype, shape: str | ShapeRule | None) -> ShapeRule:
    if callable(shape):
        return shape
    names = [shape] if shape else [decl.name for decl in known.inputs if decl.kind != "dynamic"]
    rule = shapes.broadcast(*names)
    return rule if len(known.outputs) == 1 else lambda call: [rule(call)] * len(known.outputs)


def _tensors(op_type: str, given: Tensors) -> tuple[TensorDecl, ...]:
    return tuple(_tensor(op_type, name, types) for name, types in given.items())


def _tensor(op_type: str, name: str, types: str | Sequence[str]) -> TensorDecl:
    listed = types.split() if isinstance(types, str) else types
    try:
        codes = tuple(dtypes.code_of(one) for one in listed)
    except LookupError as error:
        text = f"{op_type}: {name} has an unknown data type in {list(listed)}; allowed: float16, float32, int8 …"
        raise TypeError(text) from error
    return TensorDecl(name.rstrip("?*"), _MARKS.get(name[-1:], "required"), codes)


def _attrs(op_type: str, given: Mapping[str, Any]) -> dict[str, AttrDecl]:
    return {name: _attr(op_type, name, value) for name, value in given.items()}


def _attr(op_type: str, name: str, value: Any) -> AttrDecl:
    required = isinstance(value, type) or (isinstance(value, list) and len(value) == 1 and isinstance(value[0], type))
    kind = _kind(op_type, name, value)
    return AttrDecl(name, kind, required, None if required else value)


def _kind(op_type: str, name: str, value: Any) -> str:
    if isinstance(value, list):
        return "list_" + _kind(op_type, name, value[0] if value else int)
    kind = value if isinstance(value, type) else type(value)
    if kind not in _KINDS:
        raise TypeError(f"{op_type}: attribute {name} = {value!r}; allowed: bool, int, float, str, or a list of one of them")
    return _KINDS[kind]


_loaded = False


def load_all() -> None:
    """Runs the files of HOSTACL_OPS and loads the entry points, once; AclError 500002 naming a file that fails."""
    global _loaded  # noqa: PLW0603 - once for the process
    if _loaded:
        return
    _loaded = True
    for path in settings().op_files:
        _load(path, lambda path=path: runpy.run_path(path))  # type: ignore[misc]
    if not _may_have_entry_points():
        return
    from importlib.metadata import entry_points

    for entry in entry_points(group=ENTRY_POINTS):
        _load(f"entry point {entry.name}", entry.load)


def _may_have_entry_points() -> bool:
    """Whether the search path holds a distribution that names the group, or one that only importlib.metadata can read.

    That module takes as long to import as a tenth of NumPy, for something that few have: it is loaded when it is needed.
    """
    for folder in dict.fromkeys(sys.path):
        if os.path.isfile(folder):  # a zip file
            return True
        if os.path.isdir(folder) and any(_names_the_group(os.path.join(folder, name)) for name in os.listdir(folder)):
            return True
    return False


def _names_the_group(folder: str) -> bool:
    if not folder.endswith((".dist-info", ".egg-info")):
        return False
    try:
        with open(os.path.join(folder, "entry_points.txt"), "rb") as file:
            return ENTRY_POINTS.encode() in file.read()
    except OSError:  # most distributions have no such file
        return False


def _load(name: str, run: Callable[[], object]) -> None:
    try:
        run()
    except HostaclError:
        raise
    except Exception as error:  # the user's own code: whatever it raises is named, not hidden
        text = f"user operators of {name} cannot be loaded: {type(error).__name__}: {error}"
        raise AclError(BAD_FILE, "HA529", text) from error
