"""Calls every exported function with arguments that no program should give. Run in a process of its own by test_fuzz.py.

``python -m tests.capi.fuzz SEED CALLS SHARD SHARDS TRACE``: that many calls of each function of a shard; what is called is
written to the file TRACE beforehand, so that a crash names it. Out of scope is what any C library must trust: an address
that is not NULL for a result, a string, a struct or a callback is that of one.
"""

from __future__ import annotations

import contextlib
import ctypes
import faulthandler
import mmap
import os
import random
import re
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from hostacl import toolkit_path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tools"))
import c_facts

SKIPPED = {"aclAppLog"}  # takes a printf format
INTS = {
    "int": ctypes.c_int, "int32_t": ctypes.c_int32, "uint32_t": ctypes.c_uint32, "int64_t": ctypes.c_int64,
    "uint64_t": ctypes.c_uint64, "size_t": ctypes.c_size_t, "int8_t": ctypes.c_int8, "uint8_t": ctypes.c_uint8,
    "int16_t": ctypes.c_int16, "uint16_t": ctypes.c_uint16, "bool": ctypes.c_uint8, "aclFloat16": ctypes.c_uint16,
    "aclError": ctypes.c_int, "aclnnStatus": ctypes.c_int, "rtError_t": ctypes.c_int, "Code": ctypes.c_int,
}  # fmt: skip
HANDLES = {
    "aclTensorDesc *": "desc", "aclDataBuffer *": "buffer", "aclopAttr *": "attr", "aclopHandle *": "handle",
    "aclrtStream": "stream", "aclrtEvent": "event", "aclrtContext": "context", "aclrtGroupInfo *": "group",
    "aclrtStreamConfigHandle *": "config", "aclrtAllocatorDesc": "desc",
}  # fmt: skip
MEMORY = {
    "devPtr", "hostPtr", "dst", "src", "ptr", "pHost", "data", "dataBuffer", "matrixA", "matrixB", "matrixC", "a", "x", "y",
    "alpha", "beta", "model", "outputAddr", "virPtr",
}  # fmt: skip
"""Parameters that hold the address of memory, about which the machine knows whether it is there."""
WITHOUT_TEXT = {"aclrtPeekAtLastError", "aclrtGetLastError"}  # what they return is another call's


