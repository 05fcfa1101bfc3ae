"""The table of docs/clients/onnxruntime.md is what the provider registers, what it asks for, and what a profile shows.

HOSTACL_WRITE_PAGES=1 writes it anew.
"""

from __future__ import annotations

import os
from collections import Counter
from typing import Any

import numpy as np
import onnx
import pytest
from onnxruntime.capi import _pybind_state

from tests.clients.onnxruntime.conftest import Sent
from tests.clients.onnxruntime.node_tests import COPIES, ROOT, all_results
from tests.clients.onnxruntime.support import CANN, session, single_node

pytestmark = pytest.mark.client
PAGE = ROOT / "docs" / "clients" / "onnxruntime.md"
BEGIN, END = "<!-- providers: written by tests/clients/onnxruntime/test_page.py -->\n", "<!-- /providers -->"
HISTORY = onnx.defs.get_all_schemas_with_history()
NAMES = {"float": "float32", "double": "float64", "int8_t": "int8"}


def registered() -> dict[str, tuple[list[tuple[int, int]], set[str]]]:
    """Version ranges and dtypes of the provider's kernels, by ONNX operator."""
    found: dict[str, tuple[set[tuple[int, int]], set[str]]] = {}
    for definition in _pybind_state.get_all_opkernel_def():
        if definition.provider != CANN or definition.op_name in COPIES:
            continue
        versions, dtypes = found.setdefault(definition.op_name, (set(), set()))
        versions.add(tuple(definition.version_range))
        constraints = definition.type_constraints
        for name in constraints.get("T", constraints.get("T1", [])):
            bare = name.removeprefix("tensor(").rstrip(")")
            dtypes.add(NAMES.get(bare, bare))
    return {name: (sorted(versions), dtypes) for name, (versions, dtypes) in found.items()}


def last_version(name: str, start: int) -> int | None:
    """The last opset version in which the operator is as it was in ``start``; None when nothing newer is known."""
    newer = [schema.since_version for schema in HISTORY if schema.name == name and not schema.domain]
    return min((version - 1 for version in newer if version > start), default=None)


def versions_text(name: str, ranges: list[tuple[int, int]]) -> str:
    """``1-12, 13 and newer``, ranges that touch joined. A kernel without an end is for its own version of the operator."""
    joined: list[list[int | None]] = []
    for low, high in ranges:
        end = high if high < 1000 else last_version(name, low)
        if joined and joined[-1][1] is not None and low <= joined[-1][1] + 1:
            joined[-1][1] = end
        else:
            joined.append([low, end])
    return ", ".join(f"{low} and newer" if end is None else f"{low}-{end}" for low, end in joined)


def probe(name: str, size: int) -> tuple[list[Any], int, dict[str, Any]]:
    """Inputs, opset and attributes of a node; the size is one that no other call here has, so that it is asked for anew."""
    x, image = np.ones((size, 3), np.float32), np.ones((1, 2, 4, size), np.float32)
    special: dict[str, tuple[list[Any], int, dict[str, Any]]] = {
        "Cast": ([x], 13, {"to": onnx.TensorProto.FLOAT16}),
        "Conv": ([image, np.ones((3, 2, 2, 2), np.float32)], 11, {}),
        "Exp": ([x.astype(np.float16)], 13, {}),
        "Gemm": ([x.astype(np.float16), np.ones((3, 2), np.float16), np.ones(2, np.float16)], 13, {}),
        "MatMul": ([x, np.ones((3, 2), np.float32)], 13, {}),
        "Reshape": ([x, np.array([3, size])], 13, {}),
        "Transpose": ([x], 12, {}),
        "BatchNormalization": ([image, *[np.ones(2, np.float32)] * 4], 15, {}),
        "AveragePool": ([image], 11, {"kernel_shape": [2, 2]}),
        "MaxPool": ([image], 7, {"kernel_shape": [2, 2]}),
    }
    if name in special:
        return special[name]
    if name in ("Add", "Sub", "Mul", "Div"):
        return [x, np.ones(3, np.float32)], 14, {}
    return [image if name.startswith("Global") else x], 13, {}


def asked_for(sent: list[Sent]) -> dict[str, set[str]]:
    """The AscendCL operators that a node of each ONNX operator leads to; a Conv of 5 dims, and a C that is one element, too."""
    asked: dict[str, set[str]] = {}
    probes = [(name, *probe(name, 200 + place)) for place, name in enumerate(sorted(registered()))]
    volume, half = np.ones((1, 2, 3, 4, 301), np.float32), np.ones((302, 302), np.float16)
    probes += [
        ("Conv", [volume, np.ones((3, 2, 2, 2, 2), np.float32)], 11, {}),
        ("Gemm", [half, half, half[:1, 0]], 9, {}),
    ]
    for name, arrays, opset, attributes in probes:
        sent.clear()
        model, feeds = single_node(name, arrays, opset=opset, **attributes)
        session(model).run(None, feeds)
        asked.setdefault(name, set()).update(one.op_type for one in sent)
    return asked


def table(asked: dict[str, set[str]], results: dict[str, Any]) -> str:
    """The table in Markdown."""
    seen = Counter(op_type for result in results.values() for op_type in result["cann"])
    lines = ["| ONNX operator | opset versions | dtypes | asks hostacl for | node tests |", "|---|---|---|---|---:|"]
    for name, (versions, dtypes) in sorted(registered().items()):
        called = ", ".join(sorted(asked.get(name, set()))) or "nothing: copies"
        types = "all" if len(dtypes) > 11 or not dtypes else ", ".join(sorted(dtypes))
        lines.append(f"| {name} | {versions_text(name, versions)} | {types} | {called} | {seen[name]} |")
    return "\n".join(lines) + "\n"


def test_the_table_is_fresh(sent: list[Sent]) -> None:
    written = table(asked_for(sent), all_results("hostacl run"))
    before, rest = PAGE.read_text("utf-8").split(BEGIN)
    shown, after = rest.split(END)
    if os.environ.get("HOSTACL_WRITE_PAGES") == "1":
        PAGE.write_text(before + BEGIN + written + END + after, "utf-8")
    else:
        assert shown == written, "stale: run these tests with HOSTACL_WRITE_PAGES=1"
