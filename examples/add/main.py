"""The first program of every AscendCL learner: two matrices are added by a single-operator model.

`atc` makes the model from add.json; the program reads it from the model dir and calls acl.op.execute_v2.
"""

import subprocess
import sys
from pathlib import Path

import numpy as np

import acl

HERE = Path(__file__).resolve().parent
MODELS = HERE / "op_models"

ACL_INT32, ACL_FORMAT_ND = 3, 2
ACL_MEM_MALLOC_NORMAL_ONLY = 2
HOST_TO_DEVICE, DEVICE_TO_HOST = 1, 2
SHAPE = [8, 16]


def check(ret, call):
    if ret != 0:
        sys.exit(f"{call} returned {ret}: {acl.get_recent_err_msg()}")


def to_device(array):
    ptr, ret = acl.rt.malloc(array.nbytes, ACL_MEM_MALLOC_NORMAL_ONLY)
    check(ret, "acl.rt.malloc")
    data = array.tobytes()
    ret = acl.rt.memcpy(ptr, array.nbytes, acl.util.bytes_to_ptr(data), array.nbytes, HOST_TO_DEVICE)
    check(ret, "acl.rt.memcpy")
    return ptr


def to_host(ptr, size):
    data = bytes(size)
    check(acl.rt.memcpy(acl.util.bytes_to_ptr(data), size, ptr, size, DEVICE_TO_HOST), "acl.rt.memcpy")
    return np.frombuffer(data, np.int32).reshape(SHAPE)


def add(a, b, stream):
    size = a.nbytes
    out, ret = acl.rt.malloc(size, ACL_MEM_MALLOC_NORMAL_ONLY)
    check(ret, "acl.rt.malloc")
    device = [to_device(a), to_device(b), out]
    descs = [acl.create_tensor_desc(ACL_INT32, SHAPE, ACL_FORMAT_ND) for _ in device]
    buffers = [acl.create_data_buffer(ptr, size) for ptr in device]
    attr = acl.op.create_attr()

    ret = acl.op.execute_v2("Add", descs[:2], buffers[:2], descs[2:], buffers[2:], attr, stream)
    check(ret, "acl.op.execute_v2")
    check(acl.rt.synchronize_stream(stream), "acl.rt.synchronize_stream")
    result = to_host(out, size)

    acl.op.destroy_attr(attr)
    for buffer, desc, ptr in zip(buffers, descs, device, strict=True):
        check(acl.destroy_data_buffer(buffer), "acl.destroy_data_buffer")
        acl.destroy_tensor_desc(desc)
        check(acl.rt.free(ptr), "acl.rt.free")
    return result


def main():
    command = ["atc", f"--singleop={HERE / 'add.json'}", f"--output={MODELS}", "--soc_version=Ascend910B1"]
    subprocess.run(command, check=True)

    check(acl.init(), "acl.init")
    check(acl.op.set_model_dir(str(MODELS)), "acl.op.set_model_dir")
    check(acl.rt.set_device(0), "acl.rt.set_device")
    stream, ret = acl.rt.create_stream()
    check(ret, "acl.rt.create_stream")

    rng = np.random.default_rng(0)
    a = rng.integers(-1000, 1000, SHAPE, dtype=np.int32)
    b = rng.integers(-1000, 1000, SHAPE, dtype=np.int32)
    result = add(a, b, stream)

    check(acl.rt.destroy_stream(stream), "acl.rt.destroy_stream")
    check(acl.rt.reset_device(0), "acl.rt.reset_device")
    check(acl.finalize(), "acl.finalize")

    if not np.array_equal(result, a + b):
        sys.exit(f"wrong: {result.tolist()}")
    print(f"{a[0, :4]} + {b[0, :4]} = {result[0, :4]} ... all {result.size} elements are right")


if __name__ == "__main__":
    main()
