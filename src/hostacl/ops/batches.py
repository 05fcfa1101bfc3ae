"""Running a large call in parts of its batch, so that widened inputs and results stay small."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from math import prod
from typing import Any

import numpy as np

from hostacl.ops import precision
from hostacl.ops.binding import Bound
from hostacl.ops.call import Call
from hostacl.tensors import dtypes, formats
from hostacl.tensors.spec import TensorSpec

LARGE_BYTES = 64 << 20
"""From here on a tensor's batch is worked on in parts."""

PART_BYTES = 32 << 20
"""What the largest tensor of a part may take, one item of the batch at least."""

Run = Callable[..., Any]


def in_batches(call: Call, whole: Callable[[Call], Run]) -> Run | None:
    """What runs a call in parts of its batch; None when it is small, or has no batch in front. ``whole`` makes a runner."""
    if not call.operator.batch or not call.exact:
        return None
    specs = [spec for bound in _split(call) for spec in bound.specs]
    sizes = {spec.shape[0] if spec.shape else 0 for spec in specs}
    if len(sizes) != 1 or not all(map(_divides, specs)):
        return None
    (items,), largest = sizes, max(map(_wide_bytes, specs))
    if largest <= LARGE_BYTES or items < 2:
        return None
    return _parts_runner(call, items, max(1, items * PART_BYTES // largest), whole)


def _split(call: Call) -> list[Bound]:
    """The tensors that have the batch."""
    return [call.inputs[name] for name in call.operator.batch if call.has(name)] + list(call.outputs.values())


def _divides(spec: TensorSpec) -> bool:
    """Whether a tensor can be cut along its first axis: plain, whole bytes, N in front."""
    axes = formats.axes_of(spec.format, len(spec.shape)) or "N"
    return not spec.absent and spec.dtype not in dtypes.PACKED and formats.is_plain(spec) and axes[0] == "N"


def _wide_bytes(spec: TensorSpec) -> int:
    """The bytes a tensor takes while it is computed with."""
    return prod(spec.shape) * precision.compute_dtype(spec.dtype).itemsize


def _parts_runner(call: Call, items: int, step: int, whole: Callable[[Call], Run]) -> Run:
    runners = {size: whole(_part(call, size)) for size in {step, items % step} if size}
    inputs = [place for name in call.operator.batch for place in call.inputs[name].positions]
    outputs = [call.inputs_sent + place for bound in call.outputs.values() for place in bound.positions]

    def run(*arrays: Any) -> Any:
        if _overlap(arrays, call.inputs_sent):
            return whole(call)(*arrays)
        for part in _parts(items, step):
            pieces = list(arrays)
            for place in (*inputs, *outputs):
                pieces[place] = arrays[place][part]
            runners[part.stop - part.start](*pieces)
        return None

    return run


def _parts(items: int, step: int) -> Iterator[slice]:
    for start in range(0, items, step):
        yield slice(start, min(start + step, items))


def _overlap(arrays: Sequence[Any], first: int) -> bool:
    """Whether an output lies in an input's memory: then everything is read before anything is written."""
    inputs = [one for one in arrays[:first] if one is not None]
    return any(np.may_share_memory(one, out) for out in arrays[first:] if out is not None for one in inputs)


def _part(call: Call, size: int) -> Call:
    """The call on so many items of the batch."""

    def cut(bound: Bound) -> Bound:
        return bound._replace(specs=tuple(spec._replace(shape=(size, *spec.shape[1:])) for spec in bound.specs))

    inputs = {name: cut(bound) if name in call.operator.batch else bound for name, bound in call.inputs.items()}
    return replace(call, inputs=inputs, outputs={name: cut(bound) for name, bound in call.outputs.items()})
