"""Some drawn calls of every operator and dtype through the whole API, with both schedulers."""

from __future__ import annotations

import zlib
from collections.abc import Iterator

import pytest

import acl
import hostacl
from hostacl.ops.registry import implemented
from hostacl.tensors import dtypes
from random_calls.draw import draw_call, dtypes_of, plan
from random_calls.oracle import find_oracle
from random_calls.through_api import check, dtypes_through_api, ok

CASES = [
    (op_type, dtype) for op_type in implemented() if find_oracle(op_type) for dtype in dtypes_through_api(dtypes_of(op_type))
]
CALLS = 3


@pytest.fixture(scope="module", params=["eager", "deferred"])
def stream(request: pytest.FixtureRequest) -> Iterator[int]:
    """A stream of device 0 under one of the schedulers."""
    with hostacl.settings(scheduler=request.param):
        hostacl.reset()
        ok(acl.init(), "init")
        ok(acl.rt.set_device(0), "set_device")
        handle, ret = acl.rt.create_stream()
        ok(ret, "create_stream")
        yield handle
        ok(acl.rt.destroy_stream(handle), "destroy_stream")
        ok(acl.rt.reset_device(0), "reset_device")
        ok(acl.finalize(), "finalize")
    hostacl.reset()


@pytest.mark.parametrize(("op_type", "dtype"), CASES, ids=[f"{op_type}-{dtypes.dtype_name(dtype)}" for op_type, dtype in CASES])
def test_drawn_calls_through_the_api(op_type: str, dtype: int, stream: int) -> None:
    kinds = [kind for kind in plan(op_type, dtype) if kind != "partial overlap"]
    start = zlib.crc32(f"{op_type} {dtype}".encode()) * CALLS  # its own: another operator does not change it
    for place in range(start, start + CALLS):
        check(draw_call(op_type, dtype, kinds[place % len(kinds)], place, 3), stream)
