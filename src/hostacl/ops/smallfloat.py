"""Floats of 8 bits and less: values by table, rounding by search among them."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hostacl.tensors import dtypes

Array = NDArray[Any]

BITS = {code: dtypes.BY_CODE[code].bits for code in dtypes.SMALL_FLOATS}


@cache
def values(code: int) -> Array:
    """The float32 value of each bit pattern."""
    if code == dtypes.HIFLOAT8:
        return np.array([_hifloat8(bits) for bits in range(256)], np.float32)
    if code == dtypes.FLOAT8_E8M0:
        return np.array([2.0 ** (bits - 127) for bits in range(255)] + [np.nan]).astype(np.float32)
    exponent, mantissa, bias = {
        dtypes.FLOAT8_E5M2: (5, 2, 15), dtypes.FLOAT8_E4M3FN: (4, 3, 7),
        dtypes.FLOAT4_E2M1: (2, 1, 1), dtypes.FLOAT4_E1M2: (1, 2, 1),
    }[code]  # fmt: skip
    table = np.array([_ieee(bits, exponent, mantissa, bias) for bits in range(2 << (exponent + mantissa))], np.float32)
    return _with_specials(table, code)


def _ieee(bits: int, exponent: int, mantissa: int, bias: int) -> float:
    """A value with sign, exponent and mantissa fields and subnormals; infinities are put in later."""
    fraction = bits & ((1 << mantissa) - 1)
    power = (bits >> mantissa) & ((1 << exponent) - 1)
    sign = -1.0 if bits >> (exponent + mantissa) else 1.0
    scale = 2.0 ** (max(power, 1) - bias - mantissa)
    return sign * scale * (fraction + ((1 << mantissa) if power else 0))


def _with_specials(table: Array, code: int) -> Array:
    """Infinity and NaN of the formats that have them."""
    if code == dtypes.FLOAT8_E5M2:
        table[0x7C], table[0xFC] = np.inf, -np.inf
        table[0x7D:0x80] = table[0xFD:] = np.nan
    elif code == dtypes.FLOAT8_E4M3FN:
        table[0x7F] = table[0xFF] = np.nan
    return table


def _hifloat8(bits: int) -> float:
    """HiFloat8: a sign, a dot field of variable length that gives the exponent's width, a signed exponent, a mantissa."""
    sign, rest = (-1.0 if bits & 0x80 else 1.0), bits & 0x7F
    if rest == 0:
        return float("nan") if bits else 0.0
    if rest == 0x6F:
        return sign * float("inf")
    if rest < 8:  # 0000: no exponent, the mantissa is one
        return float(sign * 2.0 ** (rest - 23))
    width, left = next((w, n) for w, mark, n in ((4, 3, 5), (3, 2, 5), (2, 1, 5), (1, 1, 4), (0, 1, 3)) if rest >> n == mark)
    field = rest & ((1 << left) - 1)
    mantissa = left - width
    fraction = field & ((1 << mantissa) - 1)
    return float(sign * 2.0 ** _signed(field >> mantissa, width) * (1 + fraction / (1 << mantissa)))


def _signed(field: int, width: int) -> int:
    """An exponent of sign and magnitude, whose leading one is hidden."""
    if width == 0:
        return 0
    magnitude = (1 << (width - 1)) | (field & ((1 << (width - 1)) - 1))
    return -magnitude if field >> (width - 1) else magnitude


def decode(array: Array, code: int) -> Array:
    """The float32 values of an array of bit patterns."""
    wide: Array = values(code)[array]
    return wide


@cache
def _positive(code: int) -> tuple[Array, Array]:
    """The finite values that are not negative, in order, and their bit patterns."""
    table = values(code).astype(np.float64)
    half = len(table) if code == dtypes.FLOAT8_E8M0 else len(table) // 2
    patterns = [bits for bits in range(half) if np.isfinite(table[bits])]
    patterns.sort(key=lambda bits: float(table[bits]))
    return table[patterns], np.array(patterns, np.uint8)


def encode(value: Array, code: int, saturate: bool) -> Array:
    """Bit patterns of the nearest values: ties to even, hifloat8 away from zero.

    Beyond the largest: infinity or NaN where the format has one, else (and with ``saturate``) the largest. NaN: itself, else 0.
    """
    wide = np.asarray(value).astype(np.float64)
    finite, patterns = _positive(code)
    size = np.abs(wide)
    middles = (finite[:-1] + finite[1:]) / 2
    high = np.searchsorted(middles, size, side="right")  # ties go up
    low = np.searchsorted(middles, size, side="left")
    tie_down = (high != low) & (patterns[high] & 1 == 1) & (code != dtypes.HIFLOAT8)
    bits = patterns[np.where(tie_down, low, high)]
    bits = np.where(size >= _overflow_from(code, finite), _overflow(code, patterns, saturate), bits).astype(np.uint8)
    if code != dtypes.FLOAT8_E8M0:
        bits |= np.where(np.signbit(wide) & ~((code == dtypes.HIFLOAT8) & (bits == 0)), 1 << (BITS[code] - 1), 0).astype(
            np.uint8
        )
    return np.where(np.isnan(wide), _nan(code, saturate), bits).astype(np.uint8)


def _overflow_from(code: int, finite: Array) -> float:
    """From where on a value is no longer rounded to the largest finite one."""
    step = finite[-1] - finite[-2]
    return float(finite[-1] + step / 2)


def _overflow(code: int, patterns: Array, saturate: bool) -> int:
    infinite = {dtypes.FLOAT8_E5M2: 0x7C, dtypes.HIFLOAT8: 0x6F, dtypes.FLOAT8_E4M3FN: 0x7F}
    return int(patterns[-1]) if saturate or code not in infinite else infinite[code]


def _nan(code: int, saturate: bool) -> int:
    nans = {dtypes.FLOAT8_E5M2: 0x7E, dtypes.FLOAT8_E4M3FN: 0x7F, dtypes.HIFLOAT8: 0x80, dtypes.FLOAT8_E8M0: 0xFF}
    return 0 if saturate else nans.get(code, 0)


def unpack(array: Array, count: int, bits: int, signed: bool) -> Array:
    """``count`` elements of fewer than 8 bits out of packed bytes, the first in the lowest bits, as one byte each."""
    flat = array.reshape(-1).view(np.uint8)
    shifts = np.arange(0, 8, bits, dtype=np.uint8)
    fields = ((flat[:, None] >> shifts) & ((1 << bits) - 1)).reshape(-1)[:count]
    return ((fields << (8 - bits)).view(np.int8) >> (8 - bits)) if signed else fields


def pack(fields: Array, bits: int) -> Array:
    """Bytes that hold the lowest ``bits`` of each element, the first in the lowest bits."""
    per = 8 // bits
    flat = fields.reshape(-1).astype(np.uint8) & ((1 << bits) - 1)
    padded = np.zeros(-(-flat.size // per) * per, np.uint8)
    padded[: flat.size] = flat
    shifted = padded.reshape(-1, per) << np.arange(0, 8, bits, dtype=np.uint8)
    joined: Array = np.bitwise_or.reduce(shifted, axis=1).astype(np.uint8)
    return joined
