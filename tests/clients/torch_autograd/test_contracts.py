"""Where an operator's contract is not autograd's: each difference, and why."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from hostacl.tensors import formats
from tests.clients.torch_autograd.support import Array, Case, exact, leaf, numpy_of, operate, pulled, torch

F = torch.nn.functional
ONE = np.ones(1, np.float32)


def single(*values: Any) -> Array:
    return np.array(values, np.float32)


def both(op_type: str, inputs: Sequence[Any], found: Any, attrs: dict[str, Any] | None = None, layout: int = 2) -> list[Any]:
    """The first result of the operator and autograd's, as lists."""
    return [one.ravel().tolist() for one in (operate(op_type, Case(inputs, [], attrs or {}, layout))[0], numpy_of(found))]


@pytest.mark.parametrize("op", ["MaximumGrad", "MinimumGrad"])
def test_of_equal_elements_the_first_gets_all(op: str) -> None:
    """As TensorFlow's, whose operator it is, compares with >= (<=); autograd halves."""
    at, other = leaf(ONE), leaf(ONE)
    function = torch.maximum if op == "MaximumGrad" else torch.minimum
    assert both(op, [ONE, ONE, ONE], pulled(function(at, other), ONE, at)[0]) == [[1], [0.5]]


def test_hard_sigmoid_ends_beyond_3_by_default() -> None:
    """The prototype's alpha is 0.16666666, a little less than 1/6: at 3 the line has not reached 1 yet."""
    x = single(-3, 3)
    at = leaf(x)
    mine, theirs = both("HardSigmoidGrad", [ONE.repeat(2), x], pulled(F.hardsigmoid(at), ONE.repeat(2), at)[0])
    assert mine == pytest.approx([1 / 6, 1 / 6])
    assert theirs == [0, 0]


def test_short_vectors_are_normalised_by_eps_but_not_held_constant() -> None:
    """L2NormalizeGrad has one formula for all lengths; autograd drops its second term where eps divides."""
    x = single(3e-5, 4e-5)
    at = leaf(x)
    y = at / torch.clamp(torch.linalg.vector_norm(at), min=1e-4)
    mine, theirs = both("L2NormalizeGrad", [x, numpy_of(y).astype(np.float32), ONE.repeat(2)],
                        pulled(y, ONE.repeat(2), at)[0], {"dim": [0], "eps": 1e-4})  # fmt: skip
    assert theirs == pytest.approx([1e4, 1e4])
    assert mine == pytest.approx([(1 - 0.3 * 0.7) * 1e4, (1 - 0.4 * 0.7) * 1e4], rel=1e-4)


def test_negative_targets_do_not_count_in_the_kullback_leibler_divergence() -> None:
    """They are no probabilities, and the loss leaves them out; autograd goes by the plain product."""
    at = leaf(ONE)
    loss = F.kl_div(at, exact(-ONE), reduction="sum")
    assert both("KlDivLossGrad", [ONE, ONE, -ONE], pulled(loss, ONE, at)[0], {"reduction": "sum"}) == [[0], [1]]


def test_of_several_nan_the_first_is_the_largest() -> None:
    """As of equal elements; torch's loop takes the last."""
    x = single(1, np.nan, np.nan, 2).reshape(1, 1, 1, 4)
    at, dy = leaf(x), ONE.reshape(1, 1, 1, 1)
    y = F.max_pool2d(at, (1, 4))
    attrs = {"ksize": [1, 1, 1, 4], "strides": [1, 1, 1, 4], "padding": "VALID", "data_format": "NCHW"}
    mine, theirs = both("MaxPoolGrad", [x, dy * np.float32(np.nan), dy], pulled(y, dy, at)[0], attrs, formats.NCHW)
    assert (mine, theirs) == ([0, 1, 0, 0], [0, 0, 1, 0])
