"""Regular operators in one line: element-wise with one input, two inputs, comparisons."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hostacl import _kernels
from hostacl.config import settings
from hostacl.ops import dims, precision, shapes
from hostacl.ops.axis_cuts import broadcast_cuts
from hostacl.ops.call import Call
from hostacl.ops.operator import Operator
from hostacl.ops.registry import find, kernel
from hostacl.ops.schema import prototype
from hostacl.tensors import dtypes

Array = NDArray[Any]
Elementwise = Callable[..., Any]

NATIVE_FROM = 65536
"""Elements from which on the native loops, which use several threads, beat NumPy's for float32 and float64."""

BLOCK = 16384
"""Elements of a block of a large tensor."""

EXACT: dict[Any, Any] = {
    np.add: _kernels.add, np.subtract: _kernels.subtract, np.multiply: _kernels.multiply, np.true_divide: _kernels.divide,
    np.maximum: _kernels.maximum, np.minimum: _kernels.minimum, np.equal: _kernels.equal, np.not_equal: _kernels.not_equal,
    np.less: _kernels.less, np.less_equal: _kernels.less_equal,
    np.greater: _kernels.greater, np.greater_equal: _kernels.greater_equal,
    np.absolute: _kernels.absolute, np.negative: _kernels.negative, np.sqrt: _kernels.sqrt, np.square: _kernels.square,
    np.reciprocal: _kernels.reciprocal,
    np.floor: _kernels.floor, np.ceil: _kernels.ceil, np.trunc: _kernels.trunc, np.rint: _kernels.rint,
    np.isfinite: _kernels.is_finite, np.isinf: _kernels.is_inf, np.isnan: _kernels.is_nan,
}  # fmt: skip
"""NumPy functions with the native loop that gives the same bits."""

BY_KEYWORD: dict[Any, Elementwise] = {
    np.maximum: lambda x1, x2, y: np.maximum(x1, x2, out=y),
    np.minimum: lambda x1, x2, y: np.minimum(x1, x2, out=y),
}
"""Two functions whose output NumPy 2.4 wants by keyword; by position it warns at each call."""


def unary(op_type: str, function: Elementwise, doc: str | None = None, **options: Any) -> Operator:
    """An element-wise operator with one input: ``unary("Floor", np.floor)``. Half types go through native loops or a table.

    ``doc`` is the operator's page where the function has no docstring of ours.
    """
    known = prototype(op_type)
    assert known is not None, op_type
    source = known.inputs[0].name

    def run(x: Array) -> Any:
        return function(x)

    def direct(call: Call) -> Elementwise | None:
        return direct_unary(call, function)

    run.__doc__ = doc or own_doc(function)
    options = {"shape": shapes.same_as(source), "direct": direct, "cuts": broadcast_cuts()} | options
    kernel(op_type, names={"x": source}, **options)(run)
    return registered(op_type)


def direct_unary(call: Call, function: Elementwise) -> Elementwise | None:
    """What runs an element-wise function of one tensor without loads and stores, if anything does."""
    code, out_code = codes(call)
    saturate = settings().saturate
    if code in dtypes.HALVES:
        fast = EXACT.get(function) if out_code == dtypes.BOOL or (code == out_code and not saturate) else None
        return fast or precision.half_unary(function, code, out_code, saturate)
    if isinstance(function, np.ufunc):
        return same_type(call, function, (code,), out_code)
    return in_blocks(function) if code == out_code and code in (dtypes.FLOAT, dtypes.DOUBLE) else None


def with_attributes(call: Call) -> Elementwise | None:
    """The ``direct`` of an element-wise kernel of one tensor and attributes: the kernel itself, the attributes filled in."""
    (_, *fixed) = call.operator.parameters
    values = {name: call.attrs.get(source) for name, source in fixed}
    return direct_unary(call, partial(call.operator.kernel, **values))


def floats_by(fast: np.ufunc) -> Callable[[Call], Elementwise | None]:
    """The ``direct`` of a function of one tensor that is this ufunc for floats."""

    def direct(call: Call) -> Elementwise | None:
        is_float = call.dtype(next(iter(call.inputs))) in dtypes.FLOATS
        return direct_unary(call, fast) if is_float else with_attributes(call)

    return direct


