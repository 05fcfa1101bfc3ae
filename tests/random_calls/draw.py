"""Drawing calls: `valid_call` is the hypothesis strategy, `draw_call` what it maps seeds through, `plan` a test's kinds."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from hypothesis import HealthCheck, Phase, Verbosity, given, settings
from hypothesis import strategies as st

from hostacl.ops.registry import find
from hostacl.ops.schema import Prototype, TensorDecl, prototype
from hostacl.tensors import dtypes, formats
from hostacl.tensors.spec import TensorSpec
from random_calls import values
from random_calls.dice import Dice, Tensor, main_input
from random_calls.kinds import KINDS
from random_calls.oracle import Any_, Within, find_oracle, find_shaper

EXAMPLES = 3
"""Hypothesis examples a test takes; each holds one call for every entry of the plan."""

ATTEMPTS = 20
"""How often a call is drawn anew when its kind depends on luck (a transpose in place needs a square)."""

BY_LUCK = frozenset({"in place", "partial overlap"})
"""Kinds that shapers cannot always force: they need an output like an input."""

CALLS = 51
"""The least number of calls an operator and dtype are tried with."""


@dataclass
class Output:
    """An output as described, and what the oracle expects: ``want`` is float64, complex128, bool or Python integers."""

    name: str
    spec: TensorSpec
    want: Any
    slack: Any = 0.0
    holds: Callable[[values.Array], bool] | None = None

    @property
    def shape(self) -> tuple[int, ...]:
        """The true shape."""
        return tuple(self.want.shape)


@dataclass
class Drawn:
    """One valid call, ready to run and to be judged. ``alias`` = (input's index, offset in elements) of a shared buffer.

    ``updated`` are inputs that are written, too, by name, and what the oracle expects there.
    """

    op_type: str
    dtype: int
    kind: str
    inputs: tuple[Tensor, ...]
    outputs: tuple[Output, ...]
    attrs: dict[str, tuple[str, Any]]
    served: frozenset[str]
    alias: tuple[int, int] | None = None
    updated: tuple[Output, ...] = ()

    def updates(self) -> list[tuple[int, Output]]:
        """The places of the inputs that are written, too, and what is expected there."""
        places = {one.name: place for place, one in enumerate(self.inputs)}
        return [(places[one.name], one) for one in self.updated]

    def __repr__(self) -> str:
        return f"<{self.op_type} {dtypes.dtype_name(self.dtype)}, {self.kind}>"

    def __str__(self) -> str:
        tensors = ", ".join(f"{one.name} {_text(one.spec)}{' ' + one.way if one.way else ''}" for one in self.inputs)
        outs = ", ".join(f"{one.name} {_text(one.spec)}" for one in self.outputs)
        sent = ", ".join(f"{name}={value!r}" for name, (_, value) in self.attrs.items())
        shared = f" [output shares input {self.alias[0]} at {self.alias[1]:+}]" if self.alias else ""
        data = "".join(
            f"\n    {one.name} = {np.array2string(one.data, threshold=20)}" for one in self.inputs if one.data is not None
        )
        return f"{self.op_type}({tensors}; {sent}) -> {outs}{shared} ({self.kind or 'any'}){data}"


def _text(spec: TensorSpec) -> str:
    if spec.absent:
        return "absent"
    layout = "" if spec.format == formats.ND else formats.format_name(spec.format)
    return f"{dtypes.dtype_name(spec.dtype)}{list(spec.shape)}{layout}"


def dtypes_of(op_type: str) -> tuple[int, ...]:
    """The dtypes an operator is drawn with: those of its main input that arrays exist for."""
    known = _prototype(op_type)
    if not known.inputs and not known.outputs:
        return ()
    return tuple(dict.fromkeys(dtypes.allowed_of(main_input(known).dtypes)))


@cache
def plan(op_type: str, dtype: int) -> tuple[str, ...]:
    """The kinds one example holds: each that applies, then the same again until three examples make at least 50 calls."""
    possible = [kind for kind in KINDS if kind in {"same shape", *draw_call(op_type, dtype, kind, 1, 3).served}]
    rounds = -(-CALLS // (EXAMPLES * len(possible)))
    return tuple(possible * rounds)[: max(len(possible), -(-CALLS // EXAMPLES))]


def valid_call(op_type: str, dtype: int, kind: str = "", place: int = 0) -> st.SearchStrategy[Drawn]:
    """A valid call of this operator, of this kind where it applies. ``place`` keeps equal seeds of one example apart."""
    return seeds().map(lambda one: draw_call(op_type, dtype, kind, one[0] * 100 + place, one[1]))


def seeds() -> st.SearchStrategy[tuple[int, int]]:
    """What a call is drawn from: a seed and the largest ordinary dim."""
    return st.tuples(st.integers(0, 9999), st.integers(1, 5))


def each_call(op_type: str, dtype: int, check: Callable[[Drawn], None]) -> int:
    """Runs a check over all calls of the plan, drawn by hypothesis; gives how many calls there were."""
    kinds = plan(op_type, dtype)
    total = 0

    @settings(
        max_examples=EXAMPLES, derandomize=True, database=None, deadline=None, suppress_health_check=list(HealthCheck),
        phases=(Phase.generate, Phase.shrink), report_multiple_bugs=False, verbosity=Verbosity.quiet,
    )  # fmt: skip
    @given(st.tuples(*(seeds() for _ in kinds)))
    def run(drawn: tuple[tuple[int, int], ...]) -> None:
        nonlocal total
        for place, (kind, (seed, limit)) in enumerate(zip(kinds, drawn, strict=True)):
            check(draw_call(op_type, dtype, kind, seed * 100 + place, limit))
            total += 1

    run()
    return total


def draw_call(op_type: str, dtype: int, kind: str, seed: int, limit: int) -> Drawn:
    """The call that this seed stands for; the first one of this kind among a few draws."""
    rng = np.random.default_rng(seed)
    for _ in range(ATTEMPTS if kind in BY_LUCK else 4):
        drawn = _draw(op_type, dtype, kind, rng, limit)
        if kind in {"", "same shape", *drawn.served}:
            break
    return drawn


def _draw(op_type: str, dtype: int, kind: str, rng: np.random.Generator, limit: int) -> Drawn:
    dice = Dice(_prototype(op_type), dtype, kind, rng, limit)
    shaper = find_shaper(op_type) or elementwise
    shaper(dice)
    inputs = _in_order(dice)
    results = expected(op_type, dice)
    outputs = _outputs(results[: len(dice.generation.outputs)], dice)
    updated = _updated(results[len(dice.generation.outputs) :], dice)
    alias = _alias(dice, inputs, outputs)
    return Drawn(op_type, dtype, kind, inputs, outputs, dice.attrs, frozenset(dice.served), alias, updated)


def elementwise(dice: Dice) -> None:
    """The shaper of operators that declare none: all tensors broadcast, attributes keep their defaults."""
    required = [decl for decl in dice.generation.inputs if decl.kind == "required"]
    shapes = iter(dice.shapes_that_broadcast(len(required)))
    full = np.broadcast_shapes(*(shape for shape in dice.shapes_that_broadcast(0))) if not required else ()
    for decl in dice.generation.inputs:
        if decl.kind == "required":
            full = next(shapes)
            dice.tensor(decl.name, full)
        elif decl.kind == "optional":
            if dice.optional(decl.name):
                dice.tensor(decl.name, full)
        else:
            for _ in range(dice.count()):
                dice.tensor(decl.name, full)
    for decl_attr in dice.generation.attrs.values():
        if decl_attr.required:
            raise LookupError(f"{dice.prototype.op_type}: attribute {decl_attr.name} is required; write a shaper that draws it")
        if decl_attr.default is not None:
            dice.attr(decl_attr.name)


def _prototype(op_type: str) -> Prototype:
    known = prototype(op_type)
    if known is None:
        raise LookupError(f"{op_type} has no prototype")
    return known


def _in_order(dice: Dice) -> tuple[Tensor, ...]:
    """The drawn tensors in the prototype's order; left-out ones at the end are sometimes not sent at all."""
    listed: list[Tensor] = []
    for decl in dice.generation.inputs:
        if decl.kind == "required" and decl.name not in dice.inputs:
            raise LookupError(f"{dice.prototype.op_type}: the shaper drew no {decl.name}")
        listed += dice.inputs.get(
            decl.name, [Tensor(decl.name, TensorSpec(-1, (), -1), None)] if decl.kind == "optional" else []
        )
    while listed and listed[-1].data is None and dice.chance():
        listed.pop()
    return tuple(listed)


def _outputs(results: list[Any], dice: Dice) -> tuple[Output, ...]:
    """What the oracle expects, with descriptors for it."""
    outputs: list[Output] = []
    for decl, result in zip(dice.generation.outputs, results, strict=True):
        for place, one in enumerate(result if isinstance(result, list) else [result]):
            name = f"{decl.name}{place}" if decl.kind == "dynamic" else decl.name
            outputs.append(_output(name, decl, one, dice))
    return tuple(outputs)


def _updated(results: list[Any], dice: Dice) -> tuple[Output, ...]:
    """What the oracle expects, after the outputs, in the inputs that the operator updates and that are there."""
    operator = find(dice.prototype.op_type)
    named = [one for name in (operator.updates if operator else ()) for one in dice.inputs.get(name, [])]
    given = [one for one in named if one.data is not None]
    return tuple(_judged(one.name, one.spec, result) for one, result in zip(given, results, strict=True))


def _output(name: str, decl: TensorDecl, result: Any, dice: Dice) -> Output:
    dtype, shape, layout = dice.outputs.get(decl.name, (None, None, formats.ND))
    dtype = _output_dtype(decl, dice) if dtype is None else dtype
    true = result.shape if isinstance(result, Any_) else np.shape(result.value if isinstance(result, Within) else result)
    return _judged(name, TensorSpec(dtype, tuple(shape or true), layout), result)


def _judged(name: str, spec: TensorSpec, result: Any) -> Output:
    """A tensor and what the oracle expects in it."""
    slack, holds = 0.0, None
    if isinstance(result, Within):
        result, slack = result
    if isinstance(result, Any_):
        result, holds = np.empty(result.shape), result.holds
    return Output(name, spec, np.asarray(result), slack, holds)


def _output_dtype(decl: TensorDecl, dice: Dice) -> int:
    """The dtype an output is described with: the main one where it can have it, else its only one."""
    if dice.dtype in decl.allowed or not decl.dtypes:
        return dice.dtype
    if len(decl.dtypes) > 1:
        raise LookupError(
            f"{dice.prototype.op_type}: {decl.name} can have many dtypes; the shaper must say which (dice.output)"
        )
    return decl.dtypes[0]


def expected(op_type: str, dice: Dice) -> list[Any]:
    """The oracle's outputs, in the prototype's order."""
    entry = find_oracle(op_type)
    if entry is None:
        raise LookupError(f"{op_type} has no oracle: add one to tests/random_calls/oracles (README.md there says how)")
    given: dict[str, Any] = {}
    known = {*dice.prototype.attrs, *dice.values, *(decl.name for decl in dice.prototype.inputs)}
    for name in entry.parameters:
        if name == "dice":
            given[name] = dice
        elif name not in entry.with_default or name.rstrip("_") in known:
            given[name] = _argument(dice, dice.prototype, name.rstrip("_"), op_type)
    with np.errstate(all="ignore"):
        result = entry.function(**given)
    return list(result) if isinstance(result, tuple) and not isinstance(result, (Within, Any_)) else [result]


def _argument(dice: Dice, known: Prototype, name: str, op_type: str) -> Any:
    """What an oracle sees for a parameter: an input in exact form (a dynamic one: a list), or an attribute's value in force."""
    decl = next((one for one in known.inputs if one.name == name), None)
    if decl is not None and not (name in dice.attrs and name not in dice.inputs):
        tensors = [values.exact(one.data, one.spec.dtype) for one in dice.inputs.get(name, []) if one.data is not None]
        return tensors if decl.kind == "dynamic" else (tensors[0] if tensors else None)
    if name in dice.values:
        return dice.values[name]
    if name in known.attrs:
        return known.attrs[name].default
    if any(name in one.attrs or any(decl.name == name for decl in one.inputs) for one in known.generations):
        return None
    raise TypeError(f"{op_type}: oracle parameter {name} is neither an input nor an attribute of the prototype")


def _alias(dice: Dice, inputs: tuple[Tensor, ...], outputs: tuple[Output, ...]) -> tuple[int, int] | None:
    """The input whose buffer the first output takes, if any: exactly in place, or shifted by some elements."""
    if not outputs:
        return None
    spec = outputs[0].spec
    like = (spec.dtype, spec.shape, spec.format)
    operator = find(dice.prototype.op_type)
    updated = () if operator is None else operator.updates
    fits = [
        index
        for index, one in enumerate(inputs)
        if one.data is not None and not one.way and one.data.size and (one.spec.dtype, one.spec.shape, one.spec.format) == like
        if one.name not in updated
    ]
    fits = [] if spec.dtype in dtypes.PACKED else fits
    if dice.wants("in place", bool(fits)):
        return int(dice.choose(*fits)), 0
    if dice.wants("partial overlap", bool(fits)):
        return int(dice.choose(*fits)), dice.choose(1, -1) * dice.int(1, 3)
    return (int(dice.choose(*fits)), 0) if fits and dice.chance(0.1) else None
