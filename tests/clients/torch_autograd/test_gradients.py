"""Every gradient operator gives what torch's autograd gives in float64, and every one is asked."""

from __future__ import annotations

import re

import pytest

from hostacl.ops import implemented
from hostacl.tensors import dtypes
from tests.clients.torch_autograd import (  # noqa: F401
    activations,
    attention,
    boxes,
    convolutions,
    losses,
    moves,
    norms,
    pools,
    quantised,
    recurrent,
    sampling,
)
from tests.clients.torch_autograd.support import TABLE, Draw, calls, compare

CALLS = calls()

NOT_ASKED: dict[str, str] = {}
"""Gradient operators that autograd says nothing about, each with the reason."""


@pytest.mark.parametrize(("op_type", "code"), CALLS, ids=[f"{op}-{dtypes.BY_CODE[code].name}" for op, code in CALLS])
def test_the_gradient_is_autograds(op_type: str, code: int) -> None:
    for cases in CALLS[op_type, code]:
        count = 0
        for count, case in enumerate(cases(Draw(op_type, code)), 1):  # noqa: B007
            compare(op_type, case, code)
        assert count


def test_every_gradient_operator_is_asked() -> None:
    """An operator that a name calls a gradient is in the tables, but for optimizers, which take gradients."""
    named = {one for one in implemented() if re.search("Grad|Backprop|Backward", one) and not one.startswith("Apply")}
    assert named - set(TABLE) == set(NOT_ASKED)
    assert not set(NOT_ASKED) & set(TABLE)
