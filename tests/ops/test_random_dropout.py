"""Random numbers and dropout: known answers, distributions, round trips of masks, refusals and inference."""

from __future__ import annotations

import numpy as np
import pytest

from hostacl.errors import Failed, Refused
from hostacl.ops import philox
from hostacl.tensors.spec import TensorSpec as Spec
from tests.ops.calling import bind, run

KNOWN = [
    ((0, 0, 0, 0), (0, 0), (0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8)),
    ((0xFFFFFFFF,) * 4, (0xFFFFFFFF,) * 2, (0x408F276D, 0x41C83B0E, 0xA20BC7C6, 0x6D5451FD)),
    (
        (0x243F6A88, 0x85A308D3, 0x13198A2E, 0x03707344),
        (0xA4093822, 0x299F31D0),
        (0xD16CFE09, 0x94FDCCEB, 0x5001E420, 0x24126EA1),
    ),
]


@pytest.mark.parametrize(("counter", "key", "want"), KNOWN)
def test_the_known_answers_of_philox_4x32_10(counter, key, want):
    first = sum(word << 32 * place for place, word in enumerate(counter))
    assert tuple(int(word) for word in philox.words(4, key[0] | key[1] << 32, first)) == want


def test_the_counter_carries_and_wraps_and_blocks_go_on(monkeypatch):
    whole = philox.words(40, 5, (1 << 64) - 3)
    parts = [philox.words(4, 5, (1 << 64) - 3 + place) for place in range(10)]
    assert np.array_equal(whole, np.concatenate(parts))
    assert np.array_equal(philox.words(8, 5, (1 << 128) - 1)[4:], philox.words(4, 5, 0))
    monkeypatch.setattr(philox, "BLOCK", 3)
    assert np.array_equal(philox.words(40, 5, (1 << 64) - 3), whole)


def draw(op, count, seed=7, **attrs):
    return run(op, np.array([count]), np.array([seed], np.uint64), np.array([0, 3], np.uint64), np.array(1, np.int32),
               const=[0, 1, 2, 3], **attrs)  # fmt: skip


@pytest.mark.parametrize("dtype", [0, 1, 11, 27])
def test_uniform_numbers_fill_0_to_1_evenly(dtype):
    x = draw("StatelessRandomUniformV2", 200_000, dtype=dtype).astype(np.float64)
    assert x.min() >= 0
    assert x.max() < 1
    counts = np.histogram(x, 16, (0, 1))[0]
    assert ((counts - 12500) ** 2 / 12500).sum() < 45  # chi square, 15 degrees: 1 in 10,000
    assert abs(np.corrcoef(x[:-1], x[1:])[0, 1]) < 0.01


@pytest.mark.parametrize("dtype", [0, 1, 11, 27])
def test_normal_numbers_have_the_normal_distribution(dtype):
    x = draw("StatelessRandomNormalV2", 200_000, dtype=dtype).astype(np.float64)
    assert abs(x.mean()) < 0.01
    assert abs(x.std() - 1) < 0.01
    np.testing.assert_allclose([(np.abs(x) < k).mean() for k in (1, 2, 3)], [0.6827, 0.9545, 0.9973], atol=0.005)
    assert abs((x**3).mean()) < 0.05


def test_equal_seeds_give_equal_numbers_and_others_do_not():
    assert np.array_equal(draw("StatelessRandomNormalV2", 65), draw("StatelessRandomNormalV2", 65))
    assert np.array_equal(draw("StatelessRandomUniformV2", 65)[:33], draw("StatelessRandomUniformV2", 33))
    assert not np.array_equal(draw("StatelessRandomUniformV2", 65), draw("StatelessRandomUniformV2", 65, seed=8))


def mask(shape, prob, seed=1):
    return run("StatelessDropOutGenMask", np.array(shape, np.int64), np.array([prob], np.float32), np.array([seed], np.int32),
               np.array([2], np.int32), np.array([0, 5]), const=[0, 1, 2, 3, 4])  # fmt: skip


