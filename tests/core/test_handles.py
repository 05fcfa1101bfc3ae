"""Handles after their end: each kind is called by its name and said to be destroyed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import acl
from tests.calls import compile_op, device


def op_handle() -> int:
    x, y = device(np.zeros(4, "float32")), device(np.zeros(4, "float32"))
    assert compile_op("Abs", [x], [y]) == 0
    return int(acl.op.create_handle("Abs", [x.desc], [y.desc], 0)[0])


Make, End, Use = Callable[[], int], Callable[[int], Any], Callable[[int], Any]
KINDS: dict[str, tuple[Make, End, Use]] = {
    "tensor descriptor": (lambda: acl.create_tensor_desc(0, [2], 2), acl.destroy_tensor_desc, acl.get_tensor_desc_type),
    "data buffer": (lambda: acl.create_data_buffer(0, 0), acl.destroy_data_buffer, acl.get_data_buffer_size_v2),
    "operator attribute object": (acl.op.create_attr, acl.op.destroy_attr, lambda one: acl.op.set_attr_int(one, "n", 1)),
    "operator handle": (op_handle, acl.op.destroy_handle, lambda one: acl.op.execute_with_handle(one, [], [], 0)),
    "context": (lambda: acl.rt.create_context(0)[0], acl.rt.destroy_context, acl.rt.set_context),
    "stream": (lambda: acl.rt.create_stream()[0], acl.rt.destroy_stream, acl.rt.synchronize_stream),
    "event": (lambda: acl.rt.create_event()[0], acl.rt.destroy_event, acl.rt.synchronize_event),
}


@pytest.mark.parametrize("kind", KINDS)
def test_a_destroyed_handle_is_called_so(kind: str) -> None:
    make, end, use = KINDS[kind]
    handle = make()
    end(handle)
    for call in (use, end):
        acl.get_recent_err_msg()
        call(handle)
        text = acl.get_recent_err_msg() or ""
        assert f"{handle:#x}, a destroyed {kind}" in text or f"a destroyed {kind}; allowed: a live {kind}" in text
