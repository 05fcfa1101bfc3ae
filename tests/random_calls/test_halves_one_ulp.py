"""Softmax, norms and activations of random halves: at most 1 ulp from correctly rounded, with no room for sums."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from hostacl.ops import usage
from hostacl.ops.registry import implemented
from hostacl.tensors import dtypes
from random_calls import run, tolerance, values
from random_calls.draw import Drawn, Output, draw_call, dtypes_of
from random_calls.oracle import find_oracle

FAMILIES = frozenset({"activation", "norm", "softmax"})
KINDS = ("same shape", "long", "broadcast", "attributes varied", "optional present")
SEEDS = range(100, 104)
"""Not those of the other tests."""

SIZES: dict[str, tuple[float, float]] = {
    "usual": (0, 0), "of any size": (-24, 14), "small": (-30, -12), "large": (4, 10), "nearly one": (-0.02, 0.02),
}  # fmt: skip
"""Between which powers of two the drawn numbers' sizes are; both 0: as they are drawn."""

OPERATORS = [name for name in implemented() if usage.families().get(name) in FAMILIES and find_oracle(name)]
CASES = [(name, code) for name in OPERATORS for code in dtypes_of(name) if code in dtypes.HALVES]


def of_size(low: float, high: float) -> Any:
    """Draws floats whose logarithms are spread evenly, where an operator does not ask for numbers of its own range."""
    usual = values._floats

    def draw(rng: Any, code: int, shape: Any, special: bool, least: float | None, most: float | None) -> Any:
        if special or (low, high) == (0, 0) or (least is not None and most != -least):
            return usual(rng, code, shape, special, least, most)
        signs = rng.choice(np.array([1.0 if high - low < 1 else -1.0, 1.0]), shape)
        return np.asarray(signs * np.exp2(rng.uniform(low, high, shape))).astype(dtypes.numpy_dtype(code))

    return draw


def test_there_are_operators_of_all_three_families() -> None:
    assert {usage.families()[name] for name, _ in CASES} == FAMILIES
    assert len({name for name, _ in CASES}) > 100


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize(("op_type", "code"), CASES, ids=[f"{name}-{dtypes.dtype_name(code)}" for name, code in CASES])
def test_within_one_ulp_of_correctly_rounded(op_type: str, code: int, size: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def compare(drawn: Drawn, output: Output, array: Any) -> None:
        if output.spec.dtype not in dtypes.HALVES or output.holds is not None:
            return
        got = np.asarray(array).reshape(-1)[: int(np.prod(output.shape))].reshape(output.shape)
        off = tolerance.wrong(drawn.op_type, got, output.want, output.spec.dtype, 1, 0.0)
        assert not off.any(), f"{output.name}: {got[off][:4]}, expected {output.want[off][:4]}\n  {drawn}"

    monkeypatch.setattr(run, "_compare", compare)
    monkeypatch.setattr(values, "_floats", of_size(*SIZES[size]))
    for seed in SEEDS:
        for kind in KINDS:
            run.check(draw_call(op_type, code, kind, seed, 3))
