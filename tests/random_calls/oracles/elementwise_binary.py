"""Arithmetic of two tensors: exact integers, floats in float64 by other formulas than the kernels' own where there are any."""

from __future__ import annotations

import math
import operator
from fractions import Fraction
from typing import Any

import numpy as np

from hostacl.tensors import dtypes
from random_calls import values
from random_calls.dice import Dice
from random_calls.oracle import Within, finite, oracle, shapes, summed

FLOATS = (dtypes.FLOAT, dtypes.FLOAT16, dtypes.BF16)


@shapes("Add", "Mul", "AddV2")
def promoting(d: Dice) -> None:
    """Two tensors that broadcast; now and then a half beside float32, which gives float32."""
    first, second = d.shapes_that_broadcast(2)
    codes = [d.dtype, d.dtype]
    if d.wants("mixed dtypes", d.dtype in FLOATS):
        halves = [one for one in FLOATS[1:] if one in d.prototype.inputs[0].allowed]
        codes[1] = dtypes.FLOAT if d.dtype != dtypes.FLOAT else int(d.choose(*halves))
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
    return x1 & x2 if x1.dtype == bool else np.asarray(whole(operator.mul, x1, x2), x1.dtype)


def whole(function: Any, x1: Any, x2: Any) -> Any:
    """A function of two Python numbers over arrays of them that broadcast."""
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


