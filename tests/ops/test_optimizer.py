"""Optimizers: slots updated in place, several steps against a plain loop, refusals."""

from __future__ import annotations

import math

import ml_dtypes
import numpy as np
import pytest

from hostacl.errors import Refused
from hostacl.ops import find, parts
from hostacl.ops.registry import implemented
from hostacl.ops.schema import prototype
from hostacl.tensors import dtypes
from hostacl.tensors.spec import TensorSpec as Spec
from tests.ops.calling import bind, run, spec


def one(value, dtype=np.float32):
    return np.array([value], dtype)


def in_place(op, *inputs, outputs=(0,), **attrs):
    """Runs with the outputs in the memory of these inputs, as clients do."""
    call = bind(op, inputs, [spec(inputs[place]) for place in outputs], **attrs)
    for array in inputs:
        array.flags.writeable = False  # as the execute path hands inputs over
    targets = []
    for place in outputs:
        inputs[place].flags.writeable = True
        targets.append(inputs[place])
    call.function()(*inputs, *targets)


def test_three_steps_of_adam_in_place():
    var, m, v = (np.array(start, np.float32) for start in ([1, -2], [0, 0], [0, 0]))
    want = [[1.0, 0.0, 0.0], [-2.0, 0.0, 0.0]]
    for t in range(1, 4):
        grad = np.array([0.5 * t, -1.0], np.float32)
        for k, state in enumerate(want):
            state[1] = 0.9 * state[1] + 0.1 * float(grad[k])
            state[2] = 0.999 * state[2] + 0.001 * float(grad[k]) ** 2
            corrected = state[1] / (1 - 0.9**t), math.sqrt(state[2]) / math.sqrt(1 - 0.999**t)
            state[0] -= 0.1 * corrected[0] / (corrected[1] + 1e-8 / math.sqrt(1 - 0.999**t))
        numbers = [one(0.9**t), one(0.999**t), one(0.1), one(0.9), one(0.999), one(1e-8)]
        in_place("ApplyAdamD", var, m, v, *numbers, grad, outputs=(0, 1, 2))
    np.testing.assert_allclose(np.stack([var, m, v], axis=1), want, rtol=1e-4)


@pytest.mark.parametrize("dtype", [np.float32, np.float16, ml_dtypes.bfloat16, np.float64])
@pytest.mark.parametrize("nesterov", [False, True])
def test_momentum_writes_its_slot_though_only_var_is_an_output(dtype, nesterov):
    var, accum, grad = (np.array(start, dtype) for start in ([1, 2, 3], [0.5, 0, -1], [0.25, 1, -2]))
    in_place("ApplyMomentum", var, accum, one(0.5, dtype), grad, one(0.25, dtype), use_nesterov=nesterov)
    speed = np.array([0.375, 1, -2.25])
    move = np.array([0.25, 1, -2]) + speed * 0.25 if nesterov else speed
    np.testing.assert_allclose(accum.astype(np.float64), speed, rtol=4e-3)
    np.testing.assert_allclose(var.astype(np.float64), [1, 2, 3] - 0.5 * move, rtol=4e-3)


def test_sgd_starts_with_the_gradient_and_clears_its_mark():
    var, accum, stat = (np.array(start, np.float32) for start in ([1, 1], [9, 9], [1, 0]))
    in_place("SGD", var, np.array([1, 1], np.float32), one(0.5), accum, one(0.5), stat, outputs=(0,), dampening=0.25)
    assert accum.tolist() == [1, 5.25]
    assert var.tolist() == [0.5, -1.625]
    assert stat.tolist() == [0, 0]


def test_adam_w_keeps_the_largest_square():
    var, m, v, top = (np.array(start, np.float32) for start in ([1.0], [0], [0], [4]))
    numbers = [one(0.9), one(0.99), one(0.1), one(0.5), one(0.9), one(0.99), one(0)]
    in_place("ApplyAdamW", var, m, v, *numbers, np.array([1], np.float32), top, outputs=(0, 1, 2), amsgrad=True, maximize=True)
    assert top.tolist() == [4]
    np.testing.assert_allclose(var, [0.95 - 0.1 * (-0.1 / 0.1) / math.sqrt(4 / 0.01)], rtol=1e-5)
    with pytest.raises(Refused, match="max_grad_norm"):
        bind("ApplyAdamW", [var, m, v, *numbers, np.array([1], np.float32)], amsgrad=True)


