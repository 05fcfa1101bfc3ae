"""The engine ``onnxruntime``: its CPU provider in the place of the kernels where it is faster. docs/engines.md says where."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import prod

from hostacl.ops import batches
from hostacl.ops.call import Call, each_output
from hostacl.ops.engines import onnx_conv, onnx_rows
from hostacl.ops.engines.recipe import Recipe
from hostacl.tensors import dtypes
from hostacl.tensors.spec import TensorSpec

COMPUTED = frozenset({dtypes.FLOAT, dtypes.FLOAT16, dtypes.BF16})
"""What is computed in float32: ONNX Runtime gets halves widened, and its results are rounded once."""

MADE_BY: Mapping[str, Callable[[Call], Recipe | None]] = {
    "Conv2DTranspose": onnx_conv.conv_transpose, "Conv2DTransposeD": onnx_conv.conv_transpose,
    "Conv3DTranspose": onnx_conv.conv_transpose, "Conv3DTransposeD": onnx_conv.conv_transpose,
    **onnx_rows.MADE_BY,
}  # fmt: skip
"""The operators, and what makes the recipe of a call or declines."""


def recipe(call: Call) -> Recipe | None:
    """How ONNX Runtime computes this call; None where it cannot, or where a kernel of ours is as fast."""
    make = MADE_BY.get(call.op_type)
    if make is None or not call.exact or len(each_output(call)) != len(call.outputs):
        return None
    if any(prod(spec.shape) == 0 for spec in _computed(call)):
        return None
    floats = {spec.dtype for spec in _computed(call)} <= COMPUTED
    return make(call) if floats or call.op_type in onnx_rows.INTEGERS else None


def too_large(call: Call) -> bool:
    """Whether the call is one for the kernels, which work in bounded memory, unless its batch can be cut."""
    return any(4 * prod(spec.shape) > batches.LARGE_BYTES for spec in _computed(call))


def _computed(call: Call) -> list[TensorSpec]:
    """The descriptors of what is computed with: outputs, and inputs that do not just say a size."""
    values = call.operator.value_inputs
    inputs = [spec for name, bound in call.inputs.items() if bound.given and name not in values for spec in bound.specs]
    return [*inputs, *(spec for _, _, spec in each_output(call))]
