"""Floats of 8 bits and less against ml_dtypes and the definition of HiFloat8."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

from hostacl.ops import smallfloat
from hostacl.tensors import dtypes

PAIRS = [
    (dtypes.FLOAT8_E5M2, ml_dtypes.float8_e5m2),
    (dtypes.FLOAT8_E4M3FN, ml_dtypes.float8_e4m3fn),
]


@pytest.mark.parametrize(("code", "dtype"), PAIRS)
def test_values_are_those_of_ml_dtypes(code, dtype):
    bits = np.arange(256, dtype=np.uint8)
    np.testing.assert_array_equal(smallfloat.decode(bits, code), bits.view(dtype).astype(np.float32))


@pytest.mark.parametrize(("code", "dtype"), PAIRS)
def test_rounding_is_that_of_ml_dtypes(code, dtype):
    rng = np.random.default_rng(0)
    x = np.concatenate([rng.normal(size=2000) * 10.0 ** rng.integers(-6, 4, 2000), [0, -0.0, np.inf, -np.inf, np.nan]]).astype(
        np.float32
    )
    np.testing.assert_array_equal(
        smallfloat.decode(smallfloat.encode(x, code, False), code), x.astype(dtype).astype(np.float32)
    )


@pytest.mark.parametrize("code", sorted(dtypes.SMALL_FLOATS))
def test_every_value_comes_back(code):
    bits = np.arange(2 ** dtypes.BY_CODE[code].bits, dtype=np.uint8)
    values = smallfloat.decode(bits, code)
    again = smallfloat.decode(smallfloat.encode(values, code, False), code)
    np.testing.assert_array_equal(again, values)


@pytest.mark.parametrize(
    ("bits", "value"),
    [
        (0x00, 0),
        (0x80, np.nan),
        (0x6F, np.inf),
        (0xEF, -np.inf),
        (0x6E, 2.0**15),
        (0x08, 1),
        (0x0C, 1.5),
        (0x01, 2.0**-22),
        (0x07, 2.0**-16),
        (0x12, 2.5),
        (0x7E, 2.0**-15),
    ],
)
def test_hifloat8(bits, value):
    np.testing.assert_array_equal(smallfloat.decode(np.array([bits], np.uint8), dtypes.HIFLOAT8), np.array([value], np.float32))


def test_hifloat8_ties_go_away_from_zero():
    x = np.array([1 + 1 / 16, -(1 + 3 / 16)])
    np.testing.assert_array_equal(
        smallfloat.decode(smallfloat.encode(x, dtypes.HIFLOAT8, False), dtypes.HIFLOAT8), [1.125, -1.25]
    )


def test_float4_values():
    e2m1, e1m2 = (smallfloat.values(code)[:8] for code in (dtypes.FLOAT4_E2M1, dtypes.FLOAT4_E1M2))
    np.testing.assert_array_equal(e2m1, [0, 0.5, 1, 1.5, 2, 3, 4, 6])
    np.testing.assert_array_equal(e1m2, [0, 0.25, 0.5, 0.75, 1, 1.25, 1.5, 1.75])


@pytest.mark.parametrize("bits", [1, 2, 4])
def test_packed_elements_come_back(bits):
    fields = np.random.default_rng(0).integers(0, 2**bits, 13).astype(np.uint8)
    packed = smallfloat.pack(fields, bits)
    assert packed.size == -(-13 * bits // 8)
    np.testing.assert_array_equal(smallfloat.unpack(packed, 13, bits, signed=False), fields)


def test_packed_int4_has_the_first_element_in_the_low_bits_and_a_sign():
    np.testing.assert_array_equal(smallfloat.unpack(np.array([0x8F], np.uint8), 2, 4, signed=True), [-1, -8])
