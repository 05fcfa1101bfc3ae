"""Arithmetic of two or three tensors, and of a tensor with numbers, beyond plus, minus, times and divided by."""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hostacl import _kernels
from hostacl.config import settings
from hostacl.ops import dims
from hostacl.ops.axis_cuts import broadcast_cuts
from hostacl.ops.blocks import in_blocks
from hostacl.ops.call import Call
from hostacl.ops.declare import binary, codes, direct_binary, with_attributes
from hostacl.ops.dims import Shape
from hostacl.ops.elementwise import truncated_divide, with_base
from hostacl.ops.precision import widest
from hostacl.ops.registry import kernel
from hostacl.ops.shapes import broadcast, broadcast_inputs, equal_dims, one_element, same_as
from hostacl.tensors import dtypes

Array = NDArray[Any]


def native_or_blocks(loop: Callable[..., None]) -> Callable[[Call], Any]:
    """The ``direct`` of an element-wise kernel: the native loop for floats of one type, else the kernel block by block."""

    def direct(call: Call) -> Any:
        return loop if all_floats(call) else in_blocks(call)

    return direct


def all_floats(call: Call) -> bool:
    """Whether all tensors are of one float type, which nothing saturates."""
    kinds = set(codes(call))
    return len(kinds) == 1 and kinds <= dtypes.FLOATS and not settings().saturate


def native_number(loop: Callable[..., None]) -> Callable[[Call], Any]:
    """The native loop of a float tensor with one number, NumPy's way for the rest."""

    def direct(call: Call) -> Any:
        value = call.attr("value")
        if call.dtype("x") not in dtypes.FLOATS or settings().saturate:
            return with_attributes(call)
        return lambda x, y: loop(x, value, y)

    return direct


@kernel("Muls", shape=same_as("x"), direct=native_number(_kernels.muls), cuts=broadcast_cuts())
def muls(x: Array, value: float) -> Array:
    """x times a number. Integers are multiplied in float32 and cut off toward zero; out of range gives the nearest bound."""
    return x.astype(np.float32) * np.float32(value) if x.dtype.kind in "iu" else x * x.dtype.type(value)


@kernel("Adds", shape=same_as("x"), direct=native_number(_kernels.adds), cuts=broadcast_cuts())
def adds(x: Array, value: float) -> Array:
    """x plus a number. Integers are added in float64 and cut off toward zero; out of range gives the nearest bound."""
    return x.astype(np.float64) + value if x.dtype.kind in "iu" else x + x.dtype.type(value)


def direct_axpy(call: Call) -> Any:
    """The native loop with a number from an attribute."""
    if not all_floats(call):
        return in_blocks(call)
    alpha, one = call.attr("alpha"), np.ones((), dtypes.numpy_dtype(call.dtype("x1")))
    return lambda x1, x2, y: _kernels.add_product(x1, x2, one, alpha, y)


@kernel("Axpy", shape=broadcast("x1", "x2"), direct=direct_axpy, cuts=broadcast_cuts())
def axpy(x1: Array, x2: Array, alpha: float) -> Array:
    """x1 + alpha·x2. Integers are computed with in float64 and cut off toward zero."""
    wide = x1.astype(np.float64) if x1.dtype.kind in "iu" else x1
    return wide + x2 * wide.dtype.type(alpha)


def with_scalars(*names: str) -> Callable[..., Callable[[Call], Shape]]:
    """Makes shape rules in which the inputs ``names`` have one element and do not count."""

    def make(*others: str) -> Callable[[Call], Shape]:
        def rule(call: Call) -> Shape:
            for name in names:
                one_element(call, name)
            return broadcast_inputs(call, *others)

        return rule

    return make


def direct_scaled(call: Call, sign: float) -> Any:
    """The native loop of x1 + sign·alpha·x2, alpha from a tensor."""
    if not all_floats(call):
        return in_blocks(call)
    return lambda x1, x2, alpha, y: _kernels.add_product(x1, x2, alpha.reshape(()), sign, y)


