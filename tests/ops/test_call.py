"""Bound calls: what is refused, what is inferred, when shapes are exact."""

from __future__ import annotations

import numpy as np
import pytest

from hostacl.config import override
from hostacl.errors import Refused
from hostacl.ops import find
from hostacl.ops.call import Inferred
from hostacl.tensors.spec import TensorSpec as Spec
from tests.ops.calling import attr, bind, spec

F32, F16, I32, I64, U64, F64, BF16, STRING = 0, 1, 3, 9, 10, 11, 27, 13


def f32(*shape: int) -> np.ndarray:
    return np.zeros(shape, np.float32)


REFUSED = [
    ("Add", [Spec(U64, (1,))] * 2, [Spec(U64, (1,))], {}, r"HA502: Add: x1 = DT_UINT64 \[1\]; allowed: DT_FLOAT, .*permissive"),
    ("Add", [Spec(STRING, (1,))] * 2, [Spec(STRING, (1,))], {}, "HA502: Add: x1 = DT_STRING .*cannot be computed here"),
    ("Div", [Spec(F16, (2,)), Spec(F32, (1,))], [Spec(F16, (2,))], {}, "HA503: Div: .*x1 DT_FLOAT16, x2 DT_FLOAT differ"),
    ("Add", [Spec(F16, (2,)), Spec(F32, (2,))], [Spec(F16, (2,))], {}, "HA512: Add: y = DT_FLOAT16 .*gives DT_FLOAT "),
    ("Neg", [Spec(F32, (4, 3))], [Spec(F32, (3,))], {}, r"HA511: Neg: y is described as \[3\]; the operator gives \[4,3\]"),
    ("Add", [Spec(F32, (2,)), Spec(F32, (3,))], [Spec(F32, (3,))], {}, r"HA504: Add: x1 = \[2\], x2 = \[3\] do not broadcast"),
    ("Abs", [Spec(F32, (1,) * 9)], [Spec(F32, (1,) * 9)], {}, "HA516: Abs: x = .*9 dims; allowed: up to 8"),
    ("ReduceSumD", [Spec(F32, (2, 3))], [Spec(F32, (2,))], {"axes": [2]}, r"HA509: ReduceSumD: .*axis 2 not in \[-2,1\]"),
    ("ReduceSumD", [Spec(F32, (2, 3))], [Spec(F32, (2,))], {"axes": [1, -1]}, "HA509: .*twice"),
    ("ReduceSumD", [Spec(F32, (2, 3))], [Spec(F32, (2,))], {"axes": 1}, "HA506: .*axes was set as int .*list_int"),
    ("ReduceSumD", [Spec(F64, (2, 3))], [Spec(F64, (2,))], {"axes": [1]}, "HA502: ReduceSumD: x = DT_DOUBLE"),
    ("TransposeD", [Spec(F32, (3,))], [Spec(F32, (3,))], {"perm": [1]}, r"HA509: TransposeD: perm\[0\] = 1; .*rank 1"),
    ("TransposeD", [Spec(F32, (3, 3))], [Spec(F32, (3, 3))], {"perm": [0, 0]}, "HA509: TransposeD: .*twice"),
    ("SliceD", [Spec(F32, (5,))], [Spec(F32, (1,))], {"offsets": [-1], "size": [1]}, r"HA519: SliceD: offsets\[0\] = -1"),
    (
        "SliceD",
        [Spec(F32, (5,))],
        [Spec(F32, (4,))],
        {"offsets": [2], "size": [4]},
        r"HA519: SliceD: size\[0\] = 4 from offset 2; x has 5",
    ),
    (
        "BroadcastToD",
        [Spec(F32, (1, 3))],
        [Spec(F32, (2, 4))],
        {"shape": [2, 4]},
        "HA504: BroadcastToD: .*dim 1 is 3 against 4",
    ),
    ("ConcatD", [Spec(F32, (2, 3)), Spec(F32, (2, 4))], [Spec(F32, (4, 3))], {"concat_dim": 0}, "HA504: ConcatD: x1 = .*dim 1"),
    ("MatMul", [Spec(F32, (2, 3)), Spec(F32, (4, 5))], [Spec(F32, (2, 5))], {}, "HA504: MatMul: .*inner dims 3 and 4"),
    ("MatMul", [Spec(F32, (2, 3, 4)), Spec(F32, (4, 5))], [Spec(F32, (2, 5))], {}, "HA516: MatMul: x1 .*allowed: 2"),
    ("GatherV2", [Spec(F32, (2,)), Spec(I32, (1,))], [Spec(F32, (1,))], {}, "HA513: GatherV2: axis is an input that must"),
    ("Exp", [Spec(F32, (2,))], [Spec(F32, (2,))], {"base": 2}, "HA506: Exp: base was set as int"),
]


