"""Running a call: arrays in storage layout in, the kernel in the middle, results into the output arrays."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from math import prod
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from hostacl.config import settings
from hostacl.errors import Failed, Refused
from hostacl.ops import dims, precision, smallfloat
from hostacl.ops.batches import in_batches
from hostacl.ops.call import Call, each_output
from hostacl.ops.engines.sessions import usable
from hostacl.tensors import dtypes, formats
from hostacl.tensors.spec import TensorSpec

Array = NDArray[Any]
Shapes: TypeAlias = "tuple[tuple[int, ...], ...] | None"
Loader: TypeAlias = Callable[[Sequence[Any]], Any]

HOST_FAILURE, TOO_SMALL = 507018, 100022
SIGNED_PACKED = frozenset({dtypes.INT4, 31})


class Out(NamedTuple):
    """A described output, for kernels that ask for ``out``."""

    code: int
    dtype: np.dtype[Any]
    shape: tuple[int, ...]
    format: int


def function(call: Call) -> Callable[..., Shapes]:
    """What runs the call: a function of NumPy or _kernels that does just this, else the kernel between loads and stores."""
    by_engine = _engine(call) if settings().engine == "onnxruntime" and usable() is not None else None
    return by_engine or _native(call)


def _native(call: Call) -> Callable[..., Shapes]:
    """The call without an engine."""
    if call.operator.direct is not None and is_simple(call) and (fast := call.operator.direct(call)) is not None:
        return fast
    return in_batches(call, _general) or _general(call)


def _engine(call: Call) -> Callable[..., Shapes] | None:
    """The call by ONNX Runtime: on the arrays as they lie, or in the kernel's place; None where it does not take it."""
    from hostacl.ops.engines import onnxruntime, recipe

    if (found := onnxruntime.recipe(call)) is None:
        return None
    if onnxruntime.too_large(call):
        return in_batches(call, lambda part: (None if onnxruntime.too_large(part) else _engine(part)) or _general(part))
    fast = recipe.straight(found, call, _native(call)) if is_simple(call) else None
    return fast or _general(call, recipe.as_kernel(found, call))


def is_simple(call: Call) -> bool:
    """Whether the arrays can be handed on as they come: all there, plain layouts, whole bytes, exactly the inferred shapes."""
    bounds = (*call.inputs.items(), *call.outputs.items())
    plain = all(_as_it_comes(spec, name in call.operator.value_inputs) for name, bound in bounds for spec in bound.specs)
    all_there = sum(len(bound.specs) for bound in call.inputs.values()) == call.inputs_sent
    described = tuple(spec.shape for _, _, spec in each_output(call))
    return all_there and plain and bool(described) and described == call.shapes_out


def _as_it_comes(spec: TensorSpec, value_input: bool) -> bool:
    """Whether an array of this descriptor is the tensor itself. A const one may come without, which only value inputs allow."""
    return (
        not spec.absent and (spec.const is None or value_input) and spec.dtype not in dtypes.PACKED and formats.is_plain(spec)
    )


def _general(call: Call, by: Callable[..., Any] | None = None) -> Callable[..., Shapes]:
    """The kernel, or what stands in its place, between loads and stores."""
    current = settings()
    bits, soc = call.operator.bits, current.soc
    loaders = [(name, _loader(call, source, bits, soc)) for name, source in call.operator.parameters]
    stores, update = _stores(call, bits, current.saturate, soc), _updates(call, bits, current.saturate, soc)
    kernel, exact, waiting, first = by or call.operator.kernel, call.exact, call.unknown_values, call.inputs_sent

    def run(*arrays: Any) -> Shapes:
        try:
            if waiting:
                _check_values(call, waiting, arrays)
            results = kernel(**{name: load(arrays) for name, load in loaders})
        except Refused as refused:
            raise Failed(refused.rule, refused.text, HOST_FAILURE) from None
        shapes = stores(_flat(results, call), arrays[first:], exact)
        if update is not None:
            update(results[len(call.outputs) :], arrays)
        return shapes

    return run