@kernel("AxpyV2", shape=with_scalars("alpha")("x1", "x2"), direct=lambda call: direct_scaled(call, 1.0))
def axpy_v2(x1: Array, x2: Array, alpha: Array) -> Array:
    """x1 + alpha·x2, where alpha has one element. Integers wrap."""
    return x1 + alpha.reshape(()) * x2


def direct_sxpy(call: Call) -> Any:
    """The native loop with a number from a tensor; without one what Sub runs."""
    if call.has("alpha"):
        return direct_scaled(call, -1.0)
    subtract = direct_binary(call, np.subtract)
    return subtract and (lambda x1, x2, *rest: subtract(x1, x2, rest[-1]))


@kernel("Sxpy", shape=with_scalars("alpha")("x1", "x2"), direct=direct_sxpy)
def sxpy(x1: Array, x2: Array, alpha: Array | None) -> Array:
    """x1 - alpha·x2, where alpha has one element, 1 if it is left out. Integers wrap.

    torch's rsub(input, other, alpha) is Sxpy(other, input, alpha).
    """
    return x1 - (x2 if alpha is None else alpha.reshape(()) * x2)


def direct_clip(call: Call) -> Any:
    """The native loops of floats."""
    if call.dtype("x") not in dtypes.FLOATS or settings().saturate:
        return None

    return lambda x, low, high, y: _kernels.clip(x, low, high, 0.0, y)


@kernel("ClipByValue", "ClipByValueV2", shape=broadcast("x", "clip_value_min", "clip_value_max"), direct=direct_clip,
        cuts=broadcast_cuts())  # fmt: skip
def clip_by_value(x: Array, clip_value_min: Array, clip_value_max: Array) -> Array:
    """min(max(x, low), high), all three broadcast. NaN stays NaN; where low > high it is high.

    Complex numbers are ordered by their real part, then by the imaginary one.
    """
    return np.minimum(np.maximum(x, clip_value_min), clip_value_max)


binary("AddV2", np.add, "x1 plus x2; of two types in the one that both promote to. Integers wrap.", promote=True)


def floor_div(x1: Array, x2: Array) -> Array:
    """The largest integer not above x1/x2, which is rounded to the type first. Integers: x/0 is 0; complex: both parts."""
    if x1.dtype.kind in "iu":
        return np.asarray(np.floor_divide(x1, x2))
    if x1.dtype.kind == "c":
        quotient = np.true_divide(x1, x2, dtype=np.complex128)
        return np.floor(quotient.real) + 1j * np.floor(quotient.imag)
    return np.floor(np.true_divide(x1, x2))


def whole_by_zero(rest: Array, x1: Array, x2: Array) -> Array:
    """What is left of a division; integers divided by 0 are left whole."""
    return np.where(x2 == 0, x1, rest) if x1.dtype.kind in "iu" and not x2.all() else rest


def direct_remainder(function: np.ufunc, loop: Callable[..., None]) -> Callable[[Call], Any]:
    """The ``direct`` of a remainder: the native loop of floats, NumPy's of integers where nothing is divided by 0."""

    def direct(call: Call) -> Any:
        if not set(codes(call)) <= dtypes.INTEGERS & dtypes.PLAIN or len(set(codes(call))) > 1:
            return native_or_blocks(loop)(call)

        def run(x1: Array, x2: Array, y: Array) -> None:
            if x2.all():
                function(x1, x2, out=y)
            else:
                np.copyto(y, whole_by_zero(function(x1, x2), x1, x2))

        return run

    return direct


def direct_floor(call: Call) -> Any:
    """The native loop of floats, NumPy's of integers."""
    if call.dtype("x1") in dtypes.INTEGERS:
        return direct_binary(call, np.floor_divide)
    return native_or_blocks(_kernels.floor_divide)(call)


def floor_mod(x1: Array, x2: Array) -> Array:
    """What is left of x1/x2 rounded down, with the sign of x2. Integers: x mod 0 is x; floats: NaN."""
    return whole_by_zero(np.mod(x1, x2), x1, x2)


