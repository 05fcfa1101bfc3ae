"""Integers and casts against Python's exact arithmetic: extremes, zero, negative operands, every pair of types."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from itertools import accumulate
from math import floor, inf, isnan, log2, nan, prod, trunc
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from hostacl.ops.schema import prototype
from hostacl.tensors import dtypes
from hostacl.tensors.spec import TensorSpec
from tests.ops.calling import CODES, run

INTEGERS = [np.dtype(f"{kind}{size}") for kind in "iu" for size in (1, 2, 4, 8)]
FLOATS = {np.dtype(np.float16): (11, -14, 15), np.dtype(ml_dtypes.bfloat16): (8, -126, 127),
          np.dtype(np.float32): (24, -126, 127), np.dtype(np.float64): (53, -1022, 1023)}  # fmt: skip
"""Digits, smallest and largest exponent."""


def wrapped(value: int, dtype: np.dtype[Any]) -> int:
    """What an integer type keeps of a whole number."""
    info = np.iinfo(dtype)
    return (value - int(info.min)) % (1 << info.bits) + int(info.min)


def samples(dtype: np.dtype[Any]) -> list[int]:
    """Extremes and their neighbours, small numbers of both signs, powers of two."""
    low, high = int(np.iinfo(dtype).min), int(np.iinfo(dtype).max)
    near = [low, low + 1, -7, -3, -2, -1, 0, 1, 2, 3, 7, 10, high // 2, high // 2 + 1, high - 1, high]
    return sorted({one for one in near if low <= one <= high})


def whole(quotient: Callable[[Fraction], int], a: int, b: int) -> int:
    return quotient(Fraction(a, b)) if b else 0


BINARY: dict[str, Callable[[int, int], int]] = {
    "Add": lambda a, b: a + b,
    "AddV2": lambda a, b: a + b,
    "Sub": lambda a, b: a - b,
    "Mul": lambda a, b: a * b,
    "Maximum": max,
    "Minimum": min,
    "Div": lambda a, b: whole(floor, a, b),
    "RealDiv": lambda a, b: whole(trunc, a, b),
    "FloorDiv": lambda a, b: whole(floor, a, b),
    "DivNoNan": lambda a, b: whole(trunc, a, b),
    "FloorMod": lambda a, b: a - whole(floor, a, b) * b,
    "Mod": lambda a, b: a - whole(trunc, a, b) * b,
    "BitwiseAnd": lambda a, b: a & b,
    "BitwiseOr": lambda a, b: a | b,
    "BitwiseXor": lambda a, b: a ^ b,
}


def takes(op: str, dtype: np.dtype[Any]) -> bool:
    known = prototype(op)
    assert known is not None
    return CODES[dtype] in known.inputs[0].allowed


CASES = [(op, dtype) for op in BINARY for dtype in INTEGERS if takes(op, dtype)]


@pytest.mark.parametrize(("op", "dtype"), CASES, ids=[f"{op}-{dtype}" for op, dtype in CASES])
def test_two_integers(op: str, dtype: np.dtype[Any]) -> None:
    numbers = samples(dtype)
    pairs = [(a, b) for a in numbers for b in numbers]
    x1, x2 = (np.array(column, dtype) for column in zip(*pairs, strict=True))
    want = [wrapped(BINARY[op](a, b), dtype) for a, b in pairs]
    assert run(op, x1, x2).tolist() == want
    assert run(op, x1[:, None], x2[:1]).tolist() == [[wrapped(BINARY[op](a, pairs[0][1]), dtype)] for a, _ in pairs]


@pytest.mark.parametrize("dtype", [dtype for dtype in INTEGERS if takes("LeftShift", dtype)], ids=str)
def test_shifts_by_any_number(dtype: np.dtype[Any]) -> None:
    bits = np.iinfo(dtype).bits
    pairs = [(a, b) for a in samples(dtype) for b in {0, 1, 3, bits - 1, bits, bits + 1, 100, *samples(dtype)}
             if b <= np.iinfo(dtype).max]  # fmt: skip
    x, y = (np.array(column, dtype) for column in zip(*pairs, strict=True))
    out = [not 0 <= b < bits for _, b in pairs]
    left = [0 if gone else wrapped(a << b, dtype) for (a, b), gone in zip(pairs, out, strict=True)]
    right = [-(a < 0) if gone else a >> b for (a, b), gone in zip(pairs, out, strict=True)]
    assert run("LeftShift", x, y).tolist() == left
    assert run("RightShift", x, y).tolist() == right


@pytest.mark.parametrize("dtype", [np.dtype(np.int32), np.dtype(np.int64)], ids=str)
def test_three_integers(dtype: np.dtype[Any]) -> None:
    numbers, one = samples(dtype), np.array([3], dtype)
    triples = [(d, a, b) for d in numbers[::3] for a in numbers for b in numbers]
    data, x1, x2 = (np.array(column, dtype) for column in zip(*triples, strict=True))
    assert run("Addcmul", data, x1, x2, one).tolist() == [wrapped(d + 3 * a * b, dtype) for d, a, b in triples]
    if not takes("Addcdiv", dtype):
        return
    want = [wrapped(d + whole(trunc, wrapped(3 * a, dtype), b), dtype) for d, a, b in triples]
    assert run("Addcdiv", data, x1, x2, one).tolist() == want


BIG = [2**62 + 1, -(2**61) - 3, 2**53 + 1, -1, 7, 2**63 - 1, -(2**63), 2**62 + 5]


def int64(*values: int) -> Any:
    return np.array(values, np.int64)


def test_int64_through_reductions_and_scans() -> None:
    x, axis = np.array(BIG, np.int64), np.array([0], np.int32)
    dtype = x.dtype
    assert run("ReduceSum", x, axis, const=[1]).tolist() == wrapped(sum(BIG), dtype)
    assert run("ReduceProd", x, axis, const=[1]).tolist() == wrapped(prod(BIG), dtype)
    assert run("ReduceMean", x, axis, const=[1]).tolist() == trunc(Fraction(sum(BIG), len(BIG)))
    assert run("ReduceMax", x, axis, const=[1]).tolist() == max(BIG)
    assert run("ReduceMin", x, axis, const=[1]).tolist() == min(BIG)
    assert run("Cumsum", x, axis[0], const=[1]).tolist() == [wrapped(one, dtype) for one in accumulate(BIG)]
    products = [wrapped(one, dtype) for one in accumulate(BIG, lambda a, b: a * b)]
    assert run("Cumprod", x, axis[0], const=[1]).tolist() == products
    assert run("AddN", x, x, x, N=3).tolist() == [wrapped(3 * one, dtype) for one in BIG]


def test_int64_through_sorts_searches_and_places() -> None:
    x = np.array([2**53 + 1, 2**53, 2**53 + 2, -(2**63), 2**63 - 1], np.int64)
    values, places = run("Sort", x, axis=-1)
    assert values.tolist() == sorted(x.tolist())
    assert places.tolist() == sorted(range(5), key=x.tolist().__getitem__)
    values, places = run("TopKV2", x, np.array(2, np.int32), const=[1])
    assert (values.tolist(), places.tolist()) == ([2**63 - 1, 2**53 + 2], [4, 2])
    assert run("ArgMaxV2", x, np.array(0, np.int32), const=[1]).tolist() == 4
    assert run("ArgMaxV2", x[:3], np.array(0, np.int32), const=[1]).tolist() == 2
    assert run("SearchSorted", int64(2**53, 2**53 + 1, 2**53 + 2), x[:3]).tolist() == [1, 0, 2]
    assert run("Unique", x[[0, 1, 0, 2]])[0].tolist() == [2**53 + 1, 2**53, 2**53 + 2]
    assert run("Equal", x[:1], x[1:2]).tolist() == [False]
    assert run("Less", x[1:2], x[:1]).tolist() == [True]


def test_int64_through_scatters_and_segments() -> None:
    var, rows = int64(2**62 + 1, 2**53 + 1, 5), np.array([0, 1, 0], np.int64)
    each = int64(2**61 + 1, 2, 3)
    assert run("TensorScatterMax", var, rows[:, None], each).tolist() == [2**62 + 1, 2**53 + 1, 5]
    assert run("ScatterElements", var, rows, each, axis=0, reduction="add").tolist() == [2**62 + 2**61 + 5, 2**53 + 3, 5]
    assert run("UnsortedSegmentSum", each, rows, np.array(2, np.int32), const=[2]).tolist() == [2**61 + 4, 2]
    assert run("Pow", int64(3, -3, 2, 5), int64(39, 39, 62, 0)).tolist() == [3**39, -(3**39), 2**62, 1]


def nearest(value: Fraction | float, digits: int, low: int, high: int) -> float:
    """A number rounded once, to nearest, ties to even, in a binary format."""
    if not isinstance(value, Fraction):
        return value
    if value == 0:
        return 0.0
    exponent = floor(log2(abs(value.numerator)) - log2(value.denominator)) - 1
    while abs(value) >= Fraction(2) ** (exponent + 1):
        exponent += 1
    unit = Fraction(2) ** (max(exponent, low) - digits + 1)
    result = round(value / unit) * unit  # Python rounds halves to even
    beyond = abs(result) >= Fraction(2) ** (high + 1)
    return (inf if value > 0 else -inf) if beyond else float(result)


def exact_of(array: Any) -> list[Fraction | float]:
    """Each element as a fraction; infinities and NaN as they are."""
    if array.dtype.kind in "iub":
        return [Fraction(int(one)) for one in array]
    return [Fraction(one) if abs(one) < inf else one for one in array.astype(np.float64).tolist()]


def cast_to(value: Fraction | float, dtype: np.dtype[Any], from_float: bool) -> Any:
    """What the contract gives: floats toward zero and held in range, NaN 0; wider integers wrap; bool is "not 0"."""
    if dtype.kind == "b":
        return value != 0
    if dtype in FLOATS:
        return nearest(value, *FLOATS[dtype])
    if not from_float:
        assert isinstance(value, Fraction)
        return wrapped(int(value), dtype)
    if isinstance(value, float) and isnan(value):
        return 0
    low, high = int(np.iinfo(dtype).min), int(np.iinfo(dtype).max)
    if isinstance(value, float):
        return high if value > 0 else low
    return min(max(trunc(value), low), high)


def source_of(dtype: np.dtype[Any]) -> Any:
    """Elements of a type that are hard to cast."""
    if dtype.kind == "b":
        return np.array([False, True])
    if dtype in INTEGERS:
        odd = [65519, 2**24 + 1, 2**24 + 3, 2**53 + 1, 2**53 + 3, -(2**24) - 1,
               2**62 + 2**38, 2**62 + 2**38 + 1, 2049, 2051, 257, 259]
        info = np.iinfo(dtype)
        return np.array([*samples(dtype), *(one for one in odd if info.min <= one <= info.max)], dtype)
    edges = [2.0**power + step for power in (7, 8, 15, 16, 31, 32, 63, 64) for step in (-1, -0.5, 0, 0.5, 1)]
    small = [0.0, -0.0, 0.4, -0.4, 0.5, 1.5, 2.5, -1.9, nan, inf, -inf, 65504, 65519.99, 65520, 3e38, 1e300, 2.0**-24, 2.0**-25,
             2.0**-149, 3 * 2.0**-26, 1 + 2.0**-11, 1 + 2.0**-11 + 2.0**-40, 1 + 2.0**-8, 1 + 2.0**-8 + 2.0**-30]  # fmt: skip
    with np.errstate(all="ignore"):
        return np.array([*edges, *(-one for one in edges), *small]).astype(dtype)


TYPES = [np.dtype(bool), *INTEGERS, *FLOATS]


def code_of(dtype: np.dtype[Any]) -> int:
    return dtypes.BOOL if dtype.kind == "b" else CODES[dtype]


@pytest.mark.parametrize("target", TYPES, ids=str)
@pytest.mark.parametrize("source", TYPES, ids=str)
def test_every_cast(source: np.dtype[Any], target: np.dtype[Any]) -> None:
    x = source_of(source)
    got = run("Cast", x, outputs=[TensorSpec(code_of(target), x.shape)], dst_type=code_of(target))
    want = [cast_to(one, target, source in FLOATS) for one in exact_of(x)]
    if target in FLOATS:
        np.testing.assert_array_equal(got.astype(np.float64), np.array(want, np.float64))
    else:
        assert got.tolist() == want
    many = run("Cast", np.tile(x, 300), outputs=[TensorSpec(code_of(target), (x.size * 300,))], dst_type=code_of(target))
    assert many.tobytes() == np.tile(got, 300).tobytes()


def test_the_sum_of_a_list_wraps() -> None:
    listed = [np.array([one], np.int64) for one in BIG]
    assert run("AccumulateNV2", *listed, N=len(listed)).tolist() == [wrapped(sum(BIG), np.dtype(np.int64))]
