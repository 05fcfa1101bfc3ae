"""The operators that the provider uses, with other attributes, dtypes and ranks than in the node tests, against the CPU
provider.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx.helper
import pytest

from tests.clients.onnxruntime.support import CANN, assert_close, cpu_session, nodes_by_provider, session, single_node

pytestmark = pytest.mark.client

FLOATS = ("float32", "float16")
INTEGERS = ("int8", "uint8", "int16", "int32", "int64")
Case = tuple[str, list[Any], int, dict[str, Any]]


def values(dtype: str, *shape: int) -> np.ndarray:
    """Seeded random values, small enough that no operator here overflows in integers of 32 bits."""
    kind, generator = np.dtype(dtype).kind, np.random.default_rng(sum(shape) + len(shape))
    if kind == "f":
        return generator.standard_normal(shape).astype(dtype)
    return generator.integers(0 if kind in "ub" else -100, 2 if kind == "b" else 100, shape).astype(dtype)


def positive(dtype: str, *shape: int) -> np.ndarray:
    return np.asarray(np.abs(values(dtype, *shape)) + 1, dtype)


def run(op_type: str, arrays: list[Any], opset: int, attributes: dict[str, Any], folder: Path) -> list[np.ndarray]:
    """What the CANN provider gives; the node must have run there."""
    model, feeds = single_node(op_type, arrays, opset=opset, **attributes)
    made = session(model, folder)
    results = made.run(None, feeds)
    assert op_type in nodes_by_provider(made).get(CANN, []), f"{op_type} did not run on the CANN provider"
    return list(results)


def reference(op_type: str, arrays: list[Any], opset: int, attributes: dict[str, Any]) -> list[np.ndarray]:
    """What the CPU provider gives."""
    model, feeds = single_node(op_type, arrays, opset=opset, **attributes)
    return list(cpu_session(model).run(None, feeds))


def convolutions() -> list[Case]:
    cases: list[Case] = []
    for dtype in FLOATS:
        x = values(dtype, 2, 4, 9, 8)
        cases += [
            ("Conv", [x, values(dtype, 6, 4, 3, 3)], 9, {}),
            ("Conv", [x, values(dtype, 6, 4, 3, 3), values(dtype, 6)], 11, {"pads": [1, 1, 1, 1], "strides": [2, 1]}),
            ("Conv", [x, values(dtype, 6, 2, 3, 2), values(dtype, 6)], 11, {"group": 2, "dilations": [2, 3]}),
            ("Conv", [x, values(dtype, 4, 1, 3, 3)], 11, {"group": 4, "pads": [1, 1, 1, 1], "strides": [2, 2]}),
            ("Conv", [x, values(dtype, 8, 1, 5, 5), values(dtype, 8)], 11, {"group": 4, "pads": [2, 2, 2, 2]}),
            ("Conv", [x, values(dtype, 5, 4, 1, 1)], 11, {"strides": [3, 2]}),
            ("Conv", [x, values(dtype, 6, 4, 3, 2)], 11, {"auto_pad": "VALID"}),
            ("Conv", [x, values(dtype, 6, 4, 3, 3)], 11, {"auto_pad": "SAME_UPPER"}),
            ("Conv", [x[:0], values(dtype, 6, 4, 3, 3)], 11, {}),
            ("Conv", [values(dtype, 1, 2, 5, 6, 7), values(dtype, 3, 2, 3, 3, 3)], 11, {"pads": [1] * 6, "strides": [1, 2, 2]}),
            ("Conv", [values(dtype, 1, 2, 5, 6, 7), values(dtype, 4, 1, 3, 2, 2), values(dtype, 4)], 11, {"group": 2}),
        ]
    return cases


def poolings() -> list[Case]:
    cases: list[Case] = []
    for dtype in FLOATS:
        x = values(dtype, 2, 3, 9, 8)
        for op_type in ("MaxPool", "AveragePool"):
            cases += [
                (op_type, [x], 7, {"kernel_shape": [3, 2]}),
                (op_type, [x], 7, {"kernel_shape": [2, 2], "strides": [2, 2]}),
                (op_type, [x], 7, {"kernel_shape": [2, 3], "strides": [3, 1], "auto_pad": "VALID"}),
                (op_type, [-positive(dtype, 2, 3, 4, 4)], 7, {"kernel_shape": [4, 4]}),
            ]
        cases += [
            ("MaxPool", [-positive(dtype, 2, 3, 9, 8)], 7, {"kernel_shape": [3, 3], "strides": [2, 2], "pads": [1, 1, 1, 1]}),
            ("AveragePool", [x], 10, {"kernel_shape": [3, 3], "strides": [2, 2], "ceil_mode": 1}),
            ("AveragePool", [x], 11, {"kernel_shape": [2, 3], "strides": [2, 2], "count_include_pad": 1}),
            ("GlobalMaxPool", [x], 11, {}),
            ("GlobalAveragePool", [x], 11, {}),
        ]
    return cases


def products() -> list[Case]:
    cases: list[Case] = []
    for dtype in (*FLOATS, "int32"):
        for one, other in (((3, 4), (4, 2)), ((2, 3, 4), (4, 5)), ((2, 1, 3, 4), (3, 4, 5)), ((1, 2, 2, 3, 4), (4, 5)),
                           ((4,), (4,)), ((4,), (4, 3)), ((3, 4), (4,)), ((4,), (2, 4, 3)), ((3, 0), (0, 2))):  # fmt: skip
            cases.append(("MatMul", [values(dtype, *one), values(dtype, *other)], 13, {}))
    for transposed in (0, 1):
        a = values("float16", *((5, 4) if transposed else (4, 5)))
        b = values("float16", *((3, 5) if transposed else (5, 3)))
        for c in ((4, 3), (3,), (1, 3), (4, 1), (1,)):
            for scales in ({}, {"alpha": 0.5, "beta": 2.0}, {"beta": 0.0}):
                attributes = {"transA": transposed, "transB": transposed, **scales}
                cases.append(("Gemm", [a, b, values("float16", *c)], 9, attributes))
    return cases


def elementwise() -> list[Case]:
    cases: list[Case] = []
    shapes = (((), ()), ((5,), ()), ((3,), (3,)), ((2, 3), (3,)), ((2, 1, 3), (2, 4, 3)), ((1, 2, 1, 3), (1, 2, 4, 3)),
              ((4, 1, 3), (2, 3, 4, 2, 3)), ((0, 3), (3,)))  # fmt: skip
    for op_type in ("Add", "Sub", "Mul", "Div"):
        for dtype in (*FLOATS, "float64", *INTEGERS):
            for one, other in shapes if dtype in FLOATS else shapes[2:4]:
                cases.append((op_type, [values(dtype, *one), positive(dtype, *other)], 14, {}))
        cases.append((op_type, [values("float32", 2, 3), positive("float32", 2, 3)], 7, {}))
    for op_type in ("Ceil", "Cos", "Erf", "Floor", "Round", "Sin"):
        for dtype in FLOATS:
            cases.append((op_type, [values(dtype, 2, 3, 1, 2, 2) * 3], 13, {}))
    for op_type in ("Log", "Sqrt", "Reciprocal"):
        for dtype in FLOATS:
            cases.append((op_type, [positive(dtype, 3, 4)], 13, {}))
    cases.append(("Exp", [values("float16", 3, 4)], 13, {}))
    for op_type in ("Abs", "Neg", "Relu"):
        for dtype in (*FLOATS, "int32", *(("int8",) if op_type != "Abs" else ())):
            cases += [(op_type, [values(dtype, *shape)], 14, {}) for shape in ((), (7,), (2, 0), (2, 3, 4, 1, 2))]
    return cases


def moves() -> list[Case]:
    cases: list[Case] = []
    for dtype in (*FLOATS, *INTEGERS, "uint16", "uint32", "uint64", "bool"):
        x = values(dtype, 2, 3, 4)
        cases.append(("Transpose", [x], 12, {"perm": [2, 0, 1]}))
        cases.append(("Reshape", [x, np.array([4, -1])], 13, {}))
        cases += [("Flatten", [x], 13, {"axis": axis}) for axis in (-1, 0, 1, 3) if dtype != "bool"]
        cases.append(("Identity", [x], 13, {}))
        for target in ("float32", "float16", "float64", "int8", "int32", "int64", "uint8", "bool"):
            attributes = {"to": onnx.helper.np_dtype_to_tensor_dtype(np.dtype(target))}
            cases.append(("Cast", [np.abs(x)], 13, attributes))
    for rank in (1, 2, 4, 5):
        cases.append(("Transpose", [values("float32", *range(2, 2 + rank))], 12, {}))
    return cases


def normalizations() -> list[Case]:
    cases: list[Case] = []
    for opset in (7, 9, 14, 15):
        for epsilon in (1e-5, 1e-2):
            scale, bias, mean, variance = (values("float32", 4) for _ in range(4))
            arrays = [values("float32", 2, 4, 5, 3), scale, bias, mean, np.abs(variance) + 0.1]
            cases.append(("BatchNormalization", arrays, opset, {"epsilon": epsilon}))
    for shape in ((3, 4), (3, 4, 5), (2, 4, 3, 2, 3)):
        arrays = [values("float32", *shape), *(positive("float32", 4) for _ in range(4))]
        cases.append(("BatchNormalization", arrays, 15, {}))
    cases += [("Dropout", [values(dtype, 2, 3, 4)], opset, {}) for dtype in FLOATS for opset in (7, 10, 13)]
    return cases


def named(cases: list[Case]) -> list[Any]:
    """Parameters with names that say what is tried."""
    return [
        pytest.param(*case, id=f"{case[0]}-{case[2]}-{case[1][0].dtype}-{'x'.join(map(str, case[1][0].shape))}-{number}")
        for number, case in enumerate(cases)
    ]


@pytest.mark.parametrize(
    ("op_type", "arrays", "opset", "attributes"),
    named(convolutions() + poolings() + products() + elementwise() + moves() + normalizations()),
)
def test_equals_the_cpu_provider(
    op_type: str, arrays: list[Any], opset: int, attributes: dict[str, Any], tmp_path: Path
) -> None:
    ours = run(op_type, arrays, opset, attributes, tmp_path)
    for result, expected in zip(ours, reference(op_type, arrays, opset, attributes), strict=True):
        assert_close(result, expected)
