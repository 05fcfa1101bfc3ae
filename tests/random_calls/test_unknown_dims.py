"""Drawn calls of which some dims are not known: what is inferred must hold the true shapes, and nothing may be refused."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

from hostacl.errors import HostaclError
from hostacl.ops.call import Call
from hostacl.ops.operator import BLANK
from hostacl.ops.registry import find, implemented
from hostacl.tensors.spec import TensorSpec
from random_calls.draw import Drawn, draw_call, dtypes_of
from random_calls.run import bind, check_inferred

KINDS = ("", "same shape", "empty", "broadcast")
CALLS = 8
UNKNOWN, ANY_RANK = -1, (-2,)


def hidden(spec: TensorSpec, chance: float, ranges: bool, rng: np.random.Generator) -> TensorSpec:
    """A descriptor some of whose dims are not known, or known to lie in a range around the true one."""
    if spec.absent:
        return spec
    hide = rng.random(len(spec.shape)) < chance
    shape = tuple(UNKNOWN if gone else size for gone, size in zip(hide, spec.shape, strict=True))
    around = tuple((max(size - 1, 0), size + 2) if gone else (size, size) for gone, size in zip(hide, spec.shape, strict=True))
    return spec._replace(shape=shape, ranges=around if ranges else ())


def less_known(specs: list[TensorSpec], rng: np.random.Generator) -> Iterator[list[TensorSpec]]:
    """The inputs with all dims unknown, with ranges and without; with some; and one or all of unknown rank."""
    for chance, ranges in ((1, False), (1, True), (0.4, False), (0.4, True), (0.4, False)):
        yield [hidden(one, chance, ranges, rng) for one in specs]
    yield [one if one.absent else one._replace(shape=ANY_RANK) for one in specs]
    if specs:
        place = int(rng.integers(len(specs)))
        yield [one._replace(shape=ANY_RANK) if at == place and not one.absent else one for at, one in enumerate(specs)]


def bound(drawn: Drawn, specs: list[TensorSpec]) -> Call:
    """The call with these inputs and nothing but names of outputs, values known as far as the drawn call knows them."""
    operator = find(drawn.op_type)
    assert operator is not None
    return operator.bind(specs, [BLANK._replace(name=one.name) for one in drawn.outputs], drawn.attrs).with_values(
        bind(drawn).values
    )


def by_inputs_alone(drawn: Drawn) -> bool:
    """Whether the inputs say it all; what described outputs choose (their format, how they are laid out) is not asked."""
    try:
        check_inferred(drawn, bound(drawn, [one.spec for one in drawn.inputs]))
    except (AssertionError, HostaclError):
        return False
    return True


@pytest.mark.parametrize("op_type", [one for one in implemented() if dtypes_of(one)])
def test_unknown_dims(op_type: str) -> None:
    rng = np.random.default_rng(5)
    for seed in range(CALLS):
        codes = dtypes_of(op_type)
        drawn = draw_call(op_type, codes[seed % len(codes)], KINDS[seed % len(KINDS)], seed, 3)
        specs = [one.spec for one in drawn.inputs]
        for less in less_known(specs, rng) if by_inputs_alone(drawn) else ():
            try:
                check_inferred(drawn, bound(drawn, less))
            except Exception as error:
                told = [(one.shape, one.ranges) for one in less]
                raise AssertionError(f"{type(error).__name__} {error}\n  with {told}\n  {drawn}") from error