@pytest.mark.parametrize("shape", [(), (1,), (128,), (129,), (7, 300), (0, 4)])
def test_a_mask_keeps_its_share_when_applied(shape):
    count = int(np.prod(shape))
    x = np.arange(1, count + 1, dtype=np.float32).reshape(shape)
    bits = mask(shape, 0.75)
    assert bits.shape == (-(-count // 128) * 16,)
    y = run("DropOutDoMask", x, bits, np.array([0.75], np.float32))
    kept = np.unpackbits(bits, bitorder="little")[:count].reshape(shape) == 1
    np.testing.assert_allclose(y, np.where(kept, x.astype(np.float64) / 0.75, 0), rtol=1e-6)
    if count > 1000:
        assert abs(kept.mean() - 0.75) < 0.04


@pytest.mark.parametrize("prob", [0, 1])
def test_probabilities_0_and_1_leave_no_chance(prob):
    assert (mask((128,), prob) == 255 * prob).all()


def test_masks_of_bytes_round_trip():
    args = np.array([70]), np.array([0.5], np.float32)
    bits = run("DropOutGenMaskV3", *args, const=[0, 1])
    assert bits.shape == (80,)
    y = run("DropOutDoMaskV3", np.ones(70, np.float32), bits, np.array(0.5, np.float32))
    assert np.array_equal(y, 2.0 * bits[:70])
    assert not np.array_equal(bits, run("DropOutGenMaskV3", *args, const=[0, 1]))  # each call goes on


def test_dropped_elements_are_0_even_for_nan():
    bits = np.zeros(16, np.uint8)
    bits[0] = 0b10
    y = run("DropOutDoMask", np.full(3, np.nan, np.float32), bits, np.array([0.5], np.float32))
    assert np.array_equal(y, [0, np.nan, 0], equal_nan=True)


def test_the_first_element_has_the_lowest_bit_and_a_short_mask_is_refused():
    x, bits = np.ones(130, np.float32), np.full(32, 255, np.uint8)
    half = np.array([0.5], np.float32)
    assert (run("DropOutDoMask", x, bits, half) == 2).all()
    bits[0] = 0b11111110
    assert run("DropOutDoMask", x, bits, half)[0] == 0
    with pytest.raises(Refused, match="32 bytes"):
        bind("DropOutDoMask", [x, bits[:17], half])


def test_samples_follow_their_weights_and_never_take_a_0():
    weights = np.array([[0, 1, 3, 0], [2, 0, 0, 2]], np.float32)
    y = run("MultinomialWithReplacement", weights, np.array([1]), np.array([0]), numsamples=20_000)
    share = np.stack([np.bincount(row, minlength=4) for row in y]) / 20_000
    np.testing.assert_allclose(share, [[0, 0.25, 0.75, 0], [0.5, 0, 0, 0.5]], atol=0.015)
    assert not share[weights == 0].any()


def test_without_replacement_each_category_comes_once():
    weights = np.array([0.5, 0, 2, 1], np.float64)
    y = run("MultinomialWithReplacement", weights, np.array([1]), np.array([0]), numsamples=3, replacement=False)
    assert sorted(y) == [0, 2, 3]
    with pytest.raises(Failed, match="fewer than 4"):
        run("MultinomialWithReplacement", weights, np.array([1]), np.array([0]), numsamples=4, replacement=False)


@pytest.mark.parametrize("bad", [[1, -1], [0, 0], [np.inf, 1], [np.nan, 1]])
def test_weights_that_cannot_be_drawn_from_fail(bad):
    with pytest.raises(Failed, match=r"allowed|fewer"):
        run("MultinomialWithReplacement", np.array(bad, np.float32), np.array([1]), np.array([0]), numsamples=1)


def test_a_permutation_has_each_number_once_and_must_fit_its_type():
    y = run("StatelessRandperm", np.array([1000]), np.array([4]), np.array([0]), const=[0])
    assert sorted(y) == list(range(1000))
    assert not np.array_equal(y, np.arange(1000))
    with pytest.raises(Refused, match="256 numbers"):
        bind("StatelessRandperm", [np.array([300]), np.array([4]), np.array([0])], const=[0], dtype=4)


def test_what_is_out_of_range_is_named():
    shape, key, counter = np.array([3]), np.array([1], np.uint64), np.array([0, 0], np.uint64)
    with pytest.raises(Refused, match="alg = 2"):
        bind("StatelessRandomUniformV2", [shape, key, counter, np.array(2, np.int32)], const=[0, 3])
    with pytest.raises(Refused, match="counter"):
        bind("StatelessRandomUniformV2", [shape, key, counter[:1], np.array(1, np.int32)], const=[0, 3])
    with pytest.raises(Refused, match=r"prob = 1\.5"):
        bind("DropOutGenMask", [shape, np.array([1.5], np.float32)], const=[0, 1])


def test_an_unknown_shape_leaves_the_rank():
    call = bind("StatelessRandomUniformV2", [Spec(9, (3,), 2), Spec(10, (1,), 2), Spec(10, (2,), 2), Spec(3, (), 2)])
    assert call.infer()[0].shape == (-1, -1, -1)
    call = bind("DropOutGenMask", [Spec(9, (2,), 2), Spec(0, (1,), 2)])
    assert call.infer()[0].shape == (-1,)
    assert ("shape", 0) in call.value_inputs


def test_a_choice_gives_true_places_and_says_which_are_there():
    x = np.zeros((4, 5), bool)
    x[[0, 2, 3], [1, 2, 4]] = True
    rows, there = run("RandomChoiceWithMask", x, count=5)
    assert there.tolist() == [True] * 3 + [False] * 2
    assert {tuple(row) for row in rows[:3]} == {(0, 1), (2, 2), (3, 4)}
    every, there = run("RandomChoiceWithMask", x)
    assert every.shape == (3, 2)
    assert there.all()
