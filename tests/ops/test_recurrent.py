"""LSTM and GRU layers: worked values, sequences of different lengths, dtypes, refusals, inference."""

from __future__ import annotations

import math

import numpy as np
import pytest

from hostacl.errors import Failed, Refused
from hostacl.tensors.spec import TensorSpec as Spec
from tests.ops.calling import bind, run

F16, F32, I32 = 1, 0, 3


def floats(*shape, seed=0):
    return np.random.default_rng(seed).uniform(-1, 1, shape).astype(np.float32)


def test_one_cell_by_hand():
    w = np.array([[1, 2, 3, 4], [0.5, 0.5, 0.5, 0.5]], np.float32)  # i, j, f, o of one feature; and of the state
    b = np.zeros(4, np.float32)
    x, cell = np.ones((1, 1, 1), np.float32), np.full((1, 1), 2, np.float32)
    outputs = run("DynamicRNN", x, w, b, None, None, cell, forget_bias=1.0)

    def sigmoid(x):
        return 1 / (1 + math.exp(-x))

    c = 2 * sigmoid(4) + sigmoid(1) * math.tanh(2)
    want = [sigmoid(4) * math.tanh(c)] * 2 + [c, sigmoid(1), math.tanh(2), sigmoid(4), sigmoid(4), math.tanh(c)]
    np.testing.assert_allclose([one.item() for one in outputs], want, rtol=1e-6)


def test_gates_in_another_order():
    x, w, b = floats(3, 2, 4), floats(9, 20, seed=1), floats(20, seed=2)
    first = run("DynamicRNN", x, w, b)
    swapped = [np.concatenate([one[..., :5], one[..., 10:15], one[..., 5:10], one[..., 15:]], -1) for one in (w, b)]
    for one, other in zip(first, run("DynamicRNN", x, *swapped, gate_order="ifjo"), strict=True):
        np.testing.assert_array_equal(one, other)


def test_back_to_front_is_front_to_back_of_the_turned_sequence():
    x, w, b = floats(4, 2, 3), floats(5, 8, seed=1), floats(8, seed=2)
    forward = run("DynamicRNN", x[::-1].copy(), w, b)
    for one, other in zip(forward, run("DynamicRNN", x, w, b, direction="REDIRECTIONAL"), strict=True):
        np.testing.assert_array_equal(one, other[::-1])


@pytest.mark.parametrize("form", ["numbers", "mask"])
def test_shorter_sequences_keep_their_state_and_give_zeros(form):
    x, w, b = floats(3, 2, 2), floats(5, 12, seed=1), floats(12, seed=2)
    seq = np.array([3, 1], np.int32)
    if form == "mask":
        seq = np.repeat(np.arange(3)[:, None, None] < seq[:, None], 3, axis=2).astype(np.float16)
    y, h, c, *_ = run("DynamicRNN", x, w, b, seq)
    whole = run("DynamicRNN", x, w, b)
    assert not y[1:, 1].any()
    for state in (h, c):
        np.testing.assert_array_equal(state[1:, 1], np.stack([state[0, 1]] * 2))
    np.testing.assert_array_equal(y[:, 0], whole[0][:, 0])
    np.testing.assert_array_equal(c[:, 0], whole[2][:, 0])


def test_a_length_beyond_the_steps_fails():
    with pytest.raises(Failed, match="seq_length holds 1 to 4"):
        run("DynamicRNN", floats(3, 2, 2), floats(5, 12), floats(12), np.array([1, 4], np.int32))


def test_float32_states_of_halves_as_clients_ask():
    x, w, b = (one.astype(np.float16) for one in (floats(3, 2, 2), floats(5, 12), floats(12)))
    infer = bind("DynamicRNN", [x, w, b.astype(np.float32)]).infer()
    assert [one.dtype for one in infer] == [F32] * 8
    assert [one.dtype for one in bind("DynamicRNN", [x, w, b]).infer()] == [F16] * 8
    outputs = run("DynamicRNN", x, w, b, outputs=[Spec(F32, (3, 2, 3)), *[Spec(F16, (3, 2, 3))] * 7])
    np.testing.assert_array_equal(outputs[0].astype(np.float16), outputs[1])


def test_unknown_steps():
    (y, *_) = bind("DynamicRNN", [Spec(F32, (-1, 2, 4)), Spec(F32, (9, 20)), Spec(F32, (20,))]).infer()
    assert y.shape == (-1, 2, 5)