@pytest.mark.parametrize(
    ("op", "inputs", "outputs", "attrs", "text"), REFUSED, ids=[f"{case[0]}-{case[4][:5]}" for case in REFUSED]
)
def test_a_call_that_cannot_be_built_is_refused(op, inputs, outputs, attrs, text):
    with pytest.raises(Refused, match=text):
        find(op).bind(inputs, outputs, {name: attr(value) for name, value in attrs.items()})


def test_permissive_takes_what_computes_exactly():
    x = np.array([2**64 - 1], np.uint64)
    with override(dtypes="permissive"):
        call = bind("Add", (x, np.ones(1, np.uint64)), [spec(x)])
        y = np.zeros(1, np.uint64)
        call.function()(x, np.ones(1, np.uint64), y)
    assert y[0] == 0


def test_an_unknown_attribute_is_dropped_and_reported():
    call = bind("Add", (f32(1), f32(1)), no_such_attr=1)
    ((rule, text),) = call.reports
    assert rule == "HA507"
    assert "no_such_attr" in text


@pytest.mark.parametrize(("given", "shape"), [((), (1,)), ((1,), ())])
def test_a_scalar_and_one_element_are_the_same_for_an_output(given, shape):
    assert bind("Neg", (f32(*given),), [Spec(F32, shape)]).exact


def test_infer_carries_unknown_dims_and_their_ranges():
    call = bind("Add", (Spec(F32, (-1, 3), ranges=((1, 5), (3, 3))), f32(1, 3)))
    assert call.infer() == (Inferred(F32, 2, (-1, 3), ((1, 5), (3, 3))),)
    assert not call.exact


def test_infer_of_an_unknown_rank():
    (one,) = bind("Add", (Spec(F32, (-2,)), f32(3))).infer()
    assert (one.shape, one.ranges) == (None, ())


def test_infer_of_a_size_that_depends_on_data_has_a_finite_bound():
    call = bind("NonZero", (f32(4, 2),))
    assert call.infer() == (Inferred(I64, 2, (-1, 2), ((0, 8), (2, 2))),)
    assert (call.exact, call.value_inputs) == (False, ())


def test_a_value_input_makes_the_call_exact_when_it_is_known():
    x, axes = f32(2, 3), np.array([1])
    unknown = bind("ReduceSum", (x, axes))
    assert (unknown.exact, unknown.value_inputs) == (False, (("axes", 1),))
    assert unknown.infer() == (Inferred(F32, 2, (-1,), ((2, 3),)),)
    assert unknown.with_values({"axes": axes}).infer()[0].shape == (2,)
    assert bind("ReduceSum", (x, axes), const=[1]).infer()[0].shape == (2,)


