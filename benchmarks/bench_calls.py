"""What a call costs: a warmed execute_v2, matching among many models, import, memory over many calls."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
from common import fair_environment, line, ratio, seconds

fair_environment()

import numpy as np  # noqa: E402

import acl  # noqa: E402

FLOAT, FLOAT16, ND = 0, 1, 2


class Operator:
    """One compiled operator over device memory, ready to be run again."""

    def __init__(self, op_type, inputs, output_shape, output_dtype, *, attrs=()):
        self.op_type = op_type
        self.attr = acl.op.create_attr()
        for setter, name, value in attrs:
            getattr(acl.op, setter)(self.attr, name, value)
        self.stream, _ = acl.rt.create_stream()
        tensors = [self.tensor(array) for array in inputs]
        self.in_descs, self.in_buffers = [d for d, _ in tensors], [b for _, b in tensors]
        out = self.tensor(np.zeros(output_shape, output_dtype))
        self.out_descs, self.out_buffers = [out[0]], [out[1]]
        ret = acl.op.compile(op_type, self.in_descs, self.out_descs, self.attr, 0, 0, None)
        assert ret == 0, acl.get_recent_err_msg()

    @staticmethod
    def tensor(array):
        code = {np.dtype(np.float32): FLOAT, np.dtype(np.float16): FLOAT16}[array.dtype]
        pointer, ret = acl.rt.malloc(max(array.nbytes, 32), 0)
        assert ret == 0
        acl.rt.memcpy(pointer, array.nbytes, array.ctypes.data, array.nbytes, 1)
        return acl.create_tensor_desc(code, list(array.shape), ND), acl.create_data_buffer(pointer, array.nbytes)

    def run(self):
        acl.op.execute_v2(
            self.op_type, self.in_descs, self.in_buffers, self.out_descs, self.out_buffers, self.attr, self.stream
        )
        acl.rt.synchronize_stream(self.stream)


def small_add():
    a, b = np.ones(8, np.float32), np.ones(8, np.float32)
    c = np.empty_like(a)
    add = Operator("Add", [a, b], (8,), np.float32)
    result = ratio(add.run, lambda: np.add(a, b, out=c), 20000)
    line("execute_v2 Add 8 float32 + synchronize_stream", result, "<= 25, aim 15")


def large_add():
    n = 1_000_000
    a = np.ones(n, np.float32)
    c = np.empty_like(a)
    half = Operator("Add", [a.astype(np.float16)] * 2, (n,), np.float16)
    line("float16 Add of 1M, against NumPy float32 Add", ratio(half.run, lambda: np.add(a, a, out=c), 20), "<= 1")


def large_cast():
    a = np.ones(16_000_000, np.float32)
    c = np.empty_like(a)
    cast = Operator("Cast", [a], a.shape, np.float16, attrs=[("set_attr_int", "dst_type", FLOAT16)])
    line("Cast float32 to float16 of 16M, against np.copyto", ratio(cast.run, lambda: np.copyto(c, a), 3), "<= 0.8")


def matmul():
    a = np.random.default_rng(0).standard_normal((1024, 1024)).astype(np.float32)
    c = np.empty_like(a)
    half = Operator("MatMul", [a.astype(np.float16)] * 2, a.shape, np.float16)
    line("float16 MatMul 1024, against NumPy float32", ratio(half.run, lambda: np.matmul(a, a, out=c), 5), "<= 1.5")


def matching():
    from hostacl.singleop import library
    from hostacl.singleop.models import Model
    from hostacl.tensors.spec import TensorSpec

    def add_models(first, last):
        for n in range(first, last):
            spec = TensorSpec(FLOAT, (n,), ND)
            library.models.add(Model("Add", (spec, spec), (spec,)))

    def find():
        spec = TensorSpec(FLOAT, (8,), ND)
        return library.models.find("Add", (spec, spec), (spec,), {})

    add_models(8, 18)
    few = seconds(find, 2000)
    add_models(18, 10_008)
    many = seconds(find, 2000)
    line("matching among 10,000 models, against 10", (many, few, many / few), "<= 1.5")


def resident_kib():
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4


def memory():
    add = Operator("Add", [np.ones(8, np.float32)] * 2, (8,), np.float32)
    for _ in range(1000):
        add.run()
    before = resident_kib()
    for _ in range(99_000):
        add.run()
    print(f"{'resident memory after 1,000 and after 100,000 executes':<58} {before} KiB, {resident_kib()} KiB (flat)")


def import_time():
    def run(code):
        return lambda: subprocess.run([sys.executable, "-c", code], check=True)

    mine, theirs, _ = ratio(run("import numpy, acl"), run("import numpy"), 1)
    print(f"{'import acl beyond import numpy':<58} {mine - theirs:>12.3f} s (<= 0.15)")


if __name__ == "__main__":
    started = time.perf_counter()
    assert acl.init() == 0
    assert acl.rt.set_device(0) == 0
    for figure in (small_add, large_add, large_cast, matmul, memory, matching, import_time):
        figure()
    print(f"in {time.perf_counter() - started:.0f} s")
