"""Writes the C headers of the toolkit, src/hostacl/toolkit/include, from tools/facts and tools/header_docs.json.

python tools/generate_headers.py [--check]     (--check: writes nothing, 1 when a file is stale)
"""

from __future__ import annotations

import functools
import json
import re
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import c_facts
from c_facts import ROOT, Function

COMMAND = "tools/generate_headers.py"
INCLUDE = ROOT / "src" / "hostacl" / "toolkit" / "include"

# Each header: what it is, and which of ours it includes.
HEADERS: dict[str, tuple[str, tuple[str, ...]]] = {
    "acl/acl_base.h": ("types, return codes, tensor descriptors, data buffers", ()),
    "acl/acl_rt.h": ("devices, contexts, streams, events, memory", ("acl_base.h",)),
    "acl/acl_rt_allocator.h": ("allocators of the user's", ("acl_base.h", "acl_rt.h")),
    "acl/acl_op.h": ("single operators", ("acl_base.h", "acl_rt.h")),
    "acl/acl_op_compiler.h": ("compiling single operators", ("acl_base.h", "acl_op.h")),
    "acl/acl_mdl.h": ("whole models", ("acl_base.h", "acl_rt.h")),
    "acl/acl.h": ("begin, end, messages; includes the headers that most programs need",
                  ("acl_rt.h", "acl_op.h", "acl_mdl.h")),
    "acl/ops/acl_cblas.h": ("matrix products", ("../acl.h",)),
    "aclnn/acl_meta.h": ("tensors of the two-phase operators", ("../acl/acl_base.h",)),
    "aclnn/aclnn_base.h": ("begin and end of the two-phase operators", ("acl_meta.h",)),
}  # fmt: skip

# Where a type or macro goes: the first pattern that fits its name; acl_base.h when none does.
PLACES = (
    ("acl/acl_base.h", r"aclrt(Stream|Event|Context)$|aclMemType|aclCannAttr|aclDeviceInfo|aclLogLevel"),
    ("acl/acl_rt_allocator.h", r"aclrtAllocator"),
    ("acl/acl_rt.h", r"aclrt|aclSysParamOpt|ACL_(EVENT|STREAM|CONTINUE|STOP)_|UCE_"),
    ("acl/acl_mdl.h", r"aclmdl|aclAipp|acldump|ACL_(MDL|MAX|DIM_ENDPOINTS|DUMP|INVALID_NODE|WORKSPACE)"),
    ("acl/ops/acl_cblas.h", r"aclTransType|aclComputeType"),
    ("acl/acl_op_compiler.h", r"aclOpCompileFlag|aclCompileOpt|aclGraphDumpOption|aclopCompileType"),
    ("acl/acl_op.h", r"aclop|ACL_COMPILE_FLAG|ACL_OP_DUMP|aclDataDeallocator"),
    ("aclnn/acl_meta.h", r"aclnnStatus|acl(Bool|Float|Int)Array|aclScalar|aclTensor(List)?$|aclOpExecutor"),
    ("acl/acl.h", r"ACL_(MAJOR|MINOR|PATCH)_VERSION"),
)

# Later members that enums.json does not have, and a size that functions.json leaves open.
MORE_MEMBERS = {
    "aclDataType": {"ACL_HIFLOAT8": 34, "ACL_FLOAT8_E5M2": 35, "ACL_FLOAT8_E4M3FN": 36, "ACL_FLOAT8_E8M0": 37,
                    "ACL_FLOAT6_E3M2": 38, "ACL_FLOAT6_E2M3": 39, "ACL_FLOAT4_E2M1": 40, "ACL_FLOAT4_E1M2": 41},
    "aclFormat": {f"ACL_FORMAT_FRACTAL_NZ_C0_{c0}": 50 + i for i, c0 in enumerate((16, 32, 2, 4, 8))},
}  # fmt: skip
MORE_MACROS = {"UCE_INFO_RESERVED_SIZE": 14}

BASE_HEAD = """#include <stddef.h>
#include <stdint.h>

#define HOSTACL_API __attribute__((visibility("default")))
#define HOSTACL_DEPRECATED(text) __attribute__((deprecated(text)))
"""
REPLACED_BY = {
    "aclGetDataBufferSize": "aclGetDataBufferSizeV2", "aclGetTensorDescDim": "aclGetTensorDescDimV2",
    "aclSetTensorStorageFormat": "aclSetTensorFormat", "aclSetTensorStorageShape": "aclSetTensorShape",
    "aclopExecute": "aclopExecuteV2", "aclrtQueryEvent": "aclrtQueryEventStatus",
}  # fmt: skip


@functools.cache
def _docs() -> dict[str, str]:
    docs: dict[str, str] = json.loads((ROOT / "tools" / "header_docs.json").read_text())
    return docs


def doc(name: str) -> str | None:
    """The comment of a function, in words of our own, or ``None``."""
    if name.startswith("aclopSetAttr"):
        return "Sets an attribute; the same name again overwrites. The value is copied."
    if name.startswith("aclblasCreateHandle"):
        return "A handle for " + ("matrix times vector." if "emv" in name else "matrix times matrix.")
    if name.startswith("aclblas"):
        formula = "y = alpha * A * x + beta * y" if "emv" in name else "C = alpha * A * B + beta * C"
        return f"{formula}, the operator GEMM. Dense operands: leading dimensions are -1."
    return _docs().get(name)


