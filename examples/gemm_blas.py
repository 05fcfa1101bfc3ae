"""C = alpha * A @ B + beta * C through acl.blas: float16 matrices with a float32 result, then the same by handle.

acl.blas runs the operator GEMM, so its model must be there: compiled as here, or made by `atc` from a JSON.
"""

import numpy as np
from common import ACL_FLOAT, ACL_FLOAT16, Tensor, check, compile_op, device, expect

import acl

ACL_TRANS_N, ACL_TRANS_T = 0, 1
ACL_COMPUTE_HIGH_PRECISION = 0
M, N, K = 16, 8, 32


def build(a, b, c, alpha, beta):
    """The model of GEMM: inputs A, B, C, alpha, beta, output C; both attributes are always set."""
    attr = acl.op.create_attr()
    check(acl.op.set_attr_bool(attr, "transpose_a", False), "acl.op.set_attr_bool")
    check(acl.op.set_attr_bool(attr, "transpose_b", True), "acl.op.set_attr_bool")
    compile_op("GEMM", [a, b, c, alpha, beta], [c], attr)
    acl.op.destroy_attr(attr)


def main():
    rng = np.random.default_rng(3)
    with device() as stream:
        a = Tensor(rng.standard_normal((M, K)).astype(np.float16))
        b = Tensor(rng.standard_normal((N, K)).astype(np.float16))  # transposed: N x K
        c = Tensor(rng.standard_normal((M, N)).astype(np.float32))
        alpha, beta = Tensor(np.array(0.5, np.float32)), Tensor(np.array(2, np.float32))
        build(a, b, c, alpha, beta)

        product = a.array.astype(np.float64) @ b.array.astype(np.float64).T
        wanted = 0.5 * product + 2 * c.array.astype(np.float64)
        ret = acl.blas.gemm_ex(
            ACL_TRANS_N, ACL_TRANS_T, ACL_TRANS_N, M, N, K, alpha.ptr, a.ptr, -1, ACL_FLOAT16, b.ptr, -1, ACL_FLOAT16,
            beta.ptr, c.ptr, -1, ACL_FLOAT, ACL_COMPUTE_HIGH_PRECISION, stream,
        )  # fmt: skip
        check(ret, "acl.blas.gemm_ex")
        check(acl.rt.synchronize_stream(stream), "acl.rt.synchronize_stream")
        expect("gemm_ex", c.numpy(), wanted, rtol=1e-5, atol=1e-4)

        handle, ret = acl.blas.create_handle_for_gemm_ex(
            ACL_TRANS_N, ACL_TRANS_T, ACL_TRANS_N, M, N, K, ACL_FLOAT16, ACL_FLOAT16, ACL_FLOAT, ACL_COMPUTE_HIGH_PRECISION
        )
        check(ret, "acl.blas.create_handle_for_gemm_ex")
        inputs = [tensor.buffer for tensor in (a, b, c, alpha, beta)]
        check(acl.op.execute_with_handle(handle, inputs, [c.buffer], stream), "acl.op.execute_with_handle")
        check(acl.rt.synchronize_stream(stream), "acl.rt.synchronize_stream")
        expect("by handle", c.numpy(), 0.5 * product + 2 * wanted, rtol=1e-5, atol=1e-4)

        acl.op.destroy_handle(handle)
        for tensor in (a, b, c, alpha, beta):
            tensor.free()


if __name__ == "__main__":
    main()