def in_blocks(function: Elementwise) -> Elementwise:
    """A function of one tensor, large ones in blocks whose temporaries stay in the cache."""

    def run(x: Array, y: Array) -> None:
        if x.size <= BLOCK or not (x.flags.c_contiguous and y.flags.c_contiguous):
            np.copyto(y, function(x))
            return
        apart = not np.may_share_memory(x, y) or x.ctypes.data == y.ctypes.data
        source, target = (x if apart else x.copy()).reshape(-1), y.reshape(-1)
        for start in range(0, source.size, BLOCK):
            target[start : start + BLOCK] = function(source[start : start + BLOCK])

    return run


def own_doc(function: Elementwise) -> str | None:
    """The docstring of a function of ours, None for NumPy's."""
    return None if isinstance(function, np.ufunc) else function.__doc__


def binary(op_type: str, function: Elementwise, doc: str | None = None, promote: bool = False, **options: Any) -> Operator:
    """An element-wise operator with two inputs that broadcast: ``binary("Add", np.add, promote=True)``.

    ``promote``: inputs of two types are taken, and the output has the type that both promote to.
    """
    known = prototype(op_type)
    assert known is not None, op_type
    one, other, out = known.inputs[0].name, known.inputs[1].name, known.outputs[0].name

    def run(x1: Array, x2: Array) -> Any:
        return function(x1, x2)

    def direct(call: Call) -> Elementwise | None:
        return direct_binary(call, function)

    run.__doc__ = doc or own_doc(function)
    if promote:
        options.setdefault("mixed", (one, other))
        options.setdefault("dtype", {out: promoted(one, other)})
    options = {"shape": shapes.broadcast(one, other), "direct": direct, "cuts": broadcast_cuts()} | options
    kernel(op_type, names={"x1": one, "x2": other}, **options)(run)
    return registered(op_type)


def direct_binary(call: Call, function: Elementwise) -> Elementwise | None:
    """What runs an element-wise function of two tensors without loads and stores, if anything does."""
    code, second, out_code = codes(call)
    if code in dtypes.HALVES:
        same = code == second and out_code in (code, dtypes.BOOL)
        if not same or (settings().saturate and out_code == code):
            return None
        return EXACT.get(function) or (in_float32(function) if out_code == code else None)
    return same_type(call, function, (code, second), out_code)


def in_float32(function: Elementwise) -> Elementwise | None:
    """NumPy's float32 loop of a ufunc on halves, widened and rounded once, if it has one that the native loop can call."""
    return partial(_kernels.widened, function) if _kernels.has_float_loop(function) else None


comparison = binary
"""A comparison is a binary operator whose prototype gives bool."""


def promoted(one: str, other: str) -> Callable[[Call], int]:
    """The dtype rule of mixed inputs."""

    def rule(call: Call) -> int:
        code = dtypes.promote(call.dtype(one), call.dtype(other))
        if code is None:
            names = [dtypes.ge_name(call.dtype(name)) for name in (one, other)]
            raise call.refuse("HA503", f"{one} {names[0]}, {other} {names[1]} have no common type. Cast one of them first.")
        return code

    return rule


def registered(op_type: str) -> Operator:
    """The operator just declared."""
    operator = find(op_type)
    assert operator is not None
    return operator


def codes(call: Call) -> tuple[int, ...]:
    """The dtype codes of all inputs and outputs in order."""
    return tuple(spec.dtype for bound in (*call.inputs.values(), *call.outputs.values()) for spec in bound.specs)


def same_type(call: Call, function: Elementwise, inputs: tuple[int, ...], out_code: int) -> Elementwise | None:
    """The ufunc, or the native loop for large float tensors, when it maps these types to just the output's."""
    kinds = {dtypes.numpy_dtype(code) for code in inputs}
    if (
        not isinstance(function, np.ufunc)
        or len(kinds) != 1
        or dtypes.COMPLEX32 in inputs
        or not dtypes.PLAIN.issuperset(inputs)
    ):
        return None
    dtype = kinds.pop()
    try:
        result = function(*(np.ones(1, dtype) for _ in inputs))
    except TypeError:
        raise call.refuse("HA502", f"{dtypes.ge_name(inputs[0])} cannot be computed here. Cast it first.") from None
    if result.dtype != dtypes.numpy_dtype(out_code):
        return None
    native = EXACT.get(function) if dtype in (np.float32, np.float64) else None
    shape = call.shapes_out[0]
    large = shape is not None and dims.known(*shape) and dims.count(shape) >= NATIVE_FROM  # type: ignore[operator]
    return native if native is not None and large else BY_KEYWORD.get(function, function)
