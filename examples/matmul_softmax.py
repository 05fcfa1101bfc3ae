"""MatMul and SoftmaxV2 in float16: two operators on one stream, one wait."""

import numpy as np
from common import Tensor, check, compile_op, device, execute, expect

import acl


def softmax(x):
    e = np.exp(x - x.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)


def main():
    rng = np.random.default_rng(1)
    with device() as stream:
        a = Tensor(rng.standard_normal((16, 32)).astype(np.float16))
        b = Tensor(rng.standard_normal((8, 32)).astype(np.float16))
        product, y = Tensor(np.zeros((16, 8), np.float16)), Tensor(np.zeros((16, 8), np.float16))

        transposed = acl.op.create_attr()
        check(acl.op.set_attr_bool(transposed, "transpose_x2", True), "acl.op.set_attr_bool")
        compile_op("MatMul", [a, b], [product], transposed)
        last_axis = acl.op.create_attr()
        check(acl.op.set_attr_list_int(last_axis, "axes", [-1]), "acl.op.set_attr_list_int")
        compile_op("SoftmaxV2", [product], [y], last_axis)

        check(execute("MatMul", [a, b], [product], transposed, stream), "acl.op.execute_v2")
        check(execute("SoftmaxV2", [product], [y], last_axis, stream), "acl.op.execute_v2")
        check(acl.rt.synchronize_stream(stream), "acl.rt.synchronize_stream")

        wanted = a.array.astype(np.float64) @ b.array.astype(np.float64).T
        expect("MatMul", product.numpy(), wanted, rtol=1e-3, atol=1e-3)
        expect("SoftmaxV2", y.numpy(), softmax(product.numpy().astype(np.float64)), rtol=1e-3, atol=1e-4)

        for attr in (transposed, last_axis):
            acl.op.destroy_attr(attr)
        for tensor in (a, b, product, y):
            tensor.free()


if __name__ == "__main__":
    main()
