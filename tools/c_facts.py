"""The C face as data: functions, types and codes from tools/facts, and which of them native/capi implements."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
CAPI = ROOT / "native" / "capi"
GENERATED_CAPI = "refuse.cpp"

# Which library of a toolkit holds the functions of which headers. Empty ones exist only to be linked.
LIBRARIES: Mapping[str, tuple[str, ...]] = {
    "ascendcl": (
        "acl/acl.h", "acl/acl_base.h", "acl/acl_rt.h", "acl/acl_rt_allocator.h", "acl/acl_op.h", "acl/acl_mdl.h",
        "aclnn/acl_meta.h", "aclnn/aclnn_base.h",
    ),
    "acl_op_compiler": ("acl/acl_op_compiler.h",),
    "acl_op_executor": ("acl/acl_op.h",),
    "acl_cblas": ("acl/ops/acl_cblas.h",),
    "acl_mdl": ("acl/acl_mdl.h",),
    "acl_rt": ("acl/acl.h", "acl/acl_base.h", "acl/acl_rt.h", "acl/acl_rt_allocator.h"),
    "fmk_onnx_parser": (),
    "hccl": (),
    "ge_runner": (),
    "graph": (),
    "acl_tdt_channel": (),
}  # fmt: skip

# Names that have no prototype in the facts but must resolve, and what they give.
BARE = {
    "MsprofGetHashId": "uint64_t", "MsprofRegisterCallback": "int32_t", "MsprofReportAdditionalInfo": "int32_t",
    "MsprofReportApi": "int32_t", "MsprofReportCompactInfo": "int32_t", "MsprofSysCycleTime": "uint64_t",
    "aclrtBinaryLoadFromData": "aclError", "aclrtGetFunctionAddr": "aclError", "rtDevBinaryRegister": "rtError_t",
    "rtFunctionRegister": "rtError_t", "rtGetC2cCtrlAddr": "rtError_t", "rtKernelLaunch": "rtError_t",
}  # fmt: skip


@dataclass(frozen=True)
class Param:
    """One parameter: its type, and its name where the facts know it."""

    type: str
    name: str | None

    def declare(self) -> str:
        """The parameter as C: ``const int64_t *dims``."""
        if self.name is None:
            return self.type
        base, bracket, rest = self.type.partition("[")
        if bracket:
            return f"{base.rstrip()}{'' if base.endswith('*') else ' '}{self.name}[{rest}"
        return f"{self.type}{'' if self.type.endswith('*') else ' '}{self.name}"


@dataclass(frozen=True)
class Function:
    """One C function: where it is declared (``None``: nowhere, its types are unknown), and what it gives."""

    name: str
    header: str | None
    returns: str
    params: tuple[Param, ...]
    deprecated: bool = False
    newer: bool = False


def load(name: str) -> Any:
    """A file of tools/facts."""
    return json.loads((ROOT / "tools" / "facts" / name).read_text())


def _known_types() -> set[str]:
    facts, enums = load("functions.json"), load("enums.json")
    plain = {"void", "int", "char", "float", "double", "bool", "size_t"}
    plain |= {f"{u}int{n}_t" for u in ("", "u") for n in (8, 16, 32, 64)}
    return {*plain, *facts["typedefs"], *facts["structs"], *enums["enums"]}


def _newer_param(text: str) -> Param:
    return Param(re.sub(r"\s*(\*+)\s*", r" \1", text).strip(), None)


def _base_type(text: str) -> str:
    return re.sub(r"\b(const|unsigned|struct)\b|[*\[\]]", " ", text).split()[0] if text else ""


def _newer_header(name: str) -> str:
    return "acl/acl_mdl.h" if name.startswith("aclmdl") else "acl/acl_rt.h"


def functions() -> list[Function]:
    """Every function of the headers, in the facts' order."""
    return [
        Function(
            entry["name"], entry["header"], entry["returns"],
            tuple(Param(p["type"], p["name"]) for p in entry["params"]), bool(entry.get("deprecated")),
        )
        for entry in load("functions.json")["functions"]
    ]  # fmt: skip


def newer() -> list[Function]:
    """The functions later than the headers; declared only when every type is known."""
    known, out = _known_types(), []
    for entry in load("functions.json")["newer"]["functions"]:
        params = tuple(_newer_param(text) for text in entry["params"])
        types = [entry["returns"], *(p.type for p in params)]
        header = _newer_header(entry["name"]) if all(_base_type(t) in known for t in types) else None
        out.append(Function(entry["name"], header, entry["returns"].replace("*", " *"), params, newer=True))
    return out


def implemented(capi: Path = CAPI) -> dict[str, str]:
    """Every function that native/capi implements, and the file that does."""
    pattern = re.compile(r"^(?:HACL_EXPORT )?\w[\w :*]*[ *]hacl_(\w+)\s*\([^;{]*\{", re.M)
    found: dict[str, str] = {}
    for path in sorted(capi.glob("*.cpp")):
        if path.name != GENERATED_CAPI:
            text = re.sub(r"//[^\n]*", "", path.read_text())
            found.update({match[1]: path.name for match in pattern.finditer(text)})
    return found


def must_resolve() -> list[str]:
    """C names that a real client binds when it is loaded."""
    return sorted({name for names in load("symbols.json")["must_resolve"].values() for name in names})


def pyacl_only() -> list[str]:
    """C names that only facts/pyacl.json has."""
    known = {f.name for f in functions()} | {f.name for f in newer()}
    return sorted({f["c"] for f in load("pyacl.json")["functions"] if f.get("c")} - known)


def exported() -> list[Function]:
    """Every exported function by name: all of the headers, later ones when they work or must resolve."""
    have, must = implemented(), set(must_resolve())
    chosen = {f.name: f for f in functions()}
    chosen.update({f.name: f for f in newer() if f.name in have or f.name in must})
    bare = {name: "aclError" for name in pyacl_only() if name in have}
    bare |= {name: returns for name, returns in BARE.items() if name in must}
    chosen.update({name: Function(name, None, returns, (), newer=True) for name, returns in bare.items()})
    if missing := must - set(chosen):
        raise SystemExit(f"a client binds {sorted(missing)}, of which nothing is known: add them to BARE in {__file__}")
    return [chosen[name] for name in sorted(chosen)]


def write_or_check(files: Mapping[Path, str], argv: list[str], command: str) -> int:
    """Writes generated files, or with ``--check`` says which are stale (1)."""
    stale = [path for path, text in files.items() if not path.exists() or path.read_text() != text]
    if "--check" in argv:
        for path in stale:
            print(f"{path.relative_to(ROOT)} is stale: run `python {command}`", file=sys.stderr)
        return 1 if stale else 0
    for path in stale:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(files[path])
    return 0
