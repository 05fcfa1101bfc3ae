"""Infinities, signed zeros and the largest numbers, where intermediate results could lose what the result is."""

from __future__ import annotations

import math

import ml_dtypes
import numpy as np
import pytest

from tests.ops.calling import bind, run, spec

INF, NAN = math.inf, math.nan
FLOATS = [np.float16, np.float32, np.float64, ml_dtypes.bfloat16]
BASES = [-INF, -4.0, -0.0, 0.0, 0.25, 4.0, INF, NAN]
ROOTS = [INF, NAN, 0.0, 0.0, 0.5, 2.0, INF, NAN]
"""What C's pow gives for the exponent 0.5; no -0 among them."""


def same(got, wanted):
    np.testing.assert_array_equal(got.astype(np.float64), np.array(wanted, np.float64))
    assert not np.signbit(got.astype(np.float64))[np.array(wanted) == 0].any()


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("shape", [(), (1,), (8,), (2, 1)])
def test_an_exponent_of_a_half_is_no_square_root(dtype, shape):
    x, exponent = np.array(BASES, dtype), np.full(shape, 0.5, dtype)
    got = run("Pow", x, exponent)
    for line in got.reshape(-1, 8):
        same(line, ROOTS)


@pytest.mark.parametrize("dtype", [np.float16, np.float32, ml_dtypes.bfloat16])
def test_caffes_power_of_a_half(dtype):
    same(run("Power", np.array(BASES, dtype), power=0.5), ROOTS)


def test_one_to_any_power_and_any_to_the_power_of_zero():
    assert run("Pow", np.array([1, 1, NAN, INF], np.float32), np.array([-INF, NAN, 0, 0], np.float32)).tolist() == [1] * 4


def test_caffes_power_keeps_the_sign_of_zero():
    assert run("Power", np.array([-0.0], np.float32), power=-1.0)[0] == -INF


@pytest.mark.parametrize("dtype", [np.float32, ml_dtypes.bfloat16])
def test_interpolation_between_the_largest_of_both_signs(dtype):
    largest = ml_dtypes.finfo(dtype).max
    start, end = np.array([-largest, -largest, 1, -INF], dtype), np.array([largest, largest, 3, 3], dtype)
    got = run("Lerp", start, end, np.array([0.5, 0.25, 0.5, 0.5], dtype)).astype(np.float64)
    assert got[:3].tolist() == [0, -float(largest) / 2, 2]
    assert math.isnan(got[3])  # -Inf + 0.5 · Inf


def test_interpolation_in_place_of_large_numbers():
    largest = np.finfo(np.float32).max
    start = np.array([-largest, 4], np.float32)
    call = bind("Lerp", [start, -start, np.full(2, 0.5, np.float32)], [spec(start)])
    call.function()(start, -start, np.full(2, 0.5, np.float32), start)
    assert start.tolist() == [0, 0]


def test_the_slope_of_an_arc_tangent_far_out():
    y = np.array([np.finfo(np.float32).max, 1e20, 2], np.float32)
    dy = np.array([-INF, 1e38, 5], np.float32)
    assert run("AtanGrad", y, dy).tolist() == [-INF, np.float32(float(dy[1]) / (1 + float(y[1]) ** 2)), 1]


def test_shares_of_one_value_add_up_to_it():
    x = np.full((5, 7, 3), 19, np.uint8)
    for angle in (10.0, 30.0, 123.4, 200.5):
        assert np.all(run("Rotate", x, angle=angle, interpolation="bilinear", padding_mode="edge") == 19)


def test_a_product_over_nothing_is_its_bias_with_its_scale():
    x1, x2 = np.zeros((3, 0), np.int8), np.zeros((0, 2), np.int8)
    scale, bias = np.array([1, 0.25], np.float32), np.array([-7, -4], np.int32)
    got = run("QuantBatchMatmulV4", x1, x2, bias, None, scale, dtype=1)
    assert got.tolist() == [[-7, -1]] * 3


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_taps_beyond_an_end_meet_it_one_by_one(dtype):
    x = np.array([[[[INF, 1, 1, 1, 1, 1]]]], dtype)
    y = run("Resize", x, None, None, np.array([1, 1, 1, 12]), const=[3], mode="cubic",
            coordinate_transformation_mode="half_pixel")  # fmt: skip
    got = y.ravel().astype(np.float64)
    assert math.isnan(got[0])  # the end counts with weights of both signs
    assert got[3] == -INF
    assert np.all(got[6:] == 1)


def test_wide_integers_of_a_cropped_gradient_are_exact():
    grads = np.array([[[[2**62 + 1, 3, 5, 7]]]], np.int64)
    got = run("ResizeGrad", grads, np.array([0, 0, 0, 0, 1, 1, 1, 1], np.float32), None, np.array([1, 1, 1, 2]), const=[3],
              mode="nearest", coordinate_transformation_mode="tf_crop_and_resize")  # fmt: skip
    assert got.ravel().tolist() == [2**62 + 1 + 3, 12]


@pytest.mark.parametrize("mode", ["floor", "ceil", "round_prefer_floor", "round_prefer_ceil"])
def test_aligned_corners_lie_where_they_lie(mode):
    x = np.arange(4, dtype=np.int32).reshape(1, 1, 1, 4)
    for size in range(2, 120):
        y = run("Resize", x, None, None, np.array([1, 1, 1, size]), const=[3], mode="nearest", nearest_mode=mode,
                coordinate_transformation_mode="align_corners").ravel()  # fmt: skip
        assert (y[0], y[-1]) == (0, 3), size
        if (size - 1) % 3 == 0:
            assert y[:: (size - 1) // 3].tolist() == [0, 1, 2, 3]
