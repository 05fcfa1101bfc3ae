"""Functions of one tensor: float64 through other identities than the kernels' own calls."""

from __future__ import annotations

from typing import Any

import numpy as np

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
    return np.emath.sqrt(x) if np.iscomplexobj(x) else np.where(x < 0, np.nan, np.sqrt(np.abs(x)) * np.where(x == 0, np.copysign(1, x), 1))


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
        return np.log(np.hypot(argument.real, argument.imag)) + 1j * np.arctan2(argument.imag, argument.real)
    result = np.log2(argument) * (np.log(2) if base == -1 else 1 / np.log2(base))
    lost = np.where(np.isfinite(argument) & (argument > 0), (np.abs(scale * wide) + abs(shift)) / argument, 0) * (0 if (scale, shift) == (1, 0) else 2.0**-23)
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
    return np.power((x * scale + shift).astype(np.longdouble), power).astype(np.float64)


@oracle("Cos")
def cosine(x: Any) -> Any:
    return np.exp(1j * x).real if not np.iscomplexobj(x) else (np.exp(1j * x) + np.exp(-1j * x)) / 2


@oracle("Sin")
def sine(x: Any) -> Any:
    return np.exp(1j * x).imag if not np.iscomplexobj(x) else (np.exp(1j * x) - np.exp(-1j * x)) / 2j


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
    """One tensor; decimals stay 0."""
    d.tensor("x", d.shape())
    d.attr("decimals", 0)


@oracle("Round")
def round_half_even(x: Any) -> Any:
    if is_whole(x):
        return x
    return _nearest(x.real) + 1j * _nearest(x.imag) if np.iscomplexobj(x) else _nearest(x)


def _nearest(x: Any) -> Any:
    """The nearest integer, the even one of two."""
    low = np.floor(x)
    rest = x - low
    up = (rest > 0.5) | ((rest == 0.5) & (np.mod(low, 2) == 1))
    return np.copysign(np.where(np.isfinite(x), low + up, x), x)
