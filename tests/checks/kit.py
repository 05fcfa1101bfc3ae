"""What the misuses are made with: a table of them, and an operator's tensors in a line."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from tests.calls import CODES
from tests.checks.faces import Face

Array = np.ndarray[Any, Any]
BOTH = ("python", "c")


@dataclass(frozen=True)
class Misuse:
    """One way to break a rule. ``act(kit, wrong)`` breaks it, or with ``wrong`` False does the same put right.

    ``function``: pyACL's name of the function that is blamed; ``place``: where in its arguments; ``says``: what else the
    message holds; ``also``: rules that are broken along with it in both cases; ``faces``: of one only where the other breaks
    the rule by another function, by a program (programs.py), or lacks what it takes (lacking.py).
    """

    code: str
    act: Callable[[Kit, bool], Any]
    function: str
    place: str
    says: tuple[str, ...]
    faces: tuple[str, ...]
    scheduler: str
    also: tuple[str, ...]
    settings: dict[str, str]


MISUSES: dict[tuple[str, str], Misuse] = {}
"""By code and face."""


def misuse(
    code: str, function: str, place: str = "", *says: str, faces: tuple[str, ...] = BOTH,
    scheduler: str = "eager", also: tuple[str, ...] = (), **settings: str,
) -> Callable[[Callable[[Kit, bool], Any]], Callable[[Kit, bool], Any]]:  # fmt: skip
    """Puts a misuse into the table."""

    def add(act: Callable[[Kit, bool], Any]) -> Callable[[Kit, bool], Any]:
        for face in faces:
            assert (code, face) not in MISUSES, (code, face)
            MISUSES[code, face] = Misuse(code, act, function, place, says, faces, scheduler, also, settings)
        return act

    return add


@dataclass
class Kit:
    """A face with a stream, and short ways to tensors and calls."""

    face: Face
    stream: int = 0
    folder: Path = Path()
    kept: list[Any] = field(default_factory=list)

    @property
    def api(self) -> Any:
        return self.face.api

    def device(self, size: int = 64) -> int:
        """Device memory that holds zeros."""
        ptr, _ = self.api.rt.malloc(size, 0)
        self.api.rt.memset(ptr, size, 0, size)
        return int(ptr)

    def pinned(self, size: int = 64) -> int:
        return int(self.api.rt.malloc_host(size)[0])

    def host(self, array: Any) -> int:
        """The address of an array that is kept."""
        self.kept.append(np.ascontiguousarray(array))
        return int(self.kept[-1].ctypes.data)

    def desc(self, shape: list[int], dtype: str = "float32", fmt: int = 2) -> int:
        return int(self.api.create_tensor_desc(CODES[dtype], shape, fmt))

    def tensor(
        self, shape: list[int], dtype: str = "float32", size: int | None = None, ptr: int | None = None
    ) -> tuple[int, int]:
        """A descriptor and a buffer of device memory that holds zeros."""
        size = int(np.prod(shape, dtype=np.int64)) * np.dtype(dtype).itemsize if size is None else size
        ptr = self.device(max(size, 32)) if ptr is None else ptr
        return self.desc(shape, dtype), int(self.api.create_data_buffer(ptr, size))

    def filled(self, value: Any) -> tuple[int, int]:
        """A tensor with these elements."""
        array = np.ascontiguousarray(value)
        ptr = self.device(max(array.nbytes, 32))
        self.api.rt.memcpy(ptr, max(array.nbytes, 32), self.host(array), array.nbytes, 1)
        return self.desc(list(array.shape), str(array.dtype)), int(self.api.create_data_buffer(ptr, array.nbytes))

    def const(self, value: Any) -> tuple[int, int]:
        array = np.ascontiguousarray(value)
        desc = self.desc(list(array.shape), str(array.dtype))
        self.api.set_tensor_const(desc, self.host(array), array.nbytes)
        return desc, int(self.api.create_data_buffer(0, 0))

    def attr(self, **values: Any) -> int:
        """An attribute object; a list is one of ints."""
        attr = int(self.api.op.create_attr())
        kinds = {bool: "bool", int: "int", float: "float", str: "string", list: "list_int"}
        for name, value in values.items():
            getattr(self.api.op, f"set_attr_{kinds[type(value)]}")(attr, name, value)
        return attr

    def compile(self, op: str, inputs: list[tuple[int, int]], outputs: list[tuple[int, int]], attr: int = 0) -> int:
        given = [one for one, _ in inputs], [one for one, _ in outputs]
        return int(self.api.op.compile(op, *given, attr, 0, 0, ""))

    def execute(
        self, op: str, inputs: list[tuple[int, int]], outputs: list[tuple[int, int]], attr: int = 0, way: str = "execute_v2"
    ) -> int:
        split = [[pair[index] for pair in pairs] for pairs in (inputs, outputs) for index in (0, 1)]
        return int(getattr(self.api.op, way)(op, *split, attr, self.stream))

    def run(self, op: str, inputs: list[tuple[int, int]], outputs: list[tuple[int, int]], attr: int = 0) -> int:
        """Compiles and executes."""
        return self.compile(op, inputs, outputs, attr) or self.execute(op, inputs, outputs, attr)

    def gather(self, index: int, way: str = "execute_v2") -> int:
        """Gathers one row of four; the index is data."""
        x, indices, y = self.tensor([4, 2]), self.filled(np.array([index], np.int64)), self.tensor([1, 2])
        axis = self.const(np.array([0], np.int64))
        self.compile("GatherV2", [x, indices, axis], [y], 0)
        return self.execute("GatherV2", [x, indices, axis], [y], 0, way)

    def file(self, name: str, text: str | bytes) -> str:
        """The path of a new file."""
        path = self.folder / name
        path.write_bytes(text.encode() if isinstance(text, str) else text)
        return str(path)

    def wait(self) -> int:
        return int(self.api.rt.synchronize_stream(self.stream))
