"""Calls in the forms that torch-npu sends: scalars beside tensors, paired rows, numbers for each element, views as storage."""

from __future__ import annotations

import numpy as np
import pytest

from hostacl.errors import Failed, Refused
from hostacl.tensors import dtypes, formats
from hostacl.tensors.spec import TensorSpec
from tests.ops.calling import bind, run

F32, I64 = np.float32, np.int64
ROWS = np.array([[1, 2, 3], [4, 5, 7]], F32)


@pytest.mark.parametrize("condition", [ROWS > 2, ROWS[:1] > 2, ROWS[:, :1] > 2, np.array([True, False]), np.array([True])])
def test_select_takes_a_number_beside_a_tensor(condition):
    wide = condition.reshape(-1, 1) if condition.ndim == 1 else condition
    zero = np.array(0, F32)
    assert run("Select", condition, zero, ROWS).tolist() == np.where(wide, 0, ROWS).tolist()
    assert run("Select", condition, ROWS, zero).tolist() == np.where(wide, ROWS, 0).tolist()


def test_a_scalar_is_one_element_to_gather_and_to_add_to():
    axis, first = np.array([0]), np.array([0])
    got = run("GatherV2", np.array(3, F32), first, axis, const=[2], outputs=[TensorSpec(0, (), 2)])
    assert (got.shape, got.tolist()) == ((), 3)
    assert run("GatherV2", np.array(3, F32), np.array([0, -1]), axis, const=[2]).tolist() == [3, 3]
    with pytest.raises(Failed, match=r"HA510.*indices"):
        run("GatherV2", np.array(3, F32), np.array([1]), axis, const=[2])
    var, two = np.array(3, F32), np.array(2, F32)
    assert run("InplaceIndexAdd", var, first, np.array([5], F32), two, axis=0).tolist() == 13
    with pytest.raises(Refused, match=r"HA504.*updates"):
        bind("InplaceIndexAdd", [var, first, np.array([5, 6], F32)], axis=0)


def test_group_norm_without_data_format_has_its_channels_behind_the_batch():
    x = np.arange(18, dtype=F32).reshape(1, 6, 3)
    y, mean, _ = run("GroupNorm", x, np.ones(6, F32), np.zeros(6, F32), num_groups=2, eps=1e-5)
    rows = x.reshape(2, 9).astype(np.float64)
    np.testing.assert_allclose(mean.ravel(), rows.mean(1))
    want = (rows - rows.mean(1, keepdims=True)) / np.sqrt(rows.var(1, keepdims=True) + 1e-5)
    np.testing.assert_allclose(y.reshape(2, 9), want, rtol=1e-5, atol=1e-6)


def test_distances_of_rows_that_are_paired_already():
    one, other = (np.broadcast_to(a, (2, 4, 3, 2)).astype(F32) for a in (np.ones((4, 1, 2)), np.arange(6).reshape(3, 2)))
    got = run("Cdist", one, other, outputs=[TensorSpec(0, (2, 4, 3), 2)])
    np.testing.assert_allclose(got, np.linalg.norm(one.astype(np.float64) - other, axis=-1), rtol=1e-6)


def test_targets_of_several_labels_may_be_int64():
    x, target = np.array([[0.1, 0.2, 0.4]], F32), np.array([[2, -1, 0]], I64)
    loss, chosen = run("MultilabelMarginLoss", x, target, reduction="mean")
    assert loss.tolist() == pytest.approx((0.7 + 0.8) / 3)
    assert (chosen.dtype, chosen.tolist()) == (I64, [[0, 0, 1]])


def test_one_class_for_one_row_may_be_a_scalar():
    x, weight = np.log(np.array([[0.25, 0.75]], F32)), np.ones(2, F32)
    loss, total = run("NLLLoss", x, np.array(1, np.int32), weight, reduction="mean")
    assert (loss.tolist(), total.tolist()) == (pytest.approx(-np.log(0.75)), 1)
    with pytest.raises(Refused, match=r"HA504.*target"):
        bind("NLLLoss", [np.ones((2, 2), F32), np.array(1, np.int32), weight])


def test_divergence_of_logarithms():
    x, target = np.log(np.array([0.25, 0.75])), np.array([0.5, 0.5])
    want = np.sum(target * (np.log(target) - x))
    assert run("KLDiv", x, np.log(target), reduction="sum", log_target=True) == pytest.approx(want)
    assert run("KLDiv", x, target, reduction="sum", log_target=False) == pytest.approx(want)


def test_a_probability_for_each_element():
    prob, seed, offset = np.array([0, 1, 0], F32), np.array([3]), np.array([0, 0])
    got = run("StatelessBernoulli", np.array([3]), prob, seed[0], offset[0], const=[0], dtype=dtypes.FLOAT)
    assert got.tolist() == [0, 1, 0]
    with pytest.raises(Failed, match=r"prob\[1\] = 2"):
        run("StatelessBernoulli", np.array([3]), prob * 2, seed[0], offset[0], const=[0], dtype=dtypes.FLOAT)


def test_plain_memory_described_with_the_shape_of_the_tensor_behind_it():
    assert formats.storage_shape(TensorSpec(0, (12,), 2, storage_format=2, storage_shape=(3, 4))) == (12,)
    assert formats.storage_shape(TensorSpec(0, (6,), 2, storage_format=2, storage_shape=(3, 4))) == (3, 4)
    blocked = TensorSpec(0, (1, 16, 3, 4), 0, storage_format=formats.NC1HWC0, storage_shape=(1, 1, 3, 4, 16))
    assert formats.storage_shape(blocked) == (1, 1, 3, 4, 16)
