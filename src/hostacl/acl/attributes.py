"""Operator attributes: a set of named values, made before the call."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hostacl import _machine

if TYPE_CHECKING:
    import numpy as np

    Array = np.ndarray[Any, Any]

__all__ = [
    "create_attr", "destroy_attr", "set_attr_bool", "set_attr_data_type", "set_attr_float", "set_attr_int",
    "set_attr_list_bool", "set_attr_list_data_type", "set_attr_list_float", "set_attr_list_int",
    "set_attr_list_list_int", "set_attr_list_string", "set_attr_string",
]


def create_attr() -> int:
    """An empty set of operator attributes: its handle.

    C: ``aclopCreateAttr``.
    """
    return _machine.aclopCreateAttr()


def destroy_attr(attr: int) -> None:
    """Ends a set of attributes. 0 is fine.

    C: ``aclopDestroyAttr``.
    """
    _machine.aclopDestroyAttr(attr)


def set_attr_bool(attr: int, name: str, value: int) -> int:
    """Sets a bool attribute: 0 is false, 1 .. 255 true; the code.

    A name that was set before is overwritten. 100000 for a dead handle. C: ``aclopSetAttrBool``.
    """
    return _machine.aclopSetAttrBool(attr, name, value)


def set_attr_int(attr: int, name: str, value: int) -> int:
    """Sets an int attribute (64 bits); the code.

    C: ``aclopSetAttrInt``.
    """
    return _machine.aclopSetAttrInt(attr, name, value)


def set_attr_float(attr: int, name: str, value: float) -> int:
    """Sets a float attribute (rounded to float32); the code.

    C: ``aclopSetAttrFloat``.
    """
    return _machine.aclopSetAttrFloat(attr, name, value)


def set_attr_string(attr: int, name: str, value: str) -> int:
    """Sets a string attribute; the code.

    C: ``aclopSetAttrString``.
    """
    return _machine.aclopSetAttrString(attr, name, value)


def set_attr_list_bool(attr: int, name: str, values: list[int] | Array) -> int:
    """Sets a list of bools, each 0 .. 255, from a list or a 1-D array; the code.

    C: ``aclopSetAttrListBool``.
    """
    return _machine.aclopSetAttrListBool(attr, name, values)


def set_attr_list_int(attr: int, name: str, values: list[int] | Array) -> int:
    """Sets a list of ints from a list or a 1-D integer array of any width; the code.

    An array is taken by its values, never reinterpreted. C: ``aclopSetAttrListInt``.
    """
    return _machine.aclopSetAttrListInt(attr, name, values)


def set_attr_list_float(attr: int, name: str, values: list[float] | Array) -> int:
    """Sets a list of floats (rounded to float32) from a list or a 1-D array; the code.

    An array is taken by its values, never reinterpreted. C: ``aclopSetAttrListFloat``.
    """
    return _machine.aclopSetAttrListFloat(attr, name, values)


def set_attr_list_string(attr: int, name: str, values: list[str]) -> int:
    """Sets a list of strings; the code.

    C: ``aclopSetAttrListString``.
    """
    return _machine.aclopSetAttrListString(attr, name, values)


def set_attr_list_list_int(attr: int, name: str, values: list[list[int]] | list[Array]) -> int:
    """Sets a list of lists of ints; each row a list or a 1-D integer array; the code.

    C: ``aclopSetAttrListListInt``.
    """
    return _machine.aclopSetAttrListListInt(attr, name, values)


def set_attr_data_type(attr: int, name: str, value: int) -> tuple[int, int]:
    """Sets a data type attribute (``aclDataType``): ``(attr, ret)``.

    C: ``aclopSetAttrDataType``.
    """
    return _machine.aclopSetAttrDataType(attr, name, value)


def set_attr_list_data_type(attr: int, name: str, values: list[int] | Array) -> tuple[int, int]:
    """Sets a list of data types (``aclDataType``): ``(attr, ret)``.

    C: ``aclopSetAttrListDataType``.
    """
    return _machine.aclopSetAttrListDataType(attr, name, values)
