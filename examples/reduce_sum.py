"""ReduceSum with its axes given in the three ways: constant, in host memory, in device memory."""

import numpy as np
from common import ACL_INT64, ACL_MEMTYPE_HOST, Tensor, check, device, expect, run

import acl


class HostAxes:
    """Axes in host memory: the call copies them before it returns."""

    def __init__(self, axes):
        self.array = np.array(axes, np.int64)
        self.desc = acl.create_tensor_desc(ACL_INT64, [len(axes)], 2)
        check(acl.set_tensor_place_ment(self.desc, ACL_MEMTYPE_HOST), "acl.set_tensor_place_ment")
        self.buffer = acl.create_data_buffer(acl.util.numpy_to_ptr(self.array), self.array.nbytes)

    def free(self):
        check(acl.destroy_data_buffer(self.buffer), "acl.destroy_data_buffer")
        acl.destroy_tensor_desc(self.desc)


class ConstAxes(HostAxes):
    """Axes that are part of the descriptor: the operator is built for these very values."""

    def __init__(self, axes):
        self.array = np.array(axes, np.int64)
        self.desc = acl.create_tensor_desc(ACL_INT64, [len(axes)], 2)
        data = acl.util.numpy_to_ptr(self.array)
        check(acl.set_tensor_const(self.desc, data, self.array.nbytes), "acl.set_tensor_const")
        self.buffer = acl.create_data_buffer(0, 0)


def main():
    with device() as stream:
        x = Tensor(np.arange(24, dtype=np.float32).reshape(2, 3, 4))
        attr = acl.op.create_attr()
        check(acl.op.set_attr_bool(attr, "keep_dims", False), "acl.op.set_attr_bool")
        for name, axes in (
            ("const", ConstAxes([0, -1])),
            ("host", HostAxes([0, -1])),
            ("device", Tensor(np.array([0, -1], np.int64))),
        ):
            y = Tensor(np.zeros(3, np.float32))
            run("ReduceSum", [x, axes], [y], attr, stream)
            expect(f"ReduceSum, {name} axes", y.numpy(), x.array.sum(axis=(0, -1)))
            axes.free()
            y.free()
        acl.op.destroy_attr(attr)
        x.free()


if __name__ == "__main__":
    main()
