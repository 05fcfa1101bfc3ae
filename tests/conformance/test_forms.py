"""Return and argument forms of every name: behaviour contract, section "pyACL forms"."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import acl

NOT_SUPPORTED = 200001
FACTS = json.loads((Path(__file__).parents[2] / "tools" / "facts" / "pyacl.json").read_text())
FURTHER = json.loads((Path(__file__).parents[2] / "tools" / "facts" / "further.json").read_text())["returns"]
FUNCTIONS = {entry["name"]: entry for entry in FACTS["functions"]}
PLAIN = {
    "ptr": 0, "int": 0, "str": "", "str or None": None, "float": 0.0, "dict": {}, "any": 0, "callable": print,
    "callable or None": None,
}  # a list for every other type
ENDING = {"acl.finalize", "acl.finalize_reference"}  # would end the machine of the other tests


def find(name: str) -> Any:
    found: Any = acl
    for part in name.split(".")[1:]:
        found = getattr(found, part)
    return found


def needs_waiting(name: str) -> bool:
    return "reset_device" in name or "util" in name or name in ENDING


def plain_arguments(entry: dict[str, Any]) -> list[Any]:
    return [PLAIN.get(arg["type"].partition("(")[0], []) for arg in entry["args"]]


def shape_of(form: str) -> list[str]:
    return form.strip("()").split(", ")


@pytest.mark.parametrize("name", [*FUNCTIONS, *FACTS["also_used_by_samples"]["names"]])
def test_every_name_is_there(name: str) -> None:
    """Every name of the reference exists and says what it is for."""
    assert callable(find(name))
    assert find(name).__doc__


@pytest.mark.parametrize(
    "name", [name for name, entry in FUNCTIONS.items() if entry["args"] and not name.startswith("acl.util")]
)
def test_arguments_have_the_reference_names(name: str) -> None:
    """The arguments' names, in order."""
    code = getattr(find(name), "__code__", None)
    if code is None:
        pytest.skip("a builtin does not tell the names of its arguments")
    given = list(code.co_varnames[: code.co_argcount])
    wanted = [arg["name"] for arg in FUNCTIONS[name]["args"]]
    assert given[: len(wanted)] == wanted


@pytest.mark.parametrize("name", [name for name in FUNCTIONS if not needs_waiting(name)])
def test_the_return_form_is_the_reference_one(name: str) -> None:
    """Functions with only a status return it; with outputs, a tuple that ends in ret; plain getters the bare value."""
    entry = FUNCTIONS[name]
    result = find(name)(*plain_arguments(entry))
    form = entry["returns"]
    if form.startswith("("):
        assert isinstance(result, tuple)
        assert len(result) == len(shape_of(form))
        assert isinstance(result[-1], int)
    elif form == "None":
        assert result is None
    elif form == "str or None":
        assert result is None or isinstance(result, str)
    else:
        assert isinstance(result, {"str": str, "float": float}.get(form, int))


@pytest.mark.parametrize(("name", "form"), [(name, form) for form, names in FURTHER.items() for name in names])
def test_names_out_of_scope_keep_their_form(name: str, form: str) -> None:
    """Each keeps its return form with (0 or None, 200001), and the text names the function."""
    result = find(name)(0, 0)
    if form.startswith("("):
        assert len(result) == len(shape_of(form))
        assert result[-1] == NOT_SUPPORTED
        assert all(value in (0, None) for value in result[:-1])
    else:
        assert result == (NOT_SUPPORTED if form == "ret" else 0)
    assert name in (acl.get_recent_err_msg() or "")


NUMBERS = [
    (name, position)
    for name, entry in FUNCTIONS.items()
    for position, arg in enumerate(entry["args"])
    if arg["type"] in ("int", "ptr") and not arg.get("optional") and not needs_waiting(name)
    and "missing" not in find(name).__module__ and "media" not in name
]


@pytest.mark.parametrize(("name", "position"), NUMBERS)
def test_none_for_a_number_names_the_argument(name: str, position: int) -> None:
    """Pointers, handles and sizes are ints (0; None → TypeError naming the argument)."""
    entry = FUNCTIONS[name]
    given = plain_arguments(entry)
    given[position] = None
    with pytest.raises(TypeError, match=entry["args"][position]["name"]):
        find(name)(*given)


def test_numpy_numbers_count_as_ints() -> None:
    """NumPy integers and bools count as ints."""
    for number in (np.int32(2), np.uint8(2), np.int64(2)):
        assert acl.data_type_size(number) == 1
    assert acl.data_type_size(True) == 2
    assert acl.data_type_size(np.True_) == 2


@pytest.mark.parametrize("value", [1.0, "1", b"1", [1], np.float32(1), (1,), object()])
def test_other_types_are_no_numbers(value: Any) -> None:
    """Anything else: TypeError."""
    with pytest.raises(TypeError, match=r"acl.data_type_size\(\): argument 'data_type' must be int"):
        acl.data_type_size(value)


@pytest.mark.parametrize("value", [-1, 2**64])
def test_numbers_out_of_range_name_the_range(value: int) -> None:
    """A size is 0 .. 2**64 - 1."""
    with pytest.raises(TypeError, match=r"size.*18446744073709551615"):
        acl.create_data_buffer(0, value)


def test_lists_of_handles_are_lists() -> None:
    """Tuples are refused, and the argument is named; so is what malloc returns (report B107)."""
    with pytest.raises(TypeError, match=r"input_desc.*tuple"):
        acl.op.execute_v2("Add", (0,), [0], [0], [0], 0, 0)
    with pytest.raises(TypeError, match=r"outputs.*1.*NoneType"):
        acl.op.execute_v2("Add", [0], [0], [0, 0], [0, None], 0, 0)
    with pytest.raises(TypeError, match=r"data.*tuple"):
        acl.create_data_buffer((0, 0), 32)


def test_different_numbers_of_descriptors_and_buffers() -> None:
    """Python: len(input_desc) ≠ len(inputs), or outputs likewise: IP naming both lengths."""
    assert acl.op.execute_v2("Add", [0, 0], [0], [0], [0], 0, 0) == 100000
    text = acl.get_recent_err_msg() or ""
    assert "input_desc" in text
    assert "2" in text


def test_wrong_calls_of_handles_are_type_errors() -> None:
    """create_handle with None for the attribute; execute with the arguments of execute_with_handle (report B106)."""
    with pytest.raises(TypeError, match="attr"):
        acl.op.create_handle("Add", [0, 0], [0], None)
    with pytest.raises(TypeError):
        acl.op.execute(0, [0], [0], None, 0)


def test_messages_are_none_when_nothing_failed() -> None:
    """acl.get_recent_err_msg(): newest first, cleared by reading, None when there is none."""
    assert acl.get_recent_err_msg() is None
    acl.update_data_buffer(0, 0, 0)
    acl.destroy_data_buffer(5)
    lines = (acl.get_recent_err_msg() or "").splitlines()
    assert "destroy_data_buffer" in lines[0]
    assert "update_data_buffer" in lines[1]
    assert acl.get_recent_err_msg() is None
