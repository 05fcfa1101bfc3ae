"""An operator: prototype, shape rule, dtype rules and kernel; binding a call checks all that can be known before it runs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np

from hostacl.errors import Refused
from hostacl.ops import checking, dims
from hostacl.ops.binding import Attr, Bound, bind_attrs, bind_tensors
from hostacl.ops.call import Call
from hostacl.ops.dims import Shape
from hostacl.ops.reading import ReadsRule
from hostacl.ops.schema import Generation, Prototype
from hostacl.tensors import dtypes
from hostacl.tensors.spec import TensorSpec

ShapeRule: TypeAlias = Callable[[Call], Any]
"""Gives the output's shape as a tuple; of several outputs a list with one entry each (a list of shapes for a dynamic one)."""

DtypeRule: TypeAlias = "Callable[[Call], int | tuple[int, ...]]"
"""Gives the dtype an output has, or all that the client may choose from, the default first."""

DTYPE_ATTRS = ("dtype", "dst_type", "out_type", "output_type", "dst_dtype", "y_dtype")
"""Attributes that say the first output's dtype, where an operator does not say otherwise."""

LENGTH_ATTRS = ("N", "num_split", "num", "n")
"""Attributes that say how many tensors a dynamic input or output has."""

BLANK = TensorSpec(-1, (), -1)


@dataclass(frozen=True, eq=False)
class Operator:
    """A declared operator; made by ``registry.kernel`` and its shorthands."""

    op_type: str
    prototype: Prototype
    kernel: Callable[..., Any]
    parameters: tuple[tuple[str, str], ...]
    shape_rule: ShapeRule
    value_inputs: tuple[str, ...]
    mixed: frozenset[str]
    dtype_rules: Mapping[str, DtypeRule]
    dtype_attrs: Mapping[str, str] | None
    bits: bool
    direct: Callable[[Call], Callable[..., Any] | None] | None
    batch: tuple[str, ...] = ()
    updates: tuple[str, ...] = ()
    cuts: Callable[[Call], Iterable[Any]] | None = None
    reads: ReadsRule = field(default_factory=dict)

    def bind(self, inputs: Sequence[TensorSpec], outputs: Sequence[TensorSpec], attrs: Mapping[str, Attr]) -> Call:
        """A call with all checked that can be known now; raises Refused. With no outputs at all it can still be inferred."""
        first: Refused | None = None
        for generation in sorted(self.prototype.generations, key=lambda one: -sum(name in one.attrs for name in attrs)):
            if first is not None and _drops(self.prototype.newest, generation, attrs):
                continue
            try:
                return self._bind(generation, inputs, outputs, attrs)
            except Refused as refused:
                first = first or refused
        assert first is not None
        raise first

    def _bind(
        self, generation: Generation, inputs: Sequence[TensorSpec], outputs: Sequence[TensorSpec], attrs: Mapping[str, Attr]
    ) -> Call:
        op = self.op_type
        bound_in = bind_tensors(op, "input", generation.inputs, inputs, _length(attrs, ("N",)))
        checked = bind_attrs(op, generation.attrs, attrs)
        length = _length(attrs, LENGTH_ATTRS)
        described = outputs or _blanks(generation, length)
        bound_out = bind_tensors(op, "output", generation.outputs, described, length)
        values = {name: const for name, bound in bound_in.items() if (const := _const(op, bound)) is not None}
        call = Call(self, bound_in, bound_out, checked.values, checked.given, checked.reports, values, len(inputs))
        checking.check_dtypes(call)
        checking.check_layouts(call)
        checking.check_updated(call)
        checking.check_shapes(call)
        return call

    def infer_shapes(self, call: Call) -> list[Shape | None]:
        """The shape rule's answer, one shape for each output tensor in order."""
        answer = self.shape_rule(call)
        listed = answer if isinstance(answer, list) else [answer]
        flat: list[Shape | None] = []
        for (name, bound), shapes in zip(call.outputs.items(), listed, strict=False):
            flat.extend(_dynamic(call, name, bound, shapes) if bound.decl.kind == "dynamic" else [shapes])
        return flat + [None] * (len(call.output_slots) - len(flat))

    def output_dtypes(self, call: Call) -> list[int]:
        """The dtype of each output tensor in order: what the client described, else what attributes and inputs say."""
        return [self._output_dtype(call, name, index) for name, index in call.output_slots]

    def _output_dtype(self, call: Call, name: str, index: int) -> int:
        specs = call.outputs[name].specs
        if index < len(specs) and not specs[index].absent:
            return specs[index].dtype
        return self.default_dtype(call, name)

    def default_dtype(self, call: Call, name: str) -> int:
        """The dtype an output has when the client does not describe it."""
        if (choices := self.dtype_choices(call, name)) is not None:
            return choices[0]
        decl = call.outputs[name].decl
        attr = self.dtype_attr(name)
        if attr is not None and call.attrs.get(attr) in decl.allowed:
            return int(call.attrs[attr])
        given = [bound for bound in call.inputs.values() if bound.given]
        sharing = [bound for bound in given if bound.decl.allowed == decl.allowed] + [
            bound for bound in given if bound.specs[0].dtype in decl.allowed
        ]
        return sharing[0].specs[0].dtype if sharing else next(iter(decl.dtypes), dtypes.FLOAT)

    def dtype_choices(self, call: Call, name: str) -> tuple[int, ...] | None:
        """The dtypes that a rule of this operator leaves an output, the default first; None without a rule."""
        rule = self.dtype_rules.get(name)
        if rule is None:
            return None
        answer = rule(call)
        codes = answer if isinstance(answer, tuple) else (answer,)
        listed = call.outputs[name].decl.dtypes
        if not dtypes.has_arrays(codes[0]) and codes[0] not in listed:
            told = ", ".join(map(dtypes.ge_name, dtypes.allowed_of(listed)))
            raise call.refuse("HA502", f"{name} would be {dtypes.ge_name(codes[0])}, as the attributes say; allowed: {told}.")
        return codes

    def dtype_attr(self, name: str) -> str | None:
        """The attribute that says an output's dtype, if there is one."""
        if self.dtype_attrs is not None:
            return self.dtype_attrs.get(name)
        outputs, attrs = self.prototype.outputs, self.prototype.attrs
        if not outputs or outputs[0].name != name:
            return None
        return next((attr for attr in DTYPE_ATTRS if attr in attrs and attrs[attr].kind in ("data_type", "int")), None)


