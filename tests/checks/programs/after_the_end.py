"""Runs an Add in an exit handler that was registered before hostacl came, so that it runs after it went (wrong), or later."""

import atexit
import sys

import numpy as np


def last_words() -> None:
    acl.op.execute_v2("Add", [desc, desc], [buffer, buffer], [desc], [buffer], 0, 0)


if sys.argv[1] == "wrong":
    atexit.register(last_words)
import acl  # noqa: E402

if sys.argv[1] == "right":
    atexit.register(last_words)
acl.init()
acl.rt.set_device(0)
x = np.ones(4, np.float32)
ptr, _ = acl.rt.malloc(16, 0)
acl.rt.memcpy(ptr, 16, x.ctypes.data, 16, 1)
desc, buffer = acl.create_tensor_desc(0, [4], 2), acl.create_data_buffer(ptr, 16)
acl.op.compile("Add", [desc, desc], [desc], 0, 0, 0, "")
