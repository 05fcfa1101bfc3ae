"""Special functions that NumPy lacks: erf, erfc and its inverse, for whole arrays in float64."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]

BLOCK = 16384
"""Elements worked on at a time, so that all temporaries stay in the cache."""

ERF = (
    1.1283791670955126, -0.37612638903183754, 0.1128379167095512, -0.02686617064512984, 0.0052239776254232985,
    -0.000854832702193483, 0.00012055332902888736, -1.4925647567519332e-05, 1.6462045441468418e-06, -1.6364642158167616e-07,
    1.4792401209404813e-08, -1.216456005728345e-09, 8.709045129053106e-11, -4.230945824295338e-12,
)  # fmt: skip
"""erf(x)/x on [-1, 1] as a polynomial in x², interpolated at Chebyshev points with 60 digits."""

ERFCX = (
    1.2620296571816205, -0.09446340421414476, -0.057188123410173215, 0.05289675074772185, -0.01653640801603663,
    -0.0001675784179480414, 0.001416888255663808, -5.69532779085009e-05, -0.00014890091039185857, -2.5458046362161413e-06,
    1.7896472664462064e-05, 2.9395730471871417e-06, -1.915247386918477e-06, -8.339084989519703e-07, 8.287294987717783e-08,
    1.529254120057226e-07, 3.236274359052321e-08, -1.54624841158937e-08, -1.0999745091994242e-08, -9.275627758576919e-10,
    1.7141058283175707e-09, 6.365327885591473e-10, -9.595649766830755e-11, -8.234945113712022e-11, -7.025206398611484e-12,
)  # fmt: skip
"""(1+2x)·exp(x²)·erfc(x) on [0.5, 28] as a polynomial in s; (x-2)/(x+2) runs over [-0.6, 13/15] as s over [-1, 1]."""


ERF_LOG = (
    1.1283791709032098, 0.6366195673647472, 0.1027733609488204, -0.019121386031572884, -0.0002581503947929576,
    0.0018230307229505941, -0.0007718797463488646, 0.00018809217637329965, -2.8743581765999872e-05, 2.558765059841142e-06,
    -1.0139772735684631e-07,
)  # fmt: skip
"""-log(erfc(x))/x on [0, 4] as a polynomial in x, good enough for float32; erf(4) rounds to 1 there."""


def polynomial(coefficients: Sequence[float], x: Array) -> Array:
    """A polynomial's value, lowest coefficient first, by Horner's rule."""
    total = np.full_like(x, coefficients[-1])
    for one in coefficients[-2::-1]:
        total *= x
        total += one
    return total


def _tail(x: Array) -> Array:
    """erfc for x in [0.5, 28]; exp(-x²) is split so that the square's rounding does not count."""
    s = ((x - 2) / (x + 2) + 0.6) * (15 / 11) - 1
    scaled = polynomial(ERFCX, s) / (1 + 2 * x)
    head = x.astype(np.float32).astype(np.float64)
    result: Array = np.exp(-head * head) * np.exp((head - x) * (head + x)) * scaled
    return result


def _erf(x: Array) -> Array:
    size = np.abs(x)
    near = np.minimum(size, 1)
    inside = near * polynomial(ERF, near * near)
    result = np.where(size <= 1, inside, 1 - _tail(np.clip(size, 0.5, 28)))
    return np.copysign(np.where(np.isnan(x), x, result), x)


def _erf_single(x: Array) -> Array:
    """erf within 4 ulp of float32, in float32."""
    size = np.minimum(np.abs(x), np.float32(4))
    return np.copysign(-np.expm1(-size * polynomial(ERF_LOG, size)), x)


def _erfc(x: Array) -> Array:
    size = np.abs(x)
    near = np.minimum(size, 0.5)
    tail = _tail(np.clip(size, 0.5, 28))
    result = np.where(size <= 0.5, 1 - np.copysign(near * polynomial(ERF, near * near), x), np.where(x > 0, tail, 2 - tail))
    return np.where(np.isnan(x), x, result)


def _erfinv(x: Array) -> Array:
    """By Winitzki's closed form and two steps of Halley's rule, on the complement where |x| is near 1."""
    size = np.minimum(np.abs(x), np.nextafter(1, 0))
    log = np.log1p(-size * size)
    half = 2 / (np.pi * 0.147) + log / 2
    y = np.sqrt(np.sqrt(half * half - log / 0.147) - half)
    for _ in range(3):
        error = np.where(size < 0.5, _erf(y) - size, (1 - size) - _erfc(y))
        step = error * (np.sqrt(np.pi) / 2) * np.exp(y * y)
        y = y - step / (1 + y * step)
    inside = np.where(np.abs(x) == 1, np.inf, np.where(np.abs(x) > 1, np.nan, y))
    return np.where(np.isnan(x), x, np.copysign(inside, x))


def blockwise(function: Any, x: Array, wide: Any = np.float64) -> Array:
    """A function of float64 (or ``wide``) applied block by block; float32 stays float32."""
    dtype = x.dtype if x.dtype.kind == "f" else np.dtype(np.float64)
    result = np.empty(x.shape, dtype)
    flat, out = np.ascontiguousarray(x).reshape(-1), result.reshape(-1)
    with np.errstate(all="ignore"):
        for start in range(0, flat.size, BLOCK):
            out[start : start + BLOCK] = function(flat[start : start + BLOCK].astype(wide, copy=False))
    return result


def erf(x: Array) -> Array:
    """The error function, within 2 ulp in float64, 4 in float32."""
    return blockwise(_erf_single, x, np.float32) if x.dtype == np.float32 else blockwise(_erf, x)


def erfc(x: Array) -> Array:
    """1 - erf(x) without cancellation, within 4 ulp of float64."""
    return blockwise(_erfc, x)


def erfinv(x: Array) -> Array:
    """The inverse of erf: ±Inf at ±1, NaN beyond."""
    return blockwise(_erfinv, x)
