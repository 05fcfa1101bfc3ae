"""Single-op JSON: what it says, how files are called, and where it is wrong."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

from hostacl.errors import AclError
from hostacl.singleop.singleop_json import parse
from hostacl.tensors.spec import TensorSpec

X = {"format": "ND", "shape": [8, 16], "type": "int32"}
ADD = {"op": "Add", "input_desc": [X, X], "output_desc": [X]}


def tensor(**fields: Any) -> TensorSpec:
    return parse(json.dumps([{**ADD, "input_desc": [{**X, **fields}]}])).ops[0].model.inputs[0]


def attr(kind: str, value: Any) -> tuple[str, object]:
    entry = {"name": "a", "type": kind, "value": value}
    return parse(json.dumps([{**ADD, "attr": [entry]}])).ops[0].model.attrs["a"]


def refusal(content: Any) -> str:
    with pytest.raises(AclError) as caught:
        parse(json.dumps(content) if not isinstance(content, str) else content)
    assert caught.value.rule == "HA613"
    return caught.value.text


def test_add_as_every_learner_writes_it() -> None:
    parsed = parse(json.dumps([{"compile_flag": 1}, ADD]))
    (op,) = parsed.ops
    assert op.file_name == "0_Add_3_2_8_16_3_2_8_16_3_2_8_16.om"
    assert op.model.inputs == (TensorSpec(3, (8, 16), 2),) * 2
    assert op.model.outputs == (TensorSpec(3, (8, 16), 2),)
    assert (op.model.attrs, parsed.compile_flag, parsed.notes) == ({}, 1, ())


def test_file_names() -> None:
    named = {**ADD, "name": "my_add"}
    long = {**ADD, "name": "n" * 200}
    names = [op.file_name for op in parse(json.dumps([ADD, {**ADD, "op": "Sub"}, named, long])).ops]
    assert names == [
        "0_Add_3_2_8_16_3_2_8_16_3_2_8_16.om",
        "1_Sub_3_2_8_16_3_2_8_16_3_2_8_16.om",
        "my_add.om",
        "n" * 128 + ".om",
    ]


@pytest.mark.parametrize(
    ("name", "code"),
    [
        ("float", 0),
        ("FLOAT16", 1),
        ("Float32", 0),
        ("double", 11),
        ("bf16", 27),
        ("int8", 2),
        ("UINT64", 10),
        ("bool", 12),
        ("int4", 29),
    ],
)
def test_types_in_any_case(name: str, code: int) -> None:
    assert tensor(type=name).dtype == code


@pytest.mark.parametrize(
    ("name", "code"), [("nchw", 0), ("NHWC", 1), ("Fractal_Nz", 29), ("NC1HWC0", 3), ("ndhwc", 27)]
)
def test_formats_in_any_case(name: str, code: int) -> None:
    assert tensor(format=name).format == code


def test_undefined_is_a_tensor_left_out() -> None:
    for left_out in ({"type": "UNDEFINED"}, {"type": "undefined", "format": "ND", "shape": []}):
        spec = parse(json.dumps([{**ADD, "input_desc": [X, left_out]}])).ops[0].model.inputs[1]
        assert spec.absent
        assert (spec.shape, spec.format) == ((), -1)


def test_origin_and_storage() -> None:
    spec = tensor(format="FRACTAL_NZ", shape=[1, 1, 16, 16], origin_format="ND", origin_shape=[8, 16], name="x1")
    assert spec == TensorSpec(3, (8, 16), 2, storage_format=29, storage_shape=(1, 1, 16, 16), name="x1")


def test_ranges_for_each_dim_or_for_the_open_ones() -> None:
    assert tensor(shape=[-1, 16], shape_range=[[1, 8], [16, 16]]).ranges == ((1, 8), (16, 16))
    assert tensor(shape=[-1, 16, -1], shape_range=[[1, 8], [0, -1]]).ranges == ((1, 8), (16, 16), (0, -1))
    assert tensor(shape=[-2]).shape == (-2,)


@pytest.mark.parametrize(
    ("dtype", "values", "expected"),
    [
        ("int32", [1, -2], np.array([1, -2], np.int32)),
        ("int64", [2**53 + 1, -(2**63)], np.array([2**53 + 1, -(2**63)], np.int64)),
        ("uint64", [2**64 - 1, 0], np.array([2**64 - 1, 0], np.uint64)),
        ("float16", [0.5, 3], np.array([0.5, 3], np.float16)),
        ("float", [[0.1], [2.5]], np.array([0.1, 2.5], np.float32)),
        ("bool", [True, False], np.array([True, False])),
    ],
)
def test_const_values(dtype: str, values: list[Any], expected: np.ndarray[Any, Any]) -> None:
    assert tensor(type=dtype, shape=[2], is_const=True, const_value=values).const == expected.tobytes()


@pytest.mark.parametrize(
    ("kind", "value"),
    [
        ("bool", True), ("int", -(2**63)), ("string", "SAME"), ("list_bool", [True]), ("list_int", [1, 2]),
        ("list_string", ["a"]), ("list_list_int", [[1], []]), ("data_type", 3), ("list_data_type", [1, 0]),
    ],
)  # fmt: skip
def test_attributes(kind: str, value: Any) -> None:
    assert attr(kind, value) == (kind, value)
    assert attr(kind.upper(), value) == (kind, value)


def test_attributes_that_change_their_form() -> None:
    assert attr("float", 0.1) == ("float", float(np.float32(0.1)))
    assert attr("list_float", [1, 0.1]) == ("list_float", [1.0, float(np.float32(0.1))])
    assert attr("data_type", "float16") == ("data_type", 1)


def change(path: list[Any], value: Any) -> list[Any]:
    content = json.loads(json.dumps([{**ADD, "attr": [{"name": "a", "type": "int", "value": 1}]}]))
    place = content
    for step in path[:-1]:
        place = place[step]
    place[path[-1]] = value
    return content  # type: ignore[no-any-return]


@pytest.mark.parametrize(
    ("path", "value", "place"),
    [
        ([0, "input_desc", 1, "type"], "int33", '[0].input_desc[1].type = "int33"; allowed: '),
        ([0, "input_desc", 0, "format"], "NXYZ", '[0].input_desc[0].format = "NXYZ"; allowed: '),
        ([0, "output_desc", 0, "shape"], [4, -3], "[0].output_desc[0].shape[1] = -3; allowed: "),
        ([0, "output_desc", 0, "shape"], [4, 1.5], "[0].output_desc[0].shape[1] = 1.5; allowed: "),
        ([0, "output_desc", 0, "shape"], 4, "[0].output_desc[0].shape = 4; allowed: "),
        ([0, "input_desc"], {}, "[0].input_desc = {}; allowed: "),
        ([0, "op"], "", '[0].op = ""; allowed: '),
        ([0], "Add", '[0] = "Add"; allowed: '),
        ([0, "name"], "a/b", '[0].name = "a/b"; allowed: '),
        ([0, "attr", 0, "type"], "integer", '[0].attr[0].type = "integer"; allowed: bool, int, '),
        ([0, "attr", 0, "value"], True, "[0].attr[0].value = true; allowed: "),
        ([0, "attr", 0, "value"], 2**63, f"[0].attr[0].value = {2**63}; allowed: "),
        ([0, "input_desc", 0, "shape_range"], [[1, 2]], "[0].input_desc[0].shape_range = [[1, 2]]; allowed: "),
        ([0, "input_desc", 0, "const_value"], [1], "[0].input_desc[0].const_value = [1]; allowed: "),
    ],
)
def test_refusals_name_the_place_the_value_and_what_is_allowed(path: list[Any], value: Any, place: str) -> None:
    assert refusal(change(path, value)).startswith(place)


@pytest.mark.parametrize(
    ("dtype", "values"),
    [
        ("int8", [128, 0]),
        ("int32", [1.5, 2]),
        ("int32", [1]),
        ("int32", ["a", "b"]),
        ("uint8", [-1, 0]),
        ("string", ["a", "b"]),
    ],
)
def test_const_values_that_do_not_fit(dtype: str, values: list[Any]) -> None:
    desc = {"format": "ND", "shape": [2], "type": dtype, "is_const": True, "const_value": values}
    assert refusal([{**ADD, "input_desc": [desc]}]).startswith("[0].input_desc[0].const_value = ")


@pytest.mark.parametrize("missing", ["op", "input_desc", "output_desc"])
def test_missing_keys(missing: str) -> None:
    assert f"[0].{missing} is missing" in refusal([{key: value for key, value in ADD.items() if key != missing}])


def test_no_list_and_no_json() -> None:
    assert "a list of operators" in refusal({"op": "Add"})
    assert "at least one operator" in refusal([])
    assert "line 1 column 2" in refusal("[")


def test_unknown_keys_are_noted() -> None:
    (note,) = parse(json.dumps([{**ADD, "colour": 1}])).notes
    assert note.startswith("[0].colour")
