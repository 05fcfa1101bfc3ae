"""Operators that are refused by name."""

from __future__ import annotations

import numpy as np
import pytest

from hostacl.ops import registry, schema
from hostacl.ops.refusals import refused
from tests.calls import compile_op, device, message


@pytest.mark.parametrize("op_type", sorted(refused()))
def test_a_refusal_names_the_operator_and_says_what_to_do_instead(op_type: str) -> None:
    assert schema.prototype(op_type) is not None
    assert registry.find(op_type) is None
    x = device(np.ones(2, np.float32))
    assert compile_op(op_type, [x], [x]) == 500002
    text = message()
    assert text is not None
    assert "HA518" in text
    assert f"{op_type}: refused: " in text
    assert ";" in text.partition("refused: ")[2]
