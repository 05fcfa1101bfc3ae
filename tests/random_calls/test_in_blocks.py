"""Drawn calls of the families that networks are made of, their tensors lying in blocks: the oracle sees no difference."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from hostacl.config import override, settings
from hostacl.ops import usage
from hostacl.ops.registry import find, implemented
from hostacl.tensors import dtypes, formats
from hostacl.tensors.spec import TensorSpec
from random_calls import run, values
from random_calls.draw import Drawn, draw_call, dtypes_of
from random_calls.oracle import find_oracle

FAMILIES = frozenset({"activation", "conv", "loss", "matmul", "norm", "pooling", "quant", "softmax"})
KINDS = ("same shape", "optional present", "attributes varied", "same shape", "broadcast", "attributes default")
BLOCKS = {
    (formats.NCHW, 4): formats.NC1HWC0, (formats.NHWC, 4): formats.NC1HWC0,
    (formats.NCDHW, 5): formats.NDC1HWC0, (formats.NDHWC, 5): formats.NDC1HWC0,
}  # fmt: skip
FILTERS = {4: formats.FRACTAL_Z, 5: formats.FRACTAL_Z_3D}
FOUR_BITS = dtypes.PACKED
"""These have no blocks of their own here."""

OPERATORS = [name for name in implemented() if usage.families().get(name) in FAMILIES and find_oracle(name)]


def blocked(spec: TensorSpec, name: str = "", c0: int = 0) -> TensorSpec:
    """A tensor's descriptor with the blocks that go with its format and name; as it is where none do. ``c0``: of its format."""
    rank = len(spec.shape)
    if spec.absent or spec.dtype in FOUR_BITS or not dtypes.has_arrays(spec.dtype) or 0 in spec.shape:
        return spec
    layout = BLOCKS.get((spec.format, rank))
    if name.startswith("filter") and spec.format in (formats.NCHW, formats.HWCN, formats.NCDHW, formats.DHWCN):
        layout = FILTERS[rank]
    if layout is None and spec.format == formats.ND and rank >= 2:
        layout = formats.FRACTAL_NZ
    if layout is None:
        return spec
    stored = spec._replace(storage_format=layout | c0.bit_length() << 24)
    return stored._replace(storage_shape=formats.storage_shape(stored, settings().soc))


def in_memory(data: Any, spec: TensorSpec) -> Any:
    """An array as it lies in memory."""
    dense = np.ascontiguousarray(values.pack(data, spec.dtype))
    if spec.storage_format == -1:
        return dense
    out = np.zeros(spec.storage_shape or (), dense.dtype)
    formats.pack(dense, spec, out, settings().soc)
    return out


def laid_out(drawn: Drawn, c0: int) -> int:
    """Runs a call with as many tensors in blocks as may lie so; gives how many these were."""
    operator = find(drawn.op_type)
    assert operator is not None
    fixed = set(operator.value_inputs)
    inputs = [one.spec if one.name in fixed else blocked(one.spec, one.name, c0) for one in drawn.inputs]
    known = {one.name: one.data for one in drawn.inputs if one.name in fixed and one.data is not None}
    outputs = [blocked(one.spec, c0=c0) for one in drawn.outputs]
    call = operator.bind(inputs, outputs, drawn.attrs).with_values(known)
    arrays = [None if one.data is None else in_memory(one.data, spec) for one, spec in zip(drawn.inputs, inputs, strict=True)]
    shapes = [one.storage_shape or run.storage(one.dtype, one.shape)[1] for one in outputs]
    results = [np.zeros(shape, dtypes.numpy_dtype(one.dtype)) for one, shape in zip(outputs, shapes, strict=True)]
    with np.errstate(all="ignore"):
        call.function()(*arrays, *results)
    for output, spec, result in zip(drawn.outputs, outputs, results, strict=True):
        run._compare(drawn, output, result if spec.storage_format == -1 else formats.unpack(result, spec, settings().soc))
    return sum(one.storage_format != -1 for one in (*inputs, *outputs))


PRODUCTS = ("Ascend910B1", "Ascend950")
"""Two whose float32 blocks differ: 16 and 8 elements."""

NEVER = {"Dot"}
"""Operators of vectors, which have no blocks."""


@pytest.mark.parametrize("op_type", OPERATORS)
def test_blocks_give_what_the_oracle_says(op_type: str) -> None:
    assert drawn_in_blocks(op_type, KINDS) or op_type in NEVER


WHOLE = NEVER | {"DeformableOffsets", "GroupNorm", "QuantBatchMatmulInplaceAdd", "WeightQuantBatchMatmulV2"}
"""Operators whose drawn tensors are no larger than a block where they can be cut."""

DIVIDED = [name for name in OPERATORS if (one := find(name)) and (one.cuts or one.batch)]


@pytest.mark.parametrize("op_type", DIVIDED)
def test_blocks_are_divided_into_pieces(op_type: str, pieces: list[int]) -> None:
    assert drawn_in_blocks(op_type, KINDS[:4], 2) or op_type in NEVER
    assert pieces or op_type in WHOLE


def drawn_in_blocks(op_type: str, kinds: tuple[str, ...], c0: int = 0) -> int:
    """Draws calls and runs them in blocks; gives how many tensors lay so."""
    in_blocks = 0
    for code in dtypes_of(op_type)[:4]:
        for seed, kind in enumerate(kinds):
            drawn = draw_call(op_type, code, kind, seed, 3)
            if not any(one.spec.shape != one.want.shape for one in drawn.outputs):
                with override(soc=PRODUCTS[seed % 2]):
                    in_blocks += laid_out(drawn, c0)
    return in_blocks
