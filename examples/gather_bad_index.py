"""GatherV2 with an index that is not there: the call succeeds, the next synchronize fails and the text says why."""

import sys

import numpy as np
from common import Tensor, compile_op, device, execute, expect, run, set_const

import acl


def main():
    with device() as stream:
        x = Tensor(np.arange(12, dtype=np.float32).reshape(4, 3))
        axis = Tensor(np.array([0], np.int64))
        set_const(axis)
        good, bad = Tensor(np.array([2, 0], np.int64)), Tensor(np.array([2, 9], np.int64))
        y, attr = Tensor(np.zeros((2, 3), np.float32)), acl.op.create_attr()

        run("GatherV2", [x, good, axis], [y], attr, stream)
        expect("GatherV2", y.numpy(), x.array[[2, 0]])

        compile_op("GatherV2", [x, bad, axis], [y], attr)
        enqueued = execute("GatherV2", [x, bad, axis], [y], attr, stream)
        failed = acl.rt.synchronize_stream(stream)
        text = acl.get_recent_err_msg()
        print(f"execute_v2 returned {enqueued}, synchronize_stream {failed}:\n{text}")
        if enqueued != 0 or failed != 507035 or "GatherV2" not in text or "9" not in text:
            sys.exit("the failure was not told as it should be")

        run("GatherV2", [x, good, axis], [y], attr, stream)
        expect("GatherV2 after the failure", y.numpy(), x.array[[2, 0]])

        acl.op.destroy_attr(attr)
        for tensor in (x, axis, good, bad, y):
            tensor.free()


if __name__ == "__main__":
    main()
