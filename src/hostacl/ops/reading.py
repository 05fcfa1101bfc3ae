"""How much of an input an operator reads, where that is not all of it: memory that nobody wrote (HA217) is no fault there."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from enum import IntEnum
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

if TYPE_CHECKING:
    from hostacl.ops.call import Call


class Reads(IntEnum):
    """Of an input: no element (or each is written over or left as it is), or those that the call picks."""

    NOTHING = -1
    PARTS = -2


ReadsRule: TypeAlias = "Mapping[str, Reads | str] | Callable[[Call], Mapping[str, Reads | str]]"
"""Input to how much of it is read; a name is that of its factor: an input, which leaves it out by being 0."""


def read(call: Call) -> tuple[int, ...]:
    """Pairs of numbers: the place of an input, then a ``Reads`` or the place of its factor."""
    rule = call.operator.reads
    pairs: list[int] = []
    for name, how in (rule(call) if callable(rule) else rule).items():
        if call.has(name) and (number := _number(call, how)) is not None:
            pairs.extend(one for place in call.inputs[name].positions for one in (place, number))
    return tuple(pairs)


def _number(call: Call, how: Reads | str) -> int | None:
    if isinstance(how, Reads):
        return int(how)
    if how in call.values:
        return None if np.any(call.values[how]) else int(Reads.NOTHING)
    return call.inputs[how].positions[0] if call.has(how) else None
