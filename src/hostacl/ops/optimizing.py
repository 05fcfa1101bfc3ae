"""How optimizers are declared: variables with their slots, numbers of one element, and a step in float64."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from hostacl.ops import dims
from hostacl.ops.call import Call
from hostacl.ops.dims import Shape
from hostacl.ops.parts import slices, wide
from hostacl.ops.registry import kernel
from hostacl.ops.schema import prototype
from hostacl.ops.shapes import alike_inputs

Array = NDArray[Any]
Function = TypeVar("Function", bound=Callable[..., Any])


def optimizer(
    *op_types: str, slots: Sequence[str] = (), grad: str = "grad", scalars: Sequence[str] = (),
    check: Callable[[Call], None] | None = None,
) -> Callable[[Function], Function]:  # fmt: skip
    """Declares operators that move ``var`` along ``grad`` and keep slots beside it: the kernel returns (var, *slots).

    Slots that are no outputs of an operator (all but its D form) are updated in the inputs' memory.
    """

    def declare(function: Function) -> Function:
        for op_type in op_types:
            known = prototype(op_type)
            assert known is not None, op_type
            outputs = {decl.name for decl in known.outputs}
            hidden = [name for name in slots if name not in outputs]
            kernel(op_type, shape=shape_rule(slots, grad, scalars, check), updates=hidden)(function)
        return function

    return declare


def shape_rule(
    slots: Sequence[str], grad: str, scalars: Sequence[str], check: Callable[[Call], None] | None
) -> Callable[[Call], list[Shape]]:
    """The shape of the variable for it and each slot that is an output; scalars have one element."""

    def rule(call: Call) -> list[Shape]:
        if check is not None:
            check(call)
        var = next(iter(call.outputs))
        shape = alike_inputs(call, var, *slots, grad)
        for name in scalars:
            if call.has(name) and (size := dims.count(call.shape(name))) != 1 and dims.known(size):
                raise call.refuse("HA504", f"{name} = {dims.text(call.shape(name))}; allowed: one element.")
        return [shape] * len(call.outputs)

    return rule


def step(function: Callable[..., Any], tensors: Sequence[Array], scalars: Sequence[Any]) -> tuple[Array, ...]:
    """New values of the variable and its slots: a function of parts of the tensors and of numbers, in float64.

    Complex values stay complex. Integers come as float64; the results are cut off toward zero.
    """
    numbers = [wide(np.asarray(one)).reshape(()) for one in scalars]
    results: list[Array] = []
    for place in slices(tensors[0].shape):
        new = function(*(wide(one[place]) for one in tensors), *numbers)
        if not results:
            results = [np.empty(tensors[0].shape, result_dtype(tensors[0])) for _ in new]
        for result, value in zip(results, new, strict=True):
            result[place] = value
    return tuple(results)


def result_dtype(var: Array) -> Any:
    """What results are held in before they are rounded once: the variable's type, integers in float64."""
    return var.dtype if var.dtype.kind in "fc" else np.dtype(np.float64)
