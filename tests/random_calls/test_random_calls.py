"""Every registered operator with every dtype of its prototype: at least 50 drawn calls of all kinds against its oracle."""

from __future__ import annotations

import ast
import inspect
import re
import textwrap
from functools import cache
from pathlib import Path

import pytest

import hostacl.ops
from hostacl.ops.registry import implemented
from hostacl.tensors import dtypes
from random_calls.draw import BY_LUCK, draw_call, dtypes_of, each_call, plan
from random_calls.oracle import find_oracle
from random_calls.run import check

CASES = [(op_type, dtype) for op_type in implemented() if find_oracle(op_type) for dtype in dtypes_of(op_type)]


@pytest.mark.parametrize(("op_type", "dtype"), CASES, ids=[f"{op_type}-{dtypes.dtype_name(dtype)}" for op_type, dtype in CASES])
def test_drawn_calls_give_what_the_oracle_says(op_type: str, dtype: int) -> None:
    assert each_call(op_type, dtype, check) >= 50


@pytest.mark.parametrize("op_type", implemented())
def test_operator_has_an_oracle(op_type: str) -> None:
    assert find_oracle(op_type) is not None, f"{op_type}: add an oracle to tests/random_calls/oracles; README.md there says how"


@pytest.mark.parametrize("op_type", sorted({op_type for op_type, _ in CASES}))
def test_forced_kinds_are_there(op_type: str) -> None:
    dtype = dtypes_of(op_type)[0]
    for kind in set(plan(op_type, dtype)) - {"same shape"}:
        served = [kind in draw_call(op_type, dtype, kind, seed, 3).served for seed in range(4)]
        assert any(served) if kind in BY_LUCK else all(served), kind


@cache
def numpy_functions() -> dict[str, str]:
    """The NumPy function that an operator's one-line declaration names as its kernel."""
    found: dict[str, str] = {}
    for path in Path(hostacl.ops.__file__).parent.glob("*.py"):
        found.update(re.findall(r'^\w+\("(\w+)", np\.(\w+)', path.read_text("utf-8"), re.MULTILINE))
    return found


def calls_it(function: object, name: str) -> bool:
    """Whether a function returns ``np.name(...)`` of nothing but its own parameters."""
    tree = ast.parse(textwrap.dedent(inspect.getsource(function)))  # type: ignore[arg-type]
    calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call) and ast.unparse(node.func) == f"np.{name}"]
    return any(call.args and all(isinstance(arg, ast.Name) for arg in call.args) for call in calls)


@pytest.mark.parametrize("op_type", sorted(numpy_functions()))
def test_oracle_is_not_the_kernels_own_numpy_call(op_type: str) -> None:
    entry = find_oracle(op_type)
    assert entry is not None
    assert not calls_it(entry.function, numpy_functions()[op_type]), f"{op_type}: say it by another formula than its kernel"
