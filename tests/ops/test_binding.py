"""Binding by position: dynamic tensors, tensors left out, attributes."""

from __future__ import annotations

import pytest

from hostacl.errors import Refused
from hostacl.ops.binding import bind_attrs, bind_tensors
from hostacl.ops.schema import AttrDecl, TensorDecl, prototype
from hostacl.tensors.spec import TensorSpec

X = TensorSpec(0, (2,))
ABSENT = TensorSpec(-1, (), -1)


def places(kinds: str, specs, length=None, side="input"):
    """Positions by name; kinds spells tensors a, b, c …: r(equired), o(ptional), d(ynamic)."""
    names = {"r": "required", "o": "optional", "d": "dynamic"}
    decls = [TensorDecl(chr(97 + n), names[kind], (0,)) for n, kind in enumerate(kinds)]
    return {name: bound.positions for name, bound in bind_tensors("Op", side, decls, specs, length).items()}


def test_one_to_one():
    assert places("rro", [X, X, X]) == {"a": (0,), "b": (1,), "c": (2,)}


@pytest.mark.parametrize("specs", [[X, X], [X, X, ABSENT]])
def test_an_optional_tensor_may_be_missing_or_absent(specs):
    assert places("rro", specs)["c"] == ()


def test_an_absent_tensor_keeps_its_place():
    assert places("ror", [X, ABSENT, X]) == {"a": (0,), "b": (), "c": (2,)}


def test_a_dynamic_tensor_takes_what_the_others_leave():
    assert places("d", [X] * 3) == {"a": (0, 1, 2)}
    assert places("rd", [X] * 3) == {"a": (0,), "b": (1, 2)}
    assert places("dr", [X] * 3) == {"a": (0, 1), "b": (2,)}
    assert places("rdr", [X] * 5) == {"a": (0,), "b": (1, 2, 3), "c": (4,)}


def test_a_length_attribute_tells_dynamic_from_optional():
    assert places("do", [X] * 3, length=3) == {"a": (0, 1, 2), "b": ()}
    assert places("do", [X] * 3, length=2) == {"a": (0, 1), "b": (2,)}


def test_a_wrong_length_attribute_is_overruled_by_the_tensors():
    assert places("d", [X] * 3, length=1) == {"a": (0, 1, 2)}


def test_names_and_dynamic_marks_divide_two_dynamic_tensors():
    named = [X._replace(name=name) for name in ("a0", "b0", "b1")]
    assert places("dd", named) == {"a": (0,), "b": (1, 2)}
    marked = [X._replace(dynamic_input=name) for name in ("a", "a", "b")]
    assert places("dd", marked) == {"a": (0, 1), "b": (2,)}


def test_two_dynamic_tensors_share_evenly():
    assert places("ddr", [X] * 5) == {"a": (0, 1), "b": (2, 3), "c": (4,)}
    with pytest.raises(Refused, match=r"HA513.*do not divide among a, b"):
        places("dd", [X] * 3)


def test_too_many_too_few_and_required_absent():
    with pytest.raises(Refused, match=r"HA513: Op: 3 inputs given; allowed: at most 2 \(a, b\)"):
        places("rr", [X] * 3)
    with pytest.raises(Refused, match="HA513: Op: b is an input that must be given, but only 1 inputs"):
        places("rr", [X])
    with pytest.raises(Refused, match="HA515: Op: b is an input that must be given, but its descriptor says UNDEFINED"):
        places("rr", [X, ABSENT])


def test_trailing_outputs_may_be_missing():
    assert places("rr", [X], side="output") == {"a": (0,), "b": ()}


ATTRS = {"n": AttrDecl("n", "int", required=True), "axes": AttrDecl("axes", "list_int", default=[-1])}


def test_attributes():
    bound = bind_attrs("Op", ATTRS, {"n": ("int", 2), "odd": ("string", "x")})
    assert bound.values == {"n": 2, "axes": [-1]}
    assert bound.given == {"n"}
    assert bound.reports[0][0] == "HA507"
    assert "odd" in bound.reports[0][1]


def test_int_and_data_type_are_one_kind():
    assert bind_attrs("Op", ATTRS, {"n": ("data_type", 2), "axes": ("list_data_type", [1])}).values == {"n": 2, "axes": [1]}


@pytest.mark.parametrize(
    ("given", "text"),
    [
        ({}, "HA505: Op: n is an attribute"),
        ({"n": ("float", 2.0)}, r"HA506: Op: n was set as float \(2.0\); the prototype's attribute is int"),
        ({"n": ("bool", True)}, "HA506"),
        ({"n": ("int", 1), "axes": ("int", 1)}, "axes was set as int .*list_int"),
    ],
)
def test_missing_and_wrong_attributes(given, text):
    with pytest.raises(Refused, match=text):
        bind_attrs("Op", ATTRS, given)


def test_both_generations_of_a_prototype_are_known():
    assert len(prototype("GatherV2").generations) == 2