class Pool:
    """Live, dead, foreign and wrong things to give."""

    def __init__(self, lib: ctypes.CDLL, rng: random.Random) -> None:
        self.lib, self.rng = lib, rng
        self.results = ctypes.create_string_buffer(1 << 16)
        self.zeros = ctypes.create_string_buffer(1 << 16)  # what is only read
        self.lists = ctypes.create_string_buffer(1 << 16)
        self.theirs = mmap.mmap(-1, 64 << 20)  # so large that no count that is believed leaves it
        self.foreign = ctypes.addressof(ctypes.c_char.from_buffer(self.theirs))
        self.callback = ctypes.CFUNCTYPE(ctypes.c_int)(lambda: 0)
        self.strings = [
            ctypes.create_string_buffer(s)
            for s in (b"", b"Add", b"x", b"\xff\xfe", b"%s%n", b"/nowhere", b"{", b"a" * 100_000, b"0", b"enable")
        ]
        self.words = (ctypes.c_void_p * 256)(*(ctypes.addressof(self.strings[i % 4]) for i in range(256)))
        self.live: dict[str, list[int]] = {}
        self.dead: list[int] = []

    def refresh(self) -> None:
        """A set device and a live object of each kind; those of before are dead, or left."""
        lib = self.lib
        lib.aclInit(None)
        lib.aclrtSetDevice(0)
        self.live = {name: [self.make(name)] for name in ("desc", "buffer", "attr", "stream", "event", "group", "config")}
        self.live["memory"] = [self.out(lib.aclrtMalloc, 256, 0), self.out(lib.aclrtMallocHost, 256)]
        self.live["context"] = [self.out(lib.aclrtGetCurrentContext)]
        self.live["handle"] = [self.handle()]
        gone = {name: self.make(name) for name in ("desc", "buffer", "attr", "stream", "event")}
        freed = self.out(lib.aclrtMalloc, 64, 0)
        ends = {
            "desc": lib.aclDestroyTensorDesc, "buffer": lib.aclDestroyDataBuffer, "attr": lib.aclopDestroyAttr,
            "stream": lib.aclrtDestroyStream, "event": lib.aclrtDestroyEvent,
        }  # fmt: skip
        for name, end in ends.items():
            end(ctypes.c_void_p(gone[name]))
        lib.aclrtFree(ctypes.c_void_p(freed))
        self.dead = [*gone.values(), freed]

    def out(self, call: Callable[..., int], *args: int) -> int:
        result = ctypes.c_void_p()
        call(ctypes.byref(result), *(ctypes.c_size_t(arg) for arg in args))
        return result.value or 0

    def make(self, name: str) -> int:
        lib, dims = self.lib, (ctypes.c_int64 * 1)(8)
        if name == "stream":
            return self.out(lib.aclrtCreateStream)
        if name == "event":
            event = self.out(lib.aclrtCreateEvent)
            lib.aclrtRecordEvent(ctypes.c_void_p(event), None)  # a wait for it must end
            return event
        call = {
            "desc": lambda: lib.aclCreateTensorDesc(0, 1, dims, 2),
            "buffer": lambda: lib.aclCreateDataBuffer(ctypes.c_void_p(self.out(lib.aclrtMalloc, 32, 0)), ctypes.c_size_t(32)),
            "attr": lib.aclopCreateAttr, "group": lib.aclrtCreateGroupInfo, "config": lib.aclrtCreateStreamConfigHandle,
        }[name]  # fmt: skip
        return call() or 0

    def handle(self) -> int:
        desc = (ctypes.c_void_p * 2)(self.live["desc"][0], self.live["desc"][0])
        handle = ctypes.c_void_p()
        self.lib.aclopCreateHandle(b"Add", 2, desc, 1, desc, None, ctypes.byref(handle))
        return handle.value or 0

    def integer(self, bits: int = 64) -> int:
        rng = self.rng
        small = [0, 1, 2, 3, 8, 16, 31, -1, -2, 100, 128]
        shift = rng.choice([*range(min(26, bits)), *range(min(44, bits), bits)])  # a size of 1 GiB could be true by chance
        return rng.choice([rng.choice(small), rng.choice([1, -1]) << shift, rng.getrandbits(bits), (1 << bits) - 1])

    def address(self, wanted: str) -> int:
        """Anything for a handle, or the address of memory."""
        rng = self.rng
        ours = self.live.get(wanted, [0])
        # A stream configuration lies on the heap, which a copy may write to and must not here.
        wrong = [value for name, values in self.live.items() if name == wanted or name != "config" for value in values]
        return rng.choice([0, rng.choice(ours), rng.choice(ours), rng.choice(self.dead), rng.choice(wrong), self.foreign,
                           rng.choice([1, 7, 4096]), rng.getrandbits(64), rng.choice(wrong) + 1])  # fmt: skip

    def room(self, constant: bool) -> int:
        """NULL, or memory for results; zeros for what is only read."""
        return self.rng.choice([0, ctypes.addressof(self.zeros if constant else self.results)])

    def handles(self, wanted: str) -> int:
        """NULL, or a list of eight handles and a page of NULLs behind."""
        if self.rng.random() < 0.2:
            return 0
        place = 8 * self.rng.randrange(64)
        for i in range(8):
            value = self.address(wanted) if self.rng.random() < 0.3 else self.rng.choice(self.live[wanted])
            ctypes.c_uint64.from_buffer(self.lists, place + 8 * i).value = value & (1 << 64) - 1
        return ctypes.addressof(self.lists) + place

    def argument(self, text: str, name: str) -> Any:
        """A value for one parameter."""
        constant = "const" in text
        kind = re.sub(r"\s+", " ", re.sub(r"\bconst\b", "", text)).strip().replace("* ", "*")
        kind = re.sub(r"(?<=[\w])\*", " *", kind)
        if "[" in kind:
            known = HANDLES.get(kind.partition("[")[0].strip())
            return ctypes.c_void_p(self.handles(known) if known in self.live else self.room(constant))
        if kind == "char *" and constant:
            return ctypes.c_void_p(self.rng.choice([0, *map(ctypes.addressof, self.strings)]))
        if kind == "char **" and constant:
            return ctypes.c_void_p(self.rng.choice([0, ctypes.addressof(self.words)]))
        if kind in HANDLES:
            return ctypes.c_void_p(self.address(HANDLES[kind]))
        if kind in INTS:
            ctype = INTS[kind]
            return ctype(self.integer(8 * ctypes.sizeof(ctype)))
        if kind in ("float", "double"):
            return (ctypes.c_float if kind == "float" else ctypes.c_double)(self.rng.choice([0.0, -1.5, 1e38, float("nan")]))
        if kind.endswith("*"):
            known = name in MEMORY and not kind.endswith("**")
            return ctypes.c_void_p(self.address("memory") if known else self.room(constant))
        if re.search(r"Func$|Callback$|Deallocator$", kind):
            return ctypes.c_void_p(self.rng.choice([0, ctypes.cast(self.callback, ctypes.c_void_p).value]))
        if kind in POINTERS:
            return ctypes.c_void_p(self.address("memory"))
        return ctypes.c_int(self.integer(32))  # an enumeration


