"""The kinds of the reports about refusals, tried on every operator: the code and the names that its text must have."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from hostacl import _machine
from hostacl.ops.schema import TensorDecl
from hostacl.tensors import dtypes
from random_calls.run import bind
from tests.cases.conftest import reports
from tests.cases.drawn import OPERATORS, Described, InMemory, a_call, known

BUILD_FAILED, TOO_SMALL, INVALID = 500002, 145000, 100000
FAR = 99

ALL_OPERATORS = pytest.mark.parametrize("op_type", OPERATORS)

COUNT = "N"
"""The attribute that says how many tensors a dynamic input has; it may be left out, for that can be seen."""

FREE_OUTPUTS = {"reserve_space_3", "reserve_space_4", "reserve_space_5", "softmax_out", "softmax_lse"}
"""Outputs that may have any shape: they hold nothing."""

OTHER_KIND = {
    "int": ("string", "x"), "float": ("list_float", [1.0]), "bool": ("string", "x"), "string": ("int", 1),
    "list_int": ("string", "x"), "list_float": ("bool", 1), "list_bool": ("string", "x"), "list_string": ("int", 1),
    "list_list_int": ("int", 1), "data_type": ("string", "x"),
}  # fmt: skip
AXES = {"axis", "axes", "dim", "dimension", "dimensions", "concat_dim", "split_dim", "reduce_axis"}


def refused(described: Described, *names: str, code: int = BUILD_FAILED) -> None:
    """Compiling must fail with the code, a text with the operator's and these names, and nothing left behind."""
    ret, text = described.compile()
    assert ret == code, (ret, text)
    for name in (described.drawn.op_type, *names):
        assert name in text, f"{name!r} is not in: {text}"


def declared(op_type: str) -> Iterator[tuple[int, TensorDecl]]:
    """The inputs of the drawn call with their declarations."""
    decls = {decl.name: decl for decl in known(op_type).inputs}
    for place, one in enumerate(a_call(op_type).inputs):
        if one.data is not None and one.name in decls:
            yield place, decls[one.name]


@pytest.mark.case("B023", "B060", "B061")
@ALL_OPERATORS
def test_a_dtype_that_no_prototype_lists(op_type: str) -> None:
    drawn = a_call(op_type)
    listed = {code for one in known(op_type).generations for decl in one.inputs for code in decl.dtypes}
    for place, decl in declared(op_type):
        spec = drawn.inputs[place].spec
        strange = [code for code in (33, dtypes.UINT64, dtypes.COMPLEX64, dtypes.DOUBLE, dtypes.STRING) if code not in listed]
        if not decl.dtypes or not strange:
            continue
        before = _machine.live_objects()
        changed = Described(drawn, inputs={place: (strange[0], spec.shape, spec.format)})
        refused(changed, decl.name, dtypes.ge_name(strange[0]), "allowed")
        assert _machine.live_objects() == before


@pytest.mark.case("B016", "B029")
@ALL_OPERATORS
def test_an_output_of_another_shape_names_both(op_type: str) -> None:
    drawn = a_call(op_type)
    for place, out in enumerate(drawn.outputs):
        if out.name in FREE_OUTPUTS:
            continue
        shape = (*out.spec.shape, 3, 5)
        changed = Described(drawn, outputs={place: (out.spec.dtype, shape, out.spec.format)})
        ret, text = changed.compile()
        if ret == 0:  # the output may be larger: its size depends on data
            assert not _exact(op_type), f"{out.name} = {list(shape)} was taken for {list(out.spec.shape)}"
            continue
        assert ret == BUILD_FAILED
        for name in (op_type, out.name.rstrip("0123456789") or out.name, _dims(shape)):
            assert name in text, f"{name!r} is not in: {text}"


def _exact(op_type: str) -> bool:
    return bind(a_call(op_type)).exact


def _dims(shape: tuple[int, ...]) -> str:
    return "[" + ",".join(map(str, shape)) + "]"


@pytest.mark.case("B011")
@ALL_OPERATORS
def test_an_attribute_of_another_kind_names_both(op_type: str) -> None:
    for name, decl in known(op_type).newest.attrs.items():
        if all(one.attrs[name].kind in OTHER_KIND for one in known(op_type).generations if name in one.attrs):
            kind, value = OTHER_KIND[decl.kind]
            refused(Described(a_call(op_type), attrs={name: (kind, value)}), name, kind, decl.kind)


