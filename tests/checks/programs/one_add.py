"""Compiles one Add and runs it."""

import numpy as np

import acl

acl.init()
acl.rt.set_device(0)
x = np.ones(4, np.float32)
ptr, _ = acl.rt.malloc(16, 0)
acl.rt.memcpy(ptr, 16, x.ctypes.data, 16, 1)
desc, buffer = acl.create_tensor_desc(0, [4], 2), acl.create_data_buffer(ptr, 16)
if acl.op.compile("Add", [desc, desc], [desc], 0, 0, 0, "") == 0:
    acl.op.execute_v2("Add", [desc, desc], [buffer, buffer], [desc], [buffer], 0, 0)
acl.rt.synchronize_stream(0)
acl.finalize()
