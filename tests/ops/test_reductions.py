"""Reductions: empty lists and empty tensors, negative axes, integers, NaN, deviations; and what is refused."""

from __future__ import annotations

import numpy as np
import pytest

from hostacl.errors import Failed, Refused
from hostacl.tensors import dtypes
from hostacl.tensors.spec import TensorSpec
from tests.ops.calling import bind, run, spec

F32 = np.float32
X = np.array([[1, 5, 2], [7, 0, 3]], F32)


def test_an_empty_list_of_axes():
    none = np.zeros(0, np.int32)
    assert run("ReduceMean", X, none, const=[1]).tolist() == X.tolist()
    assert run("ReduceMean", X, none, const=[1], noop_with_empty_axes=False).tolist() == 3
    assert run("ReduceMeanD", X, axes=[]).tolist() == 3
    assert run("ReduceMeanD", X, axes=[], noop_with_empty_axes=True).tolist() == X.tolist()
    assert run("ReduceMax", X, none, const=[1]).tolist() == X.tolist()


def test_axes_count_from_the_end_within_bounds():
    assert run("ReduceMaxD", X, axes=[-1]).tolist() == [5, 7]
    with pytest.raises(Refused, match=r"HA509.*axis 2 not in \[-2,1\]"):
        bind("ReduceMaxD", [X], axes=[2])
    with pytest.raises(Refused, match=r"HA509.*twice"):
        bind("ReduceMaxD", [X], axes=[0, -2])


def test_axes_as_one_integer_or_in_device_memory():
    assert run("ReduceMin", X, np.array(0, np.int64), const=[1]).tolist() == [1, 0, 2]
    call = bind("ReduceProd", [X, np.array([1], np.int32)], [TensorSpec(dtypes.FLOAT, (2,))])
    out = np.zeros(2, F32)
    assert call.function()(X, np.array([1], np.int32), out) == ((2,),)
    assert out.tolist() == [10, 0]
    with pytest.raises(Failed, match=r"HA509"):
        call.function()(X, np.array([5], np.int32), out)


def test_kept_dims_with_unknown_axes_are_bounded():
    (one,) = bind("ReduceAny", [np.zeros((2, 3), bool), np.array([0], np.int32)], keep_dims=True).infer()
    assert one.ranges == ((1, 2), (1, 3))


@pytest.mark.parametrize(
    ("op", "wanted"),
    [("ReduceMax", -np.inf), ("ReduceMin", np.inf), ("ReduceProd", 1), ("ReduceMean", np.nan), ("ReduceLogSumExp", -np.inf)],
)
def test_reduction_of_nothing(op, wanted):
    np.testing.assert_array_equal(run(op, np.zeros((0, 2), F32), np.array([0], np.int32), const=[1]), [wanted] * 2)


def test_nothing_is_true_and_false():
    empty, axes = np.zeros((0, 1), bool), np.array([0], np.int32)
    assert run("ReduceAll", empty, axes, const=[1]).tolist() == [True]
    assert run("ReduceAnyD", empty, axes=[0]).tolist() == [False]


def test_integers_are_exact():
    big = np.array([[2**40, 1], [2**40 + 1, 0]], np.int64)
    assert run("ReduceMax", big, np.array([0], np.int32), const=[1]).tolist() == [2**40 + 1, 1]
    most = np.full(4, 2**63 - 1, np.int64)
    assert run("ReduceMean", most, np.array([0], np.int32), const=[1]).tolist() == 2**63 - 1
    assert run("ReduceMean", np.array([-1, -2], np.int8), np.array([0], np.int32), const=[1]).tolist() == -1
    assert run("ReduceProdD", np.array([100, 3], np.int8), axes=[0]).tolist() == 44


def test_nan_stays():
    x = np.array([1, np.nan, 2], F32)
    assert np.isnan(run("ReduceMaxD", x, axes=[0]))
    assert np.isnan(run("ReduceMinD", x, axes=[0]))


def test_log_sum_exp_does_not_overflow():
    x = np.array([1000, 1000], F32)
    np.testing.assert_allclose(run("ReduceLogSumExp", x, np.array([0], np.int32), const=[1]), 1000 + np.log(2), rtol=1e-6)


def test_long_halves_are_summed_precisely():
    x = np.full((40000, 2), 0.1, np.float16)
    assert run("ReduceMeanD", x, axes=[0]).tolist() == [float(np.float16(0.1))] * 2


def test_unsupported_type_is_named():
    with pytest.raises(Refused, match=r"HA502 *: ?ReduceMeanD: x = DT_DOUBLE.*DT_FLOAT16"):
        bind("ReduceMeanD", [X.astype(np.float64)], axes=[0])
    with pytest.raises(Refused, match=r"HA506.*axes.*int.*list_int"):
        bind("ReduceMeanD", [X], axes=1)


