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
