"""Biases, row ranges, blocks of channels, gradients of extremes."""

from __future__ import annotations

import numpy as np
import pytest

from hostacl.errors import Failed, Refused
from hostacl.tensors import dtypes, formats
from hostacl.tensors.spec import TensorSpec
from tests.ops.calling import bind, run

F32 = np.float32


def test_bias_by_data_format():
    x = np.zeros((1, 2, 3), F32)
    assert run("BiasAdd", x, np.array([1, 2, 3], F32)).tolist() == [[[1, 2, 3], [1, 2, 3]]]
    assert run("BiasAdd", x, np.array([1, 2], F32), data_format="NCHW").tolist() == [[[1, 1, 1], [2, 2, 2]]]
    with pytest.raises(Refused, match=r"HA504.*bias = \[2\].*axis 2"):
        bind("BiasAdd", [x, np.array([1, 2], F32)])
    with pytest.raises(Refused, match=r"HA508.*data_format = 'NC'"):
        bind("BiasAdd", [x, np.array([1, 2], F32)], data_format="NC")


def test_bias_gradient_sums_the_rest():
    x = np.arange(24, dtype=F32).reshape(2, 3, 4)
    np.testing.assert_array_equal(run("BiasAddGrad", x), x.sum((0, 1)))
    np.testing.assert_array_equal(run("BiasAddGrad", x, data_format="NCHW"), x.sum((0, 2)))
    with pytest.raises(Refused, match=r"HA516"):
        bind("BiasAddGrad", [x[0, 0]])


def test_row_ranges_are_half_open():
    x, src = np.zeros((3, 2), F32), np.arange(10, dtype=F32).reshape(5, 2)
    indices = np.array([[0, 2], [4, 5], [3, 3]], np.int32)
    assert run("AddRowRanges", x, src, indices).tolist() == [[2, 4], [8, 9], [0, 0]]


def test_row_ranges_name_the_index_out_of_range():
    x, src = np.zeros((1, 2), F32), np.zeros((5, 2), F32)
    with pytest.raises(Failed, match=r"HA510.*indices\[0,1\] = 6; allowed: 0 to 5"):
        run("AddRowRanges", x, src, np.array([[0, 6]], np.int32))
    with pytest.raises(Refused, match=r"HA504.*two columns"):
        bind("AddRowRanges", [x, src, np.zeros((1, 3), np.int32)])


def test_stride_add_of_blocks():
    x1 = np.arange(3, dtype=F32).reshape(1, 3, 1, 1, 1) * np.ones((1, 3, 1, 1, 16), F32)
    result = run("StrideAdd", x1, x1 * 10, x1_c1_offset=0, x2_c1_offset=1, c1_len=2)
    assert result[0, :, 0, 0, 0].tolist() == [10, 21]


def test_stride_add_of_origin_channels():
    x = np.arange(40, dtype=np.float16).reshape(1, 40, 1, 1)
    spec = TensorSpec(dtypes.FLOAT16, (1, 40, 1, 1), formats.NCHW)
    attrs = {"x1_c1_offset": 1, "x2_c1_offset": 0, "c1_len": 2}
    result = run("StrideAdd", x, x, outputs=[spec._replace(shape=(1, 32, 1, 1))], layout=formats.NCHW, **attrs)
    assert result.ravel().tolist() == [16 + one + one for one in range(24)] + [24 + one for one in range(8)]
    with pytest.raises(Refused, match=r"HA508.*x1_c1_offset = 3"):
        bind("StrideAdd", [x, x], layout=formats.NCHW, x1_c1_offset=3, x2_c1_offset=0, c1_len=1)


def test_gradient_goes_to_the_larger_first_on_ties():
    grads, x1, x2 = (np.array(one, F32) for one in ([1, 2, 3], [1, 5, 2], [1, 4, 3]))
    first, second = run("MaximumGrad", grads, x1, x2)
    assert (first.tolist(), second.tolist()) == ([1, 2, 0], [0, 0, 3])
    first, second = run("MinimumGrad", grads, x1, x2)
    assert (first.tolist(), second.tolist()) == ([1, 0, 3], [0, 2, 0])


def test_gradient_of_a_broadcast_is_summed():
    first, second = run("MaximumGrad", np.ones((2, 3), F32), np.array([[0.0], [2.0]], F32), np.ones(3, F32), grad_x=True)
    assert (first.tolist(), second.tolist()) == ([[0], [3]], [1, 1, 1])
    first, second = run("MaximumGrad", np.ones(2, F32), np.ones(2, F32), np.zeros(2, F32), grad_x=False)
    assert first.tolist() == [0, 0]
    with pytest.raises(Refused, match=r"HA504.*grads = \[2\]"):
        bind("MinimumGrad", [np.ones(2, F32), np.ones((2, 2), F32), np.ones(2, F32)])
