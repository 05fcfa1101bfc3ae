"""Functions of one tensor: float64 through other identities than the kernels' own calls."""

from __future__ import annotations

import cmath
import math
import sys
from typing import Any

import numpy as np
import scipy.special

from hostacl.tensors import dtypes
from random_calls import values
from random_calls.dice import Dice
from random_calls.oracle import Within, oracle, shapes

ATTRIBUTES_COUNT = (dtypes.FLOAT, dtypes.FLOAT16, dtypes.BF16)
"""Exp and Log heed base, scale and shift for these."""


def is_whole(x: Any) -> bool:
    return bool(x.dtype == object)


@oracle("Abs")
def absolute(x: Any) -> Any:
    return np.where(x < 0, -x, x) if is_whole(x) else np.copysign(x, 1.0)


@oracle("Neg")
def negative(x: Any) -> Any:
    return 0 - x if is_whole(x) else x * -1


@oracle("Sqrt")
def square_root(x: Any) -> Any:
    if np.iscomplexobj(x):
        return np.emath.sqrt(x)
    return np.where(x < 0, np.nan, np.where(x == 0, x, np.sqrt(np.abs(x))))


@shapes("Exp", "Log")
def affine_attributes(d: Dice) -> None:
    """One tensor, with base, scale and shift where they count."""
    positive = (0.01, 9) if d.prototype.op_type == "Log" and not values.is_complex(d.dtype) else (-6, 6)
    d.tensor("x", d.shape(), *positive)
    for name, choices in (("base", (2.0, 10.0)), ("scale", (0.5, 2.0)), ("shift", (0.25, 1.0))):
        d.attr(name, *(choices if d.dtype in ATTRIBUTES_COUNT else (d.prototype.attrs[name].default,)))
    if not (values.is_float(d.dtype) or values.is_complex(d.dtype)):
        d.output("y", dtypes.FLOAT)


@oracle("Exp")
def exponential(x: Any, base: float, scale: float, shift: float) -> Any:
    argument = scale * x + shift
    if base != -1:
        argument = argument * np.log(base)
    if np.iscomplexobj(argument):
        return np.exp(argument.real) * (np.cos(argument.imag) + 1j * np.sin(argument.imag))
    result = np.power(np.e, argument.astype(np.longdouble)).astype(np.float64)
    if (base, scale, shift) == (-1, 1, 0):
        return result
    finite = np.where(np.isfinite(result), np.abs(result), 0)
    return Within(result, finite * (np.where(np.isfinite(argument), np.abs(argument), 0) + abs(shift) + 1) * 2.0**-22)


@oracle("Log")
def logarithm(x: Any, base: float, scale: float, shift: float) -> Any:
    wide = x.astype(np.float64) if is_whole(x) or x.dtype == bool else x
    argument = wide if (scale, shift) == (1, 0) else scale * wide + shift
    if np.iscomplexobj(argument):
        parts = np.stack([argument.real, argument.imag]).astype(np.longdouble)  # subnormal ones have their digits there
        return np.log(np.hypot(*parts)).astype(np.float64) + 1j * np.arctan2(argument.imag, argument.real)
    result = np.log2(argument) * (np.log(2) if base == -1 else 1 / np.log2(base))
    lost = np.where(np.isfinite(argument) & (argument > 0), (np.abs(scale * wide) + abs(shift)) / argument, 0)
    lost = lost * (0 if (scale, shift) == (1, 0) else 2.0**-23)
    return Within(result, np.nan_to_num(lost + (0 if base == -1 else np.abs(result) * 2.0**-22), posinf=0, neginf=0) + 2e-16)


@shapes("Power")
def powering(d: Dice) -> None:
    """One tensor and three float attributes."""
    d.tensor("x", d.shape(), 0.1, 4)
    d.attr("power", 2.0, 0.5, -1.0, 3.0)
    d.attr("scale", 0.5, 2.0)
    d.attr("shift", 0.25, 1.0)


@oracle("Power")
def caffe_power(x: Any, power: float, scale: float, shift: float) -> Any:
    base = x if (scale, shift) == (1, 0) else x * scale + shift  # so that -0 stays -0
    return np.power(base.astype(np.longdouble), power).astype(np.float64)


