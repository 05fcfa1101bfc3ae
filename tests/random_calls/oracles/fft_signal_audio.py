"""Fourier transforms by their matrix."""

from __future__ import annotations

from typing import Any

import numpy as np

from hostacl.tensors import dtypes
from random_calls.dice import Dice
from random_calls.oracle import Within, oracle, shapes


@shapes("FFT", "FFT2D")
def transform_call(d: Dice) -> None:
    count = 2 if d.prototype.op_type.endswith("2D") else 1
    shape = d.shape(count)
    if 0 in shape[-count:]:
        shape = (0, *(size or 1 for size in shape[1:])) if len(shape) > count else (0, *(1,) * count)
    values = d.rng.normal(size=shape) + 1j * d.rng.normal(size=shape)
    d.tensor("x", values.astype(dtypes.numpy_dtype(d.dtype)))


@oracle("FFT", "FFT2D")
def transform(x: Any, dice: Dice) -> Any:
    total, terms = x, 1
    for axis in range(-2 if dice.prototype.op_type.endswith("2D") else -1, 0):
        size = x.shape[axis]
        turns = np.exp(-2j * np.pi * (np.outer(np.arange(size), np.arange(size)) % size) / size)
        total, terms = np.moveaxis(np.moveaxis(total, axis, -1) @ turns, -1, axis), terms * size
    return Within(total, terms * (1e-6 if dice.dtype == dtypes.COMPLEX64 else 1e-13) * 8)
