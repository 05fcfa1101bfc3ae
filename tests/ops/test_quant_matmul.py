"""Quantised products: what scales encode, what is refused."""

from __future__ import annotations

import numpy as np
import pytest

from hostacl.errors import Refused
from hostacl.ops.quant_scales import encoded_offsets, factors
from hostacl.tensors import dtypes
from hostacl.tensors.spec import TensorSpec
from tests.ops.calling import ABSENT, bind, run


def encoded(scale: float, offset: int = 0) -> int:
    return int(np.float32(scale).view(np.uint32)) | (offset & 511) << 37


def test_a_64_bit_scale_holds_a_float_and_an_offset():
    scales = np.array([encoded(0.5, -3), encoded(-2.0, 255), encoded(1.0, -256)], np.uint64)
    np.testing.assert_array_equal(factors(scales), [0.5, -2, 1])
    np.testing.assert_array_equal(encoded_offsets(scales), [-3, 255, -256])
    np.testing.assert_array_equal(encoded_offsets(scales.view(np.int64)), [-3, 255, -256])
    np.testing.assert_array_equal(encoded_offsets(np.ones(2, np.float32)), [0, 0])


def test_int8_of_large_sums_is_held():
    x1, x2 = np.full((2, 300), 127, np.int8), np.full((300, 1), 127, np.int8)
    scale = np.array([encoded(1.0, 5)], np.uint64)
    y = run("QuantBatchMatmulV3", x1, x2, scale, outputs=[TensorSpec(dtypes.INT8, (2, 1))], dtype=2)
    np.testing.assert_array_equal(y, [[127], [127]])


def test_an_int8_y_is_rounded_half_to_even():
    x1, x2 = np.array([[1, 3, 5]], np.int8), np.eye(3, dtype=np.int8)
    y = run("QuantBatchMatmulV3", x1, x2, np.array([0.5], np.float32), outputs=[TensorSpec(dtypes.INT8, (1, 3))], dtype=2)
    np.testing.assert_array_equal(y, [[0, 2, 2]])


def test_an_explicit_offset_wins():
    x1, x2 = np.array([[4]], np.int8), np.array([[1]], np.int8)
    scale, offset = np.array([encoded(1.0, 5)], np.uint64), np.array([7], np.float32)
    y = run("QuantBatchMatmulV3", x1, x2, scale, offset, outputs=[TensorSpec(dtypes.INT8, (1, 1))], dtype=2)
    assert y == 11


def test_scales_of_blocks_lie_over_the_inner_axis():
    x1, x2 = np.ones((1, 4), np.int8), np.ones((4, 1), np.int8)
    scale = np.array([[2.0, 8.0]], np.float32)
    y = run("QuantBatchMatmulV4", x1, x2, None, scale, outputs=[TensorSpec(dtypes.FLOAT, (1, 1))], dtype=0, group_size=2)
    assert y == 2 * 2 + 2 * 8


@pytest.mark.parametrize(
    ("text", "inputs", "attrs"),
    [
        ("one for each column", [np.ones((2, 3), np.int8), np.ones((3, 4), np.int8), np.ones(3, np.float32)], {}),
        ("inner dims 3 and 2 differ", [np.ones((2, 3), np.int8), np.ones((2, 4), np.int8), np.ones(1, np.float32)], {}),
        ("pertoken_scale = ", [np.ones((2, 3), np.int8), np.ones((3, 4), np.int8), np.ones(1, np.float32), None, None,
                               np.ones(3, np.float32)], {}),
    ],
)  # fmt: skip
def test_refusals_of_v3(text, inputs, attrs):
    with pytest.raises(Refused, match=text):
        bind("QuantBatchMatmulV3", inputs, dtype=1, **attrs)


def test_v4_refuses_what_is_not_published():
    x = np.ones((2, 2), np.int8)
    with pytest.raises(Refused, match=r"HA513.*x1_offset was given"):
        bind("QuantBatchMatmulV4", [x, x, ABSENT, ABSENT, ABSENT, ABSENT, np.ones(2, np.float32)], dtype=1)
    scale = np.ones((2, 3), np.float32)
    with pytest.raises(Refused, match="3 scales along an axis of 4 in groups of 2"):
        bind("QuantBatchMatmulV4", [np.ones((2, 4), np.int8), np.ones((4, 2), np.int8), ABSENT, scale], dtype=1)


def test_only_the_batch_is_added_up():
    x = np.ones((2, 3, 3), np.int8)
    with pytest.raises(Refused, match=r"HA519.*allowed: \[0\]"):
        bind("QuantMatmulReduceSum", [x, x, np.array([1])], const=[2], dtype=27)


