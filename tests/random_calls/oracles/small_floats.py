"""Values of the small floats, from their published layouts."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

from hostacl.tensors import dtypes
from random_calls.values import SMALL

DOTS = (("11", 4), ("10", 3), ("01", 2), ("001", 1), ("0001", 0))
"""HiFloat8: the dot field's code and the exponent width it stands for; 0000 marks the smallest numbers."""


@cache
def table(code: int) -> Any:
    """The float64 value of each bit pattern."""
    if code == dtypes.FLOAT4_E1M2:
        return np.array([sign * step / 4 for sign in (1.0, -1.0) for step in range(8)])
    if code == dtypes.HIFLOAT8:
        return np.array([_hifloat8(f"{bits:08b}") for bits in range(256)])
    count = 16 if code == dtypes.FLOAT4_E2M1 else 256
    return np.arange(count, dtype=np.uint8).view(SMALL[code]).astype(np.float64)


def _hifloat8(bits: str) -> float:
    sign, rest = (-1.0 if bits[0] == "1" else 1.0), bits[1:]
    if bits in {"00000000", "10000000"}:
        return 0.0 if sign > 0 else float("nan")
    if rest == "1101111":
        return sign * float("inf")
    for mark, width in DOTS:
        if rest.startswith(mark):
            field = rest[len(mark) :]
            exponent, mantissa = field[:width], field[width:]
            size = int("1" + exponent[1:], 2) if width else 0
            power = -size if width and exponent[0] == "1" else size
            return sign * 2.0**power * (1 + (int(mantissa, 2) / 2 ** len(mantissa) if mantissa else 0))
    return sign * 2.0 ** (int(rest, 2) - 23)


def decoded(raw: Any, code: int) -> Any:
    """The values of raw codes."""
    return table(code)[np.asarray(raw, np.int64)]


def same(raw: Any, wanted: Any, code: int) -> bool:
    """Whether raw codes hold these float64 values, rounded to the nearest, as ml_dtypes does where it knows the type."""
    got = decoded(raw, code)
    with np.errstate(all="ignore"):
        if code in SMALL:
            single = np.asarray(wanted, np.float64).astype(np.float32)
            near = single.astype(SMALL[code]).astype(np.float64)
        else:
            near = _nearest(np.asarray(wanted, np.float64), table(code), code == dtypes.HIFLOAT8)
    return bool(np.array_equal(got, near, equal_nan=True))


def _nearest(wanted: Any, values: Any, away: bool) -> Any:
    """The nearest value; at a tie the one of the even code, or the larger. Without NaN and infinity: 0 and the largest."""
    finite, result = np.flatnonzero(np.isfinite(values)), np.empty(wanted.shape)
    largest, endless = values[finite].max(), bool(np.isinf(values).any())
    step = largest - np.sort(values[finite])[-2]
    for place in np.ndindex(wanted.shape):
        one = wanted[place]
        if np.isnan(one):
            result[place] = np.nan if np.isnan(values).any() else 0
        elif abs(one) >= largest + step / 2:
            result[place] = np.copysign(np.inf if endless else largest, one)
        else:
            distance = np.abs(values[finite] - one)
            closest = finite[distance == distance.min()]
            result[place] = (
                max(values[closest], key=abs)
                if away
                else values[next((index for index in closest if index % 2 == 0), closest[0])]
            )
    return result