def place(name: str) -> str:
    """The header that a type or macro belongs to."""
    return next((header for header, pattern in PLACES if re.match(pattern, name)), "acl/acl_base.h")


def _comment(text: str) -> str:
    lines = textwrap.wrap(text, 110)
    return f"/* {lines[0]} */" if len(lines) == 1 else "/*\n" + "\n".join(f" * {line}" for line in lines) + "\n */"


def _number(value: int) -> str:
    if -(2**31) <= value < 2**31:
        return str(value)
    return f"0x{value:X}U" + ("LL" if value >= 2**32 else "")


def macros(header: str, facts: dict[str, Any]) -> str:
    """The macros of a header, and in acl_base.h the return codes."""
    groups = [{name: value for name, value in {**facts["macros"], **MORE_MACROS}.items() if place(name) == header}]
    if header == "acl/acl_base.h":
        groups.append(facts["errors"])
    lines = ["\n".join(f"#define {name} {_number(value)}" for name, value in group.items()) for group in groups]
    return "\n\n".join(filter(None, lines))


def enums(header: str, facts: dict[str, Any]) -> Iterator[str]:
    """The enums of a header."""
    for name, members in facts["enums"].items():
        if place(name) == header:
            every = {**members, **MORE_MEMBERS.get(name, {})}
            body = ",\n".join(f"    {member} = {_number(value)}" for member, value in every.items())
            yield f"typedef enum {name} {{\n{body}\n}} {name};"


def _wrap(text: str, opening: str) -> str:
    if len(text) <= 120:
        return text
    start = text.index(opening) + len(opening)
    return text[:start] + "\n" + textwrap.indent(textwrap.fill(text[start:], 112), "    ")


def _pointer_typedef(name: str, target: str) -> str:
    if "(*)" in target:
        return _wrap(f"typedef {target.replace('(*)', f'(*{name})')};", f"(*{name})(")
    target = re.sub(r" ?([*]+)$", r" \1", target)
    return f"typedef {target}{'' if target.endswith('*') else ' '}{name};"


def typedefs(header: str, facts: dict[str, Any]) -> Iterator[str]:
    """The other names of types: plain ones first, then functions that use them."""
    chosen = {name: target for name, target in facts["typedefs"].items() if place(name) == header}
    for name in sorted(chosen, key=lambda name: "(*)" in chosen[name]):
        yield _pointer_typedef(name, chosen[name])


def _field(text: str) -> str:
    text = re.sub(r"(\w)\* ", r"\1 *", text)
    return f"    __extension__ {text};" if text.endswith("[0]") else f"    {text};"  # an array of nothing is no ISO C


def structs(header: str, facts: dict[str, Any]) -> Iterator[str]:
    """The structs of a header, each after those that it holds."""
    todo = {name: struct for name, struct in facts["structs"].items() if place(name) == header}
    while todo:
        name = next(n for n in todo if not any(re.match(rf"({'|'.join(todo)})\b", f) for f in todo[n]["fields"]))
        fields = "\n".join(map(_field, todo.pop(name)["fields"]))
        yield f"typedef struct {name} {{\n{fields}\n}} {name};"


def declaration(function: Function) -> str:
    """A function with its comment and marks."""
    params = ", ".join(p.declare() for p in function.params) or "void"
    mark = ""
    if function.deprecated:
        mark = f'HOSTACL_DEPRECATED("use {REPLACED_BY[function.name]}") '
    returns = function.returns if function.returns.endswith("*") else function.returns + " "
    text = _wrap(f"HOSTACL_API {mark}{returns}{function.name}({params});", f"{function.name}(")
    comment = doc(function.name)
    return f"{_comment(comment)}\n{text}" if comment else text


def header_text(header: str, declared: list[Function]) -> str:
    """A whole header."""
    what, includes = HEADERS[header]
    facts, more = c_facts.load("functions.json"), c_facts.load("enums.json")
    guard = "HOSTACL_" + re.sub(r"\W", "_", header).upper()
    head = "\n".join(f'#include "{name}"' for name in includes) + "\n" if includes else BASE_HEAD
    if header == "aclnn/acl_meta.h":
        head += "\n#include <stdbool.h>\n"
    types = [*enums(header, more), "\n".join(typedefs(header, facts)), *structs(header, facts)]
    parts = [macros(header, more), *types, *(declaration(f) for f in declared if f.header == header)]
    body = "\n\n".join(part for part in parts if part)
    return f"""/* Generated by {COMMAND}; do not edit. */
/* {header}: {what}. Part of hostacl, Apache-2.0. */
#ifndef {guard}
#define {guard}

{head}
#ifdef __cplusplus
extern "C" {{
#endif

{body}

#ifdef __cplusplus
}}
#endif

#endif /* {guard} */
"""


def files() -> dict[Path, str]:
    """Every header with its text."""
    declared = [f for f in c_facts.exported() if f.header]
    return {INCLUDE / header: header_text(header, declared) for header in HEADERS}


if __name__ == "__main__":
    raise SystemExit(c_facts.write_or_check(files(), sys.argv[1:], COMMAND))
