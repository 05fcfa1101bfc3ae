"""Element-wise kernels in blocks: the same values as in one go, whatever overlaps."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

from hostacl.config import override
from hostacl.ops.blocks import BLOCK
from tests.ops.calling import bind, run, spec

F32 = np.float32
COUNT = 2 * BLOCK + 5


def tensors(dtype, count=3, size=COUNT):
    rng = np.random.default_rng(1)
    return [rng.normal(size=size).astype(dtype) for _ in range(count)]


@pytest.mark.parametrize("dtype", [F32, np.float16, ml_dtypes.bfloat16])
def test_large_tensors_give_what_small_ones_give(dtype):
    start, end, weight = tensors(dtype)
    whole = run("Lerp", start, end, weight)
    parts = [run("Lerp", *(one[at : at + 100] for one in (start, end, weight))) for at in range(0, COUNT, 100)]
    np.testing.assert_array_equal(whole, np.concatenate(parts))


def test_one_element_and_broadcast_inputs():
    x1, x2 = tensors(F32, 2)
    np.testing.assert_allclose(run("AxpyV2", x1, x2, np.array([2], F32)), x1 + 2 * x2, rtol=1e-5, atol=1e-6)
    rows = x1[: 2 * BLOCK].reshape(2, BLOCK)
    np.testing.assert_array_equal(run("Xdivy", rows, rows[:1] + 9), rows / (rows[:1] + 9))


def test_close_in_blocks_gives_bool():
    x1, x2 = tensors(np.float16, 2)
    np.testing.assert_array_equal(run("IsClose", x1, x2, atol=0.5), np.isclose(x1.astype(float), x2.astype(float), atol=0.5))


@pytest.mark.parametrize("shift", [0, 1, 700])
def test_output_may_overlap_an_input(shift):
    memory = tensors(F32, 1, COUNT + 700)[0]
    other = tensors(F32, 1)[0]
    source, target = memory[:COUNT], memory[shift : shift + COUNT]
    wanted = np.arctan2(source, other)
    bind("Atan2", [source, other], [spec(target)]).function()(source, other, target)
    np.testing.assert_array_equal(target, wanted)


def test_saturating_products_round_to_the_largest_half():
    x = np.full(COUNT, 60000, np.float16)
    with override(soc="Ascend310P"):
        assert set(run("AxpyV2", x, x, np.array([1], np.float16)).tolist()) == {65504.0}
