"""Shape inference: what an operator would write, without running it (aclopInferShape)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from hostacl.errors import AclError, Refused
from hostacl.ops import registry
from hostacl.ops.call import Inferred
from hostacl.ops.operator import BLANK, Operator
from hostacl.singleop import custom
from hostacl.singleop.execute import unknown
from hostacl.singleop.keys import Attr
from hostacl.tensors import dtypes
from hostacl.tensors.spec import TensorSpec

INVALID_PARAM, BUILD_FAILED = 100000, 500002
"""ACL_ERROR_INVALID_PARAM, ACL_ERROR_GE_FAILURE."""

UNKNOWN_RANK = (-2,)

Output = tuple[int, int, tuple[int, ...], tuple[tuple[int, int], ...]]
"""dtype, format, dims and, when a dim is unknown, a (min, max) for each dim."""


def infer_shape(
    op_type: str, inputs: Sequence[TensorSpec], outputs: Sequence[TensorSpec], attrs: Mapping[str, Attr]
) -> list[Output]:
    """What each described output will be. Inputs come with the bytes of their buffers as const data.

    Exact dims; or -1 with ranges, whose maximum is finite when the input shapes are known; or -2. AclError 100000 for an
    unknown operator, an empty buffer or a missing name, 500002 for a call that cannot be built.
    """
    custom.load_all()
    operator = registry.find(op_type)
    if operator is None:
        raise AclError(INVALID_PARAM, *unknown(op_type))
    _check_names(operator, inputs)
    _check_data(op_type, inputs)
    try:
        inferred = _inferred(operator, inputs, outputs, attrs)
    except Refused as error:
        raise AclError(BUILD_FAILED, error.rule, error.text) from error
    if len(outputs) > len(inferred):
        text = f"{len(outputs)} output descriptors; the operator gives {len(inferred)}"
        raise AclError(INVALID_PARAM, "HA513", f"{op_type}: {text}")
    return [
        (one.dtype, one.format, UNKNOWN_RANK if one.shape is None else one.shape, one.ranges)
        for one in inferred[: len(outputs)]
    ]


def _inferred(
    operator: Operator, inputs: Sequence[TensorSpec], outputs: Sequence[TensorSpec], attrs: Mapping[str, Attr]
) -> tuple[Inferred, ...]:
    """What is inferred. A list of outputs whose length no attribute gives has as many as are described."""
    found = operator.bind(inputs, (), attrs).infer()
    if len(found) >= len(outputs) or not any(decl.kind == "dynamic" for decl in operator.prototype.outputs):
        return found
    return operator.bind(inputs, [BLANK._replace(name=one.name) for one in outputs], attrs).infer()


def _check_names(operator: Operator, inputs: Sequence[TensorSpec]) -> None:
    if not any(decl.kind == "dynamic" for decl in operator.prototype.inputs):
        return
    for index, spec in enumerate(inputs):
        if not spec.name and not spec.dynamic_input and not spec.absent:
            text = f"inputDesc[{index}] has no name; the operator takes a list of tensors, so each needs one (x0, x1, …)"
            raise AclError(INVALID_PARAM, "HA524", f"{operator.op_type}: {text}. Use set_tensor_desc_name")


def _check_data(op_type: str, inputs: Sequence[TensorSpec]) -> None:
    """Refuses a buffer that is empty, or too small to be read, though the tensor has elements; const data need none."""
    for index, spec in enumerate(inputs):
        if spec.const is None and not spec.absent and min(spec.shape, default=1) > 0:
            told = f"{op_type}: inputs[{index}] holds no data for {dtypes.ge_name(spec.dtype)} {list(spec.shape)}"
            allowed = "allowed: a buffer in host memory, of the size that its descriptor says, or const data"
            raise AclError(INVALID_PARAM, "HA528", f"{told}; {allowed}")
