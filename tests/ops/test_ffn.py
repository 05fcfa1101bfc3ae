"""Feed-forward layers, projections' gradients, rows scattered into caches: worked values, refusals."""

from __future__ import annotations

import numpy as np
import pytest

from hostacl.errors import Failed, Refused
from hostacl.tensors.spec import TensorSpec as Spec
from tests.ops.calling import bind, run

F16, I64, I32 = 1, 9, 3


def half(values):
    return np.array(values, np.float16)


def test_two_layers_by_hand():
    x, first, second = half([[1, -1]]), half([[1, 2], [3, 1]]), half([[1], [10]])
    y = run("FFN", x, first, second, None, half([0, 1]), half([0.5]), activation="relu")
    assert y.tolist() == [[20.5]]  # [-2, 1] + [0, 1] → [0, 2]


def test_each_expert_has_its_rows():
    x, first = half([[1], [1], [1], [1]]), half([[[1]], [[10]]])
    for tokens, flag in (([1, 2], False), ([1, 3], True)):
        y = run("FFN", x, first, np.ones_like(first), np.array(tokens), activation="relu", tokens_index_flag=flag)
        assert y.ravel().tolist() == [1, 10, 10, 0]
    with pytest.raises(Failed, match=r"expert_tokens = \[4, 2\]"):
        run("FFN", x, first, first, np.array([4, 2]), activation="relu")


def test_gradients_of_one_projection():
    x, dy = half([[1, 2], [3, 4]]), half([[1], [10]])
    weight, key, value, bias, *_ = run("AttentionQKVGradW", x, dy)
    assert weight.tolist() == [[31], [42]]
    assert bias.tolist() == [11]
    assert (key == 77).all()
    assert (value == 77).all()
    assert run("AttentionQKVGradW", x, dy, dy, dy, trans_dw=True)[1].tolist() == [[31, 42]]
    dx = run("AttentionQKVGradX", half([[1, 1], [0, 0]]), dy, dy, dy, *[half([[1], [2]])] * 3)
    assert dx.tolist() == [[4, 7], [30, 60]]


def test_rows_into_pages_and_tiles():
    key, cache = np.arange(8, dtype=np.int8).reshape(2, 1, 4), np.full((2, 2, 1, 4), -1, np.int8)
    one, other = run("ScatterPaKvCache", key, cache, np.array([3, -1]), key, cache)
    assert one[1, 1, 0].tolist() == [0, 1, 2, 3]
    assert (one.reshape(4, 4)[:3] == -1).all()
    np.testing.assert_array_equal(one, other)
    tiles = np.full((2, 2, 2, 2), -1, np.int8)
    one, _ = run("ScatterPaKvCache", key, tiles, np.array([3, 0]), key, tiles, cache_mode="PA_NZ")
    assert one[1, :, 1].tolist() == [[0, 1], [2, 3]]
    assert one[0, :, 0].tolist() == [[4, 5], [6, 7]]
    with pytest.raises(Failed, match="slot_mapping holds 0 to 4"):
        run("ScatterPaKvCache", key, cache, np.array([0, 4]), key, cache)


X, W1, W2 = Spec(F16, (3, 2)), Spec(F16, (2, 4)), Spec(F16, (4, 5))
ROWS, CACHE = Spec(F16, (3, 1, 4)), Spec(F16, (2, 2, 1, 4))


@pytest.mark.parametrize(
    ("op", "inputs", "attrs", "rule"),
    [
        ("FFN", [X, W1, W2], {"activation": "swiglu"}, "HA508"),
        ("FFN", [X, W2, W2], {"activation": "relu"}, "HA504"),
        ("FFN", [X, W1, W2, Spec(I64, (2,))], {"activation": "relu"}, "HA513"),
        ("FFN", [X, W1, W2, Spec(-1, (), -1), Spec(F16, (3,))], {"activation": "relu"}, "HA504"),
        ("FFN", [X, W1, W2, *[Spec(-1, (), -1)] * 3, Spec(0, (1,))], {"activation": "relu"}, "HA513"),
        ("AttentionQKVGradW", [X, Spec(F16, (2, 2))], {}, "HA504"),
        ("AttentionQKVGradX", [Spec(F16, (3, 3)), *[X] * 3, *[Spec(F16, (4, 2))] * 3], {}, "HA504"),
        ("ScatterPaKvCache", [ROWS, CACHE, Spec(I32, (2,)), ROWS, CACHE], {}, "HA504"),
        ("ScatterPaKvCache", [ROWS, CACHE, Spec(I32, (3,)), ROWS, CACHE], {"scatter_mode": "Alibi"}, "HA508"),
        ("ScatterPaKvCache", [ROWS, CACHE, Spec(I32, (3,)), ROWS, CACHE, Spec(I32, (1,))], {}, "HA513"),
    ],
)
def test_refusals(op, inputs, attrs, rule):
    with pytest.raises(Refused) as caught:
        bind(op, inputs, **attrs)
    assert caught.value.rule == rule