def _drops(newest: Generation, older: Generation, attrs: Mapping[str, Attr]) -> bool:
    """Whether an older generation lacks a given attribute that the newest has: it would compute something else."""
    return any(name in newest.attrs and name not in older.attrs for name in attrs)


def _blanks(generation: Generation, length: int | None) -> list[TensorSpec]:
    """Undescribed outputs, for a call that is only inferred."""
    return [BLANK for decl in generation.outputs for _ in range((length or 0) if decl.kind == "dynamic" else 1)]


def _length(attrs: Mapping[str, Attr], names: Sequence[str]) -> int | None:
    """The number of dynamic tensors that an attribute gives."""
    return next((int(attrs[name][1]) for name in names if name in attrs and attrs[name][0] == "int"), None)


def _const(op: str, bound: Bound) -> Any:
    """The data of a const input as an array, or None."""
    if len(bound.specs) != 1 or (spec := bound.specs[0]).dynamic or not dtypes.has_arrays(spec.dtype):
        return None
    if 0 in spec.shape:
        return np.empty(spec.shape, dtypes.numpy_dtype(spec.dtype))
    if spec.const is None:
        return None
    size = dtypes.size_in_bytes(spec.dtype, int(np.prod(spec.shape, dtype=np.int64)))
    if len(spec.const) < size:
        raise Refused(
            "HA519",
            f"{op}: the const data of {bound.decl.name} has {len(spec.const)} bytes; {dims.text(spec.shape)} takes {size}.",
        )
    array = np.frombuffer(spec.const[:size], dtypes.numpy_dtype(spec.dtype))
    return array if spec.dtype in dtypes.PACKED else array.reshape(spec.shape)


def _dynamic(call: Call, name: str, bound: Bound, shapes: Any) -> list[Shape | None]:
    """Shapes of a dynamic output; their number must be that of the tensors described."""
    listed = [shapes] * len(bound.specs) if shapes is None else list(shapes)
    if bound.specs and len(listed) != len(bound.specs):
        raise call.refuse("HA513", f"{len(bound.specs)} outputs {name} were described; the call gives {len(listed)}")
    return listed[: len(bound.specs)]
