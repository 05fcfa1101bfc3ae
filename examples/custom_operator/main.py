"""Operators that hostacl does not have: registered by my_ops.py, compiled and run like any other.

`HOSTACL_OPS=my_ops.py` does what the import does here, for a program that must not change.
"""

import sys
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))  # examples/common.py

import my_ops  # noqa: F401 - registers AddCustom and EveryNthCustom
from common import Absent, Tensor, check, device, expect, run

import acl


def main():
    with device() as stream:
        x, y = Tensor(np.arange(6, dtype=np.float16)), Tensor(np.full(6, 0.5, np.float16))
        z = Tensor(np.zeros(6, np.float16))
        none = acl.op.create_attr()
        run("AddCustom", [x, y], [z], none, stream)
        expect("AddCustom", z.numpy(), x.array + y.array)

        values, third, bias = Tensor(np.arange(8, dtype=np.int32)), Tensor(np.zeros(3, np.int32)), Absent()
        step = acl.op.create_attr()
        check(acl.op.set_attr_int(step, "step", 3), "acl.op.set_attr_int")
        run("EveryNthCustom", [values, bias], [third], step, stream)
        expect("EveryNthCustom", third.numpy(), np.array([0, 3, 6]))

        wrong = Tensor(np.zeros(4, np.int32))
        ret = acl.op.compile("EveryNthCustom", [values.desc, bias.desc], [wrong.desc], step, 0, 0, None)
        print(f"a wrong output: {ret}, {acl.get_recent_err_msg()}")

        for attr in (none, step):
            acl.op.destroy_attr(attr)
        for tensor in (x, y, z, values, third, bias, wrong):
            tensor.free()
        if ret != 500002:
            sys.exit("a described output of the wrong shape was taken")


if __name__ == "__main__":
    main()
