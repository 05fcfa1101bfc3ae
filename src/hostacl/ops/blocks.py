"""Element-wise kernels of several float tensors, block by block: temporaries stay in the cache."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hostacl import _kernels
from hostacl.config import settings
from hostacl.ops import precision
from hostacl.ops.call import Call
from hostacl.tensors import dtypes

Array = NDArray[Any]

BLOCK = 16384
"""Elements of a block."""

BLOCKED = frozenset({dtypes.FLOAT, dtypes.FLOAT16, dtypes.BF16})


def in_blocks(call: Call) -> Callable[..., None] | None:
    """The ``direct`` of an element-wise kernel with one output: the kernel itself, block by block; None unless of floats."""
    tensors = [(name, source) for name, source in call.operator.parameters if source in call.inputs]
    specs = [spec for bound in (*call.inputs.values(), *call.outputs.values()) for spec in bound.specs]
    fits = specs[-1].dtype in BLOCKED | {dtypes.BOOL} and all(spec.dtype in BLOCKED for spec in specs[:-1])
    if not fits or [source for _, source in tensors] != list(call.inputs):
        return None
    fixed = {name: call.attrs.get(source) for name, source in call.operator.parameters if source not in call.inputs}
    return _runner(partial(call.operator.kernel, **fixed), [spec.dtype for spec in specs], settings().saturate)


def _runner(function: Callable[..., Any], codes: list[int], saturate: bool) -> Callable[..., None]:
    """What widens, computes and rounds: in one go when small, strided or broadcast, else a block at a time."""

    def compute(inputs: list[Array], out: Array) -> None:
        wide = [precision.widen(array, code) for array, code in zip(inputs, codes, strict=False)]
        precision.store(np.asarray(function(*wide)), out, codes[-1], saturate)

    def run(*arrays: Array) -> None:
        *inputs, out = arrays
        whole = all(array.shape == out.shape or array.size == 1 for array in inputs)
        if out.size <= BLOCK or not whole or not all(array.flags.c_contiguous for array in arrays):
            compute(inputs, out)
            return
        flat = [_apart(array, out).reshape(-1) for array in inputs]
        load = [_block_loader(array, code) for array, code in zip(flat, codes, strict=False)]
        target = out.reshape(-1)
        for start in range(0, out.size, BLOCK):
            part = target[start : start + BLOCK]
            precision.store(np.asarray(function(*(one(start) for one in load))), part, codes[-1], saturate)

    return run


def _block_loader(array: Array, code: int) -> Callable[[int], Array]:
    """What gives the block of an input that begins at a place, halves widened into one and the same memory."""
    if array.size == 1:
        wide = precision.widen(array, code)
        return lambda start: wide
    if code not in dtypes.HALVES:
        return lambda start: array[start : start + BLOCK]
    room = np.empty(BLOCK, np.float32)

    def load(start: int) -> Array:
        part = array[start : start + BLOCK]
        _kernels.convert(part, room[: part.size])
        return room[: part.size]

    return load


def _apart(array: Array, out: Array) -> Array:
    """The input, copied if it overlaps the output other than exactly in place."""
    exactly = array.ctypes.data == out.ctypes.data and array.nbytes == out.nbytes
    return array.copy() if not exactly and np.may_share_memory(array, out) else array
