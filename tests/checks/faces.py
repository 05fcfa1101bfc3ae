"""The two faces behind one set of names: pyACL, and libascendcl by ctypes with pyACL's names and argument forms."""

from __future__ import annotations

import ctypes
import json
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import acl
from hostacl import toolkit_path

FACTS = Path(__file__).resolve().parents[2] / "tools" / "facts"
LIBRARIES = ("libascendcl.so", "libacl_op_compiler.so", "libacl_cblas.so")
HANDLES = {"aclTensorDesc", "aclDataBuffer", "aclopAttr", "aclopHandle", "aclopKernelDesc", "void", "char", "aclrtGroupInfo",
           "aclrtStreamConfigHandle"}
SCALARS: dict[str, Any] = {
    "float": ctypes.c_float, "double": ctypes.c_double, "size_t": ctypes.c_size_t, "uint8_t": ctypes.c_uint8,
    "uint32_t": ctypes.c_uint32, "uint64_t": ctypes.c_uint64, "int64_t": ctypes.c_int64, "int": ctypes.c_int,
}  # fmt: skip
POINTERS = {"aclrtStream", "aclrtContext", "aclrtEvent", "aclrtCallback", "aclopCompileFunc", "aclDataDeallocator",
            "aclrtExceptionInfo"}  # fmt: skip
WITHOUT_FACTS = {"mdl.load_from_file": "aclmdlLoadFromFile"}


def _newer(name: str, *types: str) -> dict[str, Any]:
    """A function of a newer header, of which the facts have the name only."""
    return {"name": name, "returns": "aclError", "params": [{"name": "", "type": kind} for kind in types]}


NEWER = [
    _newer("aclrtReserveMemAddress", "void **", "size_t", "size_t", "const void *", "uint64_t"),
    _newer("aclrtReleaseMemAddress", "const void *"),
    _newer("aclrtGetDeviceInfo", "uint32_t", "int", "int64_t *"),
    _newer("aclrtCtxSetSysParamOpt", "int", "int64_t"),
    _newer("aclrtCtxGetSysParamOpt", "int", "int64_t *"),
    _newer("aclrtCtxGetCurrentDefaultStream", "void **"),
    _newer("aclrtStreamAbort", "aclrtStream"),
    _newer("aclrtUseStreamResInCurrentThread", "aclrtStream"),
    _newer("aclrtUnuseStreamResInCurrentThread", "aclrtStream"),
    _newer("aclrtDevicePeerAccessStatus", "int", "int", "int *"),
    _newer("aclrtMallocPhysical", "void **", "size_t", "const void *", "uint64_t"),
    _newer("aclrtFreePhysical", "void *"),
    _newer("aclrtHostRegister", "const void *", "uint64_t", "int", "void **"),
    _newer("aclrtHostUnregister", "const void *"),
]
CALLBACK = ctypes.CFUNCTYPE(None, ctypes.c_void_p)
COMPILE = ctypes.CFUNCTYPE(ctypes.c_int, *[ctypes.c_void_p] * 8)


class Names:
    """``names.rt.malloc`` calls what is behind the name ``rt.malloc``."""

    def __init__(self, call: Callable[..., Any], path: str = "") -> None:
        self._call, self._path = call, path

    def __getattr__(self, name: str) -> Names:
        return Names(self._call, f"{self._path}.{name}".lstrip("."))

    def __call__(self, *args: Any) -> Any:
        return self._call(self._path, *args)


class Face:
    """One way into the library: ``face.api.rt.malloc(64, 0)``, and how a function is called in its texts."""

    def __init__(self, name: str) -> None:
        self.is_c = name == "c"
        self.api: Any = Names(c_call) if self.is_c else acl

    def named(self, function: str) -> str:
        """What reports call the function of this pyACL name."""
        if self.is_c and function:
            return str(c_facts(function)["name"])
        return f"acl.{function}" if function and not function.startswith("acl") else function


@cache
def libraries() -> tuple[ctypes.CDLL, ...]:
    folder = toolkit_path.library_folder()
    return tuple(ctypes.CDLL(str(folder / name)) for name in LIBRARIES)


@cache
def c_function(name: str) -> Any:
    return next(getattr(library, name) for library in libraries() if hasattr(library, name))


@cache
def _facts() -> tuple[dict[str, Any], dict[str, Any]]:
    functions = json.loads((FACTS / "functions.json").read_text())
    names = json.loads((FACTS / "pyacl.json").read_text())["functions"]
    return {one["name"]: one for one in [*functions["functions"], *NEWER]}, {one["name"]: one for one in names}


def c_facts(path: str) -> dict[str, Any]:
    """The C function behind a pyACL name; a C function's own name does, too."""
    functions, names = _facts()
    path = WITHOUT_FACTS.get(path, path)
    return dict(functions[path if path in functions else names[f"acl.{path}"]["c"]])


def base_of(kind: str) -> str:
    return kind.replace("const", "").replace("*", "").split("[")[0].strip()


def is_output(kind: str) -> bool:
    return "const" not in kind and "[" not in kind and "*" in kind and (
        kind.count("*") == 2 or base_of(kind) not in HANDLES
    )  # fmt: skip


def scalar(kind: str) -> Any:
    name = base_of(kind)
    return ctypes.c_void_p if name in POINTERS else SCALARS.get(name, ctypes.c_int)


def array_of(kind: str, values: Sequence[Any]) -> Any:
    """A C array of a list's items; rows of two for ranges."""
    if values and isinstance(values[0], list):
        return (ctypes.c_int64 * 2 * len(values))(*[(ctypes.c_int64 * 2)(*row) for row in values])
    item = ctypes.c_void_p if base_of(kind) in HANDLES and "char" not in kind else scalar(kind)
    return (item * max(len(values), 1))(*values)


_alive: list[Any] = []
"""Callbacks that C code may still call."""


def given(kind: str, value: Any) -> Any:
    """One argument as C takes it."""
    if value is None:
        return None
    if callable(value):
        _alive.append((COMPILE if "Compile" in kind else CALLBACK)(value))
        return _alive[-1]
    if isinstance(value, str):
        return value.encode()
    if isinstance(value, list):
        return array_of(kind, value)
    return ctypes.c_void_p(value) if "*" in kind or "[" in kind or base_of(kind) in POINTERS else scalar(kind)(value)


def c_call(path: str, *args: Any) -> Any:
    """Calls a C function with a pyACL function's arguments: lists bring their length, outputs come back before the code."""
    facts = c_facts(path)
    function = c_function(facts["name"])
    function.restype = {"void": None}.get(facts["returns"], ctypes.c_void_p if "*" in facts["returns"] else ctypes.c_int)
    left, passed, outputs = list(args), [], []
    for param in facts["params"]:
        counts = param["name"].startswith(("num", "dimsCount")) and left and isinstance(left[0], list)
        if counts:
            passed.append(scalar(param["type"])(len(left[0])))
        elif is_output(param["type"]):
            outputs.append((ctypes.c_void_p if param["type"].count("*") == 2 else scalar(param["type"]))())
            passed.append(ctypes.byref(outputs[-1]))
        elif left:
            passed.append(given(param["type"], left.pop(0)))
        else:
            raise TypeError(f"{path}: no value for {param['name']}")
    answer = function(*passed)
    values = [one.value or 0 for one in outputs]
    return (*values, answer) if outputs else answer or 0