@oracle("Cos")
def cosine(x: Any) -> Any:
    return np.exp(1j * x).real if not np.iscomplexobj(x) else by_python(math.cos, cmath.cos)(x)


@oracle("Sin")
def sine(x: Any) -> Any:
    return np.exp(1j * x).imag if not np.iscomplexobj(x) else by_python(math.sin, cmath.sin)(x)


@oracle("Floor")
def floor(x: Any) -> Any:
    whole = np.trunc(x)
    return np.where(x < whole, whole - 1, whole)


@oracle("Reciprocal")
def reciprocal(x: Any) -> Any:
    return _inverse_whole(x) if is_whole(x) else 1 / x


@shapes("Inv")
def inverting(d: Dice) -> None:
    """One tensor; outputs of integers and floats are of the input's type."""
    d.tensor("x", d.shape())
    d.output("y", d.dtype)


@oracle("Inv")
def inverse(x: Any) -> Any:
    return _inverse_whole(x) if is_whole(x) else 1 / x


def _inverse_whole(x: Any) -> Any:
    """1/x of integers toward zero; 1/0 is 0."""
    return np.frompyfunc(lambda one: one if one in (1, -1) else 0, 1, 1)(x)


@shapes("Round")
def rounding(d: Dice) -> None:
    """One tensor and a number of decimals."""
    d.tensor("x", d.shape(), -200, 200)
    d.attr("decimals", *((0, -1, -2) if values.is_int(d.dtype) else (0, 1, 2, -1, -2)))


@oracle("Round")
def round_half_even(x: Any, decimals: int | None) -> Any:
    if is_whole(x):
        return np.frompyfunc(lambda one: round(one, decimals), 1, 1)(x) if decimals else x
    if decimals:
        factor = 10.0 ** abs(decimals)
        return round_half_even(x * factor, 0) / factor if decimals > 0 else round_half_even(x / factor, 0) * factor
    return _nearest(x.real) + 1j * _nearest(x.imag) if np.iscomplexobj(x) else _nearest(x)


def _nearest(x: Any) -> Any:
    """The nearest integer, the even one of two."""
    low = np.floor(x)
    rest = x - low
    up = (rest > 0.5) | ((rest == 0.5) & (np.mod(low, 2) == 1))
    return np.copysign(np.where(np.isfinite(x), low + up, x), x)


@oracle("Ceil")
def ceil(x: Any) -> Any:
    whole = np.trunc(x)
    return np.where(x > whole, whole + 1, whole)


@oracle("Trunc")
def trunc(input_x: Any) -> Any:
    if is_whole(input_x):
        return input_x
    return np.copysign(input_x - np.where(np.isfinite(input_x), np.fmod(input_x, 1), 0), input_x)


@oracle("Square")
def square(x: Any) -> Any:
    return x**2


@oracle("Rsqrt")
def rsqrt(x: Any) -> Any:
    if np.iscomplexobj(x):
        return 1 / np.emath.sqrt(x)
    root = np.copysign(np.power(np.abs(x), -0.5), x)  # -Inf at -0
    return np.where(x < 0, np.nan, root)


@oracle("Sign")
def sign(x: Any) -> Any:
    if is_whole(x):
        return np.frompyfunc(lambda one: (one > 0) - (one < 0), 1, 1)(x)
    if np.iscomplexobj(x):
        return np.where(x == 0, 0, np.exp(1j * np.angle(x)) * np.where(np.isfinite(x), 1, np.nan))
    return np.where(np.isnan(x) | (x == 0), x * 1, np.copysign(1, x)) + 0.0


def by_python(plain: Any, complicated: Any = None) -> Any:
    """A function of Python's math and cmath for each element; what they refuse is NaN, what overflows is infinite."""

    def one(value: Any) -> Any:
        try:
            return complicated(value) if isinstance(value, complex) else plain(value)
        except ValueError:
            return complex(np.nan, np.nan) if isinstance(value, complex) else np.nan
        except OverflowError:
            return complex(np.inf, np.inf) if isinstance(value, complex) else np.inf

    def run(x: Any) -> Any:
        kind = np.complex128 if np.iscomplexobj(x) else np.float64
        result = np.array([one(value) for value in np.ravel(x).tolist()], kind).reshape(x.shape)
        return _cut_off(result) if is_whole(x) else result

    return run


