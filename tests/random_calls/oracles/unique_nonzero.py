"""Operators whose output size depends on data."""

from __future__ import annotations

from typing import Any

import numpy as np

from hostacl.tensors import dtypes
from random_calls import values
from random_calls.dice import Dice
from random_calls.oracle import oracle, shapes


@shapes("NonZero")
def with_zeros(d: Dice) -> None:
    """A tensor half zero; the output is described with room for every element."""
    shape = d.shape()
    data = d.data(d.dtype, shape)
    data = np.where(d.rng.random(shape) < 0.5, np.zeros((), values.logical(d.dtype)), data)
    d.tensor("x", data)
    count, rank = int(np.prod(shape)), len(shape)
    room = (rank, count) if d.attr("transpose", True, False) else (count, rank)
    d.output("y", int(d.attr("dtype", dtypes.INT32, dtypes.INT64)), room)


@oracle("NonZero")
def non_zero(x: Any, transpose: bool) -> Any:
    found = [place for place in np.ndindex(x.shape) if x[place] != 0]
    result = np.array(found, object).reshape(len(found), x.ndim)
    return result.T if transpose else result
