"""Arithmetic of one and two tensors, element by element."""

from __future__ import annotations

from collections.abc import Callable
from math import inf, prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hostacl import _kernels
from hostacl.config import settings
from hostacl.ops import precision
from hostacl.ops.axis_cuts import broadcast_cuts
from hostacl.ops.call import Call
from hostacl.ops.declare import binary, direct_binary, direct_unary, unary
from hostacl.ops.dims import Shape
from hostacl.ops.precision import half_by_table
from hostacl.ops.registry import kernel
from hostacl.ops.shapes import broadcast_inputs
from hostacl.tensors import dtypes

Array = NDArray[Any]

TABLE_FROM = 1 << 17
"""Elements from which on a native loop of halves is slower than looking its results up."""

BOOL_TOO = dict.fromkeys(("x1", "x2", "y"), (dtypes.BOOL,))
"""Clients send bool to Add (logical or) and Mul (logical and)."""

binary("Add", np.add, promote=True, dtypes=BOOL_TOO)
binary("Sub", np.subtract)
binary("Mul", np.multiply, promote=True, dtypes=BOOL_TOO)
binary("Maximum", np.maximum)
binary("Minimum", np.minimum)
unary("Abs", np.absolute)
unary("Neg", np.negative, dtypes=dict.fromkeys(("x", "y"), (dtypes.INT8,)))
unary("Sqrt", np.sqrt)


def floor_divide(x1: Array, x2: Array) -> Array:
    """Integer quotient toward minus infinity; x/0 is 0."""
    quotient: Array = np.floor_divide(x1, x2)
    return quotient


def truncated_divide(x1: Array, x2: Array) -> Array:
    """Integer quotient toward zero, exact for 64 bits; x/0 is 0."""
    quotient: Array = np.floor_divide(x1, x2)
    if quotient.dtype.kind == "u":
        return quotient
    inexact = (quotient * x2 != x1) & ((x1 < 0) != (x2 < 0)) & (x2 != 0)
    fixed: Array = quotient + inexact.astype(quotient.dtype)
    return fixed


def division(integer: Callable[[Array, Array], Array]) -> Callable[[Array, Array], Array]:
    """True division for floats and complex numbers, the given one for integers, float32 for bool."""

    def divide(x1: Array, x2: Array) -> Array:
        kind = np.result_type(x1, x2).kind
        if kind == "b":
            return np.true_divide(x1, x2, dtype=np.float32)
        return integer(x1, x2) if kind in "iu" else np.true_divide(x1, x2)

    return divide


def direct_division(call: Call) -> Any:
    """NumPy's own division where both inputs are floats."""
    return direct_binary(call, np.true_divide) if call.dtype("x1") in dtypes.FLOATS | dtypes.COMPLEXES else None


def quotient_dtype(call: Call) -> int:
    """RealDiv of bool gives float32, of anything else the inputs' type."""
    return dtypes.FLOAT if call.dtype("x1") == dtypes.BOOL else call.dtype("x1")


def direct_floor_division(call: Call) -> Any:
    """NumPy's own division where both inputs are floats, or integers of one type."""
    return direct_binary(call, np.floor_divide) if call.dtype("x1") in dtypes.INTEGERS else direct_division(call)


binary("Div", division(floor_divide), "x1 / x2; integers are rounded down, x / 0 is 0.", direct=direct_floor_division)
binary(
    "RealDiv",
    division(truncated_divide),
    "x1 / x2; integers are cut off toward zero, x / 0 is 0; of bool, float32.",
    direct=direct_division,
    dtype={"y": quotient_dtype},
    dtypes=dict.fromkeys(("x1", "x2"), (dtypes.BOOL,)),
)


def float_power(base: Array, exponent: Any) -> Array:
    """base to the exponent as IEEE's pow has it; for exponents 0.5 NumPy's square root gives NaN for -Inf, -0 for -0."""
    result: Array = np.asarray(np.power(base, exponent))
    halves = np.equal(exponent, 0.5)
    if result.dtype.kind == "f" and halves.any():
        result = np.where(halves & np.isneginf(base), result.dtype.type(np.inf), result)
        result = np.where(halves & (base == 0), result.dtype.type(0), result)
    return result