def test_mean_with_cast():
    x, axes = np.array([1, 2], np.int32), np.array([0], np.int32)
    assert run("ReduceMeanWithCast", x, axes, const=[1]).tolist() == 1
    result = run("ReduceMeanWithCast", x, axes, const=[1], dtype=dtypes.FLOAT)
    assert (result.dtype, result.tolist()) == (F32, 1.5)
    assert run("ReduceMeanWithCast", np.array([1.9, 2.9], F32), axes, const=[1], dtype=dtypes.INT32).tolist() == 1
    with pytest.raises(Refused, match=r"HA512"):
        bind("ReduceMeanWithCast", [x, spec(axes, const=True)], [TensorSpec(dtypes.INT64, ())], dtype=dtypes.FLOAT)


def test_mean_with_count_is_weighted():
    x, count = np.array([[1.0], [4.0]], F32), np.array([[2.0], [1.0]], F32)
    assert run("ReduceMeanWithCount", x, count, np.full((2, 1), 3, F32), axes=[0]).tolist() == [2]


def test_sum_of_squares():
    assert run("SquareSumV1", X, axis=[1], keep_dims=True).tolist() == [[30], [58]]


@pytest.mark.parametrize(("attrs", "taken"), [({}, 1), ({"unbiased": False}, 0), ({"correction": 2}, 2)])
def test_deviation_with_mean(attrs, taken):
    mean = np.broadcast_to(X.mean(1, keepdims=True), X.shape).astype(F32)
    wanted = ((X - mean) ** 2).sum(1) / (3 - taken)
    np.testing.assert_allclose(run("ReduceStdWithMean", X, mean, dim=[1], **attrs), np.sqrt(wanted), rtol=1e-6)
    np.testing.assert_allclose(run("ReduceStdV2Update", X, mean, dim=[1], **attrs), wanted, rtol=1e-6)
    inverse = run("ReduceStdWithMean", X, mean, dim=[1], invert=True, epsilon=0.5, **attrs)
    np.testing.assert_allclose(inverse, (wanted + 0.5) ** -0.5, rtol=1e-6)


def test_deviation_and_mean_over_all():
    spread, mean = run("ReduceStd", X)
    np.testing.assert_allclose([spread, mean], [X.std(ddof=1), X.mean()], rtol=1e-6)
    assert run("ReduceStd", X, keepdim=True)[0].shape == (1, 1)
    assert np.isnan(run("ReduceStd", np.ones((1,), F32))[0])


@pytest.mark.parametrize("dtype", [np.int64, np.uint64])
def test_logarithms_of_sums_of_64_bits_are_exact(dtype):
    x = np.array([[2**62, 2**62 + 1], [5, 5], [2**63 - 1, 2**63 - 1]], dtype)
    assert run("ReduceLogSumExp", x, np.array([1]), const=[1]).tolist() == [2**62 + 1, 5, 2**63 - 1]
    assert run("ReduceLogSum", x, np.array([1]), const=[1]).tolist() == [43, 2, 44]


def test_logarithms_of_sums_of_integers_that_cancel():
    x = np.array([[2**62, 5, -(2**62)], [-5, -5, -5], [0, 0, 0]])
    assert run("ReduceLogSum", x, np.array([1]), const=[1]).tolist() == [1, 0, -(2**63)]
    assert run("ReduceLogSumExp", np.array([[-5, -5], [-(2**63)] * 2]), np.array([1]), const=[1]).tolist() == [-4, 1 - 2**63]
    assert run("ReduceLogSumExp", np.full((1, 9), 127, np.int8), np.array([1]), const=[1]).tolist() == [127]
    assert run("ReduceLogSumExp", np.zeros((2, 0), np.int8), np.array([1]), const=[1]).tolist() == [-128, -128]


def test_mean_with_cast_wraps_integers_before_it_sums():
    x = np.array([300, 2**40 + 2, 5])
    assert run("ReduceMeanWithCast", x, np.array([0]), const=[1], dtype=dtypes.INT8).item() == (44 + 2 + 5) // 3
    assert run("ReduceMeanWithCast", x, np.array([0]), const=[1], dtype=dtypes.UINT16).item() == (300 + 2 + 5) // 3


@pytest.mark.parametrize("code", [99, dtypes.STRING, -(2**63)])
def test_mean_with_cast_refuses_other_types(code):
    with pytest.raises(Refused, match=rf"HA508: ReduceMeanWithCast: dtype = {code} .*allowed: -1 \(as described\), 17"):
        bind("ReduceMeanWithCast", [X, np.array([0])], const=[1], dtype=code).infer()


def test_mean_with_count_has_room_on_the_way():
    x, count, total = np.array([3e38, 3e38], F32), np.array([2, 2], F32), np.array([4, 4], F32)
    assert run("ReduceMeanWithCount", x, count * 4, total * 4, axes=[0]) == np.float32(3e38)
    x, count, share = np.array([1e-10], F32), np.array([3e38], F32), np.array([0.5], F32)
    assert run("ReduceMeanWithCount", x, count, share, axes=[0]) == F32(6e28)
