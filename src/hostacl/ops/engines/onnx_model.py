"""ONNX models of a few nodes as bytes: just enough of protocol buffers to write them."""

from __future__ import annotations

import struct
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

FLOAT, UINT8, INT32, INT64 = 1, 2, 6, 7
"""Element types of ONNX."""

IR_VERSION, OPSET = 8, 17
"""What ONNX Runtime reads from 1.17 on."""


class Node(NamedTuple):
    """A node of a graph; an input left out is an empty name."""

    op_type: str
    inputs: Sequence[str]
    outputs: Sequence[str]
    attributes: Mapping[str, Any] = {}


class Tensor(NamedTuple):
    """An input or output of a graph: name, element type, and how many dims it has or, in a list, which; None: any number."""

    name: str
    element: int = FLOAT
    dims: int | Sequence[int] | None = None


def model(nodes: Sequence[Node], inputs: Sequence[Tensor], outputs: Sequence[Tensor]) -> bytes:
    """A model that runs these nodes; dims that are not given are symbols of their own, so that one session takes all sizes."""
    graph = [*(_bytes(1, _node(one)) for one in nodes), _bytes(2, b"g")]
    graph += [_bytes(11, _value(one)) for one in inputs] + [_bytes(12, _value(one)) for one in outputs]
    return _integer(1, IR_VERSION) + _bytes(7, b"".join(graph)) + _bytes(8, _text(1, "") + _integer(2, OPSET))


def _node(node: Node) -> bytes:
    names = [_text(1, one) for one in node.inputs] + [_text(2, one) for one in node.outputs]
    attributes = [_bytes(5, _attribute(name, value)) for name, value in node.attributes.items()]
    return b"".join([*names, _text(4, node.op_type), *attributes])


def _attribute(name: str, value: Any) -> bytes:
    """An attribute: a float, an int (a bool is one), a string, a list of ints."""
    if isinstance(value, float):
        return _text(1, name) + _key(2, 5) + struct.pack("<f", value) + _integer(20, 1)
    if isinstance(value, int):
        return _text(1, name) + _integer(3, value) + _integer(20, 2)
    if isinstance(value, str):
        return _text(1, name) + _text(4, value) + _integer(20, 3)
    return _text(1, name) + b"".join(_integer(8, int(one)) for one in value) + _integer(20, 7)


def _value(tensor: Tensor) -> bytes:
    kind = _integer(1, tensor.element)
    if tensor.dims is not None:
        kind += _bytes(2, b"".join(_bytes(1, one) for one in _dims(tensor.name, tensor.dims)))
    return _text(1, tensor.name) + _bytes(2, _bytes(1, kind))


def _dims(name: str, given: int | Sequence[int]) -> Iterable[bytes]:
    if isinstance(given, int):
        return (_text(2, f"{name}{place}") for place in range(given))
    return (_integer(1, one) for one in given)


def _varint(value: int) -> bytes:
    """Seven bits a byte, the lowest first; negative numbers as 64 bits."""
    value &= (1 << 64) - 1
    out = bytearray()
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    out.append(value)
    return bytes(out)


def _key(number: int, wire: int) -> bytes:
    return _varint(number << 3 | wire)


def _integer(number: int, value: int) -> bytes:
    return _key(number, 0) + _varint(value)


def _bytes(number: int, value: bytes) -> bytes:
    return _key(number, 2) + _varint(len(value)) + value


def _text(number: int, value: str) -> bytes:
    return _bytes(number, value.encode())
