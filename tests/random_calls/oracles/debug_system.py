"""The overflow status: what of it is the same at any time."""

from __future__ import annotations

from typing import Any

import numpy as np

from random_calls.dice import Dice
from random_calls.oracle import Any_, oracle, shapes


@shapes("NPUGetFloatStatus", "NPUClearFloatStatus", "NPUGetFloatStatusV2")
def place(d: Dice) -> None:
    d.tensor("addr", np.zeros(8))


def flag(got: Any) -> bool:
    return bool(got[0] in (0, 1) and not got[1:].any())


@oracle("NPUAllocFloatStatus")
def zeros() -> Any:
    return np.zeros(8)


@oracle("NPUClearFloatStatus")
def cleared() -> Any:
    return np.zeros(8), np.zeros(8)


@oracle("NPUGetFloatStatus")
def told_twice() -> Any:
    return Any_((8,), flag), Any_((8,), flag)


@oracle("NPUGetFloatStatusV2", "NPUGetFloatDebugStatus")
def told() -> Any:
    return Any_((8,), flag)


@oracle("NPUClearFloatStatusV2", "NPUClearFloatDebugStatus")
def nothing() -> Any:
    return ()
