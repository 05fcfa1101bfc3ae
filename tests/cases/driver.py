"""Runs a case of reports.jsonl through the public API: describe, compile, execute, synchronize, copy back."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np

import acl
from tests.calls import CODES, D2H, H2D, Tensor, attributes, message

Array = np.ndarray[Any, Any]
Values = Mapping[str, Any]

FORMATS = {"NCHW": 0, "NHWC": 1, "ND": 2, "NC1HWC0": 3, "FRACTAL_Z": 4, "FRACTAL_NZ": 29}
GUARD, PATTERN = 64, 0xA5
WAYS = ("compile_and_execute_v2", "compile_and_execute", "execute_v2", "execute")

CASES = {entry["id"]: entry for entry in map(json.loads, (Path(__file__).parent / "reports.jsonl").read_text().splitlines())}


def runs(case: str) -> list[dict[str, Any]]:
    """The operator calls of a case."""
    body = CASES[case]["case"]
    return list(body.get("runs", [body]))


@dataclass
class Outcome:
    """What a call gave: its code, that of the synchronize after it, the texts, the outputs' tensors, and the last function."""

    ret: int
    synchronized: int
    text: str
    outputs: list[Tensor] = field(default_factory=list)
    called: str = ""

    @property
    def told(self) -> tuple[str, int, str]:
        """What `tests.cases.messages.told` takes."""
        return self.text, self.ret or self.synchronized, self.called

    @property
    def failed(self) -> bool:
        return bool(self.ret or self.synchronized)

    def values(self, index: int = 0) -> Array:
        """An output's elements in the shape that its descriptor has now."""
        tensor = self.outputs[index]
        shape = tensor.dims()
        return tensor.read().reshape(-1)[: int(np.prod(shape))].reshape(shape)


def numpy_type(name: str) -> np.dtype[Any]:
    return np.dtype(ml_dtypes.bfloat16 if name == "bfloat16" else name)


def data_of(tensor: Mapping[str, Any], values: Values) -> Array:
    """The elements of an input: those given, or what the case says in its short forms."""
    shape = tuple(max(dim, 1) for dim in tensor["shape"]) if -1 in tensor["shape"] else tuple(tensor["shape"])
    dtype = numpy_type(tensor["dtype"])
    given = values.get(tensor["name"], tensor.get("data", "zeros"))
    if isinstance(given, str):
        count = int(np.prod(shape))
        given = {"zeros": np.zeros, "ones": np.ones}.get(given, np.arange)(count)
    return np.asarray(given, np.float64 if dtype.kind in "fV" else None).astype(dtype).reshape(shape)


class Memory:
    """Device memory of one buffer with guard bytes behind it."""

    def __init__(self, size: int, fill: int = PATTERN) -> None:
        self.size = size
        self.start, ret = acl.rt.malloc(size + GUARD, 0)
        assert ret == 0
        assert acl.rt.memset(self.start, size + GUARD, fill, size) == 0
        assert acl.rt.memset(self.start + size, GUARD, PATTERN, GUARD) == 0

    def write(self, data: Array) -> None:
        if data.nbytes:
            data = np.ascontiguousarray(data)
            assert acl.rt.memcpy(self.start, self.size, data.ctypes.data, data.nbytes, H2D) == 0

    def bytes(self, start: int = 0) -> Array:
        """What lies behind ``start``, the guard included."""
        out = np.empty(self.size + GUARD - start, np.uint8)
        assert acl.rt.memcpy(out.ctypes.data, out.nbytes, self.start + start, out.nbytes, D2H) == 0
        return out


