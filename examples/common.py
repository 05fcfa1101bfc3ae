"""What every pyACL program repeats: check return codes, copy arrays to the device and back, describe them."""

import sys
from contextlib import contextmanager

import numpy as np

import acl

ACL_DT_UNDEFINED, ACL_FLOAT, ACL_FLOAT16, ACL_INT32, ACL_INT64 = -1, 0, 1, 3, 9
ACL_FORMAT_UNDEFINED, ACL_FORMAT_NCHW, ACL_FORMAT_ND = -1, 0, 2
ACL_MEM_MALLOC_HUGE_FIRST = 0
HOST_TO_DEVICE, DEVICE_TO_HOST = 1, 2
ACL_MEMTYPE_HOST = 1
DTYPES = {"float32": ACL_FLOAT, "float16": ACL_FLOAT16, "int32": ACL_INT32, "int64": ACL_INT64}


def check(ret, call):
    if ret != 0:
        sys.exit(f"{call} returned {ret}: {acl.get_recent_err_msg()}")


@contextmanager
def device():
    """A stream on device 0; everything is given back at the end."""
    check(acl.init(), "acl.init")
    check(acl.rt.set_device(0), "acl.rt.set_device")
    stream, ret = acl.rt.create_stream()
    check(ret, "acl.rt.create_stream")
    yield stream
    check(acl.rt.destroy_stream(stream), "acl.rt.destroy_stream")
    check(acl.rt.reset_device(0), "acl.rt.reset_device")
    check(acl.finalize(), "acl.finalize")


class Tensor:
    """An array on the device, with its descriptor and its data buffer."""

    def __init__(self, array, fmt=ACL_FORMAT_ND):
        self.array = np.asarray(array, order="C")
        self.size = max(self.array.nbytes, 32)
        self.ptr, ret = acl.rt.malloc(self.size, ACL_MEM_MALLOC_HUGE_FIRST)
        check(ret, "acl.rt.malloc")
        if self.array.nbytes:
            source = acl.util.numpy_to_ptr(self.array)
            check(acl.rt.memcpy(self.ptr, self.size, source, self.array.nbytes, HOST_TO_DEVICE), "acl.rt.memcpy")
        self.desc = acl.create_tensor_desc(DTYPES[self.array.dtype.name], list(self.array.shape), fmt)
        self.buffer = acl.create_data_buffer(self.ptr, self.array.nbytes)

    def numpy(self):
        """The values as they are on the device now."""
        result = np.empty_like(self.array)
        if result.nbytes:
            target = acl.util.numpy_to_ptr(result)
            check(acl.rt.memcpy(target, result.nbytes, self.ptr, result.nbytes, DEVICE_TO_HOST), "acl.rt.memcpy")
        return result

    def free(self):
        check(acl.destroy_data_buffer(self.buffer), "acl.destroy_data_buffer")
        acl.destroy_tensor_desc(self.desc)
        check(acl.rt.free(self.ptr), "acl.rt.free")


class Absent:
    """An optional tensor that is left out; it keeps its place."""

    def __init__(self):
        self.desc = acl.create_tensor_desc(ACL_DT_UNDEFINED, [], ACL_FORMAT_UNDEFINED)
        self.buffer = acl.create_data_buffer(0, 0)

    def free(self):
        check(acl.destroy_data_buffer(self.buffer), "acl.destroy_data_buffer")
        acl.destroy_tensor_desc(self.desc)


def set_const(tensor):
    """Makes a small input a constant, as operators want their axes, offsets and sizes."""
    data = acl.util.numpy_to_ptr(tensor.array)
    check(acl.set_tensor_const(tensor.desc, data, tensor.array.nbytes), "acl.set_tensor_const")


def compile_op(op_type, inputs, outputs, attr):
    """Builds the model of a call: engine ACL_ENGINE_SYS, flag ACL_COMPILE_SYS."""
    ret = acl.op.compile(op_type, [t.desc for t in inputs], [t.desc for t in outputs], attr, 0, 0, None)
    check(ret, "acl.op.compile")


def execute(op_type, inputs, outputs, attr, stream):
    """Enqueues an operator; gives the return code."""
    descs, buffers = [t.desc for t in inputs], [t.buffer for t in inputs]
    out_descs, out_buffers = [t.desc for t in outputs], [t.buffer for t in outputs]
    return acl.op.execute_v2(op_type, descs, buffers, out_descs, out_buffers, attr, stream)


def run(op_type, inputs, outputs, attr, stream):
    """Builds, enqueues and waits."""
    compile_op(op_type, inputs, outputs, attr)
    check(execute(op_type, inputs, outputs, attr, stream), "acl.op.execute_v2")
    check(acl.rt.synchronize_stream(stream), "acl.rt.synchronize_stream")


def expect(name, got, wanted, rtol=0.0, atol=0.0):
    """Ends the program unless the values are those of NumPy."""
    if not np.allclose(got.astype(np.float64), wanted.astype(np.float64), rtol=rtol, atol=atol):
        sys.exit(f"{name} is wrong:\n{got}\nNumPy has\n{wanted}")
    print(f"{name}: {got.shape} {got.dtype} is right")
