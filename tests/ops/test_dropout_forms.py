"""Dropout as onnxruntime calls it: three inputs, two outputs."""

from __future__ import annotations

import numpy as np
import pytest

from hostacl.tensors import dtypes
from hostacl.tensors.spec import TensorSpec as Spec
from tests.ops.calling import run

X = np.linspace(1, 2, 4000, dtype=np.float32).reshape(40, 100)
HALF, YES, NO = np.array(0.25, np.float32), np.array(True), np.array(False)


@pytest.mark.parametrize("more", [(), (HALF,), (HALF, NO), (None, NO), (None, None)])
def test_nothing_is_dropped_outside_of_training(more):
    y, mask = run("Dropout", X, *more, outputs=[Spec(0, X.shape), Spec(dtypes.BOOL, X.shape)])
    np.testing.assert_array_equal(y, X)
    assert mask.all()


def test_training_drops_its_share_and_says_what():
    y, mask = run("Dropout", X, HALF, YES, outputs=[Spec(0, X.shape), Spec(dtypes.BOOL, X.shape)], seed=7)
    np.testing.assert_array_equal(y, np.where(mask, X / np.float32(0.75), 0))
    assert 0.7 < mask.mean() < 0.8


def test_other_floats_in_this_form():
    x = X.astype(np.float16)
    y, _ = run("Dropout", x, HALF, NO, outputs=[Spec(1, X.shape), Spec(dtypes.BOOL, X.shape)])
    np.testing.assert_array_equal(y, x)


def test_the_prototypes_form_gives_one_output():
    np.testing.assert_array_equal(run("Dropout", X, scale_train=False, dropout_ratio=0.25), X * np.float32(0.75))
