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


@oracle("AcosGrad")
def acos_grad(y: Any, dy: Any) -> Any:
    return -dy / np.sqrt(1 - y**2)


@oracle("AsinGrad")
def asin_grad(y: Any, dy: Any, dice: Dice) -> Any:
    if y.dtype == object:
        info = np.iinfo(dtypes.numpy_dtype(dice.dtype))
        return np.frompyfunc(lambda a, b: _over_root(int(a), int(b), info), 2, 1)(y, dy)
    return dy / np.sqrt((1 - np.conj(y)) * (1 + np.conj(y)))


def _over_root(y: int, dy: int, info: Any) -> int:
    """dy/sqrt(1 - y^2) of integers: dy itself, an infinity held within the type, or nothing at all."""
    if y == 0:
        return dy
    return 0 if abs(y) > 1 or dy == 0 else int(info.max if dy > 0 else info.min)


@oracle("AcoshGrad")
def acosh_grad(y: Any, dy: Any) -> Any:
    return 2 * dy / (np.exp(y) - np.exp(-y)) if np.min(np.abs(y), initial=1) > 0.1 else dy / np.sinh(y)


@oracle("AsinhGrad")
def asinh_grad(y: Any, dy: Any) -> Any:
    return 2 * dy / (np.exp(y) + np.exp(-y))


@oracle("InvGrad")
def inv_grad(x: Any, grad: Any) -> Any:
    return -(x * grad * x)


@oracle("ReciprocalGrad")
def reciprocal_grad(y: Any, dy: Any) -> Any:
    return -(np.conj(y) * dy * np.conj(y))


@oracle("SqrtGrad")
def sqrt_grad(y: Any, dy: Any) -> Any:
    if np.iscomplexobj(y):
        return (dy.astype(np.clongdouble) / np.conj(y) / 2).astype(np.complex128)
    return (dy.astype(np.longdouble) / y / 2).astype(np.float64)


@oracle("RsqrtGrad")
def rsqrt_grad(y: Any, dy: Any, dice: Dice) -> Any:
    if y.dtype == object:
        info = np.iinfo(dtypes.numpy_dtype(dice.dtype))
        return np.frompyfunc(lambda a, b: _half(-b * a**3, info), 2, 1)(y, dy)
    if values.is_complex(dice.dtype):
        return np.conj(y) ** 3 * dy / -2
    return (dy * y.astype(np.longdouble) ** 3 / -2).astype(np.float64)


def _half(product: int, info: Any) -> int:
    """Half of an integer toward zero, within the type's bounds."""
    return int(min(max(abs(product) // 2 * (1 if product > 0 else -1), int(info.min)), int(info.max)))
