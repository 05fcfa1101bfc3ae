"""acl.op.cast and its handle: the operator Cast with attributes truncate (bool) and dst_type (int), found by match."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import acl
from tests.calls import CODES, Tensor, attributes, device, execute, host, message

INVALID, NO_MATCH, INPUT_MISMATCH, TOO_SMALL, NO_DYNAMIC = 100000, 100024, 100021, 145000, 148050

Array = np.ndarray[Any, Any]
X = [-300.5, -1.5, 0, 0.75, 2.5, 129]
CASES = {
    ("float32", "float16"): X,
    ("float16", "float32"): [-300.5, -1.5, 0, 0.75, 2.5, 129],
    ("float32", "int32"): [-300, -1, 0, 0, 2, 129],
    ("int32", "float32"): [-300, -1, 0, 0, 2, 129],
    ("int32", "int8"): [-300 + 256, -1, 0, 0, 2, 129 - 256],
    ("float32", "bool"): [1, 1, 0, 1, 1, 1],
    ("int64", "int32"): [-300, -1, 0, 0, 2, 129],
}
"""What each pair of types makes of X: toward zero into integers, the low bits of wider integers, != 0 into bool."""


def pair(types: tuple[str, str]) -> tuple[Tensor, Tensor, Array]:
    source = np.array(X).astype(types[0])
    return device(source), device(np.zeros(len(X), types[1])), np.array(CASES[types]).astype(types[1])


def compile_cast(x: Tensor, y: Tensor, truncate: bool) -> None:
    attrs = attributes({"truncate": truncate, "dst_type": CODES[str(y.array.dtype)]})
    assert acl.op.compile("Cast", [x.desc], [y.desc], attrs, 0, 0, None) == 0, message()


@pytest.mark.parametrize("truncate", [0, 1, 255])
@pytest.mark.parametrize("types", CASES, ids="-".join)
def test_cast(types: tuple[str, str], truncate: int) -> None:
    """The values are those of the operator; truncate is any byte, other than 0 means true."""
    x, y, exact = pair(types)
    compile_cast(x, y, truncate != 0)
    assert acl.op.cast(x.desc, x.buffer, y.desc, y.buffer, truncate, 0) == 0, message()
    assert acl.rt.synchronize_stream(0) == 0
    np.testing.assert_array_equal(y.read(), exact)


@pytest.mark.parametrize("types", CASES, ids="-".join)
def test_a_handle_for_cast(types: tuple[str, str]) -> None:
    x, y, exact = pair(types)
    compile_cast(x, y, False)
    handle, ret = acl.op.create_handle_for_cast(x.desc, y.desc, 0)
    assert ret == 0, message()
    for one in (x, y):
        acl.destroy_tensor_desc(one.desc)
    for _ in range(2):
        assert acl.op.execute_with_handle(handle, [x.buffer], [y.buffer], 0) == 0
    assert acl.rt.synchronize_stream(0) == 0
    np.testing.assert_array_equal(y.read(), exact)
    assert acl.op.execute_with_handle(handle, [], [y.buffer], 0) == INPUT_MISMATCH
    acl.op.destroy_handle(handle)


def test_truncate_and_the_type_count_in_the_match() -> None:
    """Found by match like any other: another truncate, another destination type and a Cast without attributes do not fit."""
    x, y = device(np.zeros(41, np.float32)), device(np.zeros(41, np.int32))
    assert acl.op.cast(x.desc, x.buffer, y.desc, y.buffer, 0, 0) == NO_MATCH
    text = message()
    assert "Cast" in text
    assert "atc" in text
    compile_cast(x, y, False)
    assert acl.op.cast(x.desc, x.buffer, y.desc, y.buffer, 1, 0) == NO_MATCH
    assert acl.op.create_handle_for_cast(x.desc, y.desc, 1)[1] == NO_MATCH
    assert acl.op.cast(x.desc, x.buffer, y.desc, y.buffer, 0, 0) == 0
    assert execute("Cast", [x], [y]) == NO_MATCH
    assert execute("Cast", [x], [y], {"truncate": False, "dst_type": CODES["int32"]}) == 0


def test_null_dead_and_small_arguments() -> None:
    x, y = device(np.zeros(17, np.float32)), device(np.zeros(17, np.int32))
    compile_cast(x, y, False)
    for given in ((0, x.buffer, y.desc, y.buffer), (x.desc, 0, y.desc, y.buffer), (x.desc, x.buffer, 0, y.buffer),
                  (x.desc, x.buffer, y.desc, 0), (x.buffer, x.buffer, y.desc, y.buffer)):  # fmt: skip
        assert acl.op.cast(*given, 0, 0) == INVALID
        assert "cast" in message()
    small = acl.create_data_buffer(y.pointer, 4)
    assert acl.op.cast(x.desc, x.buffer, y.desc, small, 0, 0) == TOO_SMALL
    assert acl.op.create_handle_for_cast(0, y.desc, 0)[1] == INVALID
    assert acl.op.create_handle_for_cast(x.desc, 0, 0)[1] == INVALID
    with pytest.raises(TypeError, match="truncate"):
        acl.op.cast(x.desc, x.buffer, y.desc, y.buffer, 256, 0)


def test_a_dynamic_shape_has_no_handle() -> None:
    """create_handle_for_cast refuses a dim of -1, and names the V2 form."""
    x, y = acl.create_tensor_desc(0, [-1], 2), acl.create_tensor_desc(3, [-1], 2)
    assert acl.op.create_handle_for_cast(x, y, 0)[1] == NO_DYNAMIC
    assert "aclopExecuteV2" in message()


def test_a_host_placed_source() -> None:
    """Data of a marked tensor lie in host memory and are copied before the call returns."""
    x, y = host(np.arange(6, dtype=np.float32)), device(np.zeros(6, np.int32))
    compile_cast(x, y, False)
    assert acl.op.cast(x.desc, x.buffer, y.desc, y.buffer, 0, 0) == 0, message()
    x.array[:] = -1
    assert acl.rt.synchronize_stream(0) == 0
    np.testing.assert_array_equal(y.read(), np.arange(6))