def mod(x1: Array, x2: Array) -> Array:
    """What is left of x1/x2 cut off, with the sign of x1. Integers: x mod 0 is x; floats: NaN."""
    return whole_by_zero(np.fmod(x1, x2), x1, x2)


def div_no_nan(x1: Array, x2: Array) -> Array:
    """x1/x2, and 0 where x2 is 0, of NaN and Inf too. Integers are cut off toward zero."""
    if x1.dtype.kind in "iu":
        return truncated_divide(x1, x2)
    return np.where(x2 == 0, x1.dtype.type(0), np.true_divide(x1, x2))


def xlogy(x1: Array, x2: Array) -> Array:
    """x1·log(x2), and 0 where x1 is 0, whatever x2 is."""
    log = np.asarray(np.log(x2))
    if x1.dtype.kind == "c":
        return np.where(x1 == 0, x1.dtype.type(0), x1 * log)
    product = np.empty(np.broadcast_shapes(x1.shape, x2.shape), x1.dtype)
    _kernels.multiply_no_nan(log, x1, product)
    return product


def direct_xlogy(call: Call) -> Any:
    """Floats of one shape by native loops, the rest block by block."""
    halves = call.dtype("x1") in dtypes.HALVES
    if not all_floats(call) or (halves and not _kernels.has_float_loop(np.log)) or call.shape("x1") != call.shape("x2"):
        return in_blocks(call)
    if halves:
        return lambda x1, x2, y: _kernels.widened_times(np.log, x2, x1, y)

    def run(x1: Array, x2: Array, y: Array) -> None:
        factor = x1.copy() if np.may_share_memory(x1, y) else x1
        np.log(x2, out=y)
        _kernels.multiply_no_nan(y, factor, y)

    return run


def xdivy(x1: Array, x2: Array) -> Array:
    """x1/x2, and 0 where x1 is 0, whatever x2 is."""
    return np.where(x1 == 0, x1.dtype.type(0), np.true_divide(x1, x2))


binary("FloorDiv", floor_div, direct=direct_floor)
binary("FloorMod", floor_mod, direct=direct_remainder(np.mod, _kernels.floor_remainder))
binary("Mod", mod, direct=direct_remainder(np.fmod, _kernels.remainder))
binary("DivNoNan", div_no_nan, direct=native_or_blocks(_kernels.divide_no_nan))
binary("Xlogy", xlogy, direct=direct_xlogy)
binary("Xdivy", xdivy, direct=native_or_blocks(_kernels.xdivy))
binary("Atan2", np.arctan2, "The angle of the point (x2, x1), from -π to π; signed zeros count.",
       direct=lambda call: direct_binary(call, np.arctan2) or in_blocks(call))  # fmt: skip


def onto(name: str, *others: str) -> Callable[[Call], Shape]:
    """The shape of an input that others broadcast onto; refuses others that would make it larger."""

    def rule(call: Call) -> Shape:
        shape, joined = call.shape(name), broadcast_inputs(call, name, *others)
        if len(joined) != len(shape) or (dims.known(*joined, *shape) and joined != shape):
            told = ", ".join(f"{other} = {dims.text(call.shape(other))}" for other in others if call.has(other))
            raise call.refuse("HA504", f"{told} do not broadcast onto {name} = {dims.text(shape)}.")
        return shape

    return rule


def add_mat_shape(call: Call) -> Shape:
    """The shape of c, onto which a and b broadcast; alpha and beta have one element."""
    one_element(call, "beta")
    one_element(call, "alpha")
    return onto("c", "a", "b")(call)


@kernel("AddMatMatElements", shape=add_mat_shape, direct=in_blocks)
def add_mat_mat_elements(c: Array, a: Array, b: Array, beta: Array, alpha: Array) -> Array:
    """beta·c + alpha·a·b, element by element."""
    wide = np.float64 if c.dtype == np.float32 else c.dtype  # the sum may be in range where its parts are not
    return np.multiply(beta.reshape(()), c, dtype=wide) + np.multiply(alpha.reshape(()), a, dtype=wide) * b


