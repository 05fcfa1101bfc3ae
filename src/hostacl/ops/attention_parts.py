"""Attention over parts of the keys, put together."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from hostacl.ops import dims
from hostacl.ops.call import Call
from hostacl.ops.dims import Shape
from hostacl.ops.registry import kernel
from hostacl.ops.shapes import equal_dims
from hostacl.tensors import dtypes

Array = NDArray[Any]


def merged_shape(call: Call) -> list[Shape]:
    """One result as each of the parts, and its weight."""
    parts, results = call.shapes("lse"), call.shapes("go")
    if (kind := call.attr("update_type")) not in (0, 1):
        raise call.refuse("HA508", f"update_type = {kind}; allowed: 0, or 1, which also gives lse_m.")
    if not len(parts) == len(results) == call.attr("sp"):
        raise call.refuse("HA513", f"sp = {call.attr('sp')}, {len(parts)} lse and {len(results)} go; all three must be equal.")
    for place, (weight, result) in enumerate(zip(parts, results, strict=True)):
        told = f"lse{place} = {dims.text(weight)}, go{place} = {dims.text(result)}"
        if len(weight) != 1 or len(result) != 2:
            raise call.refuse("HA516", f"{told}; allowed: [rows] and [rows, width].")
        for one, other in ((weight[0], parts[0][0]), (result[0], parts[0][0]), (result[1], results[0][1])):
            equal_dims(call, one, other, f"{told}; allowed as lse0 = {dims.text(parts[0])}, go0 = {dims.text(results[0])}.")
    return [results[0], parts[0]]


def merged_dtype(call: Call) -> tuple[int, ...]:
    """That of the parts."""
    return (call.inputs["go"].specs[0].dtype,)


@kernel("AttentionUpdate", shape=merged_shape, dtype={"output": merged_dtype, "lse_m": lambda call: (dtypes.FLOAT,)})
def attention_update(lse: list[Array], go: list[Array], update_type: int) -> tuple[Any, ...]:
    """Attention over several parts of the keys put together: the results weighted by e^lse, over the sum of these.

    lse is the logarithm of the sum of each row's exponentials; lse_m, written with update_type 1, is that over all parts.
    """
    sums = np.stack([one.astype(np.float64) for one in lse])
    top = np.max(sums, axis=0)
    top = np.where(np.isfinite(top), top, 0)
    total = top + np.log(np.sum(np.exp(sums - top), axis=0))
    output = sum((one * np.exp(weight - total)[:, None] for one, weight in zip(go, sums, strict=True)), np.float64(0))
    return output, total if update_type else None
