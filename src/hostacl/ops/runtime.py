"""Checks that a kernel makes itself: of values that only arrive when it runs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from hostacl.errors import Refused
from hostacl.ops.call import Call
from hostacl.ops.dims import Between, Dim, bounds
from hostacl.ops.shapes import axes as checked_axes


def whole(value: Any) -> list[int]:
    """The integers of a value input or attribute, scalar or list."""
    return [int(one) for one in np.atleast_1d(np.asarray(value)).ravel()]


def one(value: Any) -> int:
    """The integer of a value input of one element, or of an attribute."""
    return int(np.asarray(value).reshape(()))


def axes(call: Call, value: Any, rank: int, name: str) -> tuple[int, ...]:
    """Axes that arrive as a value input, counted from the front; a scalar has none."""
    listed = whole(value)
    if rank == 0 and all(axis in (0, -1) for axis in listed):
        return ()
    return checked_axes(call, listed, rank, name)


def place(call: Call, value: Any, rank: int, name: str) -> int:
    """One axis that arrives as a value input, counted from the front."""
    return axes(call, one(value), rank, name)[0]


def same_length(call: Call, **lists: Sequence[Any]) -> None:
    """Refuses value inputs that must have equal lengths and do not."""
    if len({len(listed) for listed in lists.values()}) > 1:
        told = ", ".join(f"{name} has {len(listed)}" for name, listed in lists.items())
        raise call.refuse("HA519", f"{told} entries; they must have equally many.")


def refused(op: str, rule: str, text: str) -> Refused:
    """What a kernel raises for a value that its operator cannot have."""
    return Refused(rule, f"{op}: {text}")


def up_to(dim: Dim) -> Between:
    """A dim of which only the largest size is known."""
    return Between(0, bounds(dim)[1])
