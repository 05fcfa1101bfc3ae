"""What a gradient operator is handed, what torch's autograd in float64 gives there, and how far the two may be apart."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any
from unittest import mock

import numpy as np
import pytest

from hostacl.ops import find
from hostacl.tensors import dtypes, formats
from hostacl.tensors.spec import TensorSpec
from tests.ops import calling

with mock.patch.dict(os.environ, {"TORCH_DEVICE_BACKEND_AUTOLOAD": "0"}):  # torch alone, where torch-npu is installed, too
    torch = pytest.importorskip("torch", reason="torch is not installed: these tests run in the torch-npu client's environment")

torch.set_num_threads(1)  # these tensors are too small for more

Array = np.ndarray[Any, Any]
FLOATS = (dtypes.FLOAT, dtypes.FLOAT16, dtypes.BF16, dtypes.DOUBLE)
COMPLEXES = (dtypes.COMPLEX64, dtypes.COMPLEX128)


@dataclass
class Case:
    """One call. ``want`` are torch tensors, None for an output that is not compared."""

    inputs: Sequence[Any]
    want: Sequence[Any]
    attrs: dict[str, Any] = field(default_factory=dict)
    layouts: Sequence[int] | int = formats.ND
    outputs: Sequence[TensorSpec] = ()
    """Descriptors of the outputs; none: what is inferred."""
    const: Sequence[int] = ()
    rounded: bool = False
    """Whether an input is a function of others, rounded to their dtype: then results are no closer than that rounding."""
    times: float = 4
    """How many roundings of the largest result a result may be away."""


@dataclass
class Draw:
    """Random tensors of the dtype under test."""

    op: str
    code: int
    rng: np.random.Generator = field(default_factory=lambda: np.random.default_rng(8))

    @property
    def dtype(self) -> np.dtype[Any]:
        """The NumPy type of the dtype under test."""
        return dtypes.numpy_dtype(self.code)

    def normal(self, *shape: int, spread: float = 1.5) -> Array:
        """Normally distributed elements."""
        if self.code in COMPLEXES:
            parts = self.rng.normal(0, spread, (2, *shape))
            return self.typed(parts[0] + 1j * parts[1])
        return self.typed(self.rng.normal(0, spread, shape))

    def between(self, low: float, high: float, *shape: int) -> Array:
        """Evenly distributed elements, strictly between two bounds."""
        if self.code in COMPLEXES:
            parts = self.rng.uniform(low, high, (2, *shape))
            return self.typed(parts[0] + 1j * parts[1])
        margin = (high - low) / 128  # stays inside in every type
        return self.typed(self.rng.uniform(low + margin, high - margin, shape))

    def whole(self, low: int, high: int, *shape: int, dtype: Any = np.int32) -> Array:
        """Integers from low to high - 1."""
        return self.rng.integers(low, high, shape).astype(dtype)

    def typed(self, values: Any) -> Array:
        """Values in the dtype under test."""
        return np.asarray(values).astype(self.dtype)


Cases = Callable[[Draw], Iterable[Case]]
TABLE: dict[str, list[tuple[Cases, Sequence[int]]]] = {}


def gradient(*op_types: str, codes: Sequence[int] = FLOATS) -> Callable[[Cases], Cases]:
    """Declares a generator of cases for these operators, for the dtypes that the first of their float inputs takes."""

    def declare(cases: Cases) -> Cases:
        for op_type in op_types:
            TABLE.setdefault(op_type, []).append((cases, codes))
        return cases

    return declare


def calls() -> dict[tuple[str, int], list[Cases]]:
    """The generators by operator and dtype; those dtypes that the operator takes."""
    found: dict[tuple[str, int], list[Cases]] = {}
    for op_type, listed in sorted(TABLE.items()):
        operator = find(op_type)
        assert operator is not None, op_type
        taken = next(one.allowed for one in operator.prototype.inputs if one.allowed.intersection(FLOATS))
        for cases, codes in listed:
            for code in taken.intersection(codes):
                found.setdefault((op_type, code), []).append(cases)
    return found


def exact(array: Any) -> Any:
    """An array as a torch tensor: floats in float64, which holds them all exactly; others as they are."""
    kind = array.dtype.kind
    if kind in "iub":
        return torch.from_numpy(np.ascontiguousarray(array)).reshape(array.shape)
    return torch.from_numpy(np.array(array, np.complex128 if kind == "c" else np.float64))


def leaf(array: Any) -> Any:
    """The same, and autograd records what is done with it."""
    return exact(array).requires_grad_()


def pulled(result: Any, dy: Any, *leaves: Any) -> tuple[Any, ...]:
    """The gradients of the leaves for that of a result (or of several, each with its own)."""
    results, given = (result, dy) if isinstance(result, tuple) else ((result,), (dy,))
    grads = [exact(one).reshape(to.shape) for one, to in zip(given, results, strict=True)]
    return torch.autograd.grad(results, leaves, grads, materialize_grads=True, allow_unused=True)


def numpy_of(tensor: Any) -> Array:
    """A torch tensor as an array."""
    return np.asarray(tensor.detach().resolve_conj().numpy())


def operate(op_type: str, case: Case) -> list[Array]:
    """The outputs of the operator as a program gets them."""
    layouts = [case.layouts] * len(case.inputs) if isinstance(case.layouts, int) else case.layouts
    specs = [
        calling.spec(one, layout, place in case.const)
        for place, (one, layout) in enumerate(zip(case.inputs, layouts, strict=True))
    ]
    outputs = case.outputs or calling.inferred(calling.bind(op_type, specs, (), **case.attrs))
    call = calling.bind(op_type, specs, outputs, **case.attrs)
    results = [np.full(one.shape, 77).astype(dtypes.numpy_dtype(one.dtype)) for one in outputs]
    with np.errstate(all="ignore"):  # as the execute path does
        call.function()(*case.inputs, *results)
    return results


def compare(op_type: str, case: Case, code: int) -> None:
    """Runs a case; every output that is compared has the shape of autograd's and lies within the rounding of its dtype."""
    results = operate(op_type, case)
    assert len(results) == len(case.want), (op_type, len(results))
    for place, (got, tensor) in enumerate(zip(results, case.want, strict=True)):
        if tensor is None:
            continue
        want = numpy_of(tensor)
        assert got.shape == want.shape, f"{op_type}{told(case)} output {place}: {got.shape}, not {want.shape}"
        far = beyond(got, want, code, case)
        assert not far.any(), f"{op_type}{told(case)} output {place}:\n{got[far][:5]}\nautograd\n{want[far][:5]}"


