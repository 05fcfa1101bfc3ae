"""The example of an operator: a small call with what comes out, as rows of a page."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from functools import cache
from importlib.resources import files
from math import prod
from typing import Any

MANY = 24
"""Of larger tensors a page has the first elements only."""

Row = tuple[str, str, str, str]
"""input, attribute, output or the input afterwards; its name; its data type and shape, or kind; its value."""


@cache
def examples() -> dict[str, dict[str, Any]]:
    """The examples of facts/examples.json, by operator: ``inputs``, ``attrs``, ``outputs``, and ``updated`` inputs."""
    text = (files("hostacl.ops") / "facts" / "examples.json").read_text("utf-8")
    operators: dict[str, dict[str, Any]] = json.loads(text)["operators"]
    return operators


def example_rows(op_type: str) -> tuple[Row, ...]:
    """The rows of an operator's example; none where there is none (operators of the user's own)."""
    entry = examples().get(op_type)
    return tuple(_rows(entry)) if entry else ()


def _rows(entry: dict[str, Any]) -> Iterator[Row]:
    for tensor in entry["inputs"]:
        if tensor["dtype"] != "undefined":
            yield "input", tensor["name"], _described(tensor), _elements(tensor)
    for name, (kind, value) in entry["attrs"].items():
        yield "attribute", name, kind, json.dumps(value)
    for tensor in entry["outputs"]:
        yield "output", tensor["name"], _described(tensor), _elements(tensor)
    for tensor in entry.get("updated", ()):
        yield "afterwards", tensor["name"], _described(tensor), _elements(tensor)


def _described(tensor: dict[str, Any]) -> str:
    way = {"const value": ", const", "host value": ", in host memory"}.get(tensor.get("way", ""), "")
    return f"{tensor['dtype']} {tensor.get('true_shape', tensor['shape'])}{way}"


def _elements(tensor: dict[str, Any]) -> str:
    if "data" not in tensor:
        return "random"
    data, shape = tensor["data"], tensor.get("true_shape", tensor["shape"])
    if len(data) > MANY:
        return f"{', '.join(map(str, data[:MANY]))}, …"
    return _nested(data, shape)


def _nested(data: Sequence[Any], shape: Sequence[int]) -> str:
    if not shape:
        return str(data[0])
    step = prod(shape[1:])
    parts = (_nested(data[start : start + step], shape[1:]) for start in range(0, len(data), step)) if step else ()
    return f"[{', '.join(parts)}]"
