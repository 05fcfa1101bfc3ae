"""Drawn calls with another shape, or other integers, of one input, through the API: told by name, never an error inside."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import acl
from hostacl.errors import HostaclError
from hostacl.ops.registry import find, implemented
from hostacl.tensors import dtypes
from random_calls import values
from random_calls.draw import Drawn, draw_call, dtypes_of
from random_calls.through_api import Device, _input, _output, dtypes_through_api
from tests.machine import started

DRAWS = 12
KINDS = ("same shape", "attributes varied", "")


machine = pytest.fixture(autouse=True, scope="module")(started)


def other_shape(shape: tuple[int, ...], rng: np.random.Generator) -> tuple[int, ...]:
    """A dim less, more, larger, empty or 1; or all turned round."""
    dims = list(shape)
    place, change = int(rng.integers(0, max(len(dims), 1))), int(rng.integers(0, 6))
    if change == 0:
        dims.insert(place, int(rng.integers(0, 4)))
    elif change == 1:
        dims.reverse()
    elif dims:
        dims[place : place + 1] = ([], [dims[place] + 1], [0], [1])[change - 2]
    return tuple(dims)


def changed(drawn: Drawn, rng: np.random.Generator) -> Drawn | None:
    """The call with another shape of one input, its elements repeated or cut off."""
    usual = [
        place for place, one in enumerate(drawn.inputs)
        if one.data is not None and one.spec.dtype != dtypes.STRING and one.spec.dtype not in dtypes.PACKED
    ]  # fmt: skip
    if not usual or drawn.alias is not None:
        return None
    place = int(rng.choice(usual))
    one = drawn.inputs[place]
    assert one.data is not None
    shape = other_shape(one.spec.shape, rng)
    data = np.resize(one.data, shape) if one.data.size else np.zeros(shape, one.data.dtype)
    inputs = list(drawn.inputs)
    inputs[place] = replace(one, data=data, spec=one.spec._replace(shape=shape))
    return replace(drawn, inputs=tuple(inputs))


def with_other_integers(drawn: Drawn, rng: np.random.Generator) -> Drawn | None:
    """The call with half of the numbers of one int32 or int64 input replaced: near ones, or any."""
    whole = (dtypes.INT32, dtypes.INT64)
    places = [place for place, one in enumerate(drawn.inputs) if one.data is not None and one.spec.dtype in whole]
    if not places or drawn.alias is not None:
        return None
    place = int(rng.choice(places))
    one = drawn.inputs[place]
    assert one.data is not None
    limits = np.iinfo(one.data.dtype)
    numbers = [-1, 0, 1, -2, 7, 1000, limits.max, limits.min][: 6 + 2 * int(rng.integers(0, 2))]
    data = np.where(rng.random(one.data.shape) < 0.5, rng.choice(np.array(numbers), one.data.shape), one.data)
    inputs = list(drawn.inputs)
    inputs[place] = replace(one, data=data.astype(one.data.dtype))
    return replace(drawn, inputs=tuple(inputs))


def described_anew(drawn: Drawn) -> Drawn | None:
    """The call with outputs as they are inferred; None where it is refused, or sizes depend on data."""
    specs = [one.spec for one in drawn.inputs]
    for place, one in enumerate(drawn.inputs):
        if one.way and one.data is not None:
            specs[place] = one.spec._replace(const=values.pack(one.data, one.spec.dtype).tobytes())
    operator = find(drawn.op_type)
    assert operator is not None
    try:
        found = operator.bind(specs, [], drawn.attrs).infer()
    except HostaclError:
        return None
    if len(found) != len(drawn.outputs) or any(one.shape is None or -1 in one.shape for one in found):
        return None
    outputs = [
        replace(out, spec=out.spec._replace(dtype=one.dtype, shape=tuple(one.shape or ()), format=one.format))
        for out, one in zip(drawn.outputs, found, strict=True)
    ]
    return replace(drawn, outputs=tuple(outputs))


def run(drawn: Drawn) -> str:
    """The texts of errors of a call."""
    with ExitStack() as stack:
        device = Device(stack)
        tensors = [_input(device, one, []) for one in drawn.inputs]
        outputs = [_output(device, drawn, place, one, tensors) for place, one in enumerate(drawn.outputs)]
        lists = [[one[part] for one in side] for side in (tensors, outputs) for part in (0, 1)]
        acl.get_recent_err_msg()
        acl.op.compile_and_execute_v2(drawn.op_type, *lists, device.attrs(drawn.attrs), 0, 0, None, 0)
        acl.rt.synchronize_stream(0)
        return acl.get_recent_err_msg() or ""


@pytest.mark.parametrize("op_type", [name for name in implemented() if dtypes_through_api(dtypes_of(name))])
def test_a_wrong_shape_is_never_an_error_inside(op_type: str) -> None:
    for code in dtypes_through_api(dtypes_of(op_type))[:2]:
        for seed in range(DRAWS):
            drawn = changed(draw_call(op_type, code, KINDS[seed % 3], seed, 3), np.random.default_rng(seed))
            drawn = described_anew(drawn) if drawn is not None and seed % 2 else drawn
            if drawn is not None:
                told = run(drawn)
                assert "HA526" not in told, f"{told}\n  {drawn}"


@pytest.mark.parametrize("op_type", [name for name in implemented() if dtypes_through_api(dtypes_of(name))])
def test_wrong_integers_are_never_an_error_inside(op_type: str) -> None:
    code = dtypes_through_api(dtypes_of(op_type))[0]
    for seed in range(DRAWS):
        drawn = with_other_integers(draw_call(op_type, code, KINDS[seed % 3], seed, 3), np.random.default_rng(seed))
        if drawn is not None:
            told = run(drawn)
            assert "HA526" not in told, f"{told}\n  {drawn}"


EXTREME: dict[str, list[Any]] = {
    "int": [-(2**63), 2**63 - 1, -1, 0],
    "float": [float("nan"), float("inf"), 0.0, -1.0],
    "list_int": [[], [-(2**63)], [0] * 9],
    "list_float": [[], [float("nan")] * 2],
    "data_type": [-1, 99, dtypes.STRING],
    "string": ["", "x"],
}
"""Attributes that hardly anything can mean. (Lengths that are only long are not among them: they take their time.)"""


@pytest.mark.parametrize("op_type", [name for name in implemented() if dtypes_through_api(dtypes_of(name))])
def test_extreme_attributes_are_never_an_error_inside(op_type: str) -> None:
    code = dtypes_through_api(dtypes_of(op_type))[0]
    calls = [draw_call(op_type, code, "same shape", seed, 3) for seed in range(6)]
    drawn = next((one for one in calls if one.alias is None), None)
    operator = find(op_type)
    assert operator is not None
    if drawn is None:
        return
    for name, decl in operator.prototype.attrs.items():
        for value in EXTREME.get(decl.kind, []):
            changed_call = replace(drawn, attrs={**drawn.attrs, name: (decl.kind, value)})
            told = run(changed_call)
            assert "HA526" not in told, f"{name} = {value}: {told}\n  {drawn}"
