"""Quantisation: worked values, ties, NaN, refusals."""

from __future__ import annotations

import numpy as np
import pytest

from hostacl.errors import Failed, Refused
from hostacl.tensors import dtypes
from hostacl.tensors.spec import TensorSpec as Spec
from tests.ops.calling import bind, run

X = np.array([-300, -1.5, -0.5, 0.5, 1.5, 2.5, 300, np.nan], np.float32)
ONE = np.ones(1, np.float32)


def test_quantize_rounds_ties_to_even_and_holds_its_type():
    np.testing.assert_array_equal(run("Quantize", X, ONE, dtype="torch.qint8", axis=0), [-128, -2, 0, 0, 2, 2, 127, 0])
    zero = np.array([10], np.uint8)
    np.testing.assert_array_equal(run("Quantize", X, ONE, zero, dtype="torch.quint8"), [0, 8, 10, 10, 12, 12, 255, 0])
    assert run("Quantize", X, ONE, dtype="torch.qint32").dtype == np.int32


def test_quantize_along_an_axis():
    x = np.full((2, 2), 8, np.float32)
    scales, zeros = np.array([1, 2], np.float32), np.array([0, 1], np.int32)
    np.testing.assert_array_equal(run("Quantize", x, scales, zeros, dtype="torch.qint8", axis=1), [[8, 5], [8, 5]])
    np.testing.assert_array_equal(run("Quantize", x, scales, zeros, dtype="torch.qint8", axis=0), [[8, 8], [5, 5]])


@pytest.mark.parametrize(("mode", "want"), [("Round", [-2, 2]), ("Floor", [-2, 1]), ("Ceil", [-1, 2]), ("Trunc", [-1, 1])])
def test_rounding_modes(mode, want):
    x = np.array([-1.5, 1.5], np.float32)
    np.testing.assert_array_equal(run("AscendQuant", x, scale=1.0, offset=0.0, round_mode=mode), want)


def test_four_bits_are_packed():
    x = np.array([-100, 100, 3], np.float16)
    y = np.zeros(2, np.uint8)
    bind("AscendQuant", [x], [Spec(dtypes.INT4, (3,))], scale=1.0, offset=0.0, dst_type=dtypes.INT4).function()(x, y)
    np.testing.assert_array_equal(y, [0x78, 0x03])


def test_scale_in_the_lower_half_of_64_bits():
    scale = np.array([0.5], np.float32).view(np.uint32).astype(np.uint64) | np.uint64(7 << 32)
    np.testing.assert_array_equal(run("AscendDequant", np.array([-4, 6], np.int32), scale, relu_flag=True), [0, 3])


def test_rows_find_their_own_scales():
    x = np.array([[1, -2, 4], [0, 0, 0]], np.float16)
    y, scale = run("DynamicQuant", x)
    np.testing.assert_array_equal(y, [[32, -64, 127], [0, 0, 0]])
    np.testing.assert_allclose(scale, [4 / 127, 0])


def test_rows_take_the_smooth_scales_of_their_group():
    x, smooth = np.ones((3, 2), np.float16), np.array([[1, 1], [2, 4]], np.float16)
    _, scale = run("DynamicQuant", x, smooth, np.array([1, 3], np.int32))
    np.testing.assert_allclose(scale, np.array([1, 4, 4]) / 127, rtol=1e-6)
    with pytest.raises(Failed, match="group_index"):
        run("DynamicQuant", x, smooth, np.array([2, 1], np.int32))


@pytest.mark.parametrize(
    ("op", "inputs", "attrs", "rule"),
    [
        ("Quantize", [X, ONE], {"dtype": "torch.float"}, "HA508"),
        ("Quantize", [X, np.ones(3, np.float32)], {"dtype": "torch.qint8", "axis": 0}, "HA504"),
        ("Quantize", [X, np.ones(8, np.float32)], {"dtype": "torch.qint8", "axis": 1}, "HA509"),
        ("AscendQuant", [X], {"scale": 1.0, "offset": 0.0, "round_mode": "up"}, "HA508"),
        ("AscendQuantV2", [X, np.ones(3, np.float32)], {}, "HA504"),
        ("Dequantize", [Spec(18, (3,)), ONE, ONE], {"mode": "MAX"}, "HA508"),
        ("DynamicQuant", [np.ones((2, 2), np.float16), np.ones(3, np.float16)], {}, "HA504"),
    ],
)
def test_refusals(op, inputs, attrs, rule):
    with pytest.raises(Refused) as caught:
        bind(op, inputs, **attrs)
    assert caught.value.rule == rule
