"""A call that could leave its result nowhere is refused, not run for nothing."""

from __future__ import annotations

import numpy as np
import pytest

import acl
from tests.calls import Tensor, absent, build_and_execute, compile_op, const, device, message

BUILD_FAILED = 500002


def inputs_of(op_type: str) -> list[Tensor]:
    x = device(np.ones((2, 2), np.float32))
    more = {
        "Add": [x],
        "MatMul": [x],
        "Greater": [x],
        "Select": [device(np.ones((2, 2), np.float32))] * 2,
        "ReduceSum": [const(np.array([0], np.int32))],
        "GatherV2": [device(np.array([0], np.int32)), const(np.array([0], np.int32))],
        "Transpose": [const(np.array([1, 0], np.int32))],
        "ArgMaxV2": [const(np.array([0], np.int32))],
    }
    first = device(np.ones((2, 2), bool)) if op_type == "Select" else x
    return [first, *more.get(op_type, [])]


OPERATORS = (
    "Abs", "SoftmaxV2", "NonZero", "Add", "MatMul", "Greater", "Select", "ReduceSum", "GatherV2", "Transpose", "ArgMaxV2",
)  # fmt: skip


@pytest.mark.parametrize("undefined", [False, True])
@pytest.mark.parametrize("op_type", OPERATORS)
def test_an_operator_whose_outputs_are_all_missing(op_type: str, undefined: bool) -> None:
    outputs = [absent()] if undefined else []
    for way in (compile_op, build_and_execute):
        assert way(op_type, inputs_of(op_type), outputs) == BUILD_FAILED
        text = message()
        assert "HA513" in text
        assert f"{op_type}: y is an output that must be given" in text
        assert ("UNDEFINED" if undefined else "no outputs were given") in text
    assert acl.rt.synchronize_device() == 0


def test_a_trailing_output_may_be_missing() -> None:
    x, largest = device(np.array([3, 1, 2], np.float32)), device(np.zeros(3, np.float32))
    assert build_and_execute("Sort", [x], [largest]) == 0
    np.testing.assert_array_equal(largest.read(), [1, 2, 3])