def power(x1: Array, x2: Array) -> Array:
    """x1 to the x2. Integers stay integers: a negative exponent gives 1 or -1 for those bases, else 0."""
    if np.result_type(x1, x2).kind not in "iu":
        return float_power(x1, x2)
    if not np.any(x2 < 0):
        return np.asarray(np.power(x1, x2))
    x1, x2 = np.broadcast_arrays(x1, x2)
    fraction = np.where(x1 == 1, 1, np.where(x1 == -1, 1 - 2 * (x2 & 1), 0))
    return np.where(x2 < 0, fraction, np.power(x1, np.maximum(x2, 0)))


def direct_power(call: Call) -> Any:
    """NumPy's own power for float tensors of one type, but for exponents of 0.5 that several bases share."""
    code = call.dtype("x1")
    fast = direct_binary(call, np.power) if code in dtypes.FLOATS | dtypes.COMPLEXES else None
    if fast is None or code in dtypes.COMPLEXES or (call.shape("x2"),) == call.shapes_out:
        return fast
    saturate = settings().saturate

    def run(x1: Array, x2: Array, y: Array) -> None:
        exponent = precision.widen(x2, code)
        if np.any(exponent == 0.5):
            precision.store(float_power(precision.widen(x1, code), exponent), y, code, saturate)
        else:
            fast(x1, x2, y)

    return run


binary("Pow", power, promote=True, direct=direct_power)


def with_base(*names: str, one: bool = False) -> Callable[[Call], Shape]:
    """The common shape of these inputs; refuses a base that has no logarithms, of powers one that may be 1."""

    def rule(call: Call) -> Shape:
        base = call.attr("base")
        if base != -1 and not (0 < base < inf and (one or base != 1)):
            told = "finite" if one else "finite and not 1"
            raise call.refuse("HA508", f"base = {base}; allowed: -1 (for e), or more than 0, {told}.")
        return broadcast_inputs(call, *names)

    return rule


def affine(x: Array, scale: float, shift: float) -> Array:
    """scale·x + shift, in float64 so that it neither overflows nor loses digits; x itself by default."""
    if (scale, shift) == (1, 0):
        return x
    wide = x if x.dtype.kind == "c" else x.astype(np.float64)
    return wide * scale + shift


def direct_plain(function: Any, native: Any = None) -> Callable[[Call], Any]:
    """The function itself where base, scale and shift have their defaults."""

    def direct(call: Call) -> Any:
        if (call.attr("base"), call.attr("scale"), call.attr("shift")) != (-1, 1, 0):
            return None
        if native is not None and call.dtype("x") in dtypes.HALVES and not settings().saturate:
            return half_by_table(native, call.dtype("x")) if prod(call.spec("x").shape) >= TABLE_FROM else native
        return direct_unary(call, function)

    return direct


@kernel("Exp", shape=with_base("x", one=True), direct=direct_plain(np.exp, _kernels.exp), cuts=broadcast_cuts())
def exp(x: Array, base: float, scale: float, shift: float) -> Array:
    """base^(scale·x + shift), base -1 for e. The attributes count for float32 and the half types only."""
    if x.dtype != np.float32:
        return np.exp(x)
    z = affine(x, scale, shift)
    return np.exp(z) if base == -1 else np.exp2(z.astype(np.float64) * np.log2(base))


def logarithm_dtype(call: Call) -> int:
    """Integers and bool give float32, other types themselves."""
    code = call.dtype("x")
    return dtypes.FLOAT if code in dtypes.INTEGERS or code == dtypes.BOOL else code


@kernel("Log", shape=with_base("x"), dtype={"y": logarithm_dtype}, direct=direct_plain(np.log), cuts=broadcast_cuts())
def log(x: Array, base: float, scale: float, shift: float) -> Array:
    """Logarithm to the base (-1 for e) of scale·x + shift: -Inf at 0, NaN below. Integers and bool give float32."""
    natural = np.log(affine(x.astype(np.float64) if x.dtype.kind in "iub" else x, scale, shift))
    return natural if base == -1 else natural / np.log(base)
