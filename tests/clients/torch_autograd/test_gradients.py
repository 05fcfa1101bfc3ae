"""Every gradient operator gives what torch's autograd gives in float64, and every one is asked."""

from __future__ import annotations

import pytest

from hostacl.tensors import dtypes
from tests.clients.torch_autograd import activations, convolutions, losses, norms, pools  # noqa: F401
from tests.clients.torch_autograd.support import Draw, calls, compare

CALLS = calls()


@pytest.mark.parametrize(("op_type", "code"), CALLS, ids=[f"{op}-{dtypes.BY_CODE[code].name}" for op, code in CALLS])
def test_the_gradient_is_autograds(op_type: str, code: int) -> None:
    for cases in CALLS[op_type, code]:
        count = 0
        for count, case in enumerate(cases(Draw(op_type, code)), 1):  # noqa: B007
            compare(op_type, case, code)
        assert count