def direct_lerp(call: Call) -> Any:
    """The native loop of floats, and float64 where its difference of two large numbers may have been out of range."""
    slow = in_blocks(call)
    if slow is None or not all_floats(call):
        return slow

    def run(start: Array, end: Array, weight: Array, y: Array) -> None:
        if any(np.may_share_memory(one, y) for one in (start, end, weight)):
            slow(start, end, weight, y)
            return
        _kernels.interpolate(start, end, weight, 0.0, y)
        finite = np.empty(y.shape, np.bool_)
        _kernels.is_finite(y, finite)
        if not finite.all():
            slow(start, end, weight, y)

    return run


@kernel("Lerp", shape=broadcast("start", "end", "weight"), direct=direct_lerp, cuts=broadcast_cuts())
def lerp(start: Array, end: Array, weight: Array) -> Array:
    """start + weight·(end - start), which is in range wherever the result is."""
    wide = np.float64 if start.dtype == np.float32 else start.dtype
    return start + np.multiply(weight, np.subtract(end, start, dtype=wide), dtype=wide)


def native_three(loop: Callable[..., None]) -> Callable[[Call], Any]:
    """The ``direct`` of an element-wise kernel of three tensors and a number: the native loop of floats."""

    def direct(call: Call) -> Any:
        if not all_floats(call):
            return in_blocks(call)
        return lambda data, x1, x2, value, y: loop(data, x1, x2, float(value.reshape(-1)[0]), y)

    return direct


@kernel("Addcmul", shape=with_scalars("value")("input_data", "x1", "x2"), direct=native_three(_kernels.add_product),
        cuts=broadcast_cuts())  # fmt: skip
def addcmul(input_data: Array, x1: Array, x2: Array, value: Array) -> Array:
    """input_data + value·x1·x2, where value has one element. Integers wrap."""
    return input_data + value.reshape(()) * x1 * x2


@kernel("Addcdiv", shape=with_scalars("value")("input_data", "x1", "x2"), direct=native_three(_kernels.add_quotient),
        cuts=broadcast_cuts())  # fmt: skip
def addcdiv(input_data: Array, x1: Array, x2: Array, value: Array) -> Array:
    """input_data + (value·x1)/x2, where value has one element.

    Integers wrap, the product too; the quotient is cut off toward zero, x/0 is 0.
    """
    scaled = value.reshape(()) * (x1 if value.dtype == x1.dtype else widest(x1))
    return input_data + (truncated_divide(scaled, x2) if scaled.dtype.kind in "iu" else scaled / x2)


@kernel("LogAddExp", shape=with_base("x1", "x2"), direct=in_blocks)
def log_add_exp(x1: Array, x2: Array, base: float, scale: float, shift: float) -> Array:
    """log(base^z1 + base^z2) to the base (-1 for e), z = scale·x + shift, without overflow."""
    factor = 1.0 if base == -1 else float(np.log(base))
    z1, z2 = (np.asarray((x.astype(np.float64) * scale + shift) * factor) for x in (x1, x2))
    gap = np.where(z1 == z2, 0.0, -np.abs(z1 - z2))  # 0 for two equal infinities too
    return (np.maximum(z1, z2) + np.log1p(np.exp(gap))) / factor


def all_equal(call: Call) -> Shape:
    """The one shape of all tensors x."""

    def join(one: Shape, other: Shape) -> Shape:
        told = f"x has shapes {dims.text(one)} and {dims.text(other)}; all must be equal. Broadcast them first."
        if len(one) != len(other):
            raise call.refuse("HA504", told)
        return tuple(equal_dims(call, a, b, told) for a, b in zip(one, other, strict=True))

    return reduce(join, call.shapes("x"))


@kernel("AddN", "AccumulateNV2", shape=all_equal)
def add_n(x: list[Array]) -> Array:
    """The sum of all tensors, which have one shape; halves are summed in float32, integers wrap."""
    total = x[0].copy()
    for one in x[1:]:
        np.add(total, one, out=total)
    return total
