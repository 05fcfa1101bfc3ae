"""Functions of one tensor, element by element: rounding, powers, logarithms, trigonometry, tests for NaN."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hostacl import _kernels
from hostacl.ops import special
from hostacl.ops.call import Call
from hostacl.ops.declare import direct_unary, floats_by, unary, with_attributes
from hostacl.ops.elementwise import float_power
from hostacl.ops.registry import kernel
from hostacl.ops.shapes import broadcast, same_as
from hostacl.tensors import dtypes

Array = NDArray[Any]

unary("Floor", np.floor, "The largest integer that is not above x.")
unary("Ceil", np.ceil, "The smallest integer that is not below x.")
unary("Square", np.square, "x times x. Integers wrap.")
unary("Cos", np.cos, "The cosine of x in radians; NaN at the infinities.")
unary("Sin", np.sin, "The sine of x in radians; NaN at the infinities.")
unary("Cosh", np.cosh, "The hyperbolic cosine.")
unary("Sinh", np.sinh, "The hyperbolic sine.")
unary("Acosh", np.arccosh, "The inverse hyperbolic cosine; NaN below 1.")
unary("Asinh", np.arcsinh, "The inverse hyperbolic sine.")
unary("Atanh", np.arctanh, "The inverse hyperbolic tangent: ±Inf at ±1, NaN beyond.")
unary("Atan", np.arctan, "The inverse tangent, in radians.")
unary("Acos", np.arccos, "The inverse cosine in radians, NaN beyond ±1. An integer's result is cut off toward zero, NaN to 0.")
unary("Asin", np.arcsin, "The inverse sine in radians, NaN beyond ±1. An integer's result is cut off toward zero, NaN to 0.")
unary("Tan", np.tan, "The tangent of x in radians. An integer's result is cut off toward zero.")
unary("IsFinite", np.isfinite, "Whether x is neither infinite nor NaN.")
unary("IsInf", np.isinf, "Whether x is +Inf or -Inf.")
unary("IsNan", np.isnan, "Whether x is NaN.")
unary("Erf", special.erf, "The error function, within 2 ulp in float64, 4 in float32.")
unary("Erfc", special.erfc, "1 - erf(x), without cancellation for large x.")
unary("Erfinv", special.erfinv, "The inverse of the error function: ±Inf at ±1, NaN beyond.")


def widened(function: Callable[[Array], Array]) -> Callable[[Array], Array]:
    """A function whose complex64 argument is computed with as complex128."""

    def run(x: Array) -> Array:
        return function(x.astype(np.complex128)) if x.dtype == np.complex64 else function(x)

    run.__doc__ = function.__doc__
    return run


@widened
def log1p(x: Array) -> Array:
    """log(1+x), exact for small x, of complex x too; -Inf at -1, NaN below."""
    if x.dtype.kind != "c":
        return np.asarray(np.log1p(x))
    re, im = x.real, x.imag
    near = 0.5 * np.log1p(re * (2 + re) + im * im)
    size = np.where(np.abs(x) < 0.5, near, np.log(np.abs(1 + x)))
    return size + 1j * np.arctan2(im, 1 + re)


@widened
def expm1(x: Array) -> Array:
    """e^x - 1, exact for small x, of complex x too."""
    if x.dtype.kind != "c":
        return np.asarray(np.expm1(x))
    re, im = x.real, x.imag
    half = np.sin(im / 2)
    result = np.empty_like(x)
    result.real = np.expm1(re) * np.cos(im) - 2 * half * half
    result.imag = np.where(im == 0, im, np.exp(re) * np.sin(im))
    return result


unary("Log1p", log1p, direct=floats_by(np.log1p))
unary("Expm1", expm1, direct=floats_by(np.expm1))


def sign(x: Array) -> Array:
    """-1, 0 or 1 by the sign of x, NaN for NaN; x/|x| for complex x, 0 for 0."""
    if x.dtype.kind != "c":
        return np.asarray(np.sign(x))
    parts = np.stack([x.real, x.imag])
    parts = np.ldexp(parts, -np.frexp(np.abs(parts).max(axis=0))[1])  # the size of x itself may be out of range
    size = np.hypot(*parts)
    return np.asarray((parts[0] + 1j * parts[1]) / np.where(size == 0, 1, size), dtype=x.dtype)


def reciprocal(x: Array) -> Array:
    """1/x: ±Inf for ±0. Integers are cut off toward zero: 1 and -1 stay, all others give 0, and so does 0 itself."""
    if x.dtype.kind not in "iu":
        return 1 / x
    return np.where(np.abs(x) == 1, x, 0).astype(x.dtype)


def trunc(x: Array) -> Array:
    """x without its fraction."""
    return np.asarray(np.trunc(x)) if x.dtype.kind == "f" else x


def rsqrt(x: Array) -> Array:
    """1/sqrt(x): ±Inf for ±0, NaN below 0."""
    return 1 / np.sqrt(x)


def direct_rsqrt(call: Call) -> Any:
    """The native loop of floats, but for float64 and halves NumPy's way, which rounds them once."""
    return _kernels.rsqrt if call.dtype("x") == dtypes.FLOAT else direct_unary(call, rsqrt)


