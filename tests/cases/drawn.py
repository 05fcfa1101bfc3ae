"""Calls drawn for every registered operator, described to the API with one thing changed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import numpy as np

import acl
from hostacl.ops.registry import find, implemented
from hostacl.ops.schema import Prototype
from hostacl.tensors import dtypes
from random_calls.draw import Drawn, draw_call, dtypes_of, plan
from random_calls.jpegs import place_of
from random_calls.oracle import find_oracle
from random_calls.run import storage
from random_calls.through_api import dtypes_through_api
from random_calls.values import pack
from tests.cases.driver import Memory

OPERATORS = [op for op in implemented() if find_oracle(op) and dtypes_through_api(dtypes_of(op))]
"""Registered operators that calls can be drawn for."""

Spec = tuple[int, tuple[int, ...], int]
"""dtype, shape, format."""


@cache
def a_call(op_type: str, kind: str = "same shape", seed: int = 1) -> Drawn:
    """A call of an operator with the first dtype that the API has."""
    return draw_call(op_type, dtypes_through_api(dtypes_of(op_type))[0], kind, seed, 3)


def kinds_of(op_type: str) -> tuple[str, ...]:
    """The kinds of calls that apply to an operator."""
    return plan(op_type, dtypes_through_api(dtypes_of(op_type))[0])


def known(op_type: str) -> Prototype:
    """The prototype with every form in which the operator takes it."""
    found = find(op_type)
    assert found is not None
    return found.prototype


def stored_as(data: np.ndarray[Any, Any], dtype: int) -> np.ndarray[Any, Any]:
    """What lies in a tensor's memory; of a string its place and length."""
    stored = np.ascontiguousarray(pack(data, dtype))
    return np.frombuffer(place_of(stored.tobytes()), np.uint8) if dtype == dtypes.STRING else stored


@dataclass
class Described:
    """A drawn call as descriptors and attributes, some of them changed by place or name. Attributes: (kind, value)."""

    drawn: Drawn
    inputs: Mapping[int, Spec] = field(default_factory=dict)
    outputs: Mapping[int, Spec] = field(default_factory=dict)
    attrs: Mapping[str, tuple[str, Any] | None] = field(default_factory=dict)
    consts: Mapping[int, Any] = field(default_factory=dict)
    descs: list[int] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.input_descs = [self._input(place) for place in range(len(self.drawn.inputs))]
        specs = [one.spec for one in self.drawn.outputs]
        self.output_descs = [self._desc(self.outputs.get(i, (one.dtype, one.shape, one.format))) for i, one in enumerate(specs)]
        self.attr = acl.op.create_attr()
        for name, given in {**self.drawn.attrs, **self.attrs}.items():
            if given is not None:
                ret = getattr(acl.op, f"set_attr_{given[0]}")(self.attr, name, given[1])
                assert (ret[1] if isinstance(ret, tuple) else ret) == 0

    def _desc(self, spec: Spec) -> int:
        self.descs.append(int(acl.create_tensor_desc(spec[0], list(spec[1]), spec[2])))
        return self.descs[-1]

    def _input(self, place: int) -> int:
        one = self.drawn.inputs[place]
        if one.data is None:
            return self._desc((-1, (), -1))
        data = np.asarray(self.consts.get(place, one.data), one.data.dtype)
        shape = one.spec.shape if one.spec.dtype == dtypes.STRING else data.shape
        desc = self._desc(self.inputs.get(place, (one.spec.dtype, shape, one.spec.format)))
        if one.way and place not in self.inputs:
            stored = stored_as(data, one.spec.dtype)
            if stored.nbytes:
                assert acl.set_tensor_const(desc, stored.ctypes.data, stored.nbytes) == 0
        return desc

    def compile(self) -> tuple[int, str]:
        """The code of aclopCompile and the text; everything is destroyed."""
        acl.get_recent_err_msg()
        ret = acl.op.compile(self.drawn.op_type, self.input_descs, self.output_descs, self.attr, 0, 0, None)
        self.destroy()
        return int(ret), acl.get_recent_err_msg() or ""

    def destroy(self) -> None:
        for desc in self.descs:
            acl.destroy_tensor_desc(desc)
        acl.op.destroy_attr(self.attr)


@dataclass
class InMemory:
    """The tensors of a drawn call in device memory with ``more`` bytes behind each in its buffer."""

    drawn: Drawn
    more: int = 0
    memories: list[Memory | None] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.described = Described(self.drawn)
        for one in self.drawn.inputs:
            self.memories.append(None if one.data is None else self._filled(stored_as(one.data, one.spec.dtype)))
        for out in self.drawn.outputs:
            self.memories.append(Memory(self.size_of(out.spec.dtype, out.spec.shape) + self.more))
        self.before = [None if memory is None else memory.bytes().tobytes() for memory in self.memories]

    @staticmethod
    def size_of(dtype: int, shape: Sequence[int]) -> int:
        return storage(dtype, tuple(shape))[2]

    def _filled(self, data: np.ndarray[Any, Any]) -> Memory:
        memory = Memory(data.nbytes + self.more)
        memory.write(data)
        return memory

    def run(self, way: str, sizes: Mapping[int, int] | None = None) -> tuple[int, int, str]:
        """Code, code of the synchronize, text. ``sizes`` are other sizes of buffers by place, outputs after inputs."""
        acl.get_recent_err_msg()
        buffers = []
        for place, memory in enumerate(self.memories):
            size = (sizes or {}).get(place, memory.size if memory else 0)
            buffers.append(acl.create_data_buffer(memory.start if memory and size else 0, size))
        count = len(self.described.input_descs)
        given = [self.drawn.op_type, self.described.input_descs, buffers[:count], self.described.output_descs, buffers[count:]]
        ret = getattr(acl.op, way)(*given, self.described.attr, 0, 0, None, 0)
        synchronized = acl.rt.synchronize_stream(0)
        for buffer in buffers:
            acl.destroy_data_buffer(buffer)
        return int(ret), int(synchronized), acl.get_recent_err_msg() or ""

    def changed(self, place: int) -> bool:
        """Whether a tensor's memory, guard bytes included, is not as it was."""
        memory = self.memories[place]
        return memory is not None and memory.bytes().tobytes() != self.before[place]

    def free(self) -> None:
        self.described.destroy()
        for memory in self.memories:
            if memory is not None:
                assert acl.rt.free(memory.start) == 0
