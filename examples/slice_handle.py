"""Slice of a float16 tensor through a handle: built once, run again and again on other data."""

import numpy as np
from common import Tensor, check, compile_op, device, expect, set_const

import acl


def main():
    with device() as stream:
        x = Tensor(np.arange(20, dtype=np.float16).reshape(5, 4))
        offsets, size = Tensor(np.array([1, 0], np.int32)), Tensor(np.array([3, 2], np.int32))
        y = Tensor(np.zeros((3, 2), np.float16))
        set_const(offsets)
        set_const(size)
        tensors, attr = [x, offsets, size], acl.op.create_attr()
        compile_op("Slice", tensors, [y], attr)
        handle, ret = acl.op.create_handle("Slice", [t.desc for t in tensors], [y.desc], attr)
        check(ret, "acl.op.create_handle")

        for values in (x.array, x.array * 2, -x.array):
            source = acl.util.numpy_to_ptr(values)
            check(acl.rt.memcpy(x.ptr, x.size, source, values.nbytes, 1), "acl.rt.memcpy")
            ret = acl.op.execute_with_handle(handle, [t.buffer for t in tensors], [y.buffer], stream)
            check(ret, "acl.op.execute_with_handle")
            check(acl.rt.synchronize_stream(stream), "acl.rt.synchronize_stream")
            expect("Slice", y.numpy(), values[1:4, 0:2])

        acl.op.destroy_handle(handle)
        acl.op.destroy_attr(attr)
        for tensor in (*tensors, y):
            tensor.free()


if __name__ == "__main__":
    main()
