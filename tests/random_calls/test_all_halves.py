"""Every registered operator of one tensor over all 65,536 halves of both types: at most 1 ulp from correctly rounded."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from hostacl.ops.registry import find, implemented
from hostacl.ops.schema import prototype
from hostacl.tensors import dtypes
from hostacl.tensors.spec import TensorSpec
from random_calls import tolerance
from random_calls.oracle import Within, find_oracle, find_shaper
from random_calls.values import Array


def is_unary(op_type: str, code: int) -> bool:
    """Whether the operator maps one tensor of this dtype to another of it, element by element, by default attributes."""
    known = prototype(op_type)
    operator, entry = find(op_type), find_oracle(op_type)
    if known is None or operator is None or entry is None or len(known.inputs) != 1 or len(known.outputs) != 1:
        return False
    plain = known.inputs[0].kind == "required" and not any(attr.required for attr in known.attrs.values())
    fits = code in known.inputs[0].allowed and code in known.outputs[0].allowed
    elementwise = find_shaper(op_type) is None or op_type in ELEMENTWISE_WITH_SHAPER
    return plain and fits and elementwise


ELEMENTWISE_WITH_SHAPER = frozenset({"Exp", "Log", "Power", "Inv", "Round"})
"""Operators that draw attributes or dtypes, yet work element by element."""

CASES = [(op_type, code) for op_type in implemented() for code in (dtypes.FLOAT16, dtypes.BF16) if is_unary(op_type, code)]


def wanted(op_type: str, x: Array) -> Any:
    """The oracle's values with default attributes."""
    known, entry = prototype(op_type), find_oracle(op_type)
    assert known is not None
    assert entry is not None
    given: dict[str, Any] = {name: None for name in entry.parameters if name not in entry.with_default}
    given.update({name: known.attrs[name].default for name in entry.parameters if name in known.attrs})
    given[next(name for name in entry.parameters if name.rstrip("_") == known.inputs[0].name)] = x
    with np.errstate(all="ignore"):
        result = entry.function(**given)
    return result.value if isinstance(result, Within) else result


@pytest.mark.parametrize(("op_type", "code"), CASES, ids=[f"{op_type}-{dtypes.dtype_name(code)}" for op_type, code in CASES])
@pytest.mark.parametrize("large", [True, False], ids=["at once", "in rows"])
def test_within_one_ulp_of_correctly_rounded(op_type: str, code: int, large: bool) -> None:
    x = np.arange(65536, dtype=np.uint16).view(dtypes.numpy_dtype(code))
    with np.errstate(all="ignore"):  # signalling NaNs
        want = wanted(op_type, x.astype(np.float64))
    operator = find(op_type)
    assert operator is not None
    step = 65536 if large else 1024
    spec = TensorSpec(code, (step,))
    run = operator.bind([spec], [spec], {}).function()
    y = np.zeros_like(x)
    with np.errstate(all="ignore"):
        for start in range(0, 65536, step):
            run(x[start : start + step], y[start : start + step])
    off = tolerance.wrong(op_type, y, want, code, 1)
    assert not off.any(), [(one, got, exact) for one, got, exact in zip(x[off], y[off], want[off], strict=True)][:5]
