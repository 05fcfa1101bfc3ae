"""Calls of operators: from a description to a plan, by the models that are known.

The machine calls in here (native/module/machine_run.cpp) when it has no plan for a call yet; a warm call does not come
this way.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from hostacl import _machine
from hostacl.config import override, settings
from hostacl.errors import AclError, Refused
from hostacl.ops import registry, schema
from hostacl.ops.call import Call
from hostacl.ops.overflow import updated, watched
from hostacl.ops.reading import read
from hostacl.ops.refusals import refused
from hostacl.singleop import custom, library
from hostacl.singleop.keys import Attr
from hostacl.singleop.models import Model
from hostacl.singleop.nearest import call_text, nearest, similar
from hostacl.singleop.strings import in_memory, with_strings
from hostacl.singleop.wrapped_casts import with_wraps
from hostacl.tensors.dtypes import STRING, numpy_dtype
from hostacl.tensors.formats import storage_shape
from hostacl.tensors.spec import TensorSpec

NO_MATCH, BUILD_FAILED, NO_DYNAMIC = 100024, 500002, 148050
"""ACL_ERROR_OP_NOT_FOUND, ACL_ERROR_GE_FAILURE, ACL_ERROR_OP_UNSUPPORTED_DYNAMIC."""

COMPILING = frozenset({"compile", "compile_and_execute", "compile_and_execute_v2"})
EXACT, BY_VALUES, BY_DATA = range(3)

IN_PLACE = (
    "declare", "elementwise", "activation", "gelu", "bitwise", "compare", "cast", "special", "optimizer", "foreach", "reshape",
    "fill", "mask", "dropout", "scatter", "accumulate",
)  # fmt: skip
"""Families whose operators a card lets work in place."""

IN_PLACE_BY_PAGE = frozenset({"GEMM"})
"""Operators that the reference itself calls with one buffer for an input and the output."""

Array = np.ndarray[Any, np.dtype[Any]]
ArraySpec = tuple[np.dtype[Any], tuple[int, ...]]
"""Data type and shape in memory."""

Tensors = Sequence[TensorSpec]
Attrs = Mapping[str, Attr]


@dataclass(frozen=True, slots=True)
class Plan:
    """How to run a matched call again and again.

    ``function`` takes an array for every tensor, inputs then outputs (None for one left out). ``inputs`` and ``outputs``
    say which: a new one over the tensor's memory, one that is used as it is (const data), or None. ``shapes`` is EXACT,
    BY_VALUES or BY_DATA; ``model`` is the model's number; ``label`` is the call in one line. ``watched`` are the dtype codes
    of outputs, then of ``updated``, that are looked at for overflow (-1: not that one), ``saturates``: whether halves
    saturate. ``updated`` are the places of inputs that are written, too; ``read``, how much of which input is
    read, as ops/reading.py gives it. ``in_place``: an output may be an input.
    """

    function: Callable[..., Any]
    inputs: tuple[ArraySpec | Array | None, ...]
    outputs: tuple[ArraySpec | None, ...]
    shapes: int
    model: int
    label: str
    watched: tuple[int, ...]
    updated: tuple[int, ...]
    read: tuple[int, ...]
    saturates: bool
    in_place: bool


def prepare(
    via: str, op_type: str, inputs: Tensors, outputs: Tensors, attrs: Attrs, saturate: bool = False
) -> Plan | None:
    """The plan of a call, from the model that it fits; a compiling call builds that model when there is none.

    ``saturate`` is the device's overflow mode. None after plain compiling. AclError: 100024 no model fits, 500002 none can
    be built, 148050 a handle of a dynamic model.
    """
    model = library.models.find(op_type, inputs, outputs, attrs)
    if model is None and (via in COMPILING or settings().auto_compile):
        model = build(op_type, inputs, outputs, attrs)
    if model is None:
        rule = "HA601" if schema.prototype(op_type) else "HA501"
        known = schema.known_operators()
        raise AclError(NO_MATCH, rule, nearest(library.models, op_type, inputs, outputs, attrs, known))
    if via == "compile":
        return None
    if via == "create_handle" and model.dynamic:
        text = "the model has unknown dims; a handle has fixed shapes. Use aclopExecuteV2"
        raise AclError(NO_DYNAMIC, "HA610", f"{op_type}: {text}")
    with override(overflow="saturate" if saturate else "inf_nan"):
        return _plan(model, inputs, outputs)


def build(op_type: str, inputs: Tensors, outputs: Tensors, attrs: Attrs) -> Model:
    """A model of a call, checked and registered; AclError 500002 when the call cannot be built."""
    call = bind(op_type, inputs, outputs, attrs)
    for rule, text in call.reports:
        _machine.report(rule, text)
    return library.models.add(Model(op_type, tuple(inputs), tuple(outputs), dict(attrs), "compiled"))


def bind(op_type: str, inputs: Tensors, outputs: Tensors, attrs: Attrs) -> Call:
    """A call bound to its operator; AclError 500002 with the operator's reason when it cannot be."""
    custom.load_all()
    operator = registry.find(op_type)
    if operator is None:
        raise AclError(BUILD_FAILED, *unknown(op_type))
    try:
        call = operator.bind(inputs, outputs, attrs)
        _check_purpose(call, outputs)
    except Refused as error:
        raise AclError(BUILD_FAILED, error.rule, error.text) from error
    return call


