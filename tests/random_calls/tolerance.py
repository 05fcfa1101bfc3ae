"""How far a result may be from the oracle, by family and dtype: ulp of the output's dtype from the value rounded once."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from hostacl.tensors import dtypes
from random_calls import values

Array = NDArray[Any]

HALF, SINGLE, LONG = (
    (dtypes.FLOAT16, dtypes.BF16, dtypes.COMPLEX32),
    (dtypes.FLOAT, dtypes.COMPLEX64),
    (dtypes.DOUBLE, dtypes.COMPLEX128),
)

EXACT = (0, 0, 0)
"""(half, single, double): data movement, integers, comparisons, and what IEEE arithmetic rounds once."""

FAMILIES: dict[str, tuple[int, int, int]] = {
    "shape_slice_concat_pad": EXACT, "index_gather_scatter": EXACT, "compare": EXACT, "logical": EXACT, "bitwise": EXACT,
    "argminmax": EXACT,
    "views": EXACT, "padding": EXACT, "diagonal": EXACT,
    "gather": EXACT, "scatter": EXACT, "format_transform": EXACT, "unique_values": EXACT,
    "segment_embedding": (1, 1, 1), "unique_nonzero": EXACT,
    "fill_range_const": EXACT, "cast_copy_assign": EXACT, "sort_topk_search": EXACT,
    "random_dropout": (1, 1, 1),
    "elementwise_binary": (1, 1, 1),
    "elementwise_unary": (1, 4, 4),
    "activation": (1, 4, 4),
    "softmax": (1, 8, 8),
    "reduce": (1, 1, 1),
    "matmul": (1, 1, 1),
    "conv": (1, 1, 1),
}  # fmt: skip
"""Sums have their bound from the oracle (Within) on top of these."""

OPERATORS: dict[str, tuple[int, int, int]] = {
    "Pow": (1, 4, 8), "Atan2": (1, 4, 4), "Xlogy": (1, 4, 4), "LogAddExp": (1, 4, 4), "Power": (1, 16, 16),
    "Sqrt": EXACT, "Abs": EXACT, "Neg": EXACT, "Relu": EXACT, "Floor": EXACT,
    "Ceil": EXACT, "Trunc": EXACT,
    "Round": EXACT, "Maximum": EXACT, "Minimum": EXACT, "Add": EXACT, "Sub": EXACT,
}  # fmt: skip
"""Operators that differ from their family. A single-precision intermediate keeps a half exact to one ulp, not to none."""

SIGNLESS = frozenset({
    "Relu", "Maximum", "Minimum", "Round", "ScatterNdMax", "ScatterNdMin", "ScatterMax", "ScatterMin", "TensorScatterMax",
    "TensorScatterMin", "SegmentMax", "SegmentMin", "UnsortedSegmentMax", "UnsortedSegmentMin",
})  # fmt: skip
"""Operators that leave the sign of a zero open."""

DEFAULT = (1, 4, 4)


def ulp(op_type: str, family: str, code: int) -> int:
    """The ulp allowed for an output of this dtype; 0 for integers and bool."""
    row = OPERATORS.get(op_type, FAMILIES.get(family, DEFAULT))
    return next((row[place] for place, codes in enumerate((HALF, SINGLE, LONG)) if code in codes), 0)


def rounded(want: Array, code: int) -> Array:
    """An exact value in its dtype: floats rounded once to nearest even, integers wrapped."""
    dtype = values.logical(code)
    if want.dtype == object and values.is_float(code):
        want = np.array([float(one) if code == dtypes.DOUBLE else _odd(int(one)) for one in want.ravel()], np.float64).reshape(
            want.shape
        )
    if code == dtypes.BF16:
        return _bfloat16(np.asarray(want, np.float64)).astype(dtype)
    if values.is_float(code):
        with np.errstate(all="ignore"):
            return np.asarray(want, np.float64).astype(dtype)
    if want.dtype == object and dtype.kind in "iu":
        bits = 8 * dtype.itemsize
        wrapped = [
            (int(one) + (1 << bits - 1)) % (1 << bits) - (1 << bits - 1) if dtype.kind == "i" else int(one) % (1 << bits)
            for one in want.ravel()
        ]
        return np.array(wrapped, dtype).reshape(want.shape)
    return want.astype(dtype)


def _odd(whole: int) -> float:
    """A Python integer as float64 rounded to odd, so that the next rounding is the only one."""
    shift = max(abs(whole).bit_length() - 53, 0)
    top = abs(whole) >> shift
    top |= bool(abs(whole) & ((1 << shift) - 1))
    return float(top << shift) * (-1 if whole < 0 else 1)


def _bfloat16(wide: Array) -> Array:
    """float64 to the nearest bfloat16, still as float32: via float32 rounded to odd, so that rounding happens once."""
    with np.errstate(all="ignore"):
        near = wide.astype(np.float32)
        bits = near.view(np.uint32).copy() if near.ndim else near.reshape(1).view(np.uint32).copy()
    flat, source, close = bits.ravel(), wide.ravel(), near.ravel().astype(np.float64)
    finite = np.isfinite(source)
    inexact = finite & (source != close)
    away = inexact & (np.abs(close) > np.abs(source))
    flat[away] -= 1
    flat[inexact] |= 1
    # round the float32 bits to their upper half, ties to even
    keep = np.isnan(source)
    out = (flat + (0x7FFF + ((flat >> 16) & 1)).astype(np.uint32)) & np.uint32(0xFFFF0000)
    out[keep] = 0x7FC00000
    return out.view(np.float32).reshape(wide.shape)


def steps(array: Array) -> Array:
    """Where each float stands in the order of all floats of its dtype, both zeros at 0: differences are ulp."""
    width = array.dtype.itemsize
    bits = np.ascontiguousarray(array).reshape(array.shape).view(f"i{width}")
    lowest = np.array(-(1 << (8 * width - 1)), bits.dtype)
    if width < 8:
        bits, lowest = bits.astype(np.int64), lowest.astype(np.int64)
    return np.where(bits < 0, lowest - bits, bits)


def wrong(op_type: str, got: Array, want: Array, code: int, allowed: int, slack: Any = 0.0) -> Array:
    """Which elements are further from the exact value than allowed."""
    if values.is_complex(code):
        eps = {dtypes.COMPLEX32: 2.0**-10, dtypes.COMPLEX64: 2.0**-23}.get(code, 2.0**-52)
        return _wrong_complex(values.exact(got, code), _in_range(want, code), eps, max(allowed, 4), slack)
    near = rounded(want, code)
    if not values.is_float(code):
        return np.asarray(got != near)
    with np.errstate(all="ignore"):
        off = np.abs(steps(got) - steps(near)) > allowed
        off &= ~(np.isnan(got) & np.isnan(near))
        off |= np.isnan(got) != np.isnan(near)
        if allowed == 0 and op_type not in SIGNLESS:
            off |= (np.signbit(got) != np.signbit(near)) & ~np.isnan(near)
        if off.any() and np.any(slack):
            off &= ~np.isposinf(slack)
            off &= ~(np.abs(got.astype(np.float64) - np.asarray(want, np.float64)) <= slack + allowed * _spacing(near))
    return np.asarray(off)


def _spacing(near: Array) -> Array:
    """The distance from a value to the next one, as float64."""
    return np.abs(np.nextafter(near, np.array(np.inf, near.dtype)).astype(np.float64) - near.astype(np.float64))


def _in_range(want: Array, code: int) -> Array:
    """Complex values whose parts overflow where the dtype's do."""
    wide = np.array(want, np.complex128)
    part = dtypes.numpy_dtype({dtypes.COMPLEX32: dtypes.FLOAT16, dtypes.COMPLEX64: dtypes.FLOAT}.get(code, dtypes.DOUBLE))
    with np.errstate(all="ignore"):
        for half in (wide.real, wide.imag):
            large = np.isinf(half.astype(part))
            half[large] = np.copysign(np.inf, half[large])
    return wide


def _wrong_complex(got: Array, want: Array, eps: float, allowed: int, slack: Any) -> Array:
    """Complex numbers by the distance relative to the expected one's size; both not finite counts as equal."""
    smallest = {2.0**-10: 2.0**-24, 2.0**-23: 2.0**-149}.get(eps, 5e-324)
    with np.errstate(all="ignore"):
        far = ~(np.abs(got - want) <= (allowed + 1) * (eps * np.abs(want) + smallest) + slack)
        return np.asarray(far & ~(~np.isfinite(got) & ~np.isfinite(want)) & ~(got == want))