def _loader(call: Call, name: str, bits: bool, soc: str) -> Loader:
    """What fetches one kernel parameter from the arrays."""
    if name in call.inputs:
        bound = call.inputs[name]
        each = [
            _tensor_loader(place, spec, bits, soc, call.values.get(name))
            for place, spec in zip(bound.positions, bound.specs, strict=True)
        ]
        if bound.decl.kind == "dynamic":
            return lambda arrays: [load(arrays) for load in each]
        return each[0] if each else lambda _: None
    constant = _constant(call, name)
    return lambda _: constant


def _constant(call: Call, name: str) -> Any:
    """A parameter that no array gives: an attribute, the outputs, the formats, the call; None for what is not there."""
    if name == "call":
        return call
    if name == "out":
        return tuple(
            Out(spec.dtype, precision.compute_dtype(spec.dtype), spec.shape, spec.format) for _, _, spec in each_output(call)
        )
    if name == "formats":
        return {key: bound.specs[0].format for key, bound in (*call.outputs.items(), *call.inputs.items()) if bound.given}
    return call.attrs.get(name)


def _tensor_loader(place: int, spec: TensorSpec, bits: bool, soc: str, const: Array | None) -> Loader:
    """What fetches an input tensor: out of its storage layout, widened (as plain bits for kernels that only move elements)."""
    steps = _steps(spec, bits, soc)
    if const is None and len(steps) == 0:
        return lambda arrays: arrays[place]

    def load(arrays: Sequence[Any]) -> Any:
        array = arrays[place] if const is None or arrays[place] is not None else const
        for step in steps:
            array = step(array)
        return array

    return load


def _steps(spec: TensorSpec, bits: bool, soc: str) -> list[Callable[[Array], Array]]:
    code = spec.dtype
    steps: list[Callable[[Array], Array]] = []
    if code in dtypes.PACKED:
        width = dtypes.BY_CODE[code].bits
        steps.append(lambda array: smallfloat.unpack(array, prod(spec.shape), width, code in SIGNED_PACKED).reshape(spec.shape))
    if not formats.is_plain(spec):
        steps.append(lambda array: formats.unpack(array, spec, soc))
    if bits and dtypes.bit_type(code) != dtypes.numpy_dtype(code) and code not in dtypes.PACKED:
        steps.append(lambda array: array.view(dtypes.bit_type(code)))
    elif not bits and (code in dtypes.HALVES or code in dtypes.SMALL_FLOATS or code == dtypes.COMPLEX32):
        steps.append(lambda array: precision.widen(array, code))
    return steps


def _check_values(call: Call, waiting: Sequence[tuple[str, int]], arrays: Sequence[Any]) -> None:
    """Applies the shape rule again, now with all values, so that bad ones and wrong sizes are told before anything runs."""
    full = call.with_values({name: arrays[place] for name, place in waiting})
    for (label, _, spec), shape in zip(each_output(call), full.shapes_out, strict=False):
        if shape is not None and dims.known(*shape) and dims.count(shape) > prod(spec.shape):  # type: ignore[operator]
            raise _too_large(call, label, spec, shape)


def _too_large(call: Call, label: str, spec: TensorSpec, shape: Sequence[Any]) -> Failed:
    told = f"{label} is described as {dims.text(spec.shape)}, its true shape is {dims.text(shape)}"
    return Failed("HA521", f"{call.op_type}: {told}; nothing was written. Describe it larger.", TOO_SMALL)


def _flat(results: Any, call: Call) -> list[Any]:
    """Results in output order, dynamic ones spread."""
    if len(call.outputs) == 1 and not isinstance(results, tuple | list):
        return [results]
    listed = [results] if isinstance(results, list) and len(call.outputs) == 1 else results
    flat: list[Any] = []
    for one, bound in zip(listed, call.outputs.values(), strict=False):
        flat.extend(one) if bound.decl.kind == "dynamic" and one is not None else flat.append(one)
    return flat


