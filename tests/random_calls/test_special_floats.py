"""Drawn calls whose float tensors hold NaN, infinities and zeros throughout: results, or a failure that names what is wrong."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import numpy as np
import pytest

from hostacl.errors import HostaclError
from hostacl.ops.registry import implemented
from hostacl.tensors import dtypes
from random_calls import run, values
from random_calls.dice import Tensor
from random_calls.draw import draw_call, dtypes_of

FLOATS = dtypes.FLOATS | dtypes.COMPLEXES
KINDS_TRIED = ("same shape", "attributes varied", "long", "")
MIXED = (np.nan, np.inf, -np.inf, 0.0, -0.0, 1e30)


def drawn_with(op_type: str) -> list[int]:
    """The dtypes that are tried: the first float type, and the first that is not a half."""
    floats = [code for code in dtypes_of(op_type) if code in FLOATS]
    return list(dict.fromkeys([*floats[:1], *[code for code in floats if code not in dtypes.HALVES][:1]]))


def spoiled(one: Tensor, rng: np.random.Generator, choices: tuple[float, ...], share: float) -> Any:
    """A tensor's array in memory, a share of its floats replaced; one whose value the call was drawn with stays."""
    array = np.array(one.data)
    if one.spec.dtype in FLOATS and not one.way and array.dtype.kind in "fcV" and array.dtype != dtypes.PAIR16:
        with np.errstate(over="ignore"):
            array = np.where(rng.random(array.shape) < share, rng.choice(choices, array.shape).astype(array.dtype), array)
    dtype, shape, _ = run.storage(one.spec.dtype, one.spec.shape)
    return np.array(values.pack(array, one.spec.dtype), dtype).reshape(shape)


@pytest.mark.parametrize("op_type", [name for name in implemented() if drawn_with(name)])
def test_special_floats_are_never_an_error_inside(op_type: str) -> None:
    for code in drawn_with(op_type):
        for seed, kind in enumerate(KINDS_TRIED * 2):
            drawn = draw_call(op_type, code, kind, seed, 3)
            if drawn.alias is not None:
                continue
            rng, all_nan = np.random.default_rng(seed), seed >= len(KINDS_TRIED)
            call = run.bind(drawn)
            given = [
                None if one.data is None else spoiled(one, rng, (np.nan,) if all_nan else MIXED, 1.0 if all_nan else 0.5)
                for one in drawn.inputs
            ]
            room = [run.storage(one.spec.dtype, one.spec.shape) for one in drawn.outputs]
            with np.errstate(all="ignore"), suppress(HostaclError):
                call.function()(*given, *(np.zeros(shape, dtype) for dtype, shape, _ in room))