@pytest.mark.parametrize(
    ("op", "inputs", "attrs", "shape", "ranges"),
    [
        ("Transpose", (f32(2, 5), np.array([1, 0])), {}, (-1, -1), ((2, 5), (2, 5))),
        ("Slice", (f32(2, 5), np.array([0, 0]), np.array([1, 1])), {}, (-1, -1), ((0, 2), (0, 5))),
        ("Fill", (np.array([1, 1]), np.zeros((), np.float32)), {}, (-1, -1), ((0, -1), (0, -1))),
        ("ReduceSum", (f32(1, 5), np.array([1])), {"keep_dims": True}, (1, -1), ((1, 1), (1, 5))),
        ("ReduceSum", (f32(2, 5, 5, 5), np.array([1, 0])), {}, (-1, 5), ((2, 5), (5, 5))),
        ("ReduceSum", (f32(), np.array([0])), {}, (), ()),
        ("ArgMaxV2", (f32(2, 5, 3), np.array(1)), {}, (-1, -1), ((2, 5), (3, 5))),
        ("ArgMin", (Spec(F32, (-1, 5), ranges=((2, 7), (5, 5))), np.array(1)), {}, (-1,), ((2, 7),)),
        ("MatMul", (Spec(F32, (-1, 3), ranges=((2, 7), (3, 3))), f32(3, 4)), {}, (-1, 4), ((2, 7), (4, 4))),
        ("ConcatD", (Spec(F32, (-1, 3), ranges=((2, 7), (3, 3))), f32(5, 3)), {"concat_dim": 0}, (-1, 3), ((7, 12), (3, 3))),
    ],
)
def test_infer_says_what_can_be_said(op, inputs, attrs, shape, ranges):
    (one,) = bind(op, inputs, **attrs).infer()
    assert (one.shape, one.ranges) == (shape, ranges)


def test_a_dtype_attribute_must_agree_with_the_output():
    x, axis = f32(4), np.array([0], np.int32)
    assert bind("ArgMaxV2", (x, axis), [Spec(I32, (1,))], const=[1]).exact
    assert bind("ArgMaxV2", (x, axis), const=[1], dtype=3).infer()[0].dtype == I32
    assert bind("ArgMaxV2", (x, axis), const=[1]).infer()[0].dtype == I64
    with pytest.raises(Refused, match=r"HA527: ArgMaxV2: y = DT_INT32 .*dtype = 9"):
        bind("ArgMaxV2", (x, axis), [Spec(I32, (1,))], const=[1], dtype=9)


def test_cast_follows_the_output_not_the_attribute():
    assert bind("Cast", (f32(2),), [Spec(I32, (2,))], dst_type=1).infer()[0].dtype == I32
    assert bind("Cast", (f32(2),), dst_type=1).infer()[0].dtype == F16


def test_both_generations_of_a_prototype_bind():
    older = find("ReduceSum").prototype
    assert older is not None
    assert bind("GatherV2", (f32(2), np.array([0]), np.array(0)), const=[2], batch_dims=0).exact


def test_const_data_that_is_too_short_is_refused():
    with pytest.raises(Refused, match="HA519: ReduceSum: the const data of axes has 4 bytes"):
        find("ReduceSum").bind([Spec(F32, (2,)), Spec(I64, (1,), const=b"abcd")], [], {})


def test_missing_inputs_of_a_value_operator_stay_unknown_until_they_run():
    call = bind("Fill", (np.array([], np.int64), np.zeros((), np.float32)))
    assert call.infer()[0].shape == ()


def test_permissive_refuses_what_cannot_be_computed():
    x = np.array([True])
    with override(dtypes="permissive"), pytest.raises(Refused, match="HA502: Sub: DT_BOOL cannot be computed here"):
        bind("Sub", (x, x), [spec(x)]).function()


@pytest.mark.parametrize("code", [99, -(2**63), 13])
def test_a_type_attribute_that_names_no_type_of_arrays_is_refused_when_inferred(code):
    inputs = [Spec(I32, (4,)), Spec(F16, (1,))]
    with pytest.raises(Refused, match=r"HA502: AscendDequant: y would be DT.*, as the attributes say; allowed: DT_FLOAT16"):
        bind("AscendDequant", inputs, dtype=code).infer()
