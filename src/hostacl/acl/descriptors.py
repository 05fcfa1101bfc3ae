"""Tensor descriptors: what each input and output of an operator is."""

from __future__ import annotations

from typing import Any, overload

from hostacl import _machine

__all__ = [
    "create_tensor_desc", "destroy_tensor_desc", "get_tensor_desc_address", "get_tensor_desc_by_index",
    "get_tensor_desc_dim", "get_tensor_desc_dim_range", "get_tensor_desc_dim_v2", "get_tensor_desc_element_count",
    "get_tensor_desc_format", "get_tensor_desc_name", "get_tensor_desc_num_dims", "get_tensor_desc_size",
    "get_tensor_desc_type", "set_tensor_const", "set_tensor_desc_name", "set_tensor_dynamic_input",
    "set_tensor_format", "set_tensor_origin_format", "set_tensor_origin_shape", "set_tensor_place_ment",
    "set_tensor_shape", "set_tensor_shape_range", "set_tensor_storage_format", "set_tensor_storage_shape",
    "set_tensor_value_range", "trans_tensor_desc_format",
]


def destroy_tensor_desc(desc: int) -> None:
    """Ends a tensor descriptor. 0 is fine.

    A call that was made with it is not touched: it owns what it needs. C: ``aclDestroyTensorDesc``.
    """
    _machine.aclDestroyTensorDesc(desc)


def get_tensor_desc_type(desc: int) -> int:
    """The ``aclDataType`` of a descriptor; -1 for a handle that is no live descriptor.

    C: ``aclGetTensorDescType``.
    """
    return _machine.aclGetTensorDescType(desc)


def get_tensor_desc_format(desc: int) -> int:
    """The origin ``aclFormat`` of a descriptor; -1 for a handle that is no live descriptor.

    C: ``aclGetTensorDescFormat``.
    """
    return _machine.aclGetTensorDescFormat(desc)


def get_tensor_desc_size(desc: int) -> int:
    """The bytes that the tensor takes in memory: elements of the storage shape (else the shape) times the type's size.

    0 when a dim is unknown (negative), and for a handle that is no live descriptor. C: ``aclGetTensorDescSize``.
    """
    return _machine.aclGetTensorDescSize(desc)


def get_tensor_desc_element_count(desc: int) -> int:
    """The number of elements of the storage shape (else the shape): 1 for a scalar.

    0 when a dim is unknown (negative), and for a handle that is no live descriptor.
    C: ``aclGetTensorDescElementCount``.
    """
    return _machine.aclGetTensorDescElementCount(desc)


def get_tensor_desc_num_dims(desc: int) -> int:
    """The number of dims of the shape: 0 for a scalar, 2**64 - 2 for an unknown rank.

    C: ``aclGetTensorDescNumDims``.
    """
    return _machine.aclGetTensorDescNumDims(desc)


def get_tensor_desc_dim(desc: int, index: int) -> int:
    """Dim ``index`` of the shape; -1 when it is unknown or there is no such dim.

    C: ``aclGetTensorDescDim``.
    """
    return _machine.aclGetTensorDescDim(desc, index)


def get_tensor_desc_dim_v2(desc: int, index: int) -> tuple[int, int]:
    """Dim ``index`` of the shape: ``(dim, ret)``.

    ``dim`` is -1 when it is unknown. 100000 when there is no such dim. C: ``aclGetTensorDescDimV2``.
    """
    return _machine.aclGetTensorDescDimV2(desc, index)


def get_tensor_desc_dim_range(desc: int, index: int, dim_range_num: int) -> tuple[list[int] | None, int]:
    """The least and greatest value of dim ``index``: ``([min, max], ret)``, max -1 for no bound.

    ``dim_range_num`` must be 2. ``(None, 100000)`` when there is no such dim. C: ``aclGetTensorDescDimRange``.
    """
    return _machine.aclGetTensorDescDimRange(desc, index, dim_range_num)


def get_tensor_desc_name(desc: int) -> str:
    """The name of a descriptor; ``""`` when it has none.

    C: ``aclGetTensorDescName``.
    """
    return _machine.aclGetTensorDescName(desc)


def set_tensor_desc_name(desc: int, name: str) -> None:
    """Names a descriptor after the prototype's input or output.

    Needed only by ``infer_shape`` of operators with variadic tensors (name + number from 0); tensors are bound by
    position. C: ``aclSetTensorDescName``.
    """
    _machine.aclSetTensorDescName(desc, name)


def trans_tensor_desc_format(src_desc: int, dst_format: int) -> tuple[int, int]:
    """A new descriptor of the same tensor in another format: ``(desc, ret)``.

    Among NCHW, NHWC and HWCN (4 dims), among NCDHW and NDHWC (5 dims), from the first three to NC1HWC0, and to ND.
    The caller destroys it. C: ``aclTransTensorDescFormat``.
    """
    return _machine.aclTransTensorDescFormat(src_desc, dst_format)