def beyond(got: Array, want: Array, code: int, case: Case) -> Any:
    """Which elements are further from autograd's than their rounding, and the work's in float32, allow."""
    kind = np.dtype(got.dtype)
    own = next(calling.eps(one) for one in (*FLOATS, *COMPLEXES) if dtypes.numpy_dtype(one) == kind)
    inner = 2.0**-48 if code in (dtypes.DOUBLE, dtypes.COMPLEX128) else 2.0**-23  # autograd itself rounds in float64
    if case.rounded:
        inner = max(inner, calling.eps(code))
    wide = got.astype(np.complex128 if kind.kind == "c" else np.float64)
    tiny = 2.0**-24 if kind == np.float16 else 2.0**-130
    largest = np.max(np.abs(want), initial=0, where=np.isfinite(want))
    with np.errstate(all="ignore"):
        near = np.abs(wide - want) <= own * np.abs(want) + case.times * inner * largest + tiny
    return ~(near | (wide == want) | (np.isnan(wide) & np.isnan(want)))


def told(case: Case) -> str:
    """The shapes and attributes of a case."""
    shapes = ", ".join("-" if one is None else str(list(one.shape)) for one in case.inputs)
    return f"({shapes}; {', '.join(f'{name}={value}' for name, value in case.attrs.items())})"
