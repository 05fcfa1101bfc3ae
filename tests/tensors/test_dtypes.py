"""Data types: codes, sizes, names, promotion."""

from __future__ import annotations

import pytest

from hostacl.tensors import dtypes


@pytest.mark.parametrize(
    ("code", "size"), [(0, 4), (1, 2), (9, 8), (13, 0), (17, 16), (29, 1), (30, 1), (33, 4), (40, 8), (-1, 0), (99, 0)]
)
def test_data_type_size_is_what_the_device_answers(code, size):
    assert dtypes.data_type_size(code) == size


@pytest.mark.parametrize(
    ("one", "other", "result"),
    [
        ("float16", "float32", "float32"),
        ("bfloat16", "float16", "float32"),
        ("int32", "float16", "float16"),
        ("int8", "uint8", "int16"),
        ("bool", "int8", "int8"),
        ("float64", "complex64", "complex128"),
        ("float32", "complex64", "complex64"),
        ("complex32", "complex64", "complex64"),
    ],
)
def test_promotion_is_symmetric(one, other, result):
    codes = dtypes.code_of(one), dtypes.code_of(other)
    assert dtypes.promote(*codes) == dtypes.promote(*codes[::-1]) == dtypes.code_of(result)


def test_promotion_without_a_common_type():
    assert dtypes.promote(dtypes.INT64, dtypes.UINT64) is None
    assert dtypes.promote(dtypes.FLOAT, dtypes.STRING) is None


def test_names():
    assert dtypes.ge_name(1) == "DT_FLOAT16"
    assert dtypes.dtype_name(27) == "bfloat16"
    assert dtypes.ge_name(77) == "DT(77)"


@pytest.mark.parametrize(("code", "count", "size"), [(29, 3, 2), (30, 9, 2), (1, 3, 6), (40, 5, 3)])
def test_packed_sizes(code, count, size):
    assert dtypes.size_in_bytes(code, count) == size