@pytest.mark.case("B011")
@ALL_OPERATORS
def test_an_unknown_attribute_is_dropped_and_reported(op_type: str) -> None:
    reports()
    ret, text = Described(a_call(op_type), attrs={"no_such_attr": ("int", 1)}).compile()
    assert ret == 0, text
    assert any("no_such_attr" in told and op_type in told for told in reports().values())


@pytest.mark.case("B011")
@ALL_OPERATORS
def test_a_missing_required_attribute_is_named(op_type: str) -> None:
    for name in known(op_type).newest.attrs:
        required = all(name in one.attrs and one.attrs[name].required for one in known(op_type).generations)
        if name != COUNT and required and name in a_call(op_type).attrs:
            refused(Described(a_call(op_type), attrs={name: None}), name)


@pytest.mark.case("B032", "B037", "B038")
@ALL_OPERATORS
def test_an_axis_out_of_range_is_named(op_type: str) -> None:
    drawn = a_call(op_type)
    for name, (kind, value) in drawn.attrs.items():
        if name in AXES and kind in {"int", "list_int"} and value != []:
            far: Any = FAR if kind == "int" else [FAR, *value[1:]]
            refused(Described(drawn, attrs={name: (kind, far)}), name, str(FAR))
    for place, one in enumerate(drawn.inputs):
        if one.name in AXES and one.way and one.data is not None and one.data.size:
            consts = one.data.copy()
            consts.reshape(-1)[0] = FAR
            refused(Described(drawn, consts={place: consts}), one.name, str(FAR))


@pytest.mark.case("B007")
@ALL_OPERATORS
def test_an_unknown_dim_in_a_call_is_named(op_type: str) -> None:
    drawn = a_call(op_type)
    places = [place for place, one in enumerate(drawn.inputs) if one.data is not None and one.data.ndim]
    if not places:
        return
    tensors = InMemory(drawn)
    spec = drawn.inputs[places[0]].spec
    tensors.described.destroy()
    tensors.described = Described(drawn, inputs={places[0]: (spec.dtype, (-1, *spec.shape[1:]), spec.format)})
    ret, _, text = tensors.run("compile_and_execute_v2")
    assert ret == INVALID
    assert f"inputDesc[{places[0]}].dims[0] = -1" in text
    assert not any(map(tensors.changed, range(len(tensors.memories))))
    tensors.free()


@pytest.mark.case("B058", "B114")
@ALL_OPERATORS
def test_a_buffer_that_is_too_small_writes_nothing(op_type: str) -> None:
    drawn = a_call(op_type)
    if all(0 in out.spec.shape for out in drawn.outputs):
        return  # nothing runs
    tensors = InMemory(drawn)
    count = len(drawn.inputs)
    for place, memory in enumerate(tensors.memories):
        held = memory is not None and memory.size > 0 and not (place < count and drawn.inputs[place].way)
        elsewhere = place < count and drawn.inputs[place].spec.dtype == dtypes.STRING  # the bytes lie where its element says
        if memory is None or not held or elsewhere:
            continue
        small = (memory.size - 1) // 32 * 32
        ret, _, text = tensors.run("compile_and_execute_v2", {place: small})
        assert ret == TOO_SMALL, (place, text)
        for name in (f"inputs[{place}]" if place < count else f"outputs[{place - count}]", f"{small} bytes", str(memory.size)):
            assert name in text
        assert not any(map(tensors.changed, range(len(tensors.memories))))
    tensors.free()


@pytest.mark.case("B062")
@ALL_OPERATORS
def test_a_call_that_fails_leaves_nothing_behind(op_type: str) -> None:
    drawn = a_call(op_type)
    before = _machine.live_objects()
    tensors = InMemory(drawn)
    during = _machine.live_objects()
    attr, tensors.described.attr = tensors.described.attr, tensors.described.descs[0]
    ret, _, text = tensors.run("compile_and_execute_v2")
    assert ret == INVALID
    assert "attr is" in text
    assert not any(map(tensors.changed, range(len(tensors.memories))))
    tensors.described.attr = attr
    assert _machine.live_objects() == during
    tensors.free()
    assert _machine.live_objects() == before
