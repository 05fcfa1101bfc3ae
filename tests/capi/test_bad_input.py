"""Memory that is not there, and counts that are not true: refused by name, where a program would crash."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from pathlib import Path

import pytest

INVALID = 100000
TOO_SMALL = 145000
FLOAT, ND = 0, 2
NOWHERE = 0x5EAD00000000


@pytest.fixture
def lib(toolkit: Path) -> Iterator[ctypes.CDLL]:
    ctypes.CDLL(str(toolkit / "lib64" / "libacl_op_compiler.so"), mode=ctypes.RTLD_GLOBAL)
    lib = ctypes.CDLL(str(toolkit / "lib64" / "libascendcl.so"), mode=ctypes.RTLD_GLOBAL)
    lib.aclGetRecentErrMsg.restype = ctypes.c_char_p
    for name in ("aclCreateTensorDesc", "aclCreateDataBuffer", "aclopCreateAttr"):
        getattr(lib, name).restype = ctypes.c_void_p
    assert lib.aclInit(None) == 0
    assert lib.aclrtSetDevice(0) == 0
    lib.aclGetRecentErrMsg()
    yield lib
    lib.aclrtResetDevice(0)
    assert lib.aclFinalize() == 0


def text(lib: ctypes.CDLL) -> str:
    return (lib.aclGetRecentErrMsg() or b"").decode()


def add(lib: ctypes.CDLL, dims: list[int], data: int, size: int) -> int:
    """The code of an Add whose first input is such a buffer."""
    shape = (ctypes.c_int64 * len(dims))(*dims)
    desc = lib.aclCreateTensorDesc(FLOAT, len(dims), shape, ND)
    device = ctypes.c_void_p()
    assert lib.aclrtMalloc(ctypes.byref(device), ctypes.c_size_t(64), 0) == 0
    ours = lib.aclCreateDataBuffer(device, ctypes.c_size_t(64))
    theirs = lib.aclCreateDataBuffer(ctypes.c_void_p(data), ctypes.c_size_t(size))
    descs, buffers = (ctypes.c_void_p * 3)(desc, desc, desc), (ctypes.c_void_p * 3)(theirs, ours, ours)
    output_desc, output = ctypes.byref(descs, 16), ctypes.byref(buffers, 16)
    execute = ctypes.CDLL(None).aclopCompileAndExecuteV2
    result: int = execute(b"Add", 2, descs, buffers, 1, output_desc, output, None, 0, 0, None, None)
    return result


@pytest.mark.parametrize("address", [NOWHERE, (1 << 63) + 8, 12])
def test_a_buffer_over_no_memory(lib: ctypes.CDLL, address: int) -> None:
    assert add(lib, [8], address, 32) == INVALID
    assert "HA218: aclopCompileAndExecuteV2(): inputs[0] points to 0x" in text(lib)


def test_a_shape_whose_bytes_overflow(lib: ctypes.CDLL) -> None:
    """2**59 floats are 2**64 bits."""
    assert add(lib, [1 << 59], ctypes.addressof(ctypes.c_float()), 4) == TOO_SMALL
    assert "inputs[0] has 4 bytes" in text(lib)


def test_a_count_of_dims_that_is_not_true(lib: ctypes.CDLL) -> None:
    assert lib.aclCreateTensorDesc(FLOAT, 2**31 - 1, (ctypes.c_int64 * 4)(), ND) is None
    assert "dims = 0x" in text(lib)


def test_const_data_that_are_not_there(lib: ctypes.CDLL) -> None:
    desc = ctypes.c_void_p(lib.aclCreateTensorDesc(FLOAT, 0, None, ND))
    assert lib.aclSetTensorConst(desc, ctypes.c_void_p(NOWHERE), ctypes.c_size_t(4)) == INVALID
    assert "HA218: aclSetTensorConst(): dataBuffer = " in text(lib)


def test_a_model_that_is_not_there(lib: ctypes.CDLL) -> None:
    assert lib.aclopLoad(ctypes.c_void_p(NOWHERE), ctypes.c_size_t(100)) == INVALID
    assert "HA218: aclopLoad(): model = " in text(lib)


def test_more_tensors_than_there_are(lib: ctypes.CDLL) -> None:
    few = (ctypes.c_void_p * 2)()
    process = ctypes.CDLL(None)
    assert process.aclopExecuteV2(b"AddN", 2**30, few, few, 1, few, few, None, None) == INVALID
    assert "inputDesc = 0x" in text(lib)


def test_values_for_shape_inference_that_are_not_there(lib: ctypes.CDLL) -> None:
    shape = (ctypes.c_int64 * 1)(2)
    desc = lib.aclCreateTensorDesc(FLOAT, 1, shape, ND)
    buffer = lib.aclCreateDataBuffer(ctypes.c_void_p(NOWHERE), ctypes.c_size_t(8))
    descs, buffers = (ctypes.c_void_p * 2)(desc, desc), (ctypes.c_void_p * 1)(buffer)
    process = ctypes.CDLL(None)
    assert process.aclopInferShape(b"Abs", 1, descs, buffers, 1, ctypes.byref(descs, 8), None) == INVALID
    assert "HA218: aclopInferShape(): inputs[0] points to 0x" in text(lib)