def pointer_types() -> set[str]:
    return {name for name, text in c_facts.load("functions.json")["typedefs"].items() if text.rstrip().endswith("*")}


POINTERS = pointer_types()


def sources() -> dict[str, list[c_facts.Param]]:
    """The parameters of functions that no header declares, from the code that does them."""
    pattern = re.compile(r"\bhacl_(\w+)\(([^()]*)\) noexcept")
    found = {}
    for path in sorted(c_facts.CAPI.glob("*.cpp")):
        for name, params in pattern.findall(path.read_text()):
            parts = [part.strip().replace("*", " *") for part in params.split(",") if part.strip()]
            split = [re.fullmatch(r"(.*?[\s*])(\w+)", part) or re.fullmatch(r"(.*)()", part) for part in parts]
            found[name] = [c_facts.Param(match[1].strip(), match[2]) for match in split if match]
    return found


def named(function: c_facts.Function, written: dict[str, list[c_facts.Param]]) -> list[tuple[str, str]]:
    """(type, name) of each parameter; the code's names where the facts have none."""
    own = written.get(function.name, [])
    params = function.params or (own if function.header is None else ())
    names = [p.name or (own[i].name if i < len(own) else "") or "" for i, p in enumerate(params)]
    types = [re.sub(rf"(?<=[\s*]){name}$", "", p.type) if name else p.type for p, name in zip(params, names, strict=True)]
    return list(zip(types, names, strict=True))


def check(function: c_facts.Function, code: Any, lib: ctypes.CDLL, call: str) -> None:
    """A code comes with a text that names the function."""
    text = lib.aclGetRecentErrMsg()
    if function.returns not in ("aclError", "aclnnStatus") or function.name in WITHOUT_TEXT or code == 0:
        return
    assert function.name.encode() in (text or b""), f"{call} gave {code} and said {text!r}"


def libraries() -> Iterator[ctypes.CDLL]:
    for library in sorted(toolkit_path.library_folder().glob("lib*.so")):
        yield ctypes.CDLL(str(library), mode=ctypes.RTLD_GLOBAL)


def open_all() -> ctypes.CDLL:
    """The process: all libraries are open in it."""
    list(libraries())
    lib = ctypes.CDLL(None)
    lib.aclGetRecentErrMsg.restype = ctypes.c_char_p
    for name in ("CreateTensorDesc", "CreateDataBuffer", "opCreateAttr", "rtCreateGroupInfo", "rtCreateStreamConfigHandle"):
        getattr(lib, f"acl{name}").restype = ctypes.c_void_p
    return lib


def main(seed: int, calls: int, shard: int, shards: int, trace: str) -> None:
    faulthandler.enable()
    faulthandler.dump_traceback_later(60, exit=True)
    lib, rng = open_all(), random.Random(seed)
    pool, written = Pool(lib, rng), sources()
    log = os.open(trace, os.O_WRONLY | os.O_CREAT)
    functions = [f for f in c_facts.exported() if f.name not in SKIPPED][shard::shards]
    with contextlib.suppress(BrokenPipeError):
        for function in functions:
            pool.refresh()
            target = ctypes.CDLL(None)[function.name]  # a new object: its result type is its own
            target.restype = INTS.get(function.returns, None if function.returns == "void" else ctypes.c_void_p)
            parameters = named(function, written)
            for _ in range(calls if parameters else 1):
                arguments = [pool.argument(*parameter) for parameter in parameters]
                call = f"{function.name}({', '.join(str(getattr(a, 'value', a)) for a in arguments)})"
                os.pwrite(log, call.encode() + b"\n" + b" " * 200, 0)
                check(function, target(*arguments), lib, call)
    os.pwrite(log, b"done\n" + b" " * 400, 0)
    lib.aclFinalize()


if __name__ == "__main__":
    main(*(int(arg) for arg in sys.argv[1:5]), sys.argv[5])
