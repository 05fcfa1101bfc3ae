"""The check of gradients' norms: limits that draws do not pass, alarms that they do."""

from __future__ import annotations

from typing import Any

import numpy as np

from random_calls.dice import Dice
from random_calls.oracle import oracle, shapes


@shapes("SilentCheck")
def norms(d: Dice) -> None:
    """A gradient of any shape, and numbers of 0 or 1 dims; only what an alarm needs is drawn low."""
    one = () if d.chance() else (1,)
    d.tensor("val", np.full(one, d.choose(0.0, 0.5, 3.0, 40.0)))
    d.tensor("input_grad", d.shape())
    for name, value in (("pre_val", d.choose(0.0, 2.0, 3.0)), ("min_val", d.choose(0.0, 1.0)), ("max_val", 4.0)):
        d.tensor(name, np.full(one, value))
    d.tensor("val_counter", np.full(one, d.int(0, 9)))
    d.attr("c_min_steps", 3)
    d.attr("c_thresh_l1", 50.0)
    d.attr("c_coeff_l1", 100.0)
    d.attr("c_thresh_l2", 2.5, 30.0)
    d.attr("c_coeff_l2", 0.25, 8.0)


@oracle("SilentCheck", family="cast_copy_assign")
def silent_check(
    val: Any, input_grad: Any, pre_val: Any, min_val: Any, max_val: Any, val_counter: Any,
    c_min_steps: int, c_thresh_l2: float, c_coeff_l2: float,
) -> Any:
    now, before, low, high = val.item(), pre_val.item(), min_val.item(), max_val.item()
    alarm = val_counter.item() >= c_min_steps and not (
        -c_thresh_l2 <= now <= c_thresh_l2 and abs(now - before) / (high - low) <= c_coeff_l2
    )
    state = [np.full(one.shape, value) for one, value in ((pre_val, now), (min_val, min(now, low)), (max_val, max(now, high)))]
    return input_grad, *state, np.full(val_counter.shape, 2 if alarm else 0, object)
