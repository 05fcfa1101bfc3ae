"""Data types: aclDataType codes, their names, sizes and NumPy types."""

from __future__ import annotations

from collections.abc import Collection
from functools import cache
from typing import Any, NamedTuple

import ml_dtypes
import numpy as np

UNDEFINED, FLOAT, FLOAT16, INT8, INT32, UINT8 = -1, 0, 1, 2, 3, 4
INT16, UINT16, UINT32, INT64, UINT64, DOUBLE, BOOL, STRING = 6, 7, 8, 9, 10, 11, 12, 13
COMPLEX64, COMPLEX128, BF16, INT4, UINT1, COMPLEX32 = 16, 17, 27, 29, 30, 33
HIFLOAT8, FLOAT8_E5M2, FLOAT8_E4M3FN, FLOAT8_E8M0, FLOAT4_E2M1, FLOAT4_E1M2 = 34, 35, 36, 37, 40, 41

PAIR16 = np.dtype([("real", np.float16), ("imag", np.float16)])
"""complex32: NumPy has no such type, so it is a pair of halves."""


class DType(NamedTuple):
    """A data type: its aclDataType code, names, bits an element, and the NumPy type of an array of it (None: no arrays)."""

    code: int
    name: str
    ge: str
    bits: int
    numpy: np.dtype[Any] | None


def _dtype(code: int, name: str, ge: str, bits: int, numpy: Any = None) -> DType:
    return DType(code, name, "DT_" + ge, bits, None if numpy is None else np.dtype(numpy))


TABLE = (
    _dtype(UNDEFINED, "undefined", "UNDEFINED", 0),
    _dtype(FLOAT, "float32", "FLOAT", 32, np.float32),
    _dtype(FLOAT16, "float16", "FLOAT16", 16, np.float16),
    _dtype(INT8, "int8", "INT8", 8, np.int8),
    _dtype(INT32, "int32", "INT32", 32, np.int32),
    _dtype(UINT8, "uint8", "UINT8", 8, np.uint8),
    _dtype(INT16, "int16", "INT16", 16, np.int16),
    _dtype(UINT16, "uint16", "UINT16", 16, np.uint16),
    _dtype(UINT32, "uint32", "UINT32", 32, np.uint32),
    _dtype(INT64, "int64", "INT64", 64, np.int64),
    _dtype(UINT64, "uint64", "UINT64", 64, np.uint64),
    _dtype(DOUBLE, "float64", "DOUBLE", 64, np.float64),
    _dtype(BOOL, "bool", "BOOL", 8, np.bool_),
    _dtype(STRING, "string", "STRING", 0),
    _dtype(COMPLEX64, "complex64", "COMPLEX64", 64, np.complex64),
    _dtype(COMPLEX128, "complex128", "COMPLEX128", 128, np.complex128),
    _dtype(18, "qint8", "QINT8", 8, np.int8),
    _dtype(19, "qint16", "QINT16", 16, np.int16),
    _dtype(20, "qint32", "QINT32", 32, np.int32),
    _dtype(21, "quint8", "QUINT8", 8, np.uint8),
    _dtype(22, "quint16", "QUINT16", 16, np.uint16),
    _dtype(23, "resource", "RESOURCE", 0),
    _dtype(24, "string_ref", "STRING_REF", 0),
    _dtype(26, "variant", "VARIANT", 0),
    _dtype(BF16, "bfloat16", "BF16", 16, ml_dtypes.bfloat16),
    _dtype(INT4, "int4", "INT4", 4, np.uint8),
    _dtype(UINT1, "uint1", "UINT1", 1, np.uint8),
    _dtype(31, "int2", "INT2", 2, np.uint8),
    _dtype(32, "uint2", "UINT2", 2, np.uint8),
    _dtype(COMPLEX32, "complex32", "COMPLEX32", 32, PAIR16),
    _dtype(HIFLOAT8, "hifloat8", "HIFLOAT8", 8, np.uint8),
    _dtype(FLOAT8_E5M2, "float8_e5m2", "FLOAT8_E5M2", 8, np.uint8),
    _dtype(FLOAT8_E4M3FN, "float8_e4m3fn", "FLOAT8_E4M3FN", 8, np.uint8),
    _dtype(FLOAT8_E8M0, "float8_e8m0", "FLOAT8_E8M0", 8, np.uint8),
    _dtype(38, "float6_e3m2", "FLOAT6_E3M2", 6, np.uint8),
    _dtype(39, "float6_e2m3", "FLOAT6_E2M3", 6, np.uint8),
    _dtype(FLOAT4_E2M1, "float4_e2m1", "FLOAT4_E2M1", 4, np.uint8),
    _dtype(FLOAT4_E1M2, "float4_e1m2", "FLOAT4_E1M2", 4, np.uint8),
)
BY_CODE = {entry.code: entry for entry in TABLE}
BY_NAME = {
    **{entry.name: entry for entry in TABLE},
    **{entry.ge: entry for entry in TABLE},
    "half": BY_CODE[FLOAT16],
    "complext64": BY_CODE[COMPLEX64],  # so spelled in some prototypes
    "float": BY_CODE[FLOAT],
    "double": BY_CODE[DOUBLE],
}
ACL_SIZES = dict.fromkeys((38, 39, FLOAT4_E2M1, FLOAT4_E1M2), 8)
"""What aclDataTypeSize answers where it is not the bytes of an element."""

