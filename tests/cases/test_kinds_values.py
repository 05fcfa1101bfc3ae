"""The kinds of the reports about values, tried on every operator: odd sizes, nothing at all, buffers with more bytes."""

from __future__ import annotations

from typing import Any

import pytest

import random_calls.draw
from hostacl import _machine
from hostacl.ops.registry import find
from random_calls.dice import Dice
from random_calls.through_api import check
from tests.cases.drawn import OPERATORS, InMemory, a_call, kinds_of
from tests.cases.driver import PATTERN

KINDS = ("0-d", "empty", "one element", "negative axis", "in place", "const value", "host value", "device value")


@pytest.mark.case("B003", "B006", "B014", "B015", "B032", "B035", "B036", "B059")
@pytest.mark.parametrize("op_type", OPERATORS)
def test_each_kind_through_the_api(op_type: str) -> None:
    for kind in KINDS:
        if kind in kinds_of(op_type):
            check(a_call(op_type, kind), 0)


class AroundABlock(Dice):
    """Draws tensors whose last dim is of a given length."""

    length = 1

    def shape(self, *given: Any, **named: Any) -> tuple[int, ...]:
        drawn = super().shape(*given, **named)
        return (*drawn[:-1], self.length) if drawn and 0 not in drawn else drawn


@pytest.mark.case("B020")
@pytest.mark.parametrize("op_type", OPERATORS)
def test_lengths_around_a_block(op_type: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(random_calls.draw, "Dice", AroundABlock)
    for length in (1, 7, 8, 9, 15, 16, 17, 31, 32, 33):
        AroundABlock.length = length
        check(a_call.__wrapped__(op_type, seed=length), 0)


@pytest.mark.case("B020", "B110")
@pytest.mark.parametrize("op_type", OPERATORS)
def test_a_larger_buffer_keeps_its_other_bytes(op_type: str) -> None:
    drawn = a_call(op_type)
    if drawn.alias is not None:
        pytest.skip("drawn in place")
    before = _machine.live_objects()
    tensors = InMemory(drawn, more=44)
    ret, synchronized, text = tensors.run("compile_and_execute_v2")
    assert (ret, synchronized) == (0, 0), text
    updated = find(op_type).updates  # type: ignore[union-attr]
    for place, memory in enumerate(tensors.memories):
        if memory is None:
            continue
        if place < len(drawn.inputs) and drawn.inputs[place].name not in updated:
            assert not tensors.changed(place), f"input {place} was written"
        assert (memory.bytes(memory.size - 44) == PATTERN).all(), f"tensor {place}: bytes behind it"
    tensors.free()
    assert _machine.live_objects() == before
