"""Floats on a quantisation's grid, and its kin: known values and refusals."""

from __future__ import annotations

import numpy as np
import pytest

from hostacl.errors import Refused
from tests.ops.calling import bind, run


def test_the_range_is_moved_so_that_0_is_a_step():
    x = np.array([-1, 0, 0.1, 3, 9], np.float32)
    y = run("FakeQuantWithMinMaxArgs", x, min=-0.9, max=3.0, num_bits=2)
    step = 1.3  # (3.0 + 0.9) / 3; the lowest is -0.69 of a step, so one step below 0
    np.testing.assert_allclose(y, [-step, 0, 0, 2 * step, 2 * step], rtol=1e-6)


def test_a_narrow_range_is_symmetric():
    x = np.linspace(-2, 2, 8, dtype=np.float32)
    y = run("FakeQuantWithMinMaxVars", x, np.array(-1, np.float32), np.array(1, np.float32), num_bits=8, narrow_range=True)
    np.testing.assert_allclose(y.min(), -1, rtol=1e-6)
    np.testing.assert_allclose(y, -y[::-1], atol=1e-6)


@pytest.mark.parametrize(("low", "high", "narrow"), [(-1, 3, True), (-6, 8, True), (-3, 4.5, False), (0, 15, False)])
def test_halves_of_a_step_go_up(low, high, narrow):
    step = (high - low) / (14 if narrow else 15)
    x = np.arange(np.ceil(low / step), np.floor(high / step)) * step + step / 2
    ends = [np.array(one, np.float32) for one in (low, high)]
    y = run("FakeQuantWithMinMaxVars", x.astype(np.float32), *ends, num_bits=4, narrow_range=narrow)
    exact = x.astype(np.float32).astype(np.float64) / step
    halves = exact * 2 == np.rint(exact * 2)
    assert halves.any()
    np.testing.assert_allclose(y[halves], (np.floor(exact[halves]) + 1) * step, rtol=1e-6, atol=1e-6)


def test_a_range_of_nothing_gives_0():
    x, zero = np.ones(3, np.float32), np.zeros((), np.float32)
    np.testing.assert_array_equal(run("FakeQuantWithMinMaxVars", x, zero, zero), [0, 0, 0])


def test_the_gradient_is_of_what_lies_within_and_the_rest_is_of_the_ends():
    x, g = np.array([[-9, -1.3, 0], [2.7, 2.6, np.nan]], np.float32), np.array([[1, 2, 4], [8, 16, 32]], np.float32)
    attrs, low, high = {"num_bits": 2}, np.float32(-0.9), np.float32(3.0)  # moved to -1.3 and 2.6
    low, high = np.array([low - np.float32(1e-3)]), np.array([high + np.float32(1e-3)])
    want = [[0, 2, 4], [0, 16, 0]]
    by_x, by_low, by_high = run("FakeQuantWithMinMaxVarsGradient", g, x, low, high, **attrs)
    assert (by_x.tolist(), by_low.tolist(), by_high.tolist()) == (want, [1], [8])
    lows, highs = low.repeat(3), high.repeat(3)
    by_x, by_low, by_high = run("FakeQuantWithMinMaxVarsPerChannelGradient", g, x, lows, highs, **attrs)
    assert (by_x.tolist(), by_low.tolist(), by_high.tolist()) == (want, [1, 0, 0], [8, 0, 0])
    assert run("FakeQuantWithMinMaxArgsGradient", g, x, min=float(low[0]), max=float(high[0]), **attrs).tolist() == want
    zero = np.zeros(1, np.float32)
    assert run("FakeQuantWithMinMaxVarsGradient", g, x, zero, zero)[0].tolist() == g.tolist()
    with pytest.raises(Refused, match="differ"):
        bind("FakeQuantWithMinMaxArgsGradient", [g, x[0]])


def test_refusals():
    x = np.ones((2, 3), np.float32)
    with pytest.raises(Refused, match="num_bits = 17; allowed: 2 to 16"):
        bind("FakeQuantWithMinMaxArgs", [x], num_bits=17)
    with pytest.raises(Refused, match=r"min = \[2\]; allowed: \[3\]"):
        bind("FakeQuantWithMinMaxVarsPerChannel", [x, np.ones(2, np.float32), np.ones(2, np.float32)])
    with pytest.raises(Refused, match=r"min must be less"):
        bind("FakeQuantWithMinMaxArgs", [x], min=1.0, max=1.0)
    with pytest.raises(Refused, match="axis = 0; allowed: -1"):
        bind("AddRmsNormQuant", [x, x, np.ones(3, np.float32), np.ones(1, np.float32)], axis=0)


def test_requantised_values_move_by_their_offset():
    scale = np.array([int(np.float32(0.5).view(np.uint32)) | (-3 & 511) << 37], np.uint64)
    np.testing.assert_array_equal(run("AscendRequant", np.array([[3, 5, -400]], np.int32), scale), [[-2, 0, -128]])
    np.testing.assert_array_equal(run("AscendRequant", np.array([[-8]], np.int32), scale, relu_flag=True), [[-3]])
