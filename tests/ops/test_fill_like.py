"""Filled tensors, ranges and spaces: types, unknown sizes, refusals."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

from hostacl.errors import Failed, Refused
from hostacl.tensors import dtypes
from hostacl.tensors.spec import TensorSpec
from tests.ops.calling import bind, run, spec

F32, I64 = np.float32, np.int64


@pytest.mark.parametrize("dtype", [np.float16, ml_dtypes.bfloat16, F32, np.float64, np.int8, I64, np.uint16, np.complex128])
def test_ones_and_zeros(dtype):
    x = np.full((2, 3), 5).astype(dtype)
    assert run("OnesLike", x).tolist() == [[1] * 3] * 2
    assert run("ZerosLike", x).tolist() == [[0] * 3] * 2
    assert run("OnesLike", x[0, 0]).shape == ()


def test_ones_of_bool_are_true():
    assert run("OnesLike", np.zeros(3, bool)).tolist() == [True] * 3


def test_numbers_are_cast_as_cast_does():
    assert run("Fills", np.zeros(2, np.int8), value=-300.7).tolist() == [-128, -128]
    assert run("Fills", np.zeros(2, bool), value=0.5).tolist() == [True, True]
    described = [TensorSpec(dtypes.INT32, (2,))]
    assert run("FillV2", np.array([2]), outputs=described, const=[0], value=2.9).tolist() == [2, 2]
    assert run("FillV2D", outputs=described, dims=[2], value=-2.9).tolist() == [-2, -2]


def test_fill_v2_with_dims_in_device_memory():
    call = bind("FillV2", [spec(np.array([2, 3]))], [TensorSpec(dtypes.FLOAT, (10,))])
    assert not call.exact
    out = np.zeros(10, F32)
    assert call.function()(np.array([2, 3]), out) == ((2, 3),)
    with pytest.raises(Failed, match=r"HA519.*dims\[1\] = -3"):
        call.function()(np.array([2, -3]), out)
    with pytest.raises(Failed, match=r"HA521"):
        call.function()(np.array([4, 3]), out)


def test_eye():
    assert run("Eye", num_rows=2).tolist() == [[1, 0], [0, 1]]
    assert run("Eye", num_rows=2, num_columns=3, batch_shape=[2], dtype=dtypes.INT8).tolist() == [[[1, 0, 0], [0, 1, 0]]] * 2
    with pytest.raises(Refused, match=r"HA508.*num_rows = -1"):
        bind("Eye", [], num_rows=-1)
    with pytest.raises(Refused, match=r"HA527"):
        bind("Eye", [], [TensorSpec(dtypes.FLOAT, (2, 2))], num_rows=2, dtype=dtypes.INT32)


@pytest.mark.parametrize(
    ("start", "limit", "delta", "wanted"),
    [
        (0, 5, 2, [0, 2, 4]),
        (5, 0, -2, [5, 3, 1]),
        (2**60 + 1, 2**60 + 4, 1, [2**60 + 1, 2**60 + 2, 2**60 + 3]),
        (0, 5, -1, []),
        (3, 3, 1, []),
    ],
)
def test_range_of_integers(start, limit, delta, wanted):
    numbers = [np.array(one, I64) for one in (start, limit, delta)]
    assert run("Range", *numbers, const=[0, 1, 2]).tolist() == wanted


def test_range_of_floats_and_closed():
    numbers = [np.array([one], F32) for one in (0, 1, 0.25)]
    assert run("Range", *numbers, const=[0, 1, 2]).tolist() == [0, 0.25, 0.5, 0.75]
    assert run("Range", *numbers, const=[0, 1, 2], is_closed=True).tolist() == [0, 0.25, 0.5, 0.75, 1]
    halves = [one.astype(np.float16) for one in numbers]
    assert run("Range", *halves, const=[0, 1, 2]).tolist() == [0, 0.25, 0.5, 0.75]


def test_range_refusals():
    numbers = [np.array(one, I64) for one in (0, 5, 0)]
    with pytest.raises(Refused, match=r"HA519.*delta = 0"):
        bind("Range", [spec(one, const=True) for one in numbers])
    with pytest.raises(Refused, match=r"HA504.*start = \[2\]"):
        bind("Range", [np.arange(2), numbers[1], numbers[1]], const=[0, 1, 2])


def test_range_with_unknown_values():
    call = bind("Range", [TensorSpec(dtypes.INT64, ())] * 3)
    (one,) = call.infer()
    assert (one.shape, one.ranges) == ((-1,), ((0, -1),))


def test_range_d_takes_its_length_from_x():
    assert run("RangeD", np.arange(3, dtype=F32), start=1.0, limit=9.0, delta=0.5).tolist() == [1, 1.5, 2]


def test_lin_space():
    five = np.array(5, np.int32)
    assert run("LinSpace", np.array(0, F32), np.array(1, F32), five, const=[2]).tolist() == [0, 0.25, 0.5, 0.75, 1]
    assert run("LinSpace", np.array(3, F32), np.array(9, F32), np.array([1], np.int32), const=[2]).tolist() == [3]
    with pytest.raises(Refused, match=r"HA519.*num = -1"):
        bind("LinSpace", [np.array(0, F32), np.array(1, F32), np.array(-1, np.int32)], const=[2])


def test_log_space():
    attrs = {"start": 0.0, "end": 2.0, "steps": 3, "dtype": dtypes.FLOAT}
    np.testing.assert_allclose(run("LogSpaceD", np.arange(3, dtype=F32), **attrs), [1, 10, 100], rtol=1e-6)
    with pytest.raises(Refused, match=r"HA504.*steps = 3"):
        bind("LogSpaceD", [np.arange(4, dtype=F32)], **attrs)


@pytest.mark.parametrize(
    "numbers", [(-(2**63), 2**63 - 1, 1), (0.0, 1e300, 1e-300), (F32(0), F32(3e38), F32(1e-38)), (-np.inf, 0.0, 1.0)]
)
def test_ranges_that_no_tensor_holds_are_refused(numbers):
    with pytest.raises(Refused, match=r"HA519: Range: start = "):
        bind("Range", [np.array(one) for one in numbers], const=[0, 1, 2])


def test_ranges_of_64_bits_are_exact():
    start = 2**62 + 3
    wanted = [start, start - 2, start - 4]
    assert run("Range", *map(np.array, (start, start - 5, -2)), const=[0, 1, 2]).tolist() == wanted


def test_a_space_begins_at_its_start_whatever_its_end():
    found = run("LinSpace", *(np.array(one, F32) for one in (1, np.nan)), np.array(3, np.int32), const=[2])
    assert (found[0], np.isnan(found[1:]).tolist()) == (1, [True, True])