@pytest.mark.parametrize(
    ("attrs", "rule"),
    [
        ({"direction": "BIDIRECTIONAL"}, "HA508"),
        ({"use_peephole": True}, "HA508"),
        ({"keep_prob": 0.5}, "HA508"),
        ({"gate_order": "iofj"}, "HA508"),
        ({"cell_type": "GRU"}, "HA508"),
        ({"num_proj": 3}, "HA508"),
    ],
)
def test_attributes_that_are_refused(attrs, rule):
    with pytest.raises(Refused) as caught:
        bind("DynamicRNN", [Spec(F32, (3, 2, 4)), Spec(F32, (9, 20)), Spec(F32, (20,))], **attrs)
    assert caught.value.rule == rule


@pytest.mark.parametrize(
    ("place", "shape", "rule"),
    [(0, (3, 4), "HA516"), (1, (9, 21), "HA504"), (1, (8, 20), "HA504"), (2, (5,), "HA504"), (4, (2, 2, 5), "HA504"),
     (5, (2, 6), "HA504"), (3, (3,), "HA504"), (6, (5,), "HA513")],
)  # fmt: skip
def test_shapes_that_are_refused(place, shape, rule):
    inputs = [Spec(F32, (3, 2, 4)), Spec(F32, (9, 20)), Spec(F32, (20,)), Spec(I32, (2,)), Spec(F32, (1, 2, 5)),
              Spec(F32, (2, 5)), Spec(-1, (), -1)]  # fmt: skip
    inputs[place] = Spec(I32 if place == 3 else F32, shape)
    with pytest.raises(Refused) as caught:
        bind("DynamicRNN", inputs)
    assert caught.value.rule == rule


def test_one_gru_cell_by_hand():
    x, h = np.full((1, 1, 1), 1, np.float16), np.full((1, 1), 0.5, np.float16)
    w, u = np.array([[1, 2, 3]], np.float16), np.array([[4, 5, 6]], np.float16)
    b = np.array([0, 0, 1], np.float16)

    def sigmoid(x):
        return 1 / (1 + math.exp(-x))

    z, r = sigmoid(1 + 2), sigmoid(2 + 2.5)
    for after, inner in ((True, 3 + 1), (False, r * 0.5 * 6 + 1)):
        n = math.tanh(3 + (r * inner if after else inner))
        want = (1 - z) * n + z * 0.5
        outputs = run("DynamicGRUV2", x, w, u, None, b, None, h, reset_after=after)
        np.testing.assert_allclose([one.item() for one in outputs], [want, want, z, r, n, inner], rtol=1e-3)


def test_gates_as_torch_npu_names_them():
    x, w, b = floats(3, 2, 4), floats(9, 20, seed=1), floats(20, seed=2)
    named, plain = (run("DynamicRNN", x, w, b, gate_order=order) for order in ("ifco", "ifjo"))
    for one, other in zip(named, plain, strict=True):
        np.testing.assert_array_equal(one, other)


def test_a_gradient_as_torch_npu_calls_it():
    """cell_type as a bool, and scalars in place of what is left out."""
    x, w, b = floats(3, 2, 4), floats(9, 20, seed=1), floats(20, seed=2)
    y, h, c, *gates = run("DynamicRNN", x, w, b)
    zeros, nothing = np.zeros((2, 5), np.float32), np.zeros((), np.float32)
    given = [x, w, b, y, zeros, zeros, h, c, np.ones_like(y), zeros, zeros, *gates]
    wanted = run("DynamicRNNGrad", *given)
    sent = [*given, nothing, np.zeros((), np.uint8), nothing, nothing, nothing]
    for one, other in zip(run("DynamicRNNGrad", *sent, cell_type=True), wanted, strict=True):
        np.testing.assert_array_equal(one, other)


def test_a_gru_of_float32():
    x, w, u = floats(3, 2, 4), floats(4, 9, seed=1), floats(3, 9, seed=2)
    single = run("DynamicGRUV2", x, w, u)
    halves = run("DynamicGRUV2", *(one.astype(np.float16) for one in (x, w, u)))
    assert single[0].dtype == np.float32
    np.testing.assert_allclose(single[0], halves[0], atol=5e-3)


def test_gradients_need_no_tensors_for_peepholes():
    x, w, b = floats(3, 2, 4), floats(9, 20, seed=1), floats(20, seed=2)
    y, h, c, *gates = run("DynamicRNN", x, w, b)
    zeros = np.zeros((2, 5), np.float32)
    given = [x, w, b, y, zeros, zeros, h, c, np.ones_like(y), np.zeros_like(y), zeros, *gates]
    dw, db, dx, dh, dc = run("DynamicRNNGrad", *given)
    assert (dw.shape, db.shape, dx.shape, dh.shape, dc.shape) == ((9, 20), (20,), (3, 2, 4), (2, 5), (2, 5))
    with pytest.raises(Refused, match="cell_clip"):
        bind("DynamicRNNGrad", given, cell_clip=1.0)
