"""Drawn calls of operators that divide large calls, divided into tiny pieces: the oracle sees no difference."""

from __future__ import annotations

import pytest

from hostacl.ops.registry import find, implemented
from random_calls.draw import draw_call, dtypes_of
from random_calls.kinds import KINDS
from random_calls.oracle import find_oracle
from random_calls.run import check

DIVIDED = [name for name in implemented() if (one := find(name)) and (one.cuts or one.batch) and find_oracle(name)]
DRAWS = 16


@pytest.mark.parametrize("op_type", DIVIDED)
def test_pieces_give_what_the_whole_gives(op_type: str, pieces: list[int]) -> None:
    first, *others = dtypes_of(op_type)
    for code in {first, *others[:1], *others[-1:]}:
        for seed in range(DRAWS):
            check(draw_call(op_type, code, KINDS[seed % len(KINDS)], seed, 3))
    assert pieces
