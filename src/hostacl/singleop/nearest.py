"""Why no model fits a call, in words: the nearest model and where it differs."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Iterator

from hostacl.singleop.keys import NO_BOUND, Attr, attr_key, dim_ranges, rank
from hostacl.singleop.models import Attrs, Model, ModelStore, Tensors, within
from hostacl.tensors.dtypes import dtype_name
from hostacl.tensors.formats import format_name
from hostacl.tensors.spec import TensorSpec

HOW = (
    "Models come from acl.op.set_model_dir or acl.op.load "
    "(files that `hostacl atc --singleop=ops.json --output=DIR` writes) "
    "and from acl.op.compile or compile_and_execute_v2; HOSTACL_AUTO_COMPILE=1 compiles at the call"
)
"""How operators are loaded: what to do when none fits."""

_PLACES = {0: "device", 1: "host", 2: "host, compile independent"}


def nearest(
    store: ModelStore, op_type: str, inputs: Tensors, outputs: Tensors, attrs: Attrs, known: Iterable[str]
) -> str:
    """The text for a call that no model fits; ``known`` are the names of all operators there are."""
    models = store.of_type(op_type)
    if models:
        return f"{call_text(op_type, inputs, outputs, attrs)}: {_against(models, inputs, outputs, attrs)}. {HOW}."
    if op_type not in (names := set(known)):
        return f"{op_type}: no operator of this name is known{_alike(op_type, names)}. {HOW}."
    held = store.op_types()
    have = (
        f"there are models of {', '.join(held[:8])}{' …' if len(held) > 8 else ''} only"
        if held
        else "there are no models at all"
    )
    return (
        f"{call_text(op_type, inputs, outputs, attrs)}: no model of this operator is loaded or compiled; {have}. {HOW}."
    )


def similar(op_type: str, known: Iterable[str]) -> list[str]:
    """Up to five known operator names that are nearest to a name, case aside."""
    lower = {name.lower(): name for name in sorted(known)}
    return [lower[name] for name in difflib.get_close_matches(op_type.lower(), list(lower), n=5, cutoff=0.4)]


def _alike(op_type: str, names: Iterable[str]) -> str:
    found = similar(op_type, names)
    return f"; nearest names: {', '.join(found)}" if found else ""


def call_text(op_type: str, inputs: Tensors, outputs: Tensors, attrs: Attrs) -> str:
    """A call in one line: ``Add(float32 [8,16] ND, float32 [8,16] ND) -> float32 [8,16] ND``."""
    given = [tensor_text(spec) for spec in inputs] + [f"{name}={attr_text(attrs[name])}" for name in sorted(attrs)]
    return f"{op_type}({', '.join(given)}) -> {', '.join(map(tensor_text, outputs)) or 'nothing'}"


def tensor_text(spec: TensorSpec) -> str:
    """A descriptor in a few words: ``float32 [8,16] ND``."""
    return "absent" if spec.absent else f"{dtype_name(spec.dtype)} {shape_text(spec)} {format_name(spec.format)}"


def shape_text(spec: TensorSpec) -> str:
    """The shape, an open dim as its range: ``[1..64,16]``."""
    if rank(spec) == -2:
        return "[any rank]"
    return f"[{','.join(_dim_text(low, high) for low, high in dim_ranges(spec))}]"


def attr_text(attr: Attr) -> str:
    """An attribute's value and kind: ``True (bool)``."""
    return f"{attr[1]!r} ({attr[0]})"


def _dim_text(low: int, high: int) -> str:
    return str(low) if low == high else f"{low}..{'' if high == NO_BOUND else high}"


def _against(models: list[Model], inputs: Tensors, outputs: Tensors, attrs: Attrs) -> str:
    found, model = min(
        ((list(differences(model, inputs, outputs, attrs)), model) for model in models), key=lambda pair: len(pair[0])
    )
    source = model.path or model.origin
    more = f" and {len(found) - 1} more" if len(found) > 1 else ""
    return (
        f"none of the {len(models)} models of {model.op_type} fits; the nearest ({source}) differs in {found[0]}{more}"
    )


def differences(model: Model, inputs: Tensors, outputs: Tensors, attrs: Attrs) -> Iterator[str]:
    """Each thing in which a call is not what a model was built for, in the order: numbers, tensors, attributes."""
    for side, built, given in (("input", model.inputs, inputs), ("output", model.outputs, outputs)):
        if len(built) != len(given):
            yield f"the number of {side}s: {len(given)} given, built for {len(built)}"
        for index, (ours, theirs) in enumerate(zip(built, given, strict=False)):
            yield from (f"{side} {index}: {text}" for text in _tensor_differences(ours, theirs))
    for name in sorted({*model.attrs, *attrs}):
        yield from _attr_difference(name, model.attrs.get(name), attrs.get(name))


def _tensor_differences(model: TensorSpec, given: TensorSpec) -> Iterator[str]:
    if model.absent or given.absent:
        if model.absent != given.absent:
            yield f"{tensor_text(given)} given, built for {tensor_text(model)}"
        return
    if model.dtype != given.dtype:
        yield f"dtype {dtype_name(given.dtype)} given, built for {dtype_name(model.dtype)}"
    if model.shape != given.shape and not within(model, given):
        yield f"shape {shape_text(given)} given, built for {shape_text(model)}"
    if model.format != given.format:
        yield f"format {format_name(given.format)} given, built for {format_name(model.format)}"
    if _storage(model) != _storage(given):
        yield f"storage format {format_name(_storage(given))} given, built for {format_name(_storage(model))}"
    if model.const != given.const:
        yield f"const data: {_const_text(given.const)} given, built for {_const_text(model.const)}"
    if model.placement != given.placement:
        yield f"placement {_place(given)} given, built for {_place(model)}"


def _place(spec: TensorSpec) -> str:
    return _PLACES.get(spec.placement, str(spec.placement))


def _storage(spec: TensorSpec) -> int:
    return spec.format if spec.storage_format == -1 else spec.storage_format


def _const_text(data: bytes | None) -> str:
    if data is None:
        return "not const"
    return f"{len(data)} bytes {data[:16].hex(' ')}{' …' if len(data) > 16 else ''}"


def _attr_difference(name: str, model: Attr | None, given: Attr | None) -> Iterator[str]:
    if given is None and model is not None:
        yield f"attribute {name}: not set, built with {attr_text(model)}"
    elif model is None and given is not None:
        yield f"attribute {name}: {attr_text(given)} given, built without it"
    elif model and given and attr_key({name: model}) != attr_key({name: given}):
        yield f"attribute {name}: {attr_text(given)} given, built with {attr_text(model)}"