def _cut_off(x: Any) -> Any:
    """Floats as integers: toward zero, NaN 0."""
    return np.array([0 if math.isnan(one) else int(one) for one in x.ravel().tolist()], object).reshape(x.shape)


def declare(name: str, plain: Any, complicated: Any) -> None:
    """An operator that Python has a function for."""
    function = by_python(plain, complicated)

    @oracle(name)
    def run(x: Any) -> Any:
        return function(x)


declare("Acos", math.acos, cmath.acos)
declare("Asin", math.asin, cmath.asin)
declare("Atan", math.atan, cmath.atan)
declare("Tan", math.tan, cmath.tan)
declare("Acosh", math.acosh, cmath.acosh)
declare("Asinh", math.asinh, cmath.asinh)
declare("Cosh", math.cosh, cmath.cosh)


@oracle("Sinh")
def sinh(x: Any) -> Any:
    if np.iscomplexobj(x):
        return by_python(math.sinh, cmath.sinh)(x)
    return np.copysign(by_python(lambda one: math.sinh(abs(one)))(x), x)


@oracle("Atanh")
def atanh(x: Any) -> Any:
    if np.iscomplexobj(x):
        return by_python(math.atanh, cmath.atanh)(x)
    return np.where(np.abs(x) == 1, np.copysign(np.inf, x), by_python(math.atanh)(x))


@oracle("Log1p")
def log1p(x: Any) -> Any:
    if np.iscomplexobj(x):
        return scipy.special.log1p(x)
    return np.where(x == -1, -np.inf, by_python(math.log1p)(x))


@oracle("Expm1")
def expm1(x: Any) -> Any:
    return scipy.special.expm1(x) if np.iscomplexobj(x) else by_python(math.expm1)(x)


@oracle("Erf")
def erf(x: Any) -> Any:
    return by_python(math.erf)(x)


@oracle("Erfc")
def erfc(x: Any) -> Any:
    return by_python(math.erfc)(x)


@shapes("Erfinv")
def within_one(d: Dice) -> None:
    """One tensor, mostly between -1 and 1."""
    d.tensor("input_x", d.shape(), -1, 1)


@oracle("Erfinv")
def erfinv(input_x: Any) -> Any:
    return scipy.special.erfinv(input_x)


@oracle("IsFinite")
def is_finite(x: Any) -> Any:
    return x - x == 0


@oracle("IsInf")
def is_inf(x: Any) -> Any:
    return np.abs(x) > sys.float_info.max


@oracle("IsNan")
def is_nan(x: Any) -> Any:
    return ~((x <= 0) | (x >= 0))


@shapes("NanToNum")
def replacing(d: Dice) -> None:
    """One tensor and what replaces NaN and the infinities."""
    d.tensor("x", d.shape())
    for name, choices in (("nan", (0.0, 1.5)), ("posinf", (7.0, 65504.0)), ("neginf", (-7.0, -65504.0))):
        d.attr(name, *choices)


@oracle("NanToNum")
def nan_to_num(x: Any, nan: float, posinf: float, neginf: float) -> Any:
    given = {np.inf: posinf, -np.inf: neginf}
    return by_python(lambda one: nan if math.isnan(one) else given.get(one, one))(x)


@shapes("Complex")
def making_complex(d: Dice) -> None:
    """Two parts that broadcast."""
    first, second = d.shapes_that_broadcast(2)
    d.tensor("real", first)
    d.tensor("imag", second)
    d.output("out", dtypes.COMPLEX128 if d.dtype == dtypes.DOUBLE else dtypes.COMPLEX64)


@oracle("Complex")
def complex_(real: Any, imag: Any) -> Any:
    return np.asarray(np.frompyfunc(complex, 2, 1)(real, imag)).astype(np.complex128)


@shapes("Real", "Imag")
def parting(d: Dice) -> None:
    """A complex tensor."""
    d.tensor("input", d.shape())
    d.output("output", dtypes.DOUBLE if d.dtype == dtypes.COMPLEX128 else dtypes.FLOAT)


@oracle("Real")
def real(input: Any) -> Any:
    return np.array([one.real for one in input.ravel().tolist()]).reshape(input.shape)


@oracle("Imag")
def imag(input: Any) -> Any:
    return np.array([one.imag for one in input.ravel().tolist()]).reshape(input.shape)
