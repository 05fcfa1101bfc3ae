"""Calls of operators: from a description to a plan, and the models that are known.

The machine calls in here (native/module/machine_run.cpp) when it has no plan for a call yet, and for what models need; a warm call does not come this way.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NoReturn

import numpy as np

from hostacl import _machine
from hostacl.config import settings
from hostacl.errors import AclError, Refused
from hostacl.ops import registry, schema
from hostacl.singleop import library
from hostacl.singleop.keys import Attr
from hostacl.singleop.models import Model
from hostacl.singleop.nearest import call_text, nearest, similar
from hostacl.tensors.dtypes import dtype_name, numpy_dtype
from hostacl.tensors.formats import storage_shape
from hostacl.tensors.spec import TensorSpec

NO_MATCH, BUILD_FAILED, NO_DYNAMIC = 100024, 500002, 148050
"""ACL_ERROR_OP_NOT_FOUND, ACL_ERROR_GE_FAILURE, ACL_ERROR_OP_UNSUPPORTED_DYNAMIC."""

COMPILING = frozenset({"compile", "compile_and_execute", "compile_and_execute_v2"})
EXACT, BY_VALUES, BY_DATA = range(3)

Array = np.ndarray[Any, np.dtype[Any]]


@dataclass(frozen=True, slots=True)
class Plan:
    """How to run a matched call again and again.

    ``function`` takes an array for every tensor, inputs then outputs (None for one left out). ``inputs`` and ``outputs`` say what array: (dtype, shape in memory),
    an array that is used as it is (const data), or None. ``shapes`` is EXACT, BY_VALUES or BY_DATA; ``model`` is the model's number.
    """

    function: Callable[..., Any]
    inputs: tuple[tuple[np.dtype[Any], tuple[int, ...]] | Array | None, ...]
    outputs: tuple[tuple[np.dtype[Any], tuple[int, ...]] | None, ...]
    shapes: int
    model: int
    label: str


def prepare(
    via: str, op_type: str, inputs: Sequence[TensorSpec], outputs: Sequence[TensorSpec], attrs: Mapping[str, Attr]
) -> Plan | None:
    """The plan of a call, from the model that it fits; a compiling call builds that model when there is none.

    None after plain compiling. AclError: 100024 when no model fits, 500002 when none can be built, 148050 for a handle of a dynamic model.
    """
    model = library.models.find(op_type, inputs, outputs, attrs)
    if model is None and (via in COMPILING or settings().auto_compile):
        model = _build(op_type, inputs, outputs, attrs)
    if model is None:
        rule = "HA601" if schema.prototype(op_type) else "HA501"
        raise AclError(NO_MATCH, rule, nearest(library.models, op_type, inputs, outputs, attrs, schema.names()))
    if via == "compile":
        return None
    if via == "create_handle" and model.dynamic:
        raise AclError(NO_DYNAMIC, "HA610", f"{op_type}: the model has unknown dims; a handle has fixed shapes. Use aclopExecuteV2")
    return _plan(model, inputs, outputs)


def _build(op_type: str, inputs: Sequence[TensorSpec], outputs: Sequence[TensorSpec], attrs: Mapping[str, Attr]) -> Model:
    call = _bind(op_type, inputs, outputs, attrs)
    for rule, text in call.reports:
        _machine.report(rule, f"{op_type}: {text}")
    return library.models.add(Model(op_type, tuple(inputs), tuple(outputs), dict(attrs), "compiled"))


def _bind(
    op_type: str, inputs: Sequence[TensorSpec], outputs: Sequence[TensorSpec], attrs: Mapping[str, Attr]
) -> registry.Call:
    operator = registry.find(op_type)
    if operator is None:
        _unknown(op_type)
    try:
        return operator.bind(inputs, outputs, attrs)
    except Refused as error:
        raise AclError(BUILD_FAILED, error.rule, _about(op_type, error.text)) from error


def _unknown(op_type: str) -> NoReturn:
    if schema.prototype(op_type) is not None:
        raise AclError(BUILD_FAILED, "HA518", f"{op_type}: the prototype is known, but this version of hostacl has no kernel for it")
    names = ", ".join(similar(op_type, schema.names())) or "none"
    raise AclError(BUILD_FAILED, "HA501", f"{op_type}: no operator of this name is known; nearest names: {names}")


def _about(op_type: str, text: str) -> str:
    return text if text.startswith(op_type) else f"{op_type}: {text}"


def _plan(model: Model, inputs: Sequence[TensorSpec], outputs: Sequence[TensorSpec]) -> Plan:
    call = _bind(model.op_type, inputs, outputs, model.attrs)
    shapes = EXACT if call.exact else BY_DATA if call.data_dependent else BY_VALUES
    _report_placement(call)
    return Plan(
        function=call.function(),
        inputs=tuple(map(_input, inputs)),
        outputs=tuple(map(_array, outputs)),
        shapes=shapes,
        model=library.number(model),
        label=call_text(model.op_type, inputs, outputs, model.attrs),
    )


def _report_placement(call: registry.Call) -> None:
    for name in call.device_values:
        _machine.report(
            "HA514",
            f"{call.op_type}: {name} lies in plain device memory; the reference asks for set_tensor_const or host placement. It is read when the operator runs",
        )


def _array(spec: TensorSpec) -> tuple[np.dtype[Any], tuple[int, ...]] | None:
    return None if spec.absent else (numpy_dtype(spec.dtype), storage_shape(spec))


def _input(spec: TensorSpec) -> tuple[np.dtype[Any], tuple[int, ...]] | Array | None:
    if spec.absent or spec.const is None:
        return _array(spec)
    return const_array(spec)


def const_array(spec: TensorSpec) -> Array:
    """The const data of a tensor as a read-only array; Refused when its bytes are not as many as the descriptor says."""
    dtype, shape = numpy_dtype(spec.dtype), storage_shape(spec)
    data = spec.const or b""
    needed = int(np.prod(shape, dtype=np.int64)) * dtype.itemsize
    if len(data) < needed:
        text = f"const data of {spec.name or 'a tensor'} has {len(data)} bytes; its descriptor {dtype_name(spec.dtype)}{list(shape)} needs {needed}"
        raise AclError(BUILD_FAILED, "HA414", text)
    return np.frombuffer(data[:needed], dtype).reshape(shape)
