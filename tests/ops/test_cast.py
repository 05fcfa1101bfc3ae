"""Cast: every pair of the prototype."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

from hostacl.ops.schema import prototype
from hostacl.tensors import dtypes
from hostacl.tensors.spec import TensorSpec as Spec
from tests.ops.calling import bind, run, values, wide

PLAIN = [code for code in prototype("Cast").inputs[0].dtypes if code in dtypes.PLAIN]
EXACT = np.array([0, 1, 2, 3, 5, 7, 0, 4])
"""Whole numbers that every type but bool holds exactly."""


def held(array, code: int):
    """Whole numbers as a type has them."""
    if code == dtypes.COMPLEX32:
        pairs = np.zeros((*array.shape, 2), np.float16)
        pairs[..., 0] = array
        return pairs.view(dtypes.PAIR16)[..., 0]
    return array.astype(dtypes.numpy_dtype(code))


@pytest.mark.parametrize("source", PLAIN)
@pytest.mark.parametrize("target", PLAIN)
def test_whole_numbers_survive_every_pair(source, target):
    result = run("Cast", held(EXACT, source), outputs=[Spec(target, (8,))], dst_type=target)
    expected = held((EXACT != 0).astype(int) if dtypes.BOOL in (source, target) else EXACT, target)
    np.testing.assert_array_equal(wide(result), wide(expected))


@pytest.mark.parametrize(
    "target", [dtypes.HIFLOAT8, dtypes.FLOAT8_E5M2, dtypes.FLOAT8_E4M3FN, dtypes.FLOAT4_E1M2, dtypes.FLOAT4_E2M1]
)
def test_small_floats_there_and_back(target):
    x = np.array([0, 0.5, -1, 1.5, 1, -0.5, 0.5], np.float32)
    small = run("Cast", x, outputs=[Spec(target, (7,))], dst_type=target)
    packed = small[:4] if target in dtypes.PACKED else small
    y = np.zeros(7, np.float32)
    bind("Cast", (Spec(target, (7,)),), [Spec(0, (7,))], dst_type=0).function()(packed, y)
    np.testing.assert_array_equal(y, x)


def test_uint1_is_unpacked_from_the_lowest_bit():
    y = np.zeros(10, np.float32)
    bind("Cast", (Spec(dtypes.UINT1, (10,)),), [Spec(0, (10,))], dst_type=0).function()(
        np.array([0b10000101, 0b10], np.uint8), y
    )
    np.testing.assert_array_equal(y, [1, 0, 1, 0, 0, 0, 0, 1, 0, 1])


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.float16, ml_dtypes.bfloat16])
def test_float_to_integer_goes_toward_zero_nan_gives_zero_and_bounds_hold(dtype):
    x = np.array([1.75, -1.75, np.nan, np.inf, -np.inf], dtype)
    np.testing.assert_array_equal(run("Cast", x, dst_type=3), [1, -1, 0, 2**31 - 1, -(2**31)])
    np.testing.assert_array_equal(run("Cast", x, dst_type=4), [1, 0, 0, 255, 0])


def test_wider_integers_wrap():
    np.testing.assert_array_equal(run("Cast", np.array([2**32, -(2**31) - 1, 300]), dst_type=3), [0, 2**31 - 1, 300])
    np.testing.assert_array_equal(run("Cast", np.array([300, -1], np.int32), dst_type=4), [44, 255])


def test_anything_but_zero_is_true():
    np.testing.assert_array_equal(
        run("Cast", np.array([0, -0.0, 0.5, np.nan], np.float32), dst_type=12), [False, False, True, True]
    )
    np.testing.assert_array_equal(run("Cast", np.array([0j, 1j]), dst_type=12), [False, True])


def test_the_same_type_is_a_bit_copy():
    x = np.array([0x3E00, 0x8000, 0x7C01, 0xFE00], np.uint16).view(np.float16)
    np.testing.assert_array_equal(run("Cast", x, dst_type=1).view(np.uint16), x.view(np.uint16))


def test_complex_keeps_the_real_part():
    np.testing.assert_array_equal(run("Cast", np.array([1 + 2j, -3.5 + 1j]), dst_type=0), [1, -3.5])


def test_float64_is_rounded_once():
    tie = np.array([1 + 2.0**-8 + 2.0**-40])  # via float32 it would tie, and go down
    assert run("Cast", tie, dst_type=27).astype(np.float32)[0] == np.float32(1 + 2.0**-7)


@pytest.mark.parametrize("code", [18, 19, 20, 21, 22])
def test_quantised_types_are_their_integers(code):
    result = run("Cast", values(0, (4,), low=0), outputs=[Spec(code, (4,))], dst_type=code)
    np.testing.assert_array_equal(result, np.trunc(values(0, (4,), low=0)))
