"""Attributes: behaviour contract, section "Descriptors, buffers, attributes"; forms: section "pyACL forms"."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import acl

INVALID = 100000

SETTERS = [
    ("set_attr_bool", 1), ("set_attr_int", -(2**63)), ("set_attr_float", 0.5), ("set_attr_string", "NCHW"),
    ("set_attr_list_bool", [0, 255]), ("set_attr_list_int", [1, -1]), ("set_attr_list_float", [0.5, 1]),
    ("set_attr_list_string", ["a", ""]),
    ("set_attr_list_list_int", [[1], [], [2, 3]]), ("set_attr_list_int", []),
]
TYPE_SETTERS = [("set_attr_data_type", 1), ("set_attr_list_data_type", [0, 1])]


@pytest.mark.parametrize(("setter", "value"), SETTERS)
def test_setters_give_a_code(attr: int, setter: str, value: Any) -> None:
    """Attributes: every kind; the same name again overwrites."""
    assert getattr(acl.op, setter)(attr, "name", value) == 0
    assert getattr(acl.op, setter)(attr, "name", value) == 0


@pytest.mark.parametrize(("setter", "value"), TYPE_SETTERS)
def test_data_type_setters_give_the_attribute_back(attr: int, setter: str, value: Any) -> None:
    """pyACL forms: set_attr_data_type and set_attr_list_data_type (attr, ret)."""
    assert getattr(acl.op, setter)(attr, "name", value) == (attr, 0)


@pytest.mark.parametrize(("setter", "value"), SETTERS)
def test_null_and_dead_attributes(setter: str, value: Any) -> None:
    """Null attr: IP. A dead attribute: IP with a text."""
    dead = acl.op.create_attr()
    acl.op.destroy_attr(dead)
    assert getattr(acl.op, setter)(0, "name", value) == INVALID
    assert getattr(acl.op, setter)(dead, "name", value) == INVALID
    assert "destroyed" in (acl.get_recent_err_msg() or "")


@pytest.mark.parametrize("dtype", [np.int8, np.int32, np.int64, np.uint8, np.uint64, np.bool_])
def test_integer_arrays_are_taken_by_value(attr: int, dtype: Any) -> None:
    """set_attr_list_* also take a 1-D NumPy array: by value, never reinterpreted (report B108)."""
    array = np.array([0, 1, 1], dtype)
    assert acl.op.set_attr_list_int(attr, "axes", array) == 0
    assert acl.op.set_attr_list_bool(attr, "flags", array) == 0
    assert acl.op.set_attr_list_data_type(attr, "types", array) == (attr, 0)
    assert acl.op.set_attr_list_list_int(attr, "rows", [array, [2], array[::2]]) == 0


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64, np.int32])
def test_float_arrays_are_taken_by_value(attr: int, dtype: Any) -> None:
    """set_attr_list_float takes an array of another float type by value."""
    assert acl.op.set_attr_list_float(attr, "scales", np.array([1.5, 2], dtype)) == 0


@pytest.mark.parametrize("values", [(1, 2), np.zeros((2, 2), int), np.array([0.5]), 3, None, "12", [1.0], [None], {1: 2}])
def test_anything_else_is_a_type_error(attr: int, values: Any) -> None:
    """Sequences are lists of ints; anything else: TypeError naming the argument."""
    with pytest.raises(TypeError, match="values"):
        acl.op.set_attr_list_int(attr, "axes", values)


def test_values_that_do_not_fit(attr: int) -> None:
    """A number that its C type cannot hold is refused by name, not wrapped."""
    with pytest.raises(TypeError, match="value"):
        acl.op.set_attr_bool(attr, "flag", 256)
    with pytest.raises(TypeError, match="value"):
        acl.op.set_attr_int(attr, "n", 2**63)
    with pytest.raises(TypeError, match="values"):
        acl.op.set_attr_list_int(attr, "n", np.array([2**63], np.uint64))
    with pytest.raises(TypeError, match="value"):
        acl.op.set_attr_float(attr, "f", 1e300)


def test_infinities_pass(attr: int) -> None:
    """float32 has them."""
    assert acl.op.set_attr_float(attr, "f", float("inf")) == 0
    assert acl.op.set_attr_list_float(attr, "f", [float("nan"), float("-inf")]) == 0
