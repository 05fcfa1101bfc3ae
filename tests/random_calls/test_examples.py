"""The examples of the pages: every operator has one, and what it gives is what the page says."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from hostacl.cli.examples import example_rows, examples
from hostacl.ops.registry import implemented
from hostacl.ops.schema import prototype
from hostacl.tensors import dtypes
from hostacl.tensors.spec import TensorSpec
from random_calls import run, values
from random_calls.dice import Tensor
from random_calls.draw import Drawn, Output

DIGITS = 1e-4
"""What 5 digits of a page may be off, relative to the value."""
CANCELLED = 1e-6
"""What sums that come to nearly nothing may be off, relative to the largest element."""


def spec_of(entry: dict[str, Any]) -> TensorSpec:
    """The descriptor of a tensor of an example."""
    code = dtypes.UNDEFINED if entry["dtype"] == "undefined" else dtypes.code_of(entry["dtype"])
    storage = entry.get("storage_shape")
    more = {name: entry[name] for name in ("format", "storage_format") if name in entry}
    return TensorSpec(code, tuple(entry["shape"]), storage_shape=tuple(storage) if storage else None, **more)


def array_of(entry: dict[str, Any], convert: Callable[[Any], Any] | None = None) -> Any:
    """The elements in their own type, or each converted."""
    data, shape = entry["data"], tuple(entry.get("true_shape", entry["shape"]))
    code = dtypes.code_of(entry["dtype"])
    if convert is not None:
        return np.array([convert(one) for one in data], None if data else np.float64).reshape(shape)
    if values.is_complex(code):
        numbers = np.array([complex(one) for one in data], np.complex128).reshape(shape)
        return values.store_complex(numbers.real, numbers.imag, code)
    return np.array([float(one) if isinstance(one, str) else one for one in data]).astype(values.logical(code)).reshape(shape)


def given(entry: dict[str, Any]) -> Tensor:
    """An input, with elements unless it is left out."""
    return Tensor(entry["name"], spec_of(entry), array_of(entry) if "data" in entry else None, entry.get("way", ""))


def expected(entry: dict[str, Any]) -> Output:
    """What the page says comes out: of random results only that they are numbers."""
    spec = spec_of(entry)
    if "data" not in entry:
        finite = lambda array: bool(np.isfinite(array.astype(np.float64)).all())  # noqa: E731
        return Output(entry["name"], spec, np.empty(entry["shape"]), holds=finite)
    wide = complex if values.is_complex(spec.dtype) else float if values.is_float(spec.dtype) else int
    want = array_of(entry, wide if wide is not int else None)
    exact = values.is_int(spec.dtype) or spec.dtype == dtypes.BOOL
    size = np.where(np.isfinite(want), np.abs(want), 0) if not exact and wide is not int else np.zeros(want.shape)
    slack = size * DIGITS + size.max(initial=0) * CANCELLED
    return Output(entry["name"], spec, want.astype(object) if values.is_int(spec.dtype) else want, slack)


def test_every_operator_has_one() -> None:
    assert [name for name in implemented() if prototype(name) and not examples().get(name)] == []


@pytest.mark.parametrize("op_type", sorted(examples()))
def test_it_gives_what_its_page_says(op_type: str) -> None:
    entry = examples()[op_type]
    inputs = tuple(map(given, entry["inputs"]))
    outputs, updated = (tuple(map(expected, entry.get(side, ()))) for side in ("outputs", "updated"))
    attrs = {name: (kind, value) for name, (kind, value) in entry["attrs"].items()}
    code = next((one.spec.dtype for one in (*inputs, *outputs) if not one.spec.absent), dtypes.FLOAT)
    run.check(Drawn(op_type, code, "", inputs, outputs, attrs, frozenset(), updated=updated))


def test_a_page_shows_it() -> None:
    rows = example_rows("GatherV2")
    assert [(side, name) for side, name, _, _ in rows if side != "attribute"] == [
        ("input", "x"), ("input", "indices"), ("input", "axis"), ("output", "y"),
    ]  # fmt: skip
    assert example_rows("NoSuchOperator") == ()
