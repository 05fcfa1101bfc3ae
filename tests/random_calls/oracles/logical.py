"""Logic of bool tensors."""

from __future__ import annotations

from typing import Any

import numpy as np

from random_calls.oracle import oracle


@oracle("LogicalAnd")
def logical_and(x1: Any, x2: Any) -> Any:
    return np.asarray(x1.astype(int) * x2.astype(int)) == 1


@oracle("LogicalOr")
def logical_or(x1: Any, x2: Any) -> Any:
    return np.asarray(x1.astype(int) + x2.astype(int)) > 0


@oracle("LogicalNot")
def logical_not(x: Any) -> Any:
    return np.asarray(1 - x.astype(int)) == 1
