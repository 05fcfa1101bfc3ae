"""Operators through pyACL in a few lines, for tests on any `acl`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

import acl

H2D, D2H = 1, 2
ND = 2
CODES = {
    "float32": 0, "float16": 1, "int8": 2, "int32": 3, "uint8": 4, "int16": 6, "uint16": 7, "uint32": 8,
    "int64": 9, "uint64": 10, "float64": 11, "bool": 12, "complex64": 16, "complex128": 17, "bfloat16": 27,
}  # fmt: skip


@dataclass
class Tensor:
    """A descriptor, a buffer and their memory, as a program holds them."""

    array: np.ndarray[Any, Any]
    desc: int
    buffer: int
    pointer: int = 0
    kept: list[Any] = field(default_factory=list)

    def read(self) -> np.ndarray[Any, Any]:
        """What is in the memory now, in the shape of the array it was made from."""
        out = np.empty_like(self.array)
        if out.nbytes:
            assert acl.rt.memcpy(out.ctypes.data, out.nbytes, self.pointer, out.nbytes, D2H) == 0
        return out

    def dims(self) -> list[int]:
        """The dims that the descriptor has now."""
        return [acl.get_tensor_desc_dim_v2(self.desc, i)[0] for i in range(acl.get_tensor_desc_num_dims(self.desc))]


def describe(array: np.ndarray[Any, Any], fmt: int = ND) -> int:
    """A descriptor of an array."""
    return int(acl.create_tensor_desc(CODES[str(array.dtype)], list(array.shape), fmt))


def device(value: Any, fmt: int = ND, size: int | None = None) -> Tensor:
    """A tensor in device memory; ``size`` is that of its buffer where it is not the array's."""
    array = np.ascontiguousarray(value).reshape(np.shape(value))
    size = array.nbytes if size is None else size
    pointer, ret = acl.rt.malloc(max(size, 32), 0)
    assert ret == 0
    if array.nbytes:
        assert acl.rt.memcpy(pointer, max(size, 32), array.ctypes.data, min(size, array.nbytes), H2D) == 0
    return Tensor(array, describe(array, fmt), acl.create_data_buffer(pointer, size), pointer)


def const(value: Any) -> Tensor:
    """A const input with the empty buffer that the reference allows."""
    array = np.ascontiguousarray(value).reshape(np.shape(value))
    desc = describe(array)
    if array.nbytes:
        assert acl.set_tensor_const(desc, array.ctypes.data, array.nbytes) == 0
    return Tensor(array, desc, acl.create_data_buffer(0, 0))


def host(value: Any) -> Tensor:
    """A tensor placed in host memory."""
    array = np.array(value)
    desc = describe(array)
    assert acl.set_tensor_place_ment(desc, 1) == 0
    return Tensor(array, desc, acl.create_data_buffer(array.ctypes.data, array.nbytes), array.ctypes.data)


def absent() -> Tensor:
    """An optional input left out."""
    return Tensor(np.empty(0), acl.create_tensor_desc(-1, [], -1), acl.create_data_buffer(0, 0))


_SETTERS = {bool: "set_attr_bool", int: "set_attr_int", float: "set_attr_float", str: "set_attr_string"}


def attributes(values: Mapping[str, Any]) -> int:
    """An attribute object; a list's kind is that of its first item."""
    attr = acl.op.create_attr()
    for name, value in values.items():
        listed = isinstance(value, list)
        setter = _SETTERS[type(value[0] if listed else value)].replace("attr_", "attr_list_" if listed else "attr_")
        assert getattr(acl.op, setter)(attr, name, value) == 0
    return int(attr)


def arguments(op: str, inputs: Sequence[Tensor], outputs: Sequence[Tensor], attr: int) -> list[Any]:
    """The arguments that all ways to execute begin with."""
    return [
        op,
        [one.desc for one in inputs],
        [one.buffer for one in inputs],
        [one.desc for one in outputs],
        [one.buffer for one in outputs],
        attr,
    ]


def compile_op(op: str, inputs: Sequence[Tensor], outputs: Sequence[Tensor], attrs: Mapping[str, Any] | None = None) -> int:
    """Builds the model only."""
    given = arguments(op, inputs, outputs, attributes(attrs or {}))
    return int(acl.op.compile(given[0], given[1], given[3], given[5], 0, 0, None))


def execute(
    op: str,
    inputs: Sequence[Tensor],
    outputs: Sequence[Tensor],
    attrs: Mapping[str, Any] | None = None,
    stream: int = 0,
    way: str = "execute_v2",
) -> int:
    """Runs an operator that was compiled or loaded."""
    return int(getattr(acl.op, way)(*arguments(op, inputs, outputs, attributes(attrs or {})), stream))


def build_and_execute(
    op: str,
    inputs: Sequence[Tensor],
    outputs: Sequence[Tensor],
    attrs: Mapping[str, Any] | None = None,
    stream: int = 0,
    way: str = "compile_and_execute_v2",
) -> int:
    """Builds the model if need be and runs it."""
    given = arguments(op, inputs, outputs, attributes(attrs or {}))
    return int(getattr(acl.op, way)(*given, 0, 0, None, stream))


def message() -> str:
    """The recent error texts, read once."""
    return acl.get_recent_err_msg() or ""