MANY = 140_000
"""So many products of 127 by 127 leave int32."""
WIDE, TALL = np.full((1, MANY), 127, np.int8), np.full((MANY, 1), 127, np.int8)
SCALE, LARGEST = np.array([2.0**-20], np.float32), np.array([2**31 - 1], np.int32)
EXACT = MANY * 127 * 127 / 2**20


def single(code: int, *shape: int) -> list[TensorSpec]:
    return [TensorSpec(code, shape)]


@pytest.mark.parametrize("bias", [None, LARGEST], ids=["alone", "with the largest bias"])
def test_sums_beyond_int32_are_exact_where_they_are_scaled(bias):
    half = single(dtypes.FLOAT16, 1, 1)
    want = np.float16(EXACT + (0 if bias is None else bias[0] / 2**20))
    assert run("QuantBatchMatmulV3", WIDE, TALL, SCALE, None, bias, outputs=half, dtype=1)[0, 0] == want
    assert run("QuantBatchMatmulV4", WIDE, TALL, bias, None, SCALE, outputs=half, dtype=1)[0, 0] == want
    plus = np.zeros(1, np.int32) if bias is None else bias
    packed = np.array([encoded(2.0**-20)], np.uint64)
    assert run("QuantBatchMatmul", WIDE, TALL, plus, packed, outputs=half)[0, 0] == want
    x, filters = WIDE.reshape(1, -1, 1, 1), WIDE.reshape(1, -1, 1, 1)
    y = run(
        "QuantConv2D", x, filters, packed, bias, outputs=[TensorSpec(dtypes.FLOAT16, (1, 1, 1, 1), 0)], layout=0,
        strides=[1, 1, 1, 1], pads=[0, 0, 0, 0], dtype=1,
    )  # fmt: skip
    assert y[0, 0, 0, 0] == want


@pytest.mark.parametrize("row", [2**31 - 1, -(2**31)])
def test_an_int32_bias_does_not_turn_a_large_product_round(row):
    x, one, bias = np.array([[row]], np.int32), np.ones(1, np.float32), np.array([np.sign(row) * 9], np.int32)
    y = run("DequantBias", x, one / 2**20, one, bias, outputs=single(dtypes.FLOAT16, 1, 1), output_dtype=1)
    assert y[0, 0] == np.float16(np.sign(row) * 2048)


def test_int32_results_beyond_int32_wrap():
    total = MANY * 127 * 127 - 2**32
    for op, inputs, attrs in (("MatMulV2", (WIDE, TALL), {}), ("BatchMatMulV2", (WIDE, TALL), {}),
                              ("QuantBatchMatmulV3", (WIDE, TALL, SCALE), {"dtype": 3})):  # fmt: skip
        assert run(op, *inputs, outputs=single(dtypes.INT32, 1, 1), **attrs)[0, 0] == total
    y = run("Conv2D", WIDE.reshape(1, -1, 1, 1), WIDE.reshape(1, -1, 1, 1), layout=0, strides=[1, 1, 1, 1], pads=[0, 0, 0, 0])
    assert y.dtype == np.int32
    assert y[0, 0, 0, 0] == total


def test_types_and_groups_that_mean_nothing_here_are_refused():
    x = np.ones((2, 3), np.float16)
    inputs = [x, np.ones((3, 4), np.int8), np.ones(1, np.float16), None, None, None, None]
    for told, code in ((-1, dtypes.FLOAT16), (27, dtypes.BF16)):
        assert bind("WeightQuantBatchMatmulV2", inputs, dtype=told).infer()[0].dtype == code
    with pytest.raises(Refused, match="HA512"):
        bind("WeightQuantBatchMatmulV2", inputs, [TensorSpec(dtypes.FLOAT16, (2, 4))], dtype=27)
    with pytest.raises(Refused, match=r"dtype = 3; allowed: -1 \(as the inputs say\), 1 \(DT_FLOAT16\), 27 \(DT_BF16\)"):
        bind("WeightQuantBatchMatmulV2", inputs, dtype=3).infer()
    matrices = [np.ones((1, 2, 3), np.float16), np.ones((2, 2), np.float16), np.ones((3, 3), np.float16)]
    for attrs in ({"dst_dtype": 40}, {"dst_type_max": 6.0}):
        with pytest.raises(Refused, match="float4 results are scaled is not published"):
            bind("FlatQuant", matrices, **attrs)
    batch = [np.ones((2, 2, 3), np.int8), np.ones((2, 3, 4), np.int8), np.zeros(1, np.int64), None, np.ones((2, 2), np.float32),
             np.ones(4, np.float32).astype("bfloat16")]  # fmt: skip
    with pytest.raises(Refused, match="group_size = 4295032833; allowed: 0 or less"):
        bind("QuantMatmulReduceSum", batch, dtype=27, group_size=1 << 32 | 1 << 16 | 1)