@dataclass
class Run:
    """One call of a case; each field changes what the case says.

    ``values`` are elements by tensor, ``places`` where an input lies ("device", "const", "host", "null"), ``attrs`` and
    ``tensors`` (fields by tensor) are laid over those of the case.
    """

    case: Mapping[str, Any]
    values: Values = field(default_factory=dict)
    places: Values = field(default_factory=dict)
    attrs: Values = field(default_factory=dict)
    tensors: Values = field(default_factory=dict)
    way: str = "compile_and_execute_v2"
    stream: int = 0
    inputs: list[Tensor] = field(default_factory=list)
    outputs: list[Tensor] = field(default_factory=list)
    memories: list[Memory] = field(default_factory=list)
    called: str = ""

    def __post_init__(self) -> None:
        for tensor in self.case["inputs"]:
            self.inputs.append(self._input({**tensor, **self.tensors.get(tensor["name"], {})}))
        for tensor in self.case["outputs"]:
            self.outputs.append(self._output({**tensor, **self.tensors.get(tensor["name"], {})}))

    def __call__(self) -> Outcome:
        """Makes the call and waits for it; bytes behind the outputs must not have changed."""
        message()
        ret = self._call()
        synchronized = acl.rt.synchronize_stream(self.stream)
        outcome = Outcome(ret, synchronized, message(), self.outputs, self.called)
        for memory in self.memories:
            assert (memory.bytes(memory.size) == PATTERN).all(), "bytes behind a buffer were written"
        return outcome

    def _call(self) -> int:
        given, self.called = self.arguments(), f"acl.op.{self.way}"
        if self.way.startswith("compile"):
            return int(getattr(acl.op, self.way)(*given, 0, 0, None, self.stream))
        ret = acl.op.compile(given[0], given[1], given[3], given[5], 0, 0, None)
        if ret:
            self.called = "acl.op.compile"
        return int(ret or getattr(acl.op, self.way)(*given, self.stream))

    def arguments(self) -> list[Any]:
        """What every way to execute begins with."""
        named = {name: value.get("value") if isinstance(value, dict) else value for name, value in self.case["attrs"].items()}
        return [
            self.case["op"],
            [one.desc for one in self.inputs],
            [one.buffer for one in self.inputs],
            [one.desc for one in self.outputs],
            [one.buffer for one in self.outputs],
            attributes({**named, **self.attrs}),
        ]

    def _input(self, tensor: Mapping[str, Any]) -> Tensor:
        data = data_of(tensor, self.values)
        desc = _describe(tensor)
        place = self.places.get(tensor["name"], "const" if tensor.get("const") else "device")
        if place == "const" and data.nbytes:
            assert acl.set_tensor_const(desc, data.ctypes.data, data.nbytes) == 0
        if place == "host":
            assert acl.set_tensor_place_ment(desc, 1) == 0
            return Tensor(data, desc, acl.create_data_buffer(data.ctypes.data, data.nbytes), data.ctypes.data)
        if place == "null" or "buffer" in tensor:
            return Tensor(data, desc, acl.create_data_buffer(0, 0))
        memory = self._memory(tensor.get("buffer_bytes", data.nbytes))
        memory.write(data)
        return Tensor(data, desc, acl.create_data_buffer(memory.start, memory.size), memory.start)

    def _output(self, tensor: Mapping[str, Any]) -> Tensor:
        shape = [max(dim, 1) for dim in tensor["shape"]] if -1 in tensor["shape"] else tensor["shape"]
        array = np.zeros(shape, numpy_type(tensor["dtype"]))
        desc = _describe(tensor)
        if alias := tensor.get("alias"):
            _, place, *shift = alias.replace("+", "").replace("bytes", "").split()
            pointer = self.inputs[int(place)].pointer + int(*shift or [0])
            return Tensor(array, desc, acl.create_data_buffer(pointer, array.nbytes), pointer)
        memory = self._memory(tensor.get("buffer_bytes", array.nbytes), int(tensor.get("prefill", hex(PATTERN)), 16))
        return Tensor(array, desc, acl.create_data_buffer(memory.start, memory.size), memory.start)

    def _memory(self, size: int, fill: int = PATTERN) -> Memory:
        self.memories.append(Memory(size, fill))
        return self.memories[-1]


def _describe(tensor: Mapping[str, Any]) -> int:
    """A descriptor; a case's "storage" gives format and shape in memory beside the origin's."""
    code, fmt = CODES[tensor["dtype"]], FORMATS[tensor["format"]]
    if not tensor.get("storage"):
        return int(acl.create_tensor_desc(code, list(tensor["shape"]), fmt))
    desc = int(acl.create_tensor_desc(code, tensor["origin_shape"], FORMATS[tensor["origin_format"]]))
    assert acl.set_tensor_format(desc, fmt) == 0
    assert acl.set_tensor_shape(desc, tensor["shape"]) == 0
    return desc


def result(case: Mapping[str, Any], **changes: Any) -> Array:
    """The first output of a call that must succeed."""
    outcome = Run(case, **changes)()
    assert not outcome.failed, (outcome.ret, outcome.synchronized, outcome.text)
    return outcome.values()


def refused(case: Mapping[str, Any], *names: object, code: int = 500002, **changes: Any) -> Outcome:
    """A call that must fail with this code and a text with all these names in it; nothing is written."""
    run = Run(case, **changes)
    before = [memory.bytes().tobytes() for memory in run.memories]
    outcome = run()
    assert (outcome.ret or outcome.synchronized) == code, (outcome.ret, outcome.synchronized, outcome.text)
    for name in names:
        assert str(name) in outcome.text, f"{name!r} is not in: {outcome.text}"
    assert [memory.bytes().tobytes() for memory in run.memories] == before
    return outcome
