"""Shape inference: what an operator would write, without running it (aclopInferShape)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from hostacl.errors import AclError, Refused
from hostacl.ops import registry, schema
from hostacl.singleop.keys import Attr
from hostacl.singleop.nearest import similar
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

    Exact dims; or -1 with ranges, whose maximum is finite when the input shapes are known; or -2. AclError 100000 for an unknown operator, a missing value
    or a missing name, 500002 for a call that cannot be built.
    """
    operator = registry.find(op_type)
    if operator is None:
        names = ", ".join(similar(op_type, schema.names())) or "none"
        raise AclError(INVALID_PARAM, "HA501", f"opType = {op_type!r}: no such operator; nearest names: {names}")
    _check_names(operator, inputs)
    try:
        inferred = operator.bind(inputs, outputs, attrs, check_outputs=False).infer()
    except Refused as error:
        code = INVALID_PARAM if error.rule == "HA528" else BUILD_FAILED
        raise AclError(code, error.rule, error.text if error.text.startswith(op_type) else f"{op_type}: {error.text}") from error
    return [(one.dtype, one.format, UNKNOWN_RANK if one.shape is None else one.shape, one.ranges) for one in inferred]


def _check_names(operator: registry.Operator, inputs: Sequence[TensorSpec]) -> None:
    if not operator.variadic:
        return
    for index, spec in enumerate(inputs):
        if not spec.name and not spec.dynamic_input and not spec.absent:
            text = f"inputDesc[{index}] has no name; {operator.type} takes a list of tensors, so each needs one (x0, x1, …): set_tensor_desc_name"
            raise AclError(INVALID_PARAM, "HA524", text)