def test_ftrl_holds_small_ones_at_0():
    args = [np.array(a, np.float32) for a in ([1, 1], [1, 1], [0, 0], [0.1, 3])]
    var, accum, linear = run("ApplyFtrlD", *args, one(0.5), one(1), one(0), one(-0.5))
    root = np.sqrt([1.01, 10.0])
    want = np.array([0.1, 3]) - (root - 1) / 0.5
    np.testing.assert_allclose(linear, want, rtol=1e-5)
    np.testing.assert_allclose(accum, [1.01, 10], rtol=1e-6)
    bent = (np.sign(want) - want) / (root / 0.5)
    np.testing.assert_allclose(var, np.where(np.abs(want) > 1, bent, 0), rtol=1e-5, atol=1e-7)


def test_integers_descend_exactly():
    var, delta = np.array([2**60 + 1], np.int64), np.array([2**58], np.int64)
    assert run("ApplyGradientDescent", var, one(3, np.int64), delta).tolist() == [2**60 + 1 - 3 * 2**58]


def test_parts_give_the_same(monkeypatch):
    rng = np.random.default_rng(1)
    tensors = [rng.uniform(0.5, 1, (5, 7)).astype(np.float32) for _ in range(3)]
    args = [*tensors, one(0.1), one(0.9), one(1e-3), tensors[0]]
    whole = run("ApplyAdadeltaD", *args)
    monkeypatch.setattr(parts, "ELEMENTS", 4)
    for got, want in zip(run("ApplyAdadeltaD", *args), whole, strict=True):
        assert np.array_equal(got, want)


UPDATING = [(name, slot) for name in implemented() if (known := find(name)) for slot in known.updates]


@pytest.mark.parametrize(("op", "slot"), UPDATING)
@pytest.mark.parametrize(("where", "told"), [("const", "is const"), ("placement", "is placed in host")])
def test_what_is_updated_lies_in_device_memory(op, slot, where, told):
    """Of every operator that writes an input: bytes that were copied would lose what it writes."""
    inputs = [Spec(next(iter(dtypes.allowed_of(decl.dtypes))), (8,), 2) for decl in prototype(op).inputs]
    place = [decl.name for decl in prototype(op).inputs].index(slot)
    bytes_of = bytes(8 * dtypes.numpy_dtype(inputs[place].dtype).itemsize)
    inputs[place] = inputs[place]._replace(**{where: bytes_of if where == "const" else 1})
    with pytest.raises(Refused, match=f"{slot} {told}"):
        bind(op, inputs)


HIDDEN = [name for name in implemented() if (known := find(name)) and known.updates and find(name + "D")]
TENSORS = {"var", "m", "v", "vhat", "accum", "accum_update", "ms", "mom", "mg", "linear", "grad"}


@pytest.mark.parametrize("op", HIDDEN)
@pytest.mark.parametrize("dtype", [np.float32, np.float16, ml_dtypes.bfloat16, np.float64])
@pytest.mark.parametrize("shape", [(), (5,), (2, 3), (0, 2)])
def test_hidden_slots_get_what_the_d_form_gives_as_outputs(op, dtype, shape):
    """var may have memory of its own, which leaves the input as it was, or the input's."""
    rng = np.random.default_rng(3)
    given = {
        decl.name: np.asarray(rng.uniform(0.5, 2, shape)).astype(dtype) if decl.name in TENSORS else one(0.375, dtype)
        for decl in prototype(op).inputs
    }
    attrs = {name: 0.375 for name, attr in prototype(op + "D").attrs.items() if attr.required}
    outputs = [decl.name for decl in prototype(op + "D").outputs]
    named = [given[decl.name] for decl in prototype(op + "D").inputs]
    wanted = dict(zip(outputs, run(op + "D", *named, **attrs), strict=True))
    old = given["var"].copy()
    slots = {name: array.copy() for name, array in given.items()}
    var = run(op, *slots.values())
    for name in outputs[1:]:
        np.testing.assert_array_equal(slots[name], wanted[name])
    np.testing.assert_array_equal(var, wanted["var"])
    np.testing.assert_array_equal(slots["var"], old)
    in_place(op, *given.values())
    for name in outputs:
        np.testing.assert_array_equal(given[name], wanted[name])


def test_what_does_not_fit_is_named():
    x, single = Spec(0, (2, 3), 2), Spec(0, (1,), 2)
    with pytest.raises(Refused, match="lr"):
        bind("ApplyMomentum", [x, x, Spec(0, (2,), 2), x, single])
    with pytest.raises(Refused, match="grad"):
        bind("ApplyMomentum", [x, x, single, Spec(0, (3, 2), 2), single])
