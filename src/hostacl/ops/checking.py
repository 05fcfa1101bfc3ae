"""What is checked when a call is bound: dtypes against the prototype, described outputs against what the operator gives."""

from __future__ import annotations

from collections.abc import Iterable

from hostacl.config import settings
from hostacl.ops import dims, usage
from hostacl.ops.binding import Bound
from hostacl.ops.call import Call, described
from hostacl.ops.dims import Dim, Shape
from hostacl.tensors import dtypes, formats
from hostacl.tensors.spec import TensorSpec

INDEX_TYPES = frozenset({dtypes.INT32, dtypes.INT64})
"""Inputs that may only be these (axes, sizes, indices) need not have one type."""

MAX_RANK = 8

HOST = 1
"""The memory type of a tensor whose bytes lie in host memory."""


def check_dtypes(call: Call) -> None:
    """Each tensor's dtype is allowed, and tensors with equal dtype lists have one dtype."""
    for bound in (*call.inputs.values(), *call.outputs.values()):
        for index, spec in enumerate(bound.specs):
            if not spec.absent:
                _check_dtype(call, bound, index, spec)
    _check_shared(call)
    for name, bound in call.outputs.items():
        if bound.given and not bound.specs[0].absent:
            _check_output(call, name, bound)


OF_AXES = frozenset({"conv", "image", "linalg", "matmul", "norm", "pooling", "reduce", "softmax"})
"""Families that see images, matrices and axes, which a tensor does not have whose shape is that of blocks."""


def check_layouts(call: Call) -> None:
    """Storage formats can hold their tensors; shapes are those of tensors, not of blocks, where an operator sees axes."""
    for bound in (*call.inputs.values(), *call.outputs.values()):
        for index, spec in enumerate(bound.specs):
            label = bound.label(index)
            if spec.storage_format != -1 and (why := formats.misfit(spec)) is not None:
                told = f"{label} = {dims.text(spec.shape)} in {formats.format_name(spec.format)}"
                stored = formats.format_name(spec.storage_format)
                raise call.refuse("HA504", f"{told} cannot be stored as {stored}: {why}. Convert it with TransData.")
            private = formats.split(spec.format).primary in formats.PRIVATE and not _over_channels(call, spec)
            if private and usage.families().get(call.op_type) in OF_AXES:
                told = f"{label} = {dims.text(spec.shape)} is described in {formats.format_name(spec.format)} itself"
                raise call.refuse("HA504", f"{told}; allowed: its plain shape and format, with {SET_STORAGE} for the blocks.")


def _over_channels(call: Call, spec: TensorSpec) -> bool:
    """Whether an operator has one number for each channel, and finds these in a shape of blocks, too."""
    blocks = {formats.NC1HWC0: 5, formats.NDC1HWC0: 6}.get(formats.split(spec.format).primary)
    return call.op_type.startswith(("BN", "BatchNorm", "NormalizeV2")) and blocks == len(spec.shape)


SET_STORAGE = "aclSetTensorFormat and aclSetTensorShape"
"""What sets the storage of a descriptor."""


def check_updated(call: Call) -> None:
    """Inputs that are written, too, lie in device memory: const data and what is copied from the host would lose it."""
    for name in call.operator.updates:
        if call.has(name) and (call.spec(name).const is not None or call.spec(name).placement == HOST):
            told = "is const" if call.spec(name).const is not None else "is placed in host memory"
            raise call.refuse("HA519", f"{name} {told}; it is updated in place. Give it device memory.")


def _check_dtype(call: Call, bound: Bound, index: int, spec: TensorSpec) -> None:
    decl, code = bound.decl, spec.dtype
    if len(spec.shape) > MAX_RANK:
        raise call.refuse(
            "HA516", f"{bound.label(index)} = {described(spec)} has {len(spec.shape)} dims; allowed: up to {MAX_RANK}."
        )
    if not dtypes.has_arrays(code) and code not in dtypes.allowed_of(decl.dtypes):
        raise call.refuse(
            "HA502",
            f"{bound.label(index)} = {described(spec)}: {dtypes.ge_name(code)} cannot be computed here; "
            f"allowed: {_names(decl.dtypes)}.",
        )
    extended = settings().permissive and code in dtypes.PLAIN
    if decl.dtypes and code not in decl.allowed and not extended:
        raise call.refuse(
            "HA502", f"{bound.label(index)} = {described(spec)}; allowed: {_names(decl.dtypes)}. Cast it first{_hint(code)}."
        )


