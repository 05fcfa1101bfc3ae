"""Operators that move elements: transpose, slice, broadcast, gather, concat, fill, select. Every dtype, bit for bit."""

from __future__ import annotations

import numpy as np
import pytest

from hostacl.errors import Refused
from hostacl.ops.schema import prototype
from hostacl.tensors import dtypes
from hostacl.tensors.spec import TensorSpec as Spec
from tests.ops.calling import bind, run, spec, values


def codes(op: str, place: int = 0) -> list[int]:
    return [code for code in prototype(op).inputs[place].dtypes if dtypes.has_arrays(code)]


def call(op, *inputs, code=None, shape=None, **options):
    """A call whose output is described by the dtype code, for types that share a NumPy type."""
    return run(op, *inputs, outputs=None if shape is None else [Spec(code, shape)], **options)


def same_bits(got, expected):
    assert got.dtype == expected.dtype
    assert got.shape == expected.shape
    assert np.ascontiguousarray(got).tobytes() == np.ascontiguousarray(expected).tobytes()


PLAIN = sorted(dtypes.PLAIN)


@pytest.mark.parametrize("code", [code for code in codes("Transpose") if code in dtypes.PLAIN])
@pytest.mark.parametrize("perm", [(2, 0, 1), (0, 1, 2), (-1, 1, 0)])
def test_transpose(code, perm):
    x = values(code, (2, 3, 4))
    same_bits(run("Transpose", x, np.array(perm), const=[1]), x.transpose(perm))
    if code in codes("TransposeD"):
        same_bits(run("TransposeD", x, perm=list(perm)), x.transpose(perm))


def test_transpose_of_a_scalar_and_of_eight_dims():
    x = np.array(3, np.float16)
    same_bits(run("Transpose", x, np.array([], np.int32)), x)
    x = values(1, (2,) * 8)
    same_bits(run("TransposeD", x, perm=[7, 6, 5, 4, 3, 2, 1, 0]), x.T)


@pytest.mark.parametrize("code", [code for code in codes("Slice") if code in dtypes.PLAIN])
def test_slice(code):
    x = values(code, (5, 4))
    same_bits(run("Slice", x, np.array([1, 0]), np.array([-1, 2]), const=[1, 2]), x[1:, 0:2])
    same_bits(run("SliceD", x, offsets=[1, 0], size=[3, 2]), x[1:4, :2])
    same_bits(run("Slice", x, np.array([5, 0]), np.array([0, 4]), const=[1, 2]), x[5:])


@pytest.mark.parametrize("code", [code for code in codes("BroadcastTo") if code in dtypes.PLAIN])
def test_broadcast_to(code):
    x = values(code, (3, 1))
    same_bits(run("BroadcastTo", x, np.array([2, 3, 4]), const=[1]), np.broadcast_to(x, (2, 3, 4)))
    same_bits(run("BroadcastTo", x, np.array([2, -1, 0]), const=[1]), np.broadcast_to(x, (2, 3, 0)))
    scalar = values(code, ())
    same_bits(run("BroadcastTo", scalar, np.array([2]), const=[1]), np.broadcast_to(scalar, (2,)))


@pytest.mark.parametrize("shape", [[3], [2, 4], [-1, 3, 1]])
def test_broadcast_to_refuses(shape):
    with pytest.raises(Refused, match=r"HA5(04|19): BroadcastTo"):
        bind("BroadcastTo", (values(0, (3, 1)), np.array(shape)), const=[1])


@pytest.mark.parametrize("code", [code for code in codes("GatherV2") if code in dtypes.PLAIN])
@pytest.mark.parametrize("axis", [0, 1, -1])
def test_gather(code, axis):
    x, indices = values(code, (3, 4, 5)), np.array([[0, -1], [2, 1]], np.int32)
    same_bits(run("GatherV2", x, indices, np.array(axis), const=[2]), np.take(x, indices, axis))


@pytest.mark.parametrize(("axis", "batch"), [(1, 1), (2, 1), (2, 2), (2, -1)])
def test_gather_in_batches(axis, batch):
    x, indices = values(0, (2, 3, 4)), np.random.default_rng(0).integers(0, 3, (2, 3, 2))
    lead = batch % 3
    expected = np.empty((*x.shape[:lead], *x.shape[lead:axis], *indices.shape[lead:], *x.shape[axis + 1 :]), x.dtype)
    for place in np.ndindex(*x.shape[:lead]):
        expected[place] = np.take(x[place], indices[place], axis=axis - lead)
    same_bits(run("GatherV2", x, indices, np.array(axis), const=[2], batch_dims=batch), expected)


def test_gather_with_a_scalar_index_and_none_at_all():
    x = values(0, (3, 4))
    same_bits(run("GatherV2", x, np.array(1), np.array([0]), const=[2]), x[1])
    assert run("GatherV2", x, np.zeros((0,), np.int64), np.array(0), const=[2]).shape == (0, 4)


