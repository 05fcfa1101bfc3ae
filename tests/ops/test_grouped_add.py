"""Products of quantised groups that are added to what is there: layouts of scales, tiles, refusals."""

from __future__ import annotations

import numpy as np
import pytest

from hostacl.errors import Failed, Refused
from hostacl.ops import grouped_add
from hostacl.tensors import dtypes
from hostacl.tensors.spec import TensorSpec
from tests.ops.calling import ABSENT, bind, find

HI, E4, E5, E8 = dtypes.HIFLOAT8, dtypes.FLOAT8_E4M3FN, dtypes.FLOAT8_E5M2, dtypes.FLOAT8_E8M0
ONE = {HI: 0x08, E4: 0x38, E5: 0x3C, E8: 127}
"""The bit patterns of 1."""


def ones(code, *shape):
    return np.full(shape, ONE[code], np.uint8)


def called(inputs, codes, **attrs):
    """The result of a call whose 8-bit tensors have these types."""
    described = [
        ABSENT if array is None else TensorSpec(code, array.shape, 2) for array, code in zip(inputs, codes, strict=True)
    ]
    y = inputs[4].copy()
    call = find("QuantGroupedMatmulInplaceAdd").bind(
        described, [TensorSpec(dtypes.FLOAT, y.shape, 2)], {name: ("int", value) for name, value in attrs.items()}
    )
    call.function()(*inputs, y)
    return y


def test_groups_divide_the_rows_of_both():
    x1, x2 = ones(HI, 5, 2), ones(HI, 5, 3)
    scale2 = np.array([[1, 2, 4], [8, 16, 32], [1, 1, 1]], np.float32)
    y = np.full((3, 2, 3), 100, np.float32)
    got = called([x1, x2, scale2, np.array([2, 5, 5]), y, np.array([1, 0.5, 3], np.float32)],
                 [HI, HI, dtypes.FLOAT, dtypes.INT64, dtypes.FLOAT, dtypes.FLOAT])  # fmt: skip
    assert got[0].tolist() == [[102, 104, 108]] * 2
    assert got[1].tolist() == [[100 + 3 * 4, 100 + 3 * 8, 100 + 3 * 16]] * 2
    assert np.all(got[2] == 100)


def test_lengths_and_a_missing_scale1():
    x1, x2 = ones(HI, 6, 1), ones(HI, 6, 1)
    got = called([x1, x2, np.ones((2, 1), np.float32), np.array([1, 4]), np.zeros((2, 1, 1), np.float32), None],
                 [HI, HI, dtypes.FLOAT, dtypes.INT64, dtypes.FLOAT, -1], group_list_type=1)  # fmt: skip
    assert got.ravel().tolist() == [1, 4]  # the sixth row belongs to none


def test_each_32_rows_of_a_group_have_a_scale_and_each_group_begins_a_pair():
    k, ends = 150, np.array([70, 150])
    x1, x2 = ones(E4, k, 1), ones(E5, k, 1)
    scale1 = np.full((k // 64 + 2, 1, 2), 0, np.uint8)  # 2^-127: what is not used would be seen
    scale1[0, 0], scale1[1, 0, 0] = [127, 128], 129  # rows 0-31, 32-63, 64-69 of the first group
    scale1[70 // 64 + 1, 0], scale1[70 // 64 + 2, 0, 0] = [130, 131], 132  # rows 0-31, 32-63, 64-79 of the second
    got = called([x1, x2, ones(E8, k // 64 + 2, 1, 2), ends, np.zeros((2, 1, 1), np.float32), scale1],
                 [E4, E5, E8, dtypes.INT64, dtypes.FLOAT, E8])  # fmt: skip
    assert got.ravel().tolist() == [32 * 1 + 32 * 2 + 6 * 4, 32 * 8 + 32 * 16 + 16 * 32]


def test_tiles_change_nothing(monkeypatch):
    rng = np.random.default_rng(5)
    x1, x2 = rng.integers(0x30, 0x48, (300, 7), np.uint8), rng.integers(0x30, 0x48, (300, 5), np.uint8)
    scales = [rng.integers(125, 130, (300 // 64 + 3, width, 2), np.uint8) for width in (7, 5)]
    inputs = [x1, x2, scales[1], np.array([100, 130, 300]), np.zeros((3, 7, 5), np.float32), scales[0]]
    codes = [E4, E4, E8, dtypes.INT64, dtypes.FLOAT, E8]
    whole = called(inputs, codes)
    monkeypatch.setattr(grouped_add, "TILE_BYTES", 8 * 5 * 3)
    assert np.array_equal(called(inputs, codes), whole)


def specs(**other):
    """Descriptors of a valid call, some replaced."""
    named = {
        "x1": TensorSpec(HI, (5, 2), 2), "x2": TensorSpec(HI, (5, 3), 2), "scale2": TensorSpec(dtypes.FLOAT, (2, 3), 2),
        "group_list": TensorSpec(dtypes.INT64, (2,), 2), "y": TensorSpec(dtypes.FLOAT, (2, 2, 3), 2), "scale1": ABSENT,
    }  # fmt: skip
    return list({**named, **other}.values())


@pytest.mark.parametrize(("other", "attrs", "text"), [
    ({"x2": TensorSpec(HI, (4, 3), 2)}, {}, "HA504.*x1 has 5 rows, x2 4"),
    ({"y": TensorSpec(dtypes.FLOAT, (2, 3, 2), 2)}, {}, r"HA504.*y = \[2,3,2\]; allowed: \[2,2,3\]"),
    ({"scale2": TensorSpec(dtypes.FLOAT, (2, 2), 2)}, {}, r"HA504.*scale2 = \[2,2\]; allowed: \[2\] or \[2,1\] or \[2,3\]"),
    ({"scale1": TensorSpec(dtypes.FLOAT, (2, 2), 2)}, {}, r"HA504.*scale1 = \[2,2\]"),
    ({"x1": TensorSpec(E4, (5, 2), 2)}, {}, "HA503.*x1 is DT_FLOAT8_E4M3FN, x2 is DT_HIFLOAT8"),
    ({"scale2": TensorSpec(E8, (2, 3, 2), 2)}, {}, "HA503.*scale2 is DT_FLOAT8_E8M0"),
    ({"x1": TensorSpec(E4, (5, 2), 2), "x2": TensorSpec(E5, (5, 3), 2), "scale2": TensorSpec(E8, (2, 3, 2), 2)}, {},
     "HA513.*scale1 is missing"),
    ({}, {"group_list_type": 2}, "HA508.*group_list_type = 2"),
    ({}, {"group_size": 32}, "HA508.*group_size = 32"),
])  # fmt: skip
def test_refusals(other, attrs, text):
    with pytest.raises(Refused, match=text):
        bind("QuantGroupedMatmulInplaceAdd", specs(**other), **attrs)


def test_groups_that_do_not_rise_are_refused_before_anything_is_written():
    y = np.zeros((2, 1, 1), np.float32)
    inputs = [ones(HI, 4, 1), ones(HI, 4, 1), np.ones(2, np.float32), np.array([3, 2]), y, None]
    with pytest.raises(Failed, match="group_list"):
        called(inputs, [HI, HI, dtypes.FLOAT, dtypes.INT64, dtypes.FLOAT, -1])
    assert not y.any()


def test_unknown_dims_are_carried():
    x1 = TensorSpec(HI, (-1, -1), 2, ranges=((0, -1), (1, 9)))
    (y,) = bind("QuantGroupedMatmulInplaceAdd", specs(x1=x1)).infer()
    assert (y.shape, y.ranges) == ((2, -1, 3), ((2, 2), (1, 9), (3, 3)))