def _hint(code: int) -> str:
    return ", or set HOSTACL_DTYPES=permissive" if code in dtypes.PLAIN else ""


def _names(codes: Iterable[int]) -> str:
    return ", ".join(map(dtypes.ge_name, dict.fromkeys(dtypes.allowed_of(tuple(codes)))))


def shares(bound: Bound, call: Call) -> bool:
    """Whether a tensor must have the dtype of the others with the same list."""
    allowed = bound.decl.allowed
    return len(allowed) > 1 and not allowed <= INDEX_TYPES and bound.decl.name not in call.operator.mixed


def _check_shared(call: Call) -> None:
    """Inputs with equal lists share one dtype; so do outputs, unless a rule or attribute says theirs."""
    first: dict[frozenset[int], tuple[str, TensorSpec]] = {}
    for bound in call.inputs.values():
        for index, spec in enumerate(bound.specs):
            if shares(bound, call):
                _check_same(call, first.setdefault(bound.decl.allowed, (bound.label(index), spec)), bound.label(index), spec)
    for name, bound in call.outputs.items():
        if name in call.operator.dtype_rules or not shares(bound, call) or bound.decl.allowed not in first:
            continue
        for index, spec in enumerate(bound.specs):
            if not spec.absent:
                _check_same(call, first[bound.decl.allowed], bound.label(index), spec, "HA512")


def _check_same(call: Call, one: tuple[str, TensorSpec], label: str, spec: TensorSpec, rule: str = "HA503") -> None:
    name, other = one
    if other.dtype == spec.dtype:
        return
    raise call.refuse(
        rule,
        f"{label} = {described(spec)}, {name} = {described(other)}: "
        f"{name} {dtypes.ge_name(other.dtype)}, {label} {dtypes.ge_name(spec.dtype)} differ; they must have one dtype. "
        f"Cast one of them first.",
    )


def _check_output(call: Call, name: str, bound: Bound) -> None:
    """An output's dtype against this operator's rule and against the dtype attribute, where one was given."""
    spec, operator = bound.specs[0], call.operator
    choices = operator.dtype_choices(call, name)
    if choices is not None and spec.dtype not in choices:
        raise call.refuse(
            "HA512",
            f"{name} = {described(spec)}; the operator gives {_names(choices)} for these inputs. Describe the output so.",
        )
    attr = operator.dtype_attr(name)
    if attr is not None and attr in call.given and call.attrs[attr] != spec.dtype and call.op_type != "Cast":
        raise call.refuse(
            "HA527",
            f"{name} = {described(spec)}, but attribute {attr} = {call.attrs[attr]} ({dtypes.ge_name(call.attrs[attr])}); "
            f"they must agree. Leave the attribute out or describe {name} so.",
        )


def check_shapes(call: Call) -> None:
    """The described outputs have the inferred shapes, as far as both are known."""
    for (name, index), shape in zip(call.output_slots, call.shapes_out, strict=True):
        specs = call.outputs[name].specs
        if shape is not None and index < len(specs) and not specs[index].absent:
            check_shape(call, call.outputs[name].label(index), specs[index], shape)


def check_shape(call: Call, label: str, spec: TensorSpec, shape: Shape) -> None:
    """One described output against its inferred shape."""
    if spec.shape[:1] == (-2,) or fits(spec.shape, shape):
        return
    raise call.refuse(
        "HA511", f"{label} is described as {dims.text(spec.shape)}; the operator gives {dims.text(shape)}. Describe it so."
    )


def fits(described_shape: tuple[int, ...], shape: Shape) -> bool:
    """Whether a described shape can hold an inferred one: equal where both are known; a scalar and [1] are the same."""
    if dims.known(*shape) and sorted((len(shape), len(described_shape))) == [0, 1]:
        return max(shape, described_shape, key=len) == (1,)
    if len(described_shape) != len(shape):
        return not dims.known(*shape)  # what does not fit its buffer is told when it ran
    return all(map(_dim_fits, described_shape, shape))


def _dim_fits(given: int, dim: Dim) -> bool:
    """A dim against an inferred one; a larger one than an interval is fine, its true size is told when it ran."""
    if given < 0:
        return True
    return given >= dim.low if isinstance(dim, dims.Between) else given == dim
