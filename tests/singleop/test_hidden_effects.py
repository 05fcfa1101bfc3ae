"""Through the whole API: slots that are updated without being outputs, and the overflow status, plans made before included."""

from __future__ import annotations

from contextlib import ExitStack

import numpy as np
import pytest

import acl

FLOAT, INT32, ND = 0, 3, 2


class Program:
    """A process' device, a stream, and float32 tensors in device memory."""

    def __init__(self, stack: ExitStack) -> None:
        self.stack = stack
        self.stream, ret = acl.rt.create_stream()
        assert ret == 0
        stack.callback(acl.rt.destroy_stream, self.stream)

    def tensor(self, values, code=FLOAT):
        array = np.array(values, {FLOAT: np.float32, INT32: np.int32}[code])
        address, ret = acl.rt.malloc(array.nbytes, 0)
        assert ret == 0
        self.stack.callback(acl.rt.free, address)
        assert acl.rt.memcpy(address, array.nbytes, array.ctypes.data, array.nbytes, 1) == 0
        return address, array, code

    def run(self, op, inputs, outputs):
        described = [[(acl.create_tensor_desc(code, list(array.shape), ND), acl.create_data_buffer(address, array.nbytes))
                      for address, array, code in side] for side in (inputs, outputs)]  # fmt: skip
        (ins, in_buffers), (outs, out_buffers) = (([one for one, _ in side], [one for _, one in side]) for side in described)
        attr = acl.op.create_attr()
        ret = acl.op.compile_and_execute_v2(op, ins, in_buffers, outs, out_buffers, attr, 0, 0, "", self.stream)
        assert ret == 0, acl.get_recent_err_msg()
        assert acl.rt.synchronize_stream(self.stream) == 0, acl.get_recent_err_msg()
        acl.op.destroy_attr(attr)
        for desc, buffer in (pair for side in described for pair in side):
            acl.destroy_tensor_desc(desc)
            acl.destroy_data_buffer(buffer)
        return [self.read(one) for one in outputs]

    def read(self, tensor):
        address, array, _ = tensor
        result = np.empty_like(array)
        assert acl.rt.memcpy(result.ctypes.data, result.nbytes, address, result.nbytes, 2) == 0
        return result.tolist()


@pytest.fixture
def program():
    acl.init()
    assert acl.rt.set_device(0) == 0
    with ExitStack() as stack:
        yield Program(stack)
    acl.rt.reset_device(0)
    acl.finalize()


def test_momentum_is_updated_in_device_memory(program):
    var, accum = program.tensor([1, 2]), program.tensor([1, 0])
    args = [var, accum, program.tensor([0.5]), program.tensor([1, 1]), program.tensor([0.5])]
    assert program.run("ApplyMomentum", args, [var]) == [[0.25, 1.5]]
    assert program.read(accum) == [1.5, 1]
    assert program.run("ApplyMomentum", args, [var]) == [[-0.625, 0.75]]
    assert program.read(accum) == [1.75, 1.5]


def test_plans_made_before_the_status_is_asked_for_are_watched_too(program):
    large, y, told = program.tensor([3e38, 1]), program.tensor([0, 0]), program.tensor([0] * 8, INT32)
    program.run("Add", [large, large], [y])
    program.run("NPUClearFloatStatusV2", [], [])
    assert program.run("NPUGetFloatStatusV2", [], [told]) == [[0] * 8]
    program.run("Add", [large, large], [y])
    assert program.run("NPUGetFloatStatusV2", [], [told]) == [[1] + [0] * 7]
    program.run("NPUClearFloatStatusV2", [], [])
    assert program.run("NPUGetFloatStatusV2", [], [told]) == [[0] * 8]
