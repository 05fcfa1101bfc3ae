"""Data of tensors: random values of every dtype, the form oracles see them in, and the bytes they take in memory."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from hostacl.tensors import dtypes

Array = NDArray[Any]

SMALL = {
    dtypes.FLOAT8_E5M2: ml_dtypes.float8_e5m2, dtypes.FLOAT8_E4M3FN: ml_dtypes.float8_e4m3fn,
    dtypes.FLOAT8_E8M0: ml_dtypes.float8_e8m0fnu, dtypes.FLOAT4_E2M1: ml_dtypes.float4_e2m1fn,
}  # fmt: skip
"""Small floats that ml_dtypes knows; drawn as raw codes."""

RANGES = {dtypes.INT4: (-8, 8), dtypes.UINT1: (0, 2), 31: (-2, 2), 32: (0, 4)}


def is_float(code: int) -> bool:
    """Whether elements are real floats with an array type of their own."""
    return code in dtypes.FLOATS


def is_complex(code: int) -> bool:
    """Whether elements are complex."""
    return code in dtypes.COMPLEXES


def is_int(code: int) -> bool:
    """Whether elements are integers, whatever their name (int8, qint8, int4 …)."""
    return dtypes.has_arrays(code) and not (
        is_float(code) or is_complex(code) or code == dtypes.BOOL or code in dtypes.SMALL_FLOATS
    )


def logical(code: int) -> np.dtype[Any]:
    """The NumPy type one element is held in before it is stored; packed integers get one int8 each, a string its bytes."""
    if code == dtypes.STRING:
        return np.dtype(np.uint8)
    return np.dtype(np.int8) if code in RANGES else dtypes.numpy_dtype(code)


def draw(rng: Generator, code: int, shape: tuple[int, ...], special: bool, low: float | None, high: float | None) -> Array:
    """Random elements. ``special`` puts extremes among them; low and high bound the ordinary ones."""
    if code == dtypes.BOOL:
        return rng.integers(0, 2, shape).astype(np.bool_)
    if code in dtypes.SMALL_FLOATS:
        return rng.integers(0, 1 << dtypes.BY_CODE[code].bits, shape, dtype=np.uint8)
    if is_complex(code):
        parts = [_part(rng, code, shape, special, low, high) for _ in range(2)]
        return store_complex(*parts, code)
    return _floats(rng, code, shape, special, low, high) if is_float(code) else _ints(rng, code, shape, special, low, high)


def _part(rng: Generator, code: int, shape: tuple[int, ...], special: bool, low: float | None, high: float | None) -> Array:
    """Real or imaginary parts. Infinite ones and those that overflow are left out: what they give differs between libraries."""
    wide = draw(rng, dtypes.DOUBLE if code == dtypes.COMPLEX128 else dtypes.FLOAT16, shape, special, low, high).astype(
        np.float64
    )
    return np.where(np.abs(wide) < 1e4, wide, 1.0)


def _floats(rng: Generator, code: int, shape: tuple[int, ...], special: bool, low: float | None, high: float | None) -> Array:
    plain = rng.normal(0, 3, shape) if low is None else rng.uniform(low, high, shape)
    array = np.asarray(plain).astype(dtypes.numpy_dtype(code))
    return _sprinkle(rng, array, special_floats(code)) if special else array


def special_floats(code: int) -> Array:
    """Infinities, NaN, zeros of both signs, the largest, the smallest normal and subnormal of a float type."""
    dtype = dtypes.numpy_dtype(code)
    info = ml_dtypes.finfo(dtype)
    listed = [
        np.inf,
        -np.inf,
        np.nan,
        0.0,
        -0.0,
        info.max,
        -info.max,
        info.smallest_normal,
        info.smallest_subnormal,
        -info.smallest_subnormal,
        1,
        -1,
        0.5,
        -2,
    ]
    return np.array([float(one) for one in listed]).astype(dtype)


def _ints(rng: Generator, code: int, shape: tuple[int, ...], special: bool, low: float | None, high: float | None) -> Array:
    dtype = logical(code)
    info = np.iinfo(dtype)
    least, most = RANGES.get(code, (int(info.min), int(info.max) + 1))
    bounds = (max(least, -20), min(most, 20)) if low is None else (max(least, int(low)), min(most, int(high or 0) + 1))
    array = rng.integers(*bounds, shape, dtype=dtype)
    extremes = [least, most - 1, 0, 1, -1, most // 2]
    if dtype.itemsize == 8:  # odd ones that no float64 holds
        extremes += [2**53 + 1, 2**62 + 3, most - 3, least + 1, -(2**53) - 1, -(2**62) - 3]
    return _sprinkle(rng, array, np.array([max(least, one) for one in extremes], dtype)) if special else array


def _sprinkle(rng: Generator, array: Array, special: Array) -> Array:
    """The array with every second element (on average) replaced by a special one."""
    chosen = special[rng.integers(0, len(special), array.shape)]
    return np.where(rng.random(array.shape) < 0.5, chosen, array).astype(array.dtype)


def store_complex(real: Array, imag: Array, code: int) -> Array:
    """Complex numbers in a complex dtype; complex32 is a pair of halves."""
    if code == dtypes.COMPLEX32:
        pairs = np.empty(real.shape, dtypes.PAIR16)
        pairs["real"], pairs["imag"] = real, imag
        return pairs
    wide = np.empty(real.shape, dtypes.numpy_dtype(code))
    wide.real, wide.imag = real, imag
    return wide


class Kept(np.ndarray[Any, Any]):
    """An array that stays one without dims: NumPy makes plain Python integers of sums of 0-d object arrays."""


def exact(array: Array, code: int) -> Array:
    """What oracles see: float64, complex128, bool, or Python integers (small floats stay raw codes)."""
    if code == dtypes.COMPLEX32:
        wide = np.empty(array.shape, np.complex128)
        wide.real, wide.imag = array["real"], array["imag"]
        return wide
    if is_complex(code):
        return array.astype(np.complex128)
    if is_float(code):
        return array.astype(np.float64)
    wide = array if code == dtypes.BOOL else array.astype(object)
    return wide if wide.ndim else wide.view(Kept)


def pack(array: Array, code: int) -> Array:
    """The array as it lies in memory: flat bytes for elements of less than a byte, the first in the lowest bits."""
    if code not in dtypes.PACKED:
        return array
    bits = dtypes.BY_CODE[code].bits
    flat = array.ravel().astype(np.uint8) & ((1 << bits) - 1)
    per = 8 // bits
    padded = np.concatenate([flat, np.zeros(-len(flat) % per, np.uint8)]).reshape(-1, per)
    return np.bitwise_or.reduce(padded << (np.arange(per) * bits), axis=1).astype(np.uint8)


def unpack(stored: Array, code: int, shape: tuple[int, ...]) -> Array:
    """The elements of a stored array, one each."""
    if code not in dtypes.PACKED:
        return stored
    bits = dtypes.BY_CODE[code].bits
    parts = (stored[:, None] >> (np.arange(8 // bits) * bits)) & ((1 << bits) - 1)
    flat = parts.ravel()[: int(np.prod(shape))].astype(np.int16)
    low, high = RANGES.get(code, (0, 1 << bits))
    return np.where(flat >= high, flat - (1 << bits) if low < 0 else flat, flat).astype(logical(code)).reshape(shape)
