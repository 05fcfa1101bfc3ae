"""Running calls: storage layouts, overlap, absent arrays, sizes known only at run time, saturation."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

from hostacl.config import override
from hostacl.errors import Failed
from hostacl.tensors import formats
from hostacl.tensors.spec import TensorSpec as Spec
from tests.ops.calling import bind, run, spec

F32, F16, I64, BF16 = 0, 1, 9, 27


def test_plain_calls_are_numpy_and_native_functions_themselves():
    x = np.zeros(8, np.float32)
    assert bind("Add", (x, x), [spec(x)]).function() is np.add
    assert type(bind("Add", (x.astype(np.float16),) * 2, [Spec(F16, (8,))]).function()).__name__ == "builtin_function_or_method"


@pytest.mark.parametrize("dtype", [np.float32, np.float16, ml_dtypes.bfloat16, np.int32])
@pytest.mark.parametrize("shift", [0, 1, 3])
@pytest.mark.parametrize("op", ["Add", "Div"])
def test_an_output_may_overlap_an_input(op, dtype, shift):
    memory = np.arange(1, 21).astype(dtype)
    x, y = memory[:16], memory[shift : shift + 16]
    other = np.full(16, 2).astype(dtype)
    expected = (x.astype(np.float64) + 2) if op == "Add" else x.astype(np.float64) / 2
    if dtype is np.int32:
        expected = np.floor(expected)
    bind(op, (x, other), [spec(y)]).function()(x, other, y)
    np.testing.assert_array_equal(y.astype(np.float64), expected)


@pytest.mark.parametrize(("op", "attrs"), [("TransposeD", {"perm": [1, 0]}), ("SoftmaxV2", {"axes": [0]}), ("Gelu", {})])
def test_in_place_calls_read_before_they_write(op, attrs):
    x = np.random.default_rng(0).normal(size=(5, 5)).astype(np.float32)
    expected = run(op, x.copy(), **attrs)
    bind(op, (x,), [spec(x)], **attrs).function()(x, x)
    np.testing.assert_array_equal(x, expected)


def test_private_formats_are_unpacked_and_packed_at_the_edge():
    rng = np.random.default_rng(0)
    x, y = (rng.normal(size=(2, 19, 3, 2)).astype(np.float16) for _ in range(2))
    five = Spec(F16, x.shape, formats.NCHW, formats.NC1HWC0)
    stored = np.zeros(formats.storage_shape(five), np.float16)
    formats.pack(x, five, stored)
    out = np.full_like(stored, 9)
    bind("Sub", (five, spec(y, formats.NCHW)), [five]).function()(stored, y, out)
    np.testing.assert_array_equal(formats.unpack(out, five), (x.astype(np.float32) - y.astype(np.float32)).astype(np.float16))
    assert out[:, 1, :, :, 3:].max() == 0  # padding is zero


def test_a_true_shape_that_does_not_fit_fails_and_nothing_is_written():
    x, y = np.array([1, 0, 1], np.float32), np.full((1, 1), 77)
    call = bind("NonZero", (x,), [Spec(I64, (1, 1))])
    with pytest.raises(Failed, match=r"HA521.*described as \[1,1\], its true shape is \[2,1\]") as caught:
        call.function()(x, y)
    assert caught.value.code == 100022
    assert y[0, 0] == 77


def test_a_true_shape_smaller_than_described_is_written_from_the_start():
    x, y = np.array([[1, 0], [1, 1]], np.float32), np.full((4, 2), 77)
    assert bind("NonZero", (x,), [Spec(I64, (4, 2))]).function()(x, y) == ((3, 2),)
    np.testing.assert_array_equal(y[:3], [[0, 0], [1, 0], [1, 1]])
    np.testing.assert_array_equal(y[3], 77)


def test_a_value_input_in_plain_memory_is_read_when_the_call_runs():
    x, y = np.arange(6, dtype=np.float32).reshape(2, 3), np.zeros((3, 2), np.float32)
    function = bind("Transpose", (x, np.array([1, 0])), [spec(y)]).function()
    assert function(x, np.array([1, 0]), y) == ((3, 2),)
    np.testing.assert_array_equal(y, [[0, 3], [1, 4], [2, 5]])
    with pytest.raises(Failed, match=r"HA509: Transpose: perm\[0\] = 2"):
        function(x, np.array([2, 0]), y)


def test_const_inputs_may_come_without_an_array():
    x, y = np.ones((2, 3), np.float32), np.zeros(2, np.float32)
    bind("ReduceSum", (x, np.array([1])), [spec(y)], const=[1]).function()(x, None, y)
    np.testing.assert_array_equal(y, [3, 3])
    z = np.zeros((2, 3), np.float32)
    bind("Add", (x, x), [spec(z)], const=[1]).function()(x, None, z)
    np.testing.assert_array_equal(z, 2)


def test_a_bad_index_fails_before_anything_is_written():
    x, y = np.arange(4, dtype=np.float32), np.full(2, 77, np.float32)
    call = bind("GatherV2", (x, np.array([1, 4]), np.array(0)), [spec(y)], const=[2])
    with pytest.raises(Failed, match=r"HA510: GatherV2: indices\[1\] = 4; allowed: -4 to 3") as caught:
        call.function()(x, np.array([1, 4]), None, y)
    assert caught.value.code == 507035
    np.testing.assert_array_equal(y, 77)


@pytest.mark.parametrize(("soc", "expected"), [("Ascend910B1", [np.inf, -np.inf, np.nan]), ("Ascend910A", [65504, -65504, 0])])
def test_half_overflow_follows_the_profile(soc, expected):
    x = np.array([60000, -60000, np.inf], np.float16)
    y = np.array([60000, -60000, -np.inf], np.float16)
    with override(soc=soc):
        np.testing.assert_array_equal(run("Add", x, y), np.array(expected, np.float16))


def test_float_overflow_in_a_cast_follows_the_profile():
    x = np.array([1e6, -1e6], np.float32)
    np.testing.assert_array_equal(run("Cast", x, dst_type=1), np.array([np.inf, -np.inf], np.float16))
    with override(soc="Ascend310P"):
        np.testing.assert_array_equal(run("Cast", x, dst_type=1), np.array([65504, -65504], np.float16))


def test_empty_tensors():
    x = np.zeros((0, 2), np.float32)
    assert run("Add", x, x).shape == (0, 2)
    np.testing.assert_array_equal(run("ReduceSum", x, np.array([0]), const=[1]), [0, 0])
    assert run("MatMul", np.zeros((0, 3), np.float16), np.zeros((3, 2), np.float16)).shape == (0, 2)
    np.testing.assert_array_equal(run("MatMul", np.zeros((2, 0), np.float32), np.zeros((0, 3), np.float32)), np.zeros((2, 3)))


def test_an_output_left_out_is_not_written():
    x = np.ones(3, np.float32)
    bind("Neg", (x,), [Spec(-1, (), -1)]).function()(x, None)