HALVES = frozenset({FLOAT16, BF16})
SMALL_FLOATS = frozenset({HIFLOAT8, FLOAT8_E5M2, FLOAT8_E4M3FN, FLOAT8_E8M0, FLOAT4_E2M1, FLOAT4_E1M2})
PACKED = frozenset(entry.code for entry in TABLE if 0 < entry.bits < 8)
"""Several elements a byte: such a tensor is a flat uint8 array, the first element in the lowest bits."""

FLOATS = frozenset({FLOAT, FLOAT16, BF16, DOUBLE})
COMPLEXES = frozenset({COMPLEX32, COMPLEX64, COMPLEX128})
INTEGERS = frozenset({INT8, INT16, INT32, INT64, UINT8, UINT16, UINT32, UINT64})
PLAIN = FLOATS | COMPLEXES | INTEGERS | {BOOL}
"""What NumPy can compute with, widened where it must be: the types of the permissive profile."""


def ge_name(code: int) -> str:
    """The name that messages use: ``DT_FLOAT16``; ``DT(99)`` for a code that no type has."""
    entry = BY_CODE.get(code)
    return entry.ge if entry else f"DT({code})"


def code_of(name: str) -> int:
    """The code of a name such as ``float16``, ``DT_FLOAT16`` or ``bf16``'s facts name ``bfloat16``."""
    return BY_NAME[name].code


def numpy_dtype(code: int) -> np.dtype[Any]:
    """The NumPy type of arrays of a data type; raises KeyError for a type that has no arrays (string, resource)."""
    entry = BY_CODE.get(code)
    if entry is None or entry.numpy is None:
        raise KeyError(ge_name(code))
    return entry.numpy


def has_arrays(code: int) -> bool:
    """Whether tensors of this type can be computed with here: not string, resource, variant or an unknown code."""
    entry = BY_CODE.get(code)
    return entry is not None and entry.numpy is not None


def allowed_of(codes: Collection[int]) -> tuple[int, ...]:
    """Those of a tensor's data types that it can have here: the ones with arrays; strings where it takes nothing else."""
    return tuple(code for code in codes if has_arrays(code) or set(codes) == {STRING})


@cache
def bit_type(code: int) -> np.dtype[Any]:
    """The NumPy type for kernels that only move elements: types foreign to NumPy as unsigned integers, others as they are."""
    plain = numpy_dtype(code)
    return np.dtype(f"u{plain.itemsize}") if code in HALVES or code == COMPLEX32 else plain


def is_half(code: int) -> bool:
    """Whether the type is float16 or bfloat16, which kernels see widened to float32."""
    return code in HALVES


def size_in_bytes(code: int, count: int) -> int:
    """Bytes that ``count`` densely stored elements take."""
    return (count * BY_CODE[code].bits + 7) // 8


def data_type_size(code: int) -> int:
    """What aclDataTypeSize returns: bytes an element, at least 1, 0 for types without elements."""
    entry = BY_CODE.get(code)
    if entry is None:
        return 0
    return ACL_SIZES.get(code, (entry.bits + 7) // 8)


def promote(first: int, second: int) -> int | None:
    """The type that two mixed types compute in; None if there is none (int64 with uint64).

    The higher kind of bool, integer, float, complex wins; within a kind the wider; float16 with bfloat16 gives float32.
    """
    if first == second:
        return first
    if not {first, second} <= PLAIN:
        return None
    (low, narrow), (high, wide) = sorted((_kind(code), code) for code in (first, second))
    if low != high:
        return COMPLEX128 if (narrow, high) == (DOUBLE, 3) else wide
    if low == 1:
        result = np.promote_types(numpy_dtype(first), numpy_dtype(second))
        return code_of(result.name) if result.kind in "iu" else None
    return FLOAT if {first, second} == HALVES else max(first, second, key=lambda code: BY_CODE[code].bits)


def _kind(code: int) -> int:
    """0 for bool, 1 for integers, 2 for floats, 3 for complex types."""
    return next(rank for rank, kind in enumerate(({BOOL}, INTEGERS, FLOATS, COMPLEXES)) if code in kind)


def dtype_name(code: int) -> str:
    """The short name that texts use: ``float16``."""
    entry = BY_CODE.get(code)
    return entry.name if entry else f"dtype {code}"
