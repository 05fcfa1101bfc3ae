"""Quantisation joined with other steps: encodings, quirks and refusals."""

from __future__ import annotations

import numpy as np
import pytest

from hostacl.errors import Failed, Refused
from hostacl.ops.quant_scales import encoded_offsets, factors
from hostacl.tensors import dtypes
from hostacl.tensors.spec import TensorSpec
from tests.ops.calling import ABSENT, bind, run


def test_the_encoding_is_what_products_read():
    scale, offset = np.array([0.5, 1.25, 3.0], np.float32), np.array([-300, 2.5, 7], np.float32)
    y = run("TransQuantParamV2", scale, offset)
    np.testing.assert_array_equal(factors(y), scale)
    np.testing.assert_array_equal(encoded_offsets(y), [-256, 2, 7])
    assert (y >> 46 == 1).all()


def test_a_scale_keeps_19_bits():
    scale = np.array([np.uint32(0x3F801FFF)], np.uint32).view(np.float32)
    assert int(run("TransQuantParamV2", scale, None)[0]) == 0x3F800000 | 1 << 46
    assert int(run("TransQuantParamV2", scale, None, round_mode=1)[0]) == 0x3F802000 | 1 << 46
    tie = np.array([np.uint32(0x3F801000)], np.uint32).view(np.float32)
    assert int(run("TransQuantParamV2", tie, None, round_mode=1)[0]) == 0x3F800000 | 1 << 46


def test_a_row_of_zeros_has_scale_0():
    y, scale = run("GeluQuant", np.zeros((2, 3), np.float32))
    np.testing.assert_array_equal(y, np.zeros((2, 3)))
    np.testing.assert_array_equal(scale, [0, 0])


def test_static_modes_need_a_scale():
    with pytest.raises(Refused, match="HA513: GeluQuant: input_scale is required"):
        bind("GeluQuant", [np.zeros((2, 3), np.float32)], quant_mode="static")
    with pytest.raises(Refused, match="HA513: DequantSwigluQuant: quant_scale is required"):
        bind("DequantSwigluQuant", [np.zeros((2, 4), np.int32)])
    with pytest.raises(Refused, match="quant_mode = 'both'; allowed: static, dynamic"):
        bind("GeluQuant", [np.zeros((2, 3), np.float32)], quant_mode="both")


def test_rows_behind_the_last_group_are_0():
    x, ones = np.full((3, 4), 8, np.int32), np.ones((2, 4), np.float32)
    counts = np.array([1, 1], np.int64)
    y, scale = run("DequantSwigluQuant", x, ones, None, None, None, None, counts, quant_mode="dynamic")
    np.testing.assert_array_equal(y, [[127, 127], [127, 127], [0, 0]])
    assert scale[2] == 0


def gated_call(code: int):
    """A call of GroupedMatmulSwigluQuantV2 whose lists are named, as some of them are empty."""
    inputs = [TensorSpec(code, (2, 3)), TensorSpec(dtypes.FLOAT, (2,)), TensorSpec(dtypes.INT64, (1,)),
              TensorSpec(code, (1, 3, 4), name="weight0"), TensorSpec(dtypes.FLOAT, (1, 4), name="weight_scale0")]  # fmt: skip
    outputs = [TensorSpec(dtypes.INT8, (2, 2)), TensorSpec(dtypes.FLOAT, (2,))]
    return bind("GroupedMatmulSwigluQuantV2", inputs, outputs)


def test_groups_that_do_not_fit_fail_when_they_run():
    arrays = [np.ones((2, 3), np.int8), np.ones(2, np.float32), np.array([3]), np.ones((1, 3, 4), np.int8)]
    outputs = [np.empty((2, 2), np.int8), np.empty(2, np.float32)]
    with pytest.raises(Failed, match=r"HA510.*group_list = \[3\]; allowed: rising ends of groups, 2 rows in all"):
        gated_call(dtypes.INT8).function()(*arrays, np.ones((1, 4), np.float32), *outputs)


def test_small_floats_in_groups_are_refused():
    with pytest.raises(Refused, match="HA502: GroupedMatmulSwigluQuantV2: x is DT_FLOAT8_E5M2"):
        gated_call(dtypes.FLOAT8_E5M2)


def test_a_row_that_is_not_there():
    x, w, scale = np.ones((2, 3), np.int8), np.ones((1, 3, 4), np.int8), np.ones((1, 4), np.float32)
    rows = np.array([0, 5])
    with pytest.raises(Failed, match=r"row_index\[1\] = 5; allowed: 0 to 1"):
        run("GroupedMatmulFinalizeRouting", x, w, scale, None, None, np.array([2]), None, None, rows, output_bs=2)


def test_an_offset_of_a_convolution_is_refused():
    x, w = np.ones((1, 3, 5, 5), np.int8), np.ones((2, 3, 3, 3), np.int8)
    with pytest.raises(Refused, match="HA513: QuantConv2D: offset was given"):
        bind("QuantConv2D", [x, w, np.ones(2, np.int64), ABSENT, np.ones(2, np.float32)], layout=0, dtype=1, strides=[1] * 4,
             pads=[0] * 4)  # fmt: skip


def test_only_update_scatters():
    var, updates = np.zeros((1, 2, 4), np.int8), np.ones((1, 1, 4), np.float32)
    with pytest.raises(Refused, match="reduce"):
        bind("QuantUpdateScatter", [var, np.array([0]), updates, np.ones(1, np.float32)], reduce="add", axis=1)
