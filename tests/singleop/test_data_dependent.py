"""Outputs whose size depends on the data: ranges before, the true shape written back after, in both index widths."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from typing import Any

import numpy as np
import pytest

import acl
from tests.calls import Tensor, attributes, build_and_execute, const, device, message

WIDTHS = [np.int32, np.int64]
NUMBERS = {np.dtype(np.int32): 3, np.dtype(np.int64): 9}
DTYPES = [np.float16, np.float32, np.int8, np.int64]


def ranges(op: str, inputs: Sequence[Tensor], count: int, attrs: dict[str, Any]) -> list[list[list[int]]]:
    """The range of each dim of each output, as infer_shape gives them."""
    outs = [int(acl.create_tensor_desc(-1, [], -1)) for _ in range(count)]
    buffers = [acl.create_data_buffer(one.array.ctypes.data, one.array.nbytes) for one in inputs]
    assert acl.op.infer_shape(op, [one.desc for one in inputs], buffers, count, outs, attributes(attrs)) == 0, message()
    return [[acl.get_tensor_desc_dim_range(out, dim, 2)[0] for dim in range(acl.get_tensor_desc_num_dims(out))] for out in outs]


def called(op: str, inputs: Sequence[Tensor], outputs: Sequence[Any], attrs: dict[str, Any]) -> list[Any]:
    """The outputs, cut to the dims written back, as lists; nothing behind them was written."""
    made = [device(np.full(one.shape, 77, one.dtype)) for one in outputs]
    assert build_and_execute(op, inputs, made, attrs) == 0, message()
    found = []
    for one in made:
        shape, flat = one.dims(), one.read().reshape(-1)
        size = int(np.prod(shape))
        assert (flat[size:].astype(float) == 77).all()
        found.append(flat[:size].reshape(shape).tolist())
    return found


def numbers(dtype: Any) -> Any:
    """A vector with repetitions, out of order."""
    return np.array([3, 1, 3, 3, 2, 1, 5, 5, 3], dtype)


def appearing(listed: Sequence[Any]) -> tuple[list[Any], list[int], list[int]]:
    """Distinct values as they appear, the place of each element among them, and how often each comes."""
    values = list(dict.fromkeys(listed))
    return values, [values.index(one) for one in listed], [listed.count(one) for one in values]


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("dtype", DTYPES)
def test_unique_as_values_appear(dtype: Any, width: Any) -> None:
    x = numbers(dtype)
    values, places, counts = appearing(x.tolist())
    attrs = {"out_idx": NUMBERS[np.dtype(width)]}
    inputs = [device(x)]
    assert ranges("Unique", inputs, 2, attrs) == [[[0, 9]], [[9, 9]]]
    assert called("Unique", inputs, [x, x.astype(width)], attrs) == [values, places]
    assert ranges("UniqueWithCounts", inputs, 3, attrs) == [[[0, 9]], [[9, 9]], [[0, 9]]]
    assert called("UniqueWithCounts", inputs, [x, x.astype(width), x.astype(width)], attrs) == [values, places, counts]


@pytest.mark.parametrize("wanted", [True, False], ids=["sorted", "unsorted"])
@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("dtype", DTYPES)
def test_unique_sorted_with_inverse_and_counts(dtype: Any, width: Any, wanted: bool) -> None:
    x = np.append(numbers(dtype), np.array([0], dtype)).reshape(2, 5)
    flat = x.reshape(-1).tolist()
    values = sorted(set(flat))
    places, counts = [values.index(one) for one in flat], [flat.count(one) for one in values]
    index, inputs = np.zeros((2, 5), width), [device(x)]
    attrs = {"sorted": wanted, "return_inverse": True, "return_counts": True}
    assert ranges("UniqueWithCountsAndSorting", inputs, 3, attrs) == [[[0, 10]], [[2, 2], [5, 5]], [[0, 10]]]
    got = called("UniqueWithCountsAndSorting", inputs, [x.reshape(-1), index, index.reshape(-1)], attrs)
    assert [got[0], np.array(got[1]).reshape(-1).tolist(), got[2]] == [values, places, counts]


def test_unused_outputs_may_have_one_element() -> None:
    x, one = numbers(np.float32), np.zeros(1, np.int64)
    got = called("UniqueWithCountsAndSorting", [device(x)], [x, one, one], {"return_inverse": False, "return_counts": False})
    assert got[0] == [1, 2, 3, 5]
    got = called("UniqueConsecutive", [device(x)], [x, one, one], {"return_idx": False, "return_counts": False})
    assert got[0] == [3, 1, 3, 2, 1, 5, 3]


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("dtype", DTYPES)
def test_unique_of_neighbours(dtype: Any, width: Any) -> None:
    x = numbers(dtype)
    runs = [(value, len(list(group))) for value, group in groupby(x.tolist())]
    places = [number for number, (_, count) in enumerate(runs) for _ in range(count)]
    attrs, inputs = {"return_idx": True, "return_counts": True}, [device(x)]
    assert ranges("UniqueConsecutive", inputs, 3, attrs) == [[[0, 9]], [[9, 9]], [[0, 9]]]
    got = called("UniqueConsecutive", inputs, [x, x.astype(width), x.astype(width)], attrs)
    assert got == [[value for value, _ in runs], places, [count for _, count in runs]]


@pytest.mark.parametrize("axis", [0, 1, -1])
def test_unique_slices_along_an_axis(axis: int) -> None:
    rows = [[1, 2], [1, 2], [0, 5], [1, 2], [0, 5]]
    x = np.array(rows if axis == 0 else np.transpose(rows), np.float32)
    full = np.zeros(5, np.int64)
    values, places, counts = appearing([tuple(row) for row in rows])
    inputs = [device(x), const(np.array([axis], np.int64))]
    got = called("UniqueWithCountsExt2", inputs, [x, full, full], {"out_idx": 9})
    assert (got[0] if axis == 0 else np.transpose(got[0]).tolist()) == [list(one) for one in values]
    assert got[1:] == [places, counts]
    got = called("UniqueExt2", inputs, [x, full], {"out_idx": 9})
    assert got[1] == places
    along = {"axis": axis % 2, "return_idx": True, "return_counts": True}
    got = called("UniqueConsecutive", inputs[:1], [x, full, full], along)
    assert got[1:] == [[0, 0, 1, 2, 3], [2, 1, 1, 1]]


@pytest.mark.parametrize("transpose", [False, True])
@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("dtype", [*DTYPES, np.bool_])
def test_coordinates_of_what_is_not_zero(dtype: Any, width: Any, transpose: bool) -> None:
    x = np.array([[0, 1, 0], [7, 0, 3]]).astype(dtype)
    where = [[i, j] for i in range(2) for j in range(3) if x[i, j]]
    attrs = {"transpose": transpose, "dtype": NUMBERS[np.dtype(width)]}
    shape, inputs = ((2, 6) if transpose else (6, 2)), [device(x)]
    rows = [[2, 2], [0, 6]] if transpose else [[0, 6], [2, 2]]
    assert ranges("NonZero", inputs, 1, attrs) == [rows]
    (got,) = called("NonZero", inputs, [np.zeros(shape, width)], attrs)
    assert got == (np.transpose(where).tolist() if transpose else where)
    assert ranges("Where", inputs, 1, {}) == [[[0, 6], [2, 2]]]
    assert called("Where", inputs, [np.zeros((6, 2), np.int64)], {}) == [where]


@pytest.mark.parametrize("fill", [0, 1])
def test_nothing_or_everything_found(fill: int) -> None:
    x = np.full((2, 2), fill, np.float32)
    (got,) = called("NonZero", [device(x)], [np.zeros((4, 2), np.int64)], {})
    assert got == ([[0, 0], [0, 1], [1, 0], [1, 1]] if fill else [])
    (got,) = called("MaskedSelect", [device(x), device(x != 0)], [np.zeros(4, np.float32)], {})
    assert got == [1.0] * 4 * fill


@pytest.mark.parametrize("dtype", DTYPES)
def test_masked_elements_with_a_mask_that_broadcasts(dtype: Any) -> None:
    x = np.arange(6).reshape(2, 3).astype(dtype)
    mask = np.array([True, False, True])
    inputs = [device(x), device(mask)]
    assert ranges("MaskedSelect", inputs, 1, {}) == [[[0, 6]]]
    assert called("MaskedSelect", inputs, [np.zeros(6, dtype)], {}) == [[0, 2, 3, 5]]


def test_a_shape_described_too_small_is_told_and_nothing_is_written() -> None:
    x = device(np.array([1, 0, 2, 3], np.float32))
    out = device(np.full((2, 1), 77, np.int64))
    assert build_and_execute("NonZero", [x], [out]) == 100022
    text = message()
    assert text is not None
    assert "[2,1]" in text
    assert "[3,1]" in text
    assert (out.read() == 77).all()


def test_each_nan_is_distinct_and_stands_last() -> None:
    x = np.array([np.nan, 1, np.nan, -0.0, 0.0], np.float32)
    index = np.zeros(5, np.int64)
    attrs = {"return_inverse": True, "return_counts": True}
    values, places, counts = called("UniqueWithCountsAndSorting", [device(x)], [x, index, index], attrs)
    assert np.isnan(values[2:]).all()
    assert values[:2] == [0, 1]
    assert (places, counts) == ([2, 1, 3, 0, 0], [2, 1, 1, 1])
