"""Prototypes: the facts as declarations."""

from __future__ import annotations

from hostacl.ops.schema import known_operators, prototype
from hostacl.tensors import dtypes


def test_every_known_operator_has_a_prototype():
    names = known_operators()
    assert len(names) > 1700
    assert all(prototype(name).op_type == name for name in names)


def test_aliases_are_spelled_out():
    axes = prototype("ReduceSum").inputs[1]
    assert (axes.name, axes.kind, axes.allowed) == ("axes", "required", {dtypes.INT32, dtypes.INT64})


def test_attributes_have_kinds_and_defaults():
    attrs = prototype("ArgMaxV2").attrs
    assert (attrs["dtype"].kind, attrs["dtype"].default) == ("data_type", dtypes.INT64)
    assert prototype("Conv2D").attrs["strides"].required
    assert prototype("Exp").attrs["base"].default == -1.0
    named = prototype("AscendQuant").attrs["dst_type"]
    assert (named.kind, named.default) == ("int", dtypes.INT8)


def test_an_older_generation_keeps_what_the_newest_says():
    newest, older = prototype("GroupNorm").generations
    assert [one.name for one in newest.inputs] == ["x", "gamma", "beta"]
    assert [one.name for one in older.inputs] == ["x", "scale", "offset", "mean", "variance"]
    assert older.inputs[0] == newest.inputs[0]


def test_an_unknown_name_has_none():
    assert prototype("NoSuchOp") is None
