"""Foreach operators: one function for each tensor of a list, with tensors of a second list, one number, or a number each."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hostacl.ops import dims
from hostacl.ops.activation import sigmoid
from hostacl.ops.call import Call
from hostacl.ops.dims import Shape
from hostacl.ops.elementwise import power
from hostacl.ops.registry import kernel
from hostacl.ops.shapes import equal_dims
from hostacl.tensors import dtypes

Array = NDArray[Any]
Function = Callable[..., Any]


def each_of(name: str) -> Callable[[Call], list[list[Shape]]]:
    """The shapes of all tensors of a list."""
    return lambda call: [call.shapes(name)]


def foreach(op_type: str, function: Function, text: str) -> None:
    """Declares a function of each tensor alone."""

    def run(x: list[Array]) -> list[Any]:
        return [function(one) for one in x]

    run.__doc__ = f"{text} of each tensor."
    kernel(op_type, shape=each_of("x"))(run)


def pairs(call: Call) -> list[list[Shape]]:
    """The shapes of x1; x2 has as many tensors of the same shapes, alpha one element."""
    first, second = call.shapes("x1"), call.shapes("x2")
    if len(first) != len(second):
        raise call.refuse("HA513", f"x1 has {len(first)} tensors, x2 has {len(second)}; they must be as many.")
    if call.has("alpha"):
        elements(call, "alpha", 1)
    return [[same(call, place, *both) for place, both in enumerate(zip(first, second, strict=True))]]


def same(call: Call, place: int, one: Shape, other: Shape) -> Shape:
    """The one shape of two tensors."""
    told = f"x1{place} = {dims.text(one)}, x2{place} = {dims.text(other)} must be equal."
    if len(one) != len(other):
        raise call.refuse("HA504", told)
    return tuple(equal_dims(call, a, b, told) for a, b in zip(one, other, strict=True))


def elements(call: Call, name: str, count: int) -> None:
    """Refuses an input that has not so many elements."""
    shape = call.shape(name)
    if dims.known(*shape) and dims.count(shape) != count:
        raise call.refuse("HA504", f"{name} = {dims.text(shape)}; allowed: {count} elements.")


def with_numbers(name: str) -> Callable[[Call], list[list[Shape]]]:
    """The shapes of x; ``name`` has one element, or one for each tensor when it is a list."""

    def rule(call: Call) -> list[list[Shape]]:
        shapes = call.shapes("x")
        elements(call, name, len(shapes) if name == "scalars" else 1)
        return [shapes]

    return rule


def foreach_list(op_type: str, function: Function, text: str) -> None:
    """Declares a function of two lists of tensors."""

    def run(x1: list[Array], x2: list[Array]) -> list[Any]:
        return [function(one, other) for one, other in zip(x1, x2, strict=True)]

    run.__doc__ = f"{text} of the tensors of two lists, pair by pair."
    kernel(op_type, shape=pairs)(run)


def foreach_alpha(op_type: str, function: Function, text: str) -> None:
    """Declares a function of two lists of tensors, the second one multiplied by alpha."""

    def run(x1: list[Array], x2: list[Array], alpha: Array) -> list[Any]:
        return [function(one, other * alpha.reshape(())) for one, other in zip(x1, x2, strict=True)]

    run.__doc__ = f"{text} of the tensors of two lists, pair by pair, those of the second multiplied by alpha."
    kernel(op_type, shape=pairs, mixed=("alpha",))(run)


def foreach_scalar(op_type: str, list_type: str, function: Function, text: str, **options: Any) -> None:
    """Declares an operator with one number for all tensors, and its twin with a number for each."""

    def run(x: list[Array], scalar: Array) -> list[Any]:
        return [function(one, scalar.reshape(())) for one in x]

    def run_list(x: list[Array], scalars: Array) -> list[Any]:
        return [function(one, number) for one, number in zip(x, scalars.reshape(-1), strict=True)]

    run.__doc__ = f"{text} of each tensor and one number."
    run_list.__doc__ = f"{text} of each tensor and a number of its own."
    kernel(op_type, shape=with_numbers("scalar"), mixed=("scalar",), **options)(run)
    kernel(list_type, shape=with_numbers("scalars"), mixed=("scalars",), **options)(run_list)


def quotient_dtype(call: Call) -> int:
    """Integers give float32, other types themselves."""
    return dtypes.FLOAT if call.dtype("x") == dtypes.INT32 else call.dtype("x")


foreach("ForeachACos", np.arccos, "The inverse cosine")
foreach("ForeachASin", np.arcsin, "The inverse sine")
foreach("ForeachATan", np.arctan, "The inverse tangent")
foreach("ForeachAbs", np.absolute, "The absolute value")
foreach("ForeachCos", np.cos, "The cosine")
foreach("ForeachCosh", np.cosh, "The hyperbolic cosine")
foreach("ForeachExp", np.exp, "The exponential")
foreach("ForeachExpm1", np.expm1, "The exponential minus 1")
foreach("ForeachLog", np.log, "The natural logarithm")
foreach("ForeachLog10", np.log10, "The logarithm to the base 10")
foreach("ForeachLog1p", np.log1p, "The logarithm of 1 plus the elements")
foreach("ForeachLog2", np.log2, "The logarithm to the base 2")
foreach("ForeachSigmoid", sigmoid, "The sigmoid")
foreach("ForeachSin", np.sin, "The sine")
foreach("ForeachSinh", np.sinh, "The hyperbolic sine")
foreach("ForeachTan", np.tan, "The tangent")
foreach("ForeachTanh", np.tanh, "The hyperbolic tangent")

foreach_alpha("ForeachAddList", np.add, "The sum")
foreach_alpha("ForeachSubList", np.subtract, "The difference")
foreach_list("ForeachDivList", np.true_divide, "The quotient")
foreach_list("ForeachMaximumList", np.maximum, "The larger elements, NaN when there is one,")
foreach_list("ForeachMinimumList", np.minimum, "The smaller elements, NaN when there is one,")
foreach_list("ForeachMulList", np.multiply, "The product")
foreach_list("ForeachPowList", power, "The power, integers staying integers,")

foreach_scalar("ForeachAddScalar", "ForeachAddScalarList", np.add, "The sum")
foreach_scalar("ForeachSubScalar", "ForeachSubScalarList", np.subtract, "The difference")
foreach_scalar("ForeachMulScalar", "ForeachMulScalarList", np.multiply, "The product")
foreach_scalar("ForeachDivScalar", "ForeachDivScalarList", np.true_divide, "The quotient", dtype={"y": quotient_dtype})
foreach_scalar("ForeachMaximumScalar", "ForeachMaximumScalarList", np.maximum, "The larger elements, NaN when there is one,")
foreach_scalar("ForeachMinimumScalar", "ForeachMinimumScalarList", np.minimum, "The smaller elements, NaN when there is one,")
foreach_scalar("ForeachPowScalar", "ForeachPowScalarList", power, "The power, integers staying integers,")
