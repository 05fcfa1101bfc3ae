"""Arithmetic of two tensors: exact integers, floats in float64 by other formulas than the kernels' own where there are any."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np

from hostacl.tensors import dtypes
from random_calls import values
from random_calls.dice import Dice
from random_calls.oracle import Within, oracle, shapes

FLOATS = (dtypes.FLOAT, dtypes.FLOAT16, dtypes.BF16)


@shapes("Add", "Mul", "AddV2")
def promoting(d: Dice) -> None:
    """Two tensors that broadcast; now and then a half beside float32, which gives float32."""
    first, second = d.shapes_that_broadcast(2)
    codes = [d.dtype, d.dtype]
    if d.wants("mixed dtypes", d.dtype in FLOATS):
        codes[1] = dtypes.FLOAT if d.dtype != dtypes.FLOAT else int(d.choose(*(one for one in FLOATS[1:] if one in d.prototype.inputs[0].allowed)))
        d.output("y", dtypes.FLOAT)
        codes = codes if d.chance() else codes[::-1]
    d.tensor("x1", first, dtype=codes[0])
    d.tensor("x2", second, dtype=codes[1])


@oracle("Add", "AddV2")
def add(x1: Any, x2: Any) -> Any:
    return x1 | x2 if x1.dtype == bool else x2 - (-x1)


@oracle("Sub")
def sub(x1: Any, x2: Any) -> Any:
    return x1 + (-x2)


@oracle("Mul")
def mul(x1: Any, x2: Any) -> Any:
    return x1 & x2 if x1.dtype == bool else np.multiply(x2, x1)


def whole(function: Any, x1: Any, x2: Any) -> Any:
    """A function of two Python integers over arrays of them that broadcast."""
    return np.frompyfunc(function, 2, 1)(x1, x2)


def is_whole(x: Any) -> bool:
    """Whether these are Python integers."""
    return bool(x.dtype == object)


@shapes("Div", "RealDiv", "FloorDiv", "DivNoNan", "FloorMod", "Mod")
def dividing(d: Dice) -> None:
    """Two tensors that broadcast, zeros among the divisors of integers."""
    first, second = d.shapes_that_broadcast(2)
    d.tensor("x1", first)
    d.tensor("x2", second)


@oracle("Div")
def div(x1: Any, x2: Any) -> Any:
    return whole(lambda a, b: a // b if b else 0, x1, x2) if is_whole(x1) else x1 / x2


@oracle("RealDiv")
def real_div(x1: Any, x2: Any) -> Any:
    return whole(lambda a, b: (abs(a) // abs(b)) * (1 if (a < 0) == (b < 0) else -1) if b else 0, x1, x2) if is_whole(x1) else x1 / x2


@oracle("Maximum")
def maximum(x1: Any, x2: Any) -> Any:
    return np.where(np.not_equal(x2, x2) | np.less(x1, x2), x2, x1)


@oracle("Minimum")
def minimum(x1: Any, x2: Any) -> Any:
    return np.where(np.not_equal(x2, x2) | np.less(x2, x1), x2, x1)


@shapes("Pow")
def raising(d: Dice) -> None:
    """Bases and exponents that broadcast; integer exponents stay small but for the special values."""
    first, second = d.shapes_that_broadcast(2)
    code = d.dtype
    if d.wants("mixed dtypes", code in FLOATS):
        code = dtypes.FLOAT if code != dtypes.FLOAT else int(d.choose(dtypes.FLOAT16, dtypes.BF16))
        d.output("y", dtypes.FLOAT)
    d.tensor("x1", first, *((-9, 9) if values.is_int(d.dtype) or values.is_complex(d.dtype) else (0.05, 5)))
    d.tensor("x2", second, *((-3, 9) if values.is_int(d.dtype) else (-4, 4)), dtype=code)


@oracle("Pow")
def power(x1: Any, x2: Any, dice: Dice) -> Any:
    if is_whole(x1):
        return whole(_integer_power, x1, x2)
    if not np.iscomplexobj(x1):
        return np.exp2(x2 * np.log2(x1.astype(np.longdouble))).astype(np.float64) if np.all(x1 > 0) else np.power(x1, x2)
    result, exponent = np.power(x1, x2), x2 * np.log(np.abs(x1) + 1e-300)  # which is held in single precision, and the angle too
    wide = np.nan_to_num(np.abs(result) * (np.abs(exponent) + 4 * np.abs(x2) + 1), posinf=0, nan=0)
    return Within(result, wide * 2.0 ** (-50 if dice.dtype == dtypes.COMPLEX128 else -21))


def _integer_power(base: int, exponent: int) -> int:
    """Modulo 2^64, so that large exponents end; what is left of a fraction is 1 or -1 for those bases, else 0."""
    if exponent >= 0:
        return pow(base, exponent, 1 << 64)
    return {1: 1, -1: -1 if exponent % 2 else 1}.get(base, 0)


# --- a scalar attribute ---


@shapes("Muls", "Adds")
def with_scalar(d: Dice) -> None:
    """One tensor and a float attribute."""
    d.tensor("x", d.shape())
    d.attr("value", 0.5, -2.0, 3.0, 1.0, 0.0)


@oracle("Muls")
def muls(x: Any, value: float, dice: Dice) -> Any:
    """Integers: the product in float32, then back toward zero."""
    return _to_integers(x.astype(np.float32) * np.float32(value), dice) if is_whole(x) else x * value


@oracle("Adds")
def adds(x: Any, value: float, dice: Dice) -> Any:
    """Integers: the exact sum, then toward zero; what is out of range the nearest bound."""
    return _to_integers(np.frompyfunc(lambda one: one + Fraction(value), 1, 1)(x), dice) if is_whole(x) else x + value


def _to_integers(x: Any, dice: Dice) -> Any:
    info = np.iinfo(values.logical(dice.dtype))
    return np.frompyfunc(lambda one: min(max(math.trunc(one), int(info.min)), int(info.max)), 1, 1)(np.asarray(x))


@oracle("FloorDiv")
def floor_div(x1: Any, x2: Any, dice: Dice) -> Any:
    """Floats: the quotient is rounded to the computing type first, which decides between 2.9999999 and 3."""
    if is_whole(x1):
        return whole(lambda a, b: a // b if b else 0, x1, x2)
    quotient = x1 / x2
    if dice.dtype in FLOATS:
        quotient = quotient.astype(np.float32).astype(np.float64)
    return np.floor(quotient.real) + 1j * np.floor(quotient.imag) if np.iscomplexobj(quotient) else np.floor(quotient)


@oracle("FloorMod")
def floor_mod(x1: Any, x2: Any) -> Any:
    if is_whole(x1):
        return whole(lambda a, b: a - a // b * b if b else a, x1, x2)
    rest = np.fmod(x1, x2)
    return np.where((rest != 0) & (np.signbit(rest) != np.signbit(x2)), rest + x2, rest)


@oracle("DivNoNan")
def div_no_nan(x1: Any, x2: Any) -> Any:
    if is_whole(x1):
        return whole(lambda a, b: (abs(a) // abs(b)) * (1 if (a < 0) == (b < 0) else -1) if b else 0, x1, x2)
    return np.where(x2 == 0, 0, x1 / x2)


@shapes("ClipByValue")
def clipping(d: Dice) -> None:
    """A tensor and two bounds that broadcast to its shape."""
    low, high, full = d.shapes_that_broadcast(3)
    full = np.broadcast_shapes(low, high, full)
    d.tensor("x", full)
    d.tensor("clip_value_min", d.choose(low, ()), -4, 0)
    d.tensor("clip_value_max", d.choose(high, ()), 0, 4)


@oracle("ClipByValue")
def clip_by_value(x: Any, clip_value_min: Any, clip_value_max: Any) -> Any:
    above = np.where(np.isnan(x) | (x > clip_value_min), x, clip_value_min) if not is_whole(x) else whole(max, x, clip_value_min)
    return np.where(np.isnan(above) | (above < clip_value_max), above, clip_value_max) if not is_whole(x) else whole(min, above, clip_value_max)


@shapes("AddMatMatElements")
def add_mat_mat(d: Dice) -> None:
    """Three matrices of one shape and two scalars."""
    shape = d.shape(1)
    for name in ("c", "a", "b"):
        d.tensor(name, shape)
    for name in ("beta", "alpha"):
        d.tensor(name, d.choose((), (1,)), -2, 2)


@oracle("AddMatMatElements")
def add_mat_mat_elements(c: Any, a: Any, b: Any, beta: Any, alpha: Any) -> Any:
    products = alpha.ravel()[0] * a * b
    scaled = beta.ravel()[0] * c
    return Within(products + scaled, (np.abs(products) + np.abs(scaled)) * 2.0**-22)


@shapes("AddRowRanges")
def row_ranges(d: Dice) -> None:
    """Rows, sources and a first and last source for each row."""
    rows, columns, sources = d.int(1, d.limit), d.int(1, d.limit), d.int(1, 6)
    if d.wants("empty"):
        columns = 0
    if d.wants("one element"):
        rows = columns = sources = 1
    d.tensor("x", (rows, columns))
    d.tensor("src", (sources, columns))
    starts = [d.int(0, sources) for _ in range(rows)]
    d.tensor("indices", np.array([[start, d.int(start, sources)] for start in starts]).reshape(rows, 2))


@oracle("AddRowRanges")
def add_row_ranges(x: Any, src: Any, indices: Any) -> Any:
    total, size = x.copy(), np.abs(x)
    for row, (first, last) in enumerate(indices):
        for source in range(first, last):
            total[row] += src[source]
            size[row] += np.abs(src[source])
    return Within(total, size * (len(src) + 1) * 2.0**-24)
