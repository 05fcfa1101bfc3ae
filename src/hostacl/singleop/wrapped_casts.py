"""Casts of integers to types that lack some of them: which values were wrapped, told when HA531 is asked for."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from hostacl import _machine
from hostacl.ops.call import Call
from hostacl.ops.declare import codes
from hostacl.tensors.dtypes import BOOL, INTEGERS, numpy_dtype

Array = np.ndarray[Any, np.dtype[Any]]
RULE = "HA531"


def with_wraps(call: Call, function: Callable[..., Any]) -> Callable[..., Any]:
    """A plan's function; that of a Cast which can wrap integers looks for them first, if somebody wants to know."""
    types = codes(call) if call.op_type == "Cast" else ()
    if len(types) != 2 or not _can_wrap(*types):  # an operator of the user's own may have the name
        return function

    def run(x: Array, y: Array) -> Any:
        if _machine.asked_for(RULE):
            report_wraps(x, y.dtype)
        return function(x, y)

    return run


def _can_wrap(source: int, target: int) -> bool:
    whole = source in INTEGERS | {BOOL} and target in INTEGERS
    return whole and not np.can_cast(numpy_dtype(source), numpy_dtype(target))


def report_wraps(x: Array, dtype: np.dtype[Any]) -> None:
    """Reports how many values of x the type lacks, and the first one."""
    kept = x.astype(dtype)
    wrapped = np.argwhere(kept != x)
    if not len(wrapped):
        return
    place, bounds = tuple(wrapped[0].tolist()), np.iinfo(dtype)
    first = f"x{list(place) if place else ''} = {x[place]} became {kept[place]}"
    allowed = f"allowed: {bounds.min} to {bounds.max}, for y is {dtype}"
    _machine.report(RULE, f"Cast: {first}; {allowed}. {len(wrapped)} of {x.size} values do not fit; a card may saturate them")
