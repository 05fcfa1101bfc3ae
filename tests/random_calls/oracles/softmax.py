"""Softmax in float64."""

from __future__ import annotations

from typing import Any

import numpy as np

from hostacl.tensors import dtypes
from random_calls.dice import Dice
from random_calls.oracle import Within, oracle, shapes


@shapes("SoftmaxV2")
def softmax_axes(d: Dice) -> None:
    """A tensor, axes, and half_to_float for float16."""
    shape = d.shape(1)
    d.tensor("x", shape)
    d.attr("axes", [d.axis(len(shape))], d.axes(len(shape), 1))
    if d.attr("half_to_float", d.dtype == dtypes.FLOAT16, False):
        d.output("y", dtypes.FLOAT)


@oracle("SoftmaxV2")
def softmax_v2(x: Any, axes: list[int]) -> Any:
    """exp(x - log sum exp x), which is another formula than exp over its sum."""
    if x.size == 0:
        return x
    along = tuple(axis % x.ndim for axis in axes)
    largest = np.max(x, axis=along, keepdims=True)
    logs = np.log(np.sum(np.exp(x - largest), axis=along, keepdims=True))
    result = np.exp(x - largest - logs)
    return Within(result, np.nan_to_num(result) * (10 + np.abs(np.nan_to_num(x - largest, posinf=0, neginf=0))) * 2.0**-24)