unary("Sign", sign, direct=floats_by(np.sign))
unary("Reciprocal", reciprocal, direct=floats_by(np.reciprocal))
unary("Trunc", trunc, direct=floats_by(np.trunc))
unary("Rsqrt", rsqrt, direct=direct_rsqrt)


def own_dtype(call: Call) -> int:
    """The type of x, also where the prototype's list for y is shorter."""
    return call.dtype("x")


LEFT_OUT = (dtypes.DOUBLE, dtypes.INT64, dtypes.COMPLEX64, dtypes.COMPLEX128)
unary("Inv", reciprocal, dtypes={"y": LEFT_OUT}, dtype={"y": own_dtype}, direct=floats_by(np.reciprocal))


@kernel("Power", shape=same_as("x"), direct=with_attributes)
def power(x: Array, power: float, scale: float, shift: float) -> Array:
    """(scale·x + shift)^power in float64, as IEEE's pow; scale 1 and shift 0 leave x as it is, -0, too.

    NaN for a negative base and a broken exponent, but Inf for -Inf; 1 for power 0.
    """
    base = x.astype(np.float64) if (scale, shift) == (1, 0) else x.astype(np.float64) * scale + shift
    return base if power == 1 else float_power(base, power)


def round_integers(x: Array, decimals: int) -> Array:
    """Integers rounded to tens, hundreds … (decimals -1, -2 …), halves to even, exactly."""
    unit = 10 ** min(-decimals, 20)
    if decimals >= 0 or unit > np.iinfo(x.dtype).max:
        return x if decimals >= 0 else np.zeros_like(x)
    quotient, rest = np.divmod(x, x.dtype.type(unit))
    left = unit - rest
    up = (rest > left) | ((rest == left) & (quotient & 1 == 1))
    return (quotient + up.astype(x.dtype)) * x.dtype.type(unit)


LARGEST = 308
"""The largest power of ten that float64 holds."""


def round_floats(x: Array, decimals: int) -> Array:
    """Floats rounded to a number of decimals, halves to even: float64 times (below 0: by) a power of ten, and back."""
    if decimals == 0:
        return np.asarray(np.rint(x))
    places, wide = min(abs(decimals), 2 * LARGEST), x.astype(np.float64)
    first, then = 10.0 ** min(places, LARGEST), 10.0 ** max(places - LARGEST, 0)
    if decimals < 0:
        return np.rint(wide / first / then) * then * first
    scaled = wide * first * then
    return np.where(np.isfinite(scaled), np.rint(scaled) / then / first, x)


def direct_round(call: Call) -> Any:
    """NumPy's or the native loop for floats rounded to integers."""
    return (with_attributes if call.attr("decimals") else floats_by(np.rint))(call)


@kernel("Round", shape=same_as("x"), attrs={"decimals": 0}, direct=direct_round)
def round_(x: Array, decimals: int | None) -> Array:
    """x rounded to ``decimals`` places (0: to an integer; below 0: to tens …), halves to even; complex x in both parts."""
    places = int(decimals or 0)
    if x.dtype.kind == "c":
        return round_floats(x.real, places) + 1j * round_floats(x.imag, places)
    return round_integers(x, places) if x.dtype.kind in "iu" else round_floats(x, places)


@kernel("NanToNum", shape=same_as("x"), direct=with_attributes)
def nan_to_num(x: Array, nan: float, posinf: float, neginf: float) -> Array:
    """x with NaN, +Inf and -Inf replaced by the values named."""
    one = x.dtype.type
    return np.where(np.isnan(x), one(nan), np.where(np.isinf(x), np.where(x > 0, one(posinf), one(neginf)), x))


def complex_of(call: Call) -> int:
    """complex64 of float32, complex128 of float64."""
    return dtypes.COMPLEX128 if call.dtype("real") == dtypes.DOUBLE else dtypes.COMPLEX64


def part_of(call: Call) -> int:
    """float32 of complex64, float64 of complex128."""
    return dtypes.DOUBLE if call.dtype("input") == dtypes.COMPLEX128 else dtypes.FLOAT


@kernel("Complex", shape=broadcast("real", "imag"), dtype={"out": complex_of}, dtype_attrs={"out": "Tout"})
def complex_(real: Array, imag: Array) -> Array:
    """The complex numbers with these real and imaginary parts, which broadcast; Tout must be the type that fits them."""
    result = np.empty(np.broadcast_shapes(real.shape, imag.shape), np.result_type(real.dtype, np.complex64))
    result.real, result.imag = real, imag
    return result


@kernel("Real", shape=same_as("input"), dtype={"output": part_of}, dtype_attrs={"output": "Tout"})
def real(input: Array) -> Array:
    """The real parts; Tout must be the type that fits the input."""
    return input.real


@kernel("Imag", shape=same_as("input"), dtype={"output": part_of}, dtype_attrs={"output": "Tout"})
def imag(input: Array) -> Array:
    """The imaginary parts; Tout must be the type that fits the input."""
    return input.imag
