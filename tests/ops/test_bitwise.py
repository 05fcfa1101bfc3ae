"""Bits and logic: lengths around blocks, shifts that go too far, packed signs."""

from __future__ import annotations

import numpy as np
import pytest

from hostacl.errors import Refused
from hostacl.tensors import dtypes
from hostacl.tensors.spec import TensorSpec
from tests.ops.calling import bind, run


@pytest.mark.parametrize("count", [1, 15, 16, 17, 31, 33])
def test_invert_every_length(count):
    x = np.arange(count, dtype=np.int16)
    assert run("Invert", x).tolist() == [-1 - one for one in range(count)]


def test_one_element_and_scalars():
    assert run("BitwiseAnd", np.array([6], np.int32), np.array([3], np.int32)).tolist() == [2]
    assert run("BitwiseXor", np.array(-1, np.int16), np.array(5, np.int16)).tolist() == -6
    assert run("BitwiseOr", np.array([1, 2, 4], np.uint16), np.array([8], np.uint16)).tolist() == [9, 10, 12]


def test_shifts_beyond_the_width():
    x, far = np.array([5, -5, -5], np.int32), np.array([32, 40, -1], np.int32)
    assert run("LeftShift", x, far).tolist() == [0, 0, 0]
    assert run("RightShift", x, far).tolist() == [0, -1, -1]
    assert run("RightShift", np.array([-5], np.int32), np.array([1], np.int32)).tolist() == [-3]
    assert run("LeftShift", np.array([1], np.int64), np.array([62], np.int64)).tolist() == [2**62]


def test_logical_or_takes_numbers_and_gives_bool():
    result = run("LogicalOr", np.array([0, 0.5, np.nan], np.float16), np.zeros(3, np.float16))
    assert result.tolist() == [False, True, True]


def test_logical_or_of_numbers_gives_numbers_where_the_output_is_described_so():
    x, y = np.array([0, 2, 0], np.int32), np.array([0, 0, 5], np.int32)
    got = run("LogicalOr", x, y, outputs=[TensorSpec(dtypes.INT32, (3,), 2)])
    assert (got.dtype, got.tolist()) == (np.int32, [0, 1, 1])
    with pytest.raises(Refused, match="LogicalOr: y = DT_FLOAT"):
        bind("LogicalOr", [x, y], [TensorSpec(dtypes.FLOAT, (3,), 2)])


def test_floats_have_no_bits():
    with pytest.raises(Refused, match=r"HA502.*BitwiseAnd.*DT_FLOAT"):
        bind("BitwiseAnd", [np.ones(2, np.float32), np.ones(2, np.float32)])


SIGNED = np.array([5, 4, 3, 2, 0, -1, -2, 4, 3, 2, 1, 0, -1, -2], np.float32)


def test_sign_bits_packed_and_back():
    packed = run("SignBitsPack", SIGNED, size=2)
    assert packed.tolist() == [[159], [15]]
    back = run("SignBitsUnpack", packed.ravel(), size=2, dtype=dtypes.FLOAT)
    assert back.tolist() == [[1, 1, 1, 1, 1, -1, -1, 1], [1, 1, 1, 1, -1, -1, -1, -1]]
    assert run("SignBitsUnpack", packed.ravel(), size=1, dtype=dtypes.FLOAT16).dtype == np.float16


def test_sign_bits_refusals():
    with pytest.raises(Refused, match=r"HA504.*size = 3"):
        bind("SignBitsPack", [SIGNED], size=3)
    with pytest.raises(Refused, match=r"HA508.*size = 0"):
        bind("SignBitsPack", [SIGNED], size=0)
    with pytest.raises(Refused, match=r"HA516"):
        bind("SignBitsPack", [SIGNED.reshape(2, 7)], size=2)
    with pytest.raises(Refused, match=r"HA527"):
        bind("SignBitsUnpack", [np.zeros(2, np.uint8)], [TensorSpec(dtypes.FLOAT, (1, 16))], size=1, dtype=dtypes.FLOAT16)


def test_packed_shape_of_an_unknown_length():
    (one,) = bind("SignBitsPack", [TensorSpec(dtypes.FLOAT, (-1,), ranges=((0, 100),))], size=1).infer()
    assert one.ranges == ((1, 1), (0, 13))
