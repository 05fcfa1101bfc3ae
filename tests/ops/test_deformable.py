"""The gathering step of deformable convolutions: worked values, refusals."""

from __future__ import annotations

import numpy as np
import pytest

from hostacl.errors import Refused
from tests.ops.calling import bind, run

ATTRS = {"strides": [1, 1, 1, 1], "pads": [0, 0, 0, 0], "ksize": [1, 2], "data_format": "NCHW"}
X = np.array([[1, 2, 4], [8, 16, 32]], np.float32).reshape(1, 1, 2, 3)


def test_offsets_move_right_then_down_and_masks_weigh():
    offsets = np.zeros((1, 6, 2, 2), np.float32)
    offsets[:, 4:] = 1
    plain = run("DeformableOffsets", X, offsets, layout=0, **ATTRS)
    np.testing.assert_array_equal(plain[0, 0], [[1, 2, 2, 4], [8, 16, 16, 32]])
    offsets[0, 0] = 0.5  # x of the first element
    offsets[0, 3] = 1  # y of the second
    offsets[0, 4] = 2  # mask of the first
    moved = run("DeformableOffsets", X, offsets, layout=0, **ATTRS)
    np.testing.assert_array_equal(moved[0, 0], [[3, 16, 6, 32], [24, 0, 48, 0]])


def test_gradients_are_derivatives():
    rng = np.random.default_rng(3)
    x = rng.normal(size=(2, 4, 5, 6)).astype(np.float32)
    attrs = {"strides": [1, 1, 2, 1], "pads": [1, 1, 0, 1], "ksize": [3, 2], "deformable_groups": 2, "data_format": "NCHW"}
    offsets = ((rng.integers(-96, 96, (2, 36, 3, 6)) + 0.5) / 64).astype(np.float32)
    dy = rng.normal(size=(2, 4, 9, 12)).astype(np.float32)
    dx, moved = run("DeformableOffsetsGrad", dy, x, offsets, layout=0, **attrs)

    def loss(x, offsets):
        return np.sum(run("DeformableOffsets", x, offsets, layout=0, **attrs).astype(np.float64) * dy)

    for tensor, gradient in ((x, dx), (offsets, moved)):
        for place in rng.permutation(tensor.size)[:30]:
            up, down = tensor.copy(), tensor.copy()
            up.flat[place] += 1 / 256
            down.flat[place] -= 1 / 256
            pair = [loss(*((one, offsets) if tensor is x else (x, one))) for one in (up, down)]
            assert gradient.flat[place] == pytest.approx((pair[0] - pair[1]) * 128, rel=1e-3, abs=1e-3)


def test_a_gradient_of_another_shape_is_refused():
    tensors = [np.zeros((1, 1, 2, 3), np.float32), X, np.zeros((1, 6, 2, 2), np.float32)]
    with pytest.raises(Refused, match=r"grad = \[1,1,2,3\].*\[1,1,2,4\]"):
        bind("DeformableOffsetsGrad", tensors, layout=0, **ATTRS)


@pytest.mark.parametrize(
    ("attrs", "rule"),
    [
        ({"ksize": [2]}, "HA508"),
        ({"deformable_groups": 2}, "HA508"),
        ({"modulated": False}, "HA504"),
        ({"ksize": [2, 2]}, "HA504"),
    ],
)
def test_refusals(attrs, rule):
    with pytest.raises(Refused) as caught:
        bind("DeformableOffsets", [X, np.zeros((1, 6, 2, 2), np.float32)], layout=0, **{**ATTRS, **attrs})
    assert caught.value.rule == rule
