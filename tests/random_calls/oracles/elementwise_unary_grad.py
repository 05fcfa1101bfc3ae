"""Gradients of functions of one tensor, from their derivatives."""

from __future__ import annotations

from typing import Any

import numpy as np

from hostacl.tensors import dtypes
from random_calls import values
from random_calls.dice import Dice
from random_calls.oracle import oracle


@oracle("AbsGrad")
def abs_grad(y: Any, dy: Any) -> Any:
    return np.where(y > 0, dy * 1.0, np.where(y < 0, dy * -1.0, dy * y))


@oracle("AtanGrad")
def atan_grad(y: Any, dy: Any) -> Any:
    return dy / (y**2 + 1)


@oracle("ReciprocalGrad")
def reciprocal_grad(y: Any, dy: Any) -> Any:
    return -(np.conj(y) * dy * np.conj(y))


@oracle("SqrtGrad")
def sqrt_grad(y: Any, dy: Any) -> Any:
    return dy / np.conj(y) / 2


@oracle("RsqrtGrad")
def rsqrt_grad(y: Any, dy: Any, dice: Dice) -> Any:
    if y.dtype == object:
        info = np.iinfo(dtypes.numpy_dtype(dice.dtype))
        return np.frompyfunc(lambda a, b: _half(-b * a**3, info), 2, 1)(y, dy)
    return np.conj(y) ** 3 * dy / -2 if values.is_complex(dice.dtype) else dy * y * y * y * -0.5


def _half(product: int, info: Any) -> int:
    """Half of an integer toward zero, within the type's bounds."""
    return int(min(max(abs(product) // 2 * (1 if product > 0 else -1), int(info.min)), int(info.max)))