def toward_zero(a: int, b: int) -> int:
    """The quotient of two integers cut off; x/0 is 0."""
    return (abs(a) // abs(b)) * (1 if (a < 0) == (b < 0) else -1) if b else 0


@oracle("RealDiv")
def real_div(x1: Any, x2: Any) -> Any:
    return whole(toward_zero, x1, x2) if is_whole(x1) else x1 / x2


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
        by_logs = np.exp2(x2 * np.log2(x1.astype(np.longdouble))).astype(np.float64) if np.all(x1 > 0) else np.power(x1, x2)
        return np.where((x1 == 1) | (x2 == 0), 1.0, by_logs)  # whatever the other one is
    result, exponent = np.power(x1, x2), x2 * np.log(np.abs(x1) + 1e-300)  # held in single precision
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


@oracle("Mod")
def mod(x1: Any, x2: Any) -> Any:
    if is_whole(x1):
        return whole(lambda a, b: (abs(a) % abs(b)) * (-1 if a < 0 else 1) if b else a, x1, x2)
    return by_math(math.fmod, x1, x2)


def by_math(function: Any, x1: Any, x2: Any) -> Any:
    """Python's function of two floats; what it refuses is NaN."""

    def one(a: float, b: float) -> float:
        try:
            return float(function(a, b))
        except ValueError:
            return math.nan

    return np.asarray(np.frompyfunc(one, 2, 1)(x1, x2)).astype(np.float64)


@oracle("DivNoNan")
def div_no_nan(x1: Any, x2: Any) -> Any:
    if is_whole(x1):
        return whole(toward_zero, x1, x2)
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
    if is_whole(x):
        return whole(min, whole(max, x, clip_value_min), clip_value_max)
    above = np.where(np.isnan(x) | (x > clip_value_min), x, clip_value_min)
    return np.where(np.isnan(above) | (above < clip_value_max), above, clip_value_max)


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


@oracle("Xlogy")
def xlogy(x1: Any, x2: Any) -> Any:
    if np.iscomplexobj(x2):  # with more digits: sizes near 1 have small logarithms
        wide = x2.astype(np.clongdouble)
        x2_log = np.log(np.hypot(wide.real, wide.imag)) + 1j * np.arctan2(wide.imag, wide.real)
        return np.where(x1 == 0, 0, x1.astype(np.clongdouble) * x2_log).astype(np.complex128)
    return np.where(x1 == 0, 0, x1 * (np.log2(x2) * np.log(2)))


@oracle("Xdivy")
def xdivy(x1: Any, x2: Any) -> Any:
    return np.where(x1 == 0, 0, x1 / x2)


@oracle("Atan2")
def atan2(x1: Any, x2: Any) -> Any:
    return np.asarray(np.frompyfunc(math.atan2, 2, 1)(x1, x2)).astype(np.float64)


def sums(*terms: Any) -> Any:
    """A sum of floats that are added in single precision; of integers exactly."""
    total: Any = sum(terms[1:], terms[0])
    if isinstance(total, int) or total.dtype == object:
        return np.array(total, object)
    return Within(total, sum(finite(term) for term in terms) * 2.0**-22)


def held(term: Any, dice: Dice) -> Any:
    """A part of the result as it is held on the way: of integers what wraps, else in single precision unless in double.

    That is infinite beyond the largest number, and has fewer digits below the smallest normal one.
    """
    if isinstance(term, int) or term.dtype == object:
        wrapped = np.frompyfunc(lambda one: (one + 2**63) % 2**64 - 2**63, 1, 1)
        return np.asarray(wrapped(term), object) if dice.dtype == dtypes.INT64 else term
    if dice.dtype not in FLOATS:  # double, complex, or a factor of another type than the tensors
        return term
    single = np.finfo(np.float32)
    far = (np.abs(term) > float(single.max)) | (np.abs(term) < float(single.smallest_normal))
    return np.where(far, np.asarray(term).astype(np.float32).astype(np.float64), term)


@shapes("AxpyV2", "Addcmul", "Addcdiv")
def with_one_element(d: Dice) -> None:
    """Tensors that broadcast, and a factor of one element."""
    *tensors, factor = (decl.name for decl in d.generation.inputs)
    code = d.dtype if d.dtype in d.generation.inputs[0].allowed else dtypes.FLOAT
    for name, shape in zip(tensors, d.shapes_that_broadcast(len(tensors)), strict=True):
        d.tensor(name, shape, dtype=code)
    d.output("y", code)
    d.tensor(factor, d.choose((), (1,)), -3, 3, dtype=d.dtype)


@oracle("AxpyV2")
def axpy_v2(x1: Any, x2: Any, alpha: Any, dice: Dice) -> Any:
    return sums(x1, held(alpha.item() * x2, dice))


@shapes("Sxpy")
def with_factor_or_not(d: Dice) -> None:
    """Two tensors that broadcast, and a factor of one element now and then."""
    for name, shape in zip(("x1", "x2"), d.shapes_that_broadcast(2), strict=True):
        d.tensor(name, shape)
    if d.optional("alpha"):
        d.tensor("alpha", d.choose((), (1,)), -3, 3)


@oracle("Sxpy")
def sxpy(x1: Any, x2: Any, alpha: Any, dice: Dice) -> Any:
    return sums(x1, held((-1 if alpha is None else -alpha.item()) * x2, dice))


@oracle("Addcmul")
def addcmul(input_data: Any, x1: Any, x2: Any, value: Any, dice: Dice) -> Any:
    return sums(input_data, held(held(value.item() * x1, dice) * x2, dice))


@oracle("Addcdiv")
def addcdiv(input_data: Any, x1: Any, x2: Any, value: Any, dice: Dice) -> Any:
    return sums(input_data, held(real_div(held(value.item() * x1, dice), x2), dice))


@shapes("Axpy")
def axpy_attribute(d: Dice) -> None:
    """Two tensors that broadcast and a float attribute."""
    first, second = d.shapes_that_broadcast(2)
    d.tensor("x1", first, -50, 50)
    d.tensor("x2", second, -50, 50)
    d.attr("alpha", 2.0, -0.5, 1.5)


@oracle("Axpy")
def axpy(x1: Any, x2: Any, alpha: float, dice: Dice) -> Any:
    if is_whole(x1):
        return whole(lambda a, b: min(max(int(a + alpha * b), -(2**31)), 2**31 - 1), x1, x2)
    return sums(x1, held(alpha * x2, dice))


@oracle("Lerp")
def lerp(start: Any, end: Any, weight: Any) -> Any:
    step = weight * (end - start)
    return Within(start + step, (finite(start) + finite(weight) * (finite(end) + finite(start))) * 2.0**-21)


@shapes("LogAddExp")
def adding_exponentials(d: Dice) -> None:
    """Two tensors that broadcast, a base, a scale and a shift."""
    first, second = d.shapes_that_broadcast(2)
    d.tensor("x1", first)
    d.tensor("x2", second)
    d.attr("base", 2.0, 10.0)
    d.attr("scale", 0.5)
    d.attr("shift", 1.0)


@oracle("LogAddExp")
def log_add_exp(x1: Any, x2: Any, base: float, scale: float, shift: float) -> Any:
    first, second = scale * x1 + shift, scale * x2 + shift
    factor = 1.0 if base == -1 else math.log(base)
    top = np.maximum(first, second)
    rest = np.where(np.isinf(top), 0, np.log(np.exp((first - top) * factor) + np.exp((second - top) * factor)))
    return Within(top + rest / factor, 2.0**-50)


@shapes("ClipByValueV2")
def clipping_v2(d: Dice) -> None:
    """As for ClipByValue."""
    clipping(d)


@oracle("ClipByValueV2")
def clip_by_value_v2(x: Any, clip_value_min: Any, clip_value_max: Any) -> Any:
    return clip_by_value(x, clip_value_min, clip_value_max)


@shapes("AddN", "AccumulateNV2")
def adding_many(d: Dice) -> None:
    """Tensors of one shape."""
    shape, count = d.shape(), d.count()
    for _ in range(count):
        d.tensor("x", shape)
    d.attrs["N"] = ("int", count)


@oracle("AddN", "AccumulateNV2")
def add_n(x: Any, dice: Dice) -> Any:
    total = sums(*x[::-1])
    if not isinstance(total, Within):
        return total
    return Within(total.value, total.slack * len(x) * (2.0**-29 if dice.dtype in (dtypes.DOUBLE, dtypes.COMPLEX128) else 1))


@shapes("BiasAdd")
def biasing(d: Dice) -> None:
    """A tensor and a bias for its channels."""
    shape = d.shape(2)
    layout = d.attr("data_format", "NCHW", "NCDHW")
    d.tensor("x", shape)
    d.tensor("bias", (shape[-1 if layout in ("NHWC", "NDHWC") else 1],))


@oracle("BiasAdd")
def bias_add(x: Any, bias: Any, data_format: str) -> Any:
    place = x.ndim - 1 if data_format == "NHWC" else 1
    return np.stack([np.take(x, index, place) + one for index, one in enumerate(bias)], place) if bias.size else x


@shapes("BiasAddGrad")
def bias_gradient(d: Dice) -> None:
    """A tensor."""
    d.tensor("x", d.shape(2))
    d.attr("data_format", "NCHW")


@oracle("BiasAddGrad")
def bias_add_grad(x: Any, data_format: str, dice: Dice) -> Any:
    lines = np.moveaxis(x, -1 if data_format == "NHWC" else 1, 0)
    count = int(np.prod(lines.shape[1:]))
    rows = lines.reshape(lines.shape[0], count)
    total = np.array([sum(row.tolist()) for row in rows], x.dtype)
    if total.dtype == object:
        return total
    return summed(total, finite(rows).sum(1), count, 53 if dice.dtype in (dtypes.DOUBLE, dtypes.COMPLEX128) else 24)


@shapes("StrideAdd")
def striding_channels(d: Dice) -> None:
    """Two tensors in blocks, and which blocks."""
    batch, height, width, length = d.int(1, 2), d.int(1, 3), d.int(1, 3), d.int(1, 3)
    if d.wants("one element"):
        batch = height = width = length = 1
    if d.wants("long"):
        width = 150
    if d.wants("empty"):
        height = 0
    for name in ("x1", "x2"):
        offset = d.int(0, 2)
        d.tensor(name, (batch, offset + length + d.int(0, 2), height, width, 1 if d.kind == "one element" else 16))
        d.attr(f"{name}_c1_offset", offset)
    d.attr("c1_len", length)


@oracle("StrideAdd")
def stride_add(x1: Any, x2: Any, x1_c1_offset: int, x2_c1_offset: int, c1_len: int) -> Any:
    return np.stack([x1[:, x1_c1_offset + place] + x2[:, x2_c1_offset + place] for place in range(c1_len)], 1)


@shapes("MaximumGrad", "MinimumGrad")
def routing(d: Dice) -> None:
    """Two tensors with ties and the gradient of their common shape."""
    first, second = d.shapes_that_broadcast(2)
    d.tensor("grads", np.broadcast_shapes(first, second))
    d.tensor("x1", first, -2, 2)
    d.tensor("x2", second, -2, 2)
    d.attr("grad_x", False, True)
    d.attr("grad_y", False, True)


def routed(grads: Any, x1: Any, x2: Any, flags: tuple[bool, bool], wins: Any) -> Any:
    """Each gradient added where its element came from."""
    sides = [np.broadcast_to(np.arange(x.size).reshape(x.shape), grads.shape) for x in (x1, x2)]
    totals = [[grads.dtype.type(0) if grads.dtype != object else 0] * x.size for x in (x1, x2)]
    sizes = [[0.0] * x.size for x in (x1, x2)]
    for place in np.ndindex(grads.shape):
        side = 0 if wins(x1.ravel()[sides[0][place]], x2.ravel()[sides[1][place]]) else 1
        totals[side][sides[side][place]] += grads[place]
        sizes[side][sides[side][place]] += float(finite(float(grads[place])))
    results = []
    for x, total, size, flag in zip((x1, x2), totals, sizes, flags, strict=True):
        array = np.array(total if flag else [0] * x.size, grads.dtype).reshape(x.shape)
        results.append(array if grads.dtype == object else Within(array, np.array(size).reshape(x.shape) * 2.0**-22))
    return tuple(results)


@oracle("MaximumGrad")
def maximum_grad(grads: Any, x1: Any, x2: Any, grad_x: bool, grad_y: bool) -> Any:
    return routed(grads, x1, x2, (grad_x, grad_y), lambda a, b: a >= b)


@oracle("MinimumGrad")
def minimum_grad(grads: Any, x1: Any, x2: Any, grad_x: bool, grad_y: bool) -> Any:
    return routed(grads, x1, x2, (grad_x, grad_y), lambda a, b: a <= b)