def _stores(call: Call, bits: bool, saturate: bool, soc: str) -> Callable[[list[Any], Sequence[Any], bool], Shapes]:
    """What writes results into the output arrays and tells the true shapes."""
    described = {position: (label, spec) for label, position, spec in each_output(call)}

    def write(results: list[Any], outputs: Sequence[Any], exact: bool) -> Shapes:
        ready = [None if value is None else np.asarray(value) for value in results]
        for place, (label, spec) in described.items():
            if not exact and place < len(ready) and (value := ready[place]) is not None and value.size > prod(spec.shape):
                raise _too_large(call, label, spec, value.shape)
        if len(outputs) > 1:
            ready = [value.copy() if value is not None and _shared(value, outputs) else value for value in ready]
        for place, (value, out) in enumerate(zip(ready, outputs, strict=False)):
            if value is not None and out is not None and place in described:
                _write(value, out, described[place][1], bits, saturate, soc)
        return None if exact else tuple(_true_shape(ready, place, described) for place in range(len(outputs)))

    return write


def _updates(
    call: Call, bits: bool, saturate: bool, soc: str
) -> Callable[[Sequence[Any], Sequence[Any]], None] | None:
    """What writes the new values of inputs that the operator updates in place; None where there are none."""
    if not call.operator.updates:
        return None
    targets = [(call.inputs[name].positions[0], call.spec(name)) for name in call.operator.updates if call.has(name)]

    def write(values: Sequence[Any], arrays: Sequence[Any]) -> None:
        for value, (place, spec) in zip(values, targets, strict=False):
            if value is not None and arrays[place].nbytes:
                _write(np.asarray(value), _unlocked(arrays[place]), spec, bits, saturate, soc)

    return write


def _unlocked(array: Array) -> Array:
    """The memory of an input, which comes locked, as an array that can be written."""
    if array.flags.writeable:
        return array
    memory = (ctypes.c_byte * array.nbytes).from_address(array.ctypes.data)
    return np.frombuffer(memoryview(memory).cast("B"), np.uint8).view(array.dtype).reshape(array.shape)


def _true_shape(ready: Sequence[Array | None], place: int, described: dict[int, tuple[str, TensorSpec]]) -> tuple[int, ...]:
    value = ready[place] if place < len(ready) else None
    if value is not None:
        return value.shape
    return described[place][1].shape if place in described else ()


def _shared(value: Array, outputs: Sequence[Any]) -> bool:
    """Whether a result lies in memory that one of several outputs is about to overwrite."""
    return any(out is not None and np.may_share_memory(value, out) for out in outputs)


def _write(value: Array, out: Array, spec: TensorSpec, bits: bool, saturate: bool, soc: str) -> None:
    """Writes one result: packed, in its storage layout, or plainly from the start of its buffer."""
    code = spec.dtype
    if code in dtypes.PACKED or not formats.is_plain(spec):
        _write_laid_out(value, out, spec, bits, saturate, soc)
        return
    target = out if value.shape == out.shape else out.reshape(-1)[: value.size].reshape(value.shape)
    if bits and value.dtype == dtypes.bit_type(code):
        np.copyto(target.view(dtypes.bit_type(code)), value)
    else:
        precision.store(value, target, code, saturate)


def _write_laid_out(value: Array, out: Array, spec: TensorSpec, bits: bool, saturate: bool, soc: str) -> None:
    """Writes through a plain temporary: packed types and private layouts."""
    code = spec.dtype
    plain = np.empty(value.shape, np.uint8 if code in dtypes.PACKED else dtypes.numpy_dtype(code))
    if bits and value.dtype == dtypes.bit_type(code):
        plain = value.view(plain.dtype)
    else:
        precision.store(value.astype(np.int8).view(np.uint8) if code in SIGNED_PACKED else value, plain, code, saturate)
    if code in dtypes.PACKED:
        packed = smallfloat.pack(plain, dtypes.BY_CODE[code].bits)
        np.copyto(out.reshape(-1).view(np.uint8)[: packed.size], packed)
    else:
        formats.pack(plain.reshape(spec.shape), spec, out, soc)