def _check_purpose(call: Call, outputs: Tensors) -> None:
    """Refuses a call that could leave its result nowhere: the operator has outputs, and none is given."""
    required = [name for name, bound in call.outputs.items() if bound.decl.kind == "required"]
    if required and all(spec.absent for spec in outputs) and not call.operator.updates:
        how = "every output descriptor says UNDEFINED" if outputs else "no outputs were given"
        text = f"{required[0]} is an output that must be given, but {how}. Describe it and give its buffer."
        raise call.refuse("HA513", text)


def unknown(op_type: str) -> tuple[str, str]:
    """Rule and text for an operator that is not here."""
    if (reason := refused().get(op_type)) is not None:
        return "HA518", f"{op_type}: refused: {reason}"
    if schema.prototype(op_type) is not None:
        return "HA518", f"{op_type}: its prototype is known, but this version of hostacl has no kernel for it"
    names = ", ".join(similar(op_type, schema.known_operators())) or "none"
    return "HA501", f"{op_type}: no operator of this name is known; nearest names: {names}"


def _plan(model: Model, inputs: Tensors, outputs: Tensors) -> Plan:
    call = bind(model.op_type, inputs, outputs, model.attrs)
    _report_placement(call)
    return Plan(
        function=with_wraps(call, with_strings(call, call.function())),
        inputs=tuple(map(_input, inputs)),
        outputs=tuple(map(_array, outputs)),
        shapes=EXACT if call.exact else BY_VALUES if call.value_inputs else BY_DATA,
        model=library.number(model),
        label=call_text(model.op_type, inputs, outputs, model.attrs),
        watched=watched(call, outputs),
        updated=updated(call),
        read=read(call),
        saturates=settings().saturate,
        in_place=_works_in_place(call),
    )


def _works_in_place(call: Call) -> bool:
    """Whether each result element needs no input element but that of its own place, or the prototype updates an input."""
    family = call.operator.kernel.__module__.rpartition(".")[2]
    by_prototype = not call.inputs.keys().isdisjoint(call.outputs) or bool(call.operator.updates)
    return by_prototype or family.startswith(IN_PLACE) or call.op_type in IN_PLACE_BY_PAGE


def _report_placement(call: Call) -> None:
    for name, _ in call.unknown_values:
        if call.spec(name).placement == 0:
            text = "lies in plain device memory; the reference asks for set_tensor_const or host placement"
            _machine.report("HA514", f"{call.op_type}: {name} {text}. It is read when the operator runs")


def _array(spec: TensorSpec) -> ArraySpec | None:
    return None if spec.absent else (numpy_dtype(spec.dtype), storage_shape(spec, settings().soc))


def _input(spec: TensorSpec) -> ArraySpec | Array | None:
    if spec.dtype == STRING:
        return in_memory(spec)
    if spec.absent or spec.const is None:
        return _array(spec)
    dtype, shape = numpy_dtype(spec.dtype), storage_shape(spec, settings().soc)
    return np.frombuffer(spec.const[: int(np.prod(shape, dtype=np.int64)) * dtype.itemsize], dtype).reshape(shape)