@pytest.mark.parametrize("code", [code for code in codes("ConcatD") if code in dtypes.PLAIN])
@pytest.mark.parametrize("axis", [0, -1])
def test_concat(code, axis):
    parts = [values(code, shape, seed) for seed, shape in enumerate([(2, 3)] * 3)]
    expected = np.concatenate(parts, axis)
    same_bits(run("ConcatD", *parts, concat_dim=axis), expected)
    same_bits(run("ConcatD", *parts, concat_dim=axis, N=3), expected)
    same_bits(run("Concat", np.array(axis, np.int32), *parts, const=[0]), expected)
    same_bits(run("ConcatV2", *parts, np.array(axis, np.int32), const=[3]), expected)


def test_concat_of_one_and_of_empty_tensors():
    x = values(0, (0, 3))
    assert run("ConcatD", x, x, concat_dim=0).shape == (0, 3)
    same_bits(run("ConcatD", values(0, (2, 3)), concat_dim=1), values(0, (2, 3)))


@pytest.mark.parametrize("code", [code for code in codes("Fill", 1) if code in dtypes.PLAIN])
def test_fill(code):
    value = values(code, ())
    same_bits(run("Fill", np.array([2, 3]), value, const=[0]), np.full((2, 3), value))
    same_bits(run("Fill", np.array([], np.int32), value), np.asarray(value))
    assert run("Fill", np.array([0, 3]), value, const=[0]).shape == (0, 3)


def test_fill_keeps_large_integers():
    np.testing.assert_array_equal(run("Fill", np.array([2]), np.array([2**53 + 1]), const=[0]), [2**53 + 1] * 2)
    np.testing.assert_array_equal(run("FillD", np.array([5], np.int32), dims=[2]), [5, 5])


@pytest.mark.parametrize("code", [code for code in codes("Select", 1) if code in dtypes.PLAIN])
def test_select(code):
    x1, x2 = values(code, (2, 3)), values(code, (2, 3), 1)
    same = np.array([[True, False, True], [False, True, False]])
    same_bits(run("Select", same, x1, x2), np.where(same, x1, x2))
    rows = np.array([True, False])
    same_bits(run("Select", rows, x1, x2), np.where(rows[:, None], x1, x2))
    same_bits(run("Select", np.array(True), x1, x2), x1)
    same_bits(run("Select", np.array([False]), x1, x2), x2)


def test_select_refuses_what_select_v2_broadcasts():
    condition, x1, x2 = np.array([True, False, True]), values(0, (2, 3)), values(0, (3,), 1)
    with pytest.raises(Refused, match=r"HA504: Select: x1 .*SelectV2 broadcasts"):
        bind("Select", (condition, x1, x2))
    same_bits(run("SelectV2", condition, x1, x2), np.where(condition, x1, x2))


@pytest.mark.parametrize("op", ["Transpose", "Slice", "BroadcastTo"])
@pytest.mark.parametrize("code", [18, 20, 21])
def test_quantised_types_move_as_their_integers(op, code):
    x = values(code, (2, 3))
    inputs = {"Transpose": [Spec(9, (2,))], "Slice": [Spec(9, (2,))] * 2, "BroadcastTo": [Spec(9, (2,))]}[op]
    arrays = {
        "Transpose": [np.array([1, 0])],
        "Slice": [np.array([0, 0]), np.array([1, 3])],
        "BroadcastTo": [np.array([2, 3])],
    }[op]
    expected = {"Transpose": x.T, "Slice": x[:1], "BroadcastTo": x}[op]
    out = np.zeros(expected.shape, x.dtype)
    bind(op, (Spec(code, x.shape), *inputs), [Spec(code, expected.shape)]).function()(x, *arrays, out)
    same_bits(out, np.ascontiguousarray(expected))


def test_transpose_d_takes_bool_as_clients_send_it():
    x = np.arange(24).reshape(2, 3, 4) % 5 == 0
    np.testing.assert_array_equal(run("TransposeD", x, perm=[2, 0, 1]), x.transpose(2, 0, 1))


def test_masked_fill_takes_a_scalar_for_one_element():
    """torch-npu: x is [1] where y is described as a scalar."""
    described = [spec(np.zeros((), np.float32))]
    assert run("MaskedFill", np.ones(1, np.float32), np.array(True), np.array(3, np.float32), outputs=described).tolist() == 3


MASK = np.array([[True, False, True], [False, False, True]])


@pytest.mark.parametrize(
    ("op", "inputs", "attrs", "expected"),
    [
        ("Slice", [MASK, np.array([0, 1]), np.array([2, 2])], {}, MASK[:, 1:]),
        ("ConcatD", [MASK, MASK], {"concat_dim": 0, "N": 2}, np.concatenate([MASK, MASK])),
        ("Tile", [MASK, np.array([2, 1])], {}, np.tile(MASK, (2, 1))),
        ("AsStrided", [MASK, np.array([3, 2]), np.array([1, 3]), np.array([0])], {}, MASK.T),
        ("ZerosLike", [MASK], {}, np.zeros_like(MASK)),
        ("NotEqual", [MASK, MASK[:1]], {}, MASK ^ MASK[:1]),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_masks_are_moved_although_the_prototypes_have_no_bool(op, inputs, attrs, expected):
    same_bits(run(op, *inputs, const=range(1, len(inputs)) if op in ("Slice", "Tile", "AsStrided") else (), **attrs), expected)
