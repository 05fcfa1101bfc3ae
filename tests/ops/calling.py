"""Calls an operator the way the execute path does: descriptors, attributes and arrays by position."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from hostacl.ops import find
from hostacl.ops.call import Call
from hostacl.tensors import dtypes, formats
from hostacl.tensors.spec import TensorSpec

KINDS = {bool: "bool", int: "int", float: "float", str: "string"}
CODES = {
    entry.numpy: entry.code
    for entry in reversed(dtypes.TABLE)
    if entry.numpy is not None and not 17 < entry.code < 23 and entry.bits >= 8
}
CODES[np.dtype(np.uint8)], CODES[np.dtype(np.int8)] = dtypes.UINT8, dtypes.INT8
ABSENT = TensorSpec(-1, (), -1)


def attr(value: Any) -> tuple[str, Any]:
    """An attribute as set: its kind follows from the value."""
    if isinstance(value, list):
        if value and isinstance(value[0], list):
            return "list_list_int", value
        return "list_" + (KINDS[type(value[0])] if value else "int"), value
    return KINDS[type(value)], value


def spec(array: Any, layout: int = formats.ND, const: bool = False) -> TensorSpec:
    """The descriptor of an array; None is a tensor left out."""
    if array is None:
        return ABSENT
    return TensorSpec(CODES[array.dtype], array.shape, layout, const=array.tobytes() if const else None)


def bind(
    op: str,
    inputs: Sequence[Any],
    outputs: Sequence[TensorSpec] = (),
    const: Sequence[int] = (),
    layout: int = formats.ND,
    **attrs: Any,
) -> Call:
    """The bound call for these arrays (or specs); ``const`` holds positions of const inputs."""
    operator = find(op)
    assert operator is not None, op
    specs = [one if isinstance(one, TensorSpec) else spec(one, layout, place in const) for place, one in enumerate(inputs)]
    return operator.bind(specs, outputs, {name: attr(value) for name, value in attrs.items()})


def run(
    op: str,
    *inputs: Any,
    outputs: Sequence[TensorSpec] | None = None,
    const: Sequence[int] = (),
    layout: int = formats.ND,
    **attrs: Any,
) -> Any:
    """The outputs (one alone) of a call; their descriptors are what ``infer`` says unless they are given."""
    if outputs is None:
        outputs = inferred(bind(op, inputs, (), const, layout, **attrs))
    call = bind(op, inputs, outputs, const, layout, **attrs)
    results = [np.full(one.shape, 77).astype(dtypes.numpy_dtype(one.dtype)) for one in outputs]
    with np.errstate(all="ignore"):  # as the execute path does
        shapes = call.function()(*inputs, *results)
    if not call.exact:
        assert shapes is not None
        results = [
            array.reshape(-1)[: int(np.prod(shape))].reshape(shape) for array, shape in zip(results, shapes, strict=True)
        ]
    return results[0] if len(results) == 1 else results


def values(code: int, shape: tuple[int, ...], seed: int = 0, low: float = -8, high: float = 8) -> np.ndarray[Any, Any]:
    """Random values that the dtype holds, whole numbers for integer types."""
    rng, dtype = np.random.default_rng(seed), dtypes.numpy_dtype(code)
    if dtype.kind == "b":
        return rng.integers(0, 2, shape).astype(bool)
    if dtype.kind == "c":
        return (rng.uniform(low, high, shape) + 1j * rng.uniform(low, high, shape)).astype(dtype)
    if code == dtypes.COMPLEX32:
        return rng.uniform(low, high, (*shape, 2)).astype(np.float16).view(dtype)[..., 0]
    whole = dtype.kind in "iu"
    return (
        rng.integers(max(low, 0) if dtype.kind == "u" else low, high + 1, shape) if whole else rng.uniform(low, high, shape)
    ).astype(dtype)


def wide(array: Any) -> Any:
    """The array in a type that computes precisely: float64, complex128, or Python integers."""
    if array.dtype == dtypes.PAIR16:
        return array["real"].astype(np.float64) + 1j * array["imag"].astype(np.float64)
    if array.dtype.kind in "iu":
        return array.astype(object)
    return array.astype(np.complex128 if array.dtype.kind == "c" else np.float64)


def eps(code: int) -> float:
    """The distance from 1 to the next larger value of a float or complex type; 0 for others."""
    return {
        dtypes.FLOAT16: 2**-10,
        dtypes.BF16: 2**-7,
        dtypes.FLOAT: 2**-23,
        dtypes.DOUBLE: 2**-52,
        dtypes.COMPLEX32: 2**-10,
        dtypes.COMPLEX64: 2**-23,
        dtypes.COMPLEX128: 2**-52,
    }.get(code, 0.0)


def inferred(call: Call) -> list[TensorSpec]:
    """Descriptors of the outputs as ``infer`` gives them, a dim that is only bounded at its largest."""
    found = []
    for one in call.infer():
        assert one.shape is not None
        shape = tuple(high if size == -1 else size for size, (_, high) in zip(one.shape, one.ranges, strict=True))
        found.append(TensorSpec(one.dtype, shape, one.format))
    return found