def set_tensor_format(desc: int, format: int) -> int:
    """Sets the *storage* format: what lies in memory, where it differs from the format given at creation; the code.

    C: ``aclSetTensorFormat``.
    """
    return _machine.aclSetTensorFormat(desc, format)


def set_tensor_shape(desc: int, dims: list[int]) -> int:
    """Sets the *storage* shape: what lies in memory, where it differs from the shape given at creation; the code.

    C: ``aclSetTensorShape``.
    """
    return _machine.aclSetTensorShape(desc, dims)


def set_tensor_origin_format(desc: int, format: int) -> int:
    """Replaces the origin format given at creation; the code.

    C: ``aclSetTensorOriginFormat``.
    """
    return _machine.aclSetTensorOriginFormat(desc, format)


def set_tensor_origin_shape(desc: int, dims: list[int]) -> int:
    """Replaces the origin shape given at creation; the code.

    C: ``aclSetTensorOriginShape``.
    """
    return _machine.aclSetTensorOriginShape(desc, dims)


def set_tensor_storage_format(desc: int, format: int) -> int:
    """The older name of ``set_tensor_format``; the code.

    C: ``aclSetTensorStorageFormat``.
    """
    return _machine.aclSetTensorStorageFormat(desc, format)


def set_tensor_storage_shape(desc: int, dims: list[int]) -> int:
    """The older name of ``set_tensor_shape``; the code.

    C: ``aclSetTensorStorageShape``.
    """
    return _machine.aclSetTensorStorageShape(desc, dims)


def set_tensor_shape_range(desc: int, ranges: list[list[int]]) -> int:
    """Gives each dim its least and greatest value: ``[[min, max], ...]``, max -1 for no bound; the code.

    Replaces what was set. 100000 unless there is one pair for each dim, with 0 <= min <= max.
    C: ``aclSetTensorShapeRange``.
    """
    return _machine.aclSetTensorShapeRange(desc, ranges)


def set_tensor_value_range(desc: int, ranges: list[list[int]]) -> int:
    """Gives each value of a value input its least and greatest: ``[[min, max], ...]``; the code.

    C: ``aclSetTensorValueRange``.
    """
    return _machine.aclSetTensorValueRange(desc, ranges)


def set_tensor_const(desc: int, data: int, size: int) -> int:
    """Makes the tensor const: ``size`` bytes at ``data`` are copied now; the code.

    Const bytes are part of what a model is matched by. 100000 for address 0 or size 0. C: ``aclSetTensorConst``.
    """
    return _machine.aclSetTensorConst(desc, data, size)


def set_tensor_place_ment(desc: int, mem_type: int) -> int:
    """Says where the tensor lies: 0 device, 1 host, 2 host and not needed to compile (``aclMemType``); the code.

    Host data are copied by the call that uses them, before it returns. C: ``aclSetTensorPlaceMent``.
    """
    return _machine.aclSetTensorPlaceMent(desc, mem_type)


def set_tensor_dynamic_input(desc: int, name: str) -> int:
    """Says of which dynamic input of the prototype this tensor is one; the code.

    C: ``aclSetTensorDynamicInput``.
    """
    return _machine.aclSetTensorDynamicInput(desc, name)


def get_tensor_desc_by_index(desc: int, index: int) -> int:
    """The descriptor itself for index 0, the one tensor that it describes; else 0.

    C: ``aclGetTensorDescByIndex``.
    """
    return _machine.aclGetTensorDescByIndex(desc, index)


def get_tensor_desc_address(desc: int) -> int:
    """The address of a descriptor's const data; 0 when it has none.

    Other data are in a data buffer: ``get_data_buffer_addr``. C: ``aclGetTensorDescAddress``.
    """
    return _machine.aclGetTensorDescAddress(desc)


@overload
def create_tensor_desc(data_type: int, dims: list[int], format: int) -> int: ...
@overload
def create_tensor_desc(data_type: int, num_dims: int, dims: list[int], format: int, /) -> int: ...
def create_tensor_desc(data_type: int, dims: Any, format: Any, *extra: int) -> int:
    """A tensor descriptor of an ``aclDataType``, a shape and an ``aclFormat``: its handle.

    ``dims`` is ``[]`` for a scalar; -1 is an unknown dim, ``[-2]`` an unknown rank. ``(-1, [], -1)`` describes an optional
    tensor that is left out. The number of dims may stand before the list: ``create_tensor_desc(0, 2, [3, 4], 2)``; 0 comes
    back when it is not the list's length. Nothing else is checked. C: ``aclCreateTensorDesc``.
    """
    return _machine.aclCreateTensorDesc(data_type, dims, format, *extra)
