"""The check of gradients' norms: what is gathered, what is an alarm, what a fault, and what each writes."""

from __future__ import annotations

import numpy as np
import pytest

from hostacl.errors import Failed, Refused
from hostacl.ops.run import HOST_FAILURE
from tests.ops.calling import bind, inferred, run

F32 = np.float32
GRAD = np.arange(6, dtype=F32).reshape(2, 3)


def check(val, before=2.0, low=1.0, high=5.0, steps=7, grad=GRAD, shape=(), **attrs):
    """State and result of a call; the gradient must be what it was."""
    state = [np.full(shape, one, F32) for one in (val, before, low, high)]
    same, *rest = run("SilentCheck", state[0], grad, *state[1:], np.full(shape, steps, np.int32), **attrs)
    np.testing.assert_array_equal(same, grad)
    assert all(one.shape == shape for one in rest)
    return [one.item() for one in rest]


@pytest.mark.parametrize("shape", [(), (1,)])
def test_history_is_kept(shape):
    assert check(3, shape=shape) == [3, 1, 5, 0]
    assert check(0.5, shape=shape) == [0.5, 0.5, 5, 0]
    assert check(8, shape=shape) == [8, 1, 8, 0]
    assert check(3, before=0, low=1e10, high=-1e10, steps=0, shape=shape) == [3, 3, 3, 0]


@pytest.mark.parametrize(
    ("val", "limits"), [(2e4, {}), (-2e4, {}), (30, {"c_coeff_l2": 6.0}), (6, {"c_thresh_l2": 5.5}), (2, {"c_thresh_l2": 1.5})]
)
def test_alarm_is_a_result_and_history_goes_on(val, limits):
    assert check(val, **limits) == [val, min(val, 1), max(val, 5), 2]


def test_limits_themselves_are_allowed():
    assert check(10, c_thresh_l2=10.0, c_coeff_l2=2.0, c_thresh_l1=10.0, c_coeff_l1=2.0)[-1] == 0


def test_a_fall_is_a_jump():
    assert check(0, before=4.5, low=4, high=5, c_coeff_l2=4.0)[-1] == 2


def test_equal_norms_never_jump():
    assert check(2, before=2, low=2, high=2) == [2, 2, 2, 0]


@pytest.mark.parametrize(
    ("val", "told"),
    [
        (np.nan, "val = nan is not finite"),
        (np.inf, "val = inf is not finite"),
        (-np.inf, "val = -inf is not finite"),
        (2e6, r"val = 2e\+06 is beyond c_thresh_l1 = 1e\+06"),
        (5e5, r"val = 500000 after 2 is a jump of more than c_coeff_l1 = 100000 times 4, max_val - min_val"),
    ],
)
def test_fault_fails_and_writes_nothing(val, told):
    inputs = [np.array(one, F32) for one in (val, 2, 1, 5)]
    inputs = [inputs[0], GRAD, *inputs[1:], np.array(7, np.int32)]
    outputs = [GRAD.copy(), *(one.copy() for one in inputs[2:5]), np.array(9, np.int32)]
    call = bind("SilentCheck", inputs, inferred(bind("SilentCheck", inputs)))
    with pytest.raises(Failed, match=f"HA519: SilentCheck: {told}") as failed:
        call.function()(*inputs, *outputs)
    assert failed.value.code == HOST_FAILURE
    assert [one.item() for one in outputs[1:]] == [2, 1, 5, 9]


@pytest.mark.parametrize("val", [np.nan, np.inf, 3e7])
def test_nothing_is_judged_while_norms_are_gathered(val):
    expected = [val, 1, val, 0] if np.isfinite(val) else [2, 1, 5, 0]
    assert check(val, steps=6) == expected
    assert check(val, steps=0, c_min_steps=1) == expected


def test_norm_may_be_wider_than_the_gradient():
    assert check(3, grad=GRAD.astype(np.float16)) == [3, 1, 5, 0]
    call = bind("SilentCheck", [np.array(1, F32), GRAD.astype(np.float16), *[np.array(1, F32)] * 3, np.array(0, np.int32)])
    assert [one.dtype for one in inferred(call)] == [1, 0, 0, 0, 3]


def test_numbers_have_one_element():
    with pytest.raises(Refused, match=r"HA504: SilentCheck: min_val = \[2\]; allowed: one element"):
        bind("SilentCheck", [np.ones(1, F32), GRAD, np.ones(1, F32), np.ones(2, F32), np.ones(1, F32), np.ones(1, np.int32)])
