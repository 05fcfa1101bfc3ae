"""Matrix products, by the operator GEMM."""

from __future__ import annotations

from hostacl import _machine

__all__ = [
    "create_handle_for_gemm_ex", "create_handle_for_gemv_ex", "create_handle_for_hgemm", "create_handle_for_hgemv",
    "create_handle_for_s8gemm", "create_handle_for_s8gemv", "gemm_ex", "gemv_ex", "hgemm", "hgemv", "s8gemm",
    "s8gemv",
]


def gemm_ex(
    trans_a: int, trans_b: int, trans_c: int, m: int, n: int, k: int, alpha: int, matrix_a: int, lda: int,
    data_type_a: int, matrix_b: int, ldb: int, data_type_b: int, beta: int, matrix_c: int, ldc: int, data_type_c:
    int, type: int, stream: int
) -> int:
    """C = alpha * A @ B + beta * C, an m x k by a k x n matrix, of any allowed types; the code.

    Asynchronous, by the operator GEMM. ``alpha`` and ``beta`` are addresses of one value of C's type; leading
    dimensions are -1 or the dense ones. Types: float16 to float16 or float32, int8 to int32 or float32. 100000 for
    anything else. C: ``aclblasGemmEx``.
    """
    return _machine.aclblasGemmEx(
        trans_a, trans_b, trans_c, m, n, k, alpha, matrix_a, lda, data_type_a, matrix_b, ldb, data_type_b, beta,
        matrix_c, ldc, data_type_c, type, stream
    )


def create_handle_for_gemm_ex(
    trans_a: int, trans_b: int, trans_c: int, m: int, n: int, k: int, data_type_a: int, data_type_b: int,
    data_type_c: int, type: int
) -> tuple[int, int]:
    """A handle for ``gemm_ex`` of these sizes: ``(handle, ret)``.

    Run it with ``acl.op.execute_with_handle``: inputs A, B, C, alpha, beta, output C.
    C: ``aclblasCreateHandleForGemmEx``.
    """
    return _machine.aclblasCreateHandleForGemmEx(
        trans_a, trans_b, trans_c, m, n, k, data_type_a, data_type_b, data_type_c, type
    )


def hgemm(
    trans_a: int, trans_b: int, trans_c: int, m: int, n: int, k: int, alpha: int, matrix_a: int, lda: int,
    matrix_b: int, ldb: int, beta: int, matrix_c: int, ldc: int, type: int, stream: int
) -> int:
    """C = alpha * A @ B + beta * C in float16; the code.

    As ``gemm_ex``. C: ``aclblasHgemm``.
    """
    return _machine.aclblasHgemm(
        trans_a, trans_b, trans_c, m, n, k, alpha, matrix_a, lda, matrix_b, ldb, beta, matrix_c, ldc, type, stream
    )


def create_handle_for_hgemm(
    trans_a: int, trans_b: int, trans_c: int, m: int, n: int, k: int, type: int
) -> tuple[int, int]:
    """A handle for ``hgemm`` of these sizes: ``(handle, ret)``.

    C: ``aclblasCreateHandleForHgemm``.
    """
    return _machine.aclblasCreateHandleForHgemm(trans_a, trans_b, trans_c, m, n, k, type)


def s8gemm(
    trans_a: int, trans_b: int, trans_c: int, m: int, n: int, k: int, alpha: int, matrix_a: int, lda: int,
    matrix_b: int, ldb: int, beta: int, matrix_c: int, ldc: int, type: int, stream: int
) -> int:
    """C = alpha * A @ B + beta * C, int8 by int8 into int32; the code.

    As ``gemm_ex``. C: ``aclblasS8gemm``.
    """
    return _machine.aclblasS8gemm(
        trans_a, trans_b, trans_c, m, n, k, alpha, matrix_a, lda, matrix_b, ldb, beta, matrix_c, ldc, type, stream
    )


def create_handle_for_s8gemm(
    trans_a: int, trans_b: int, trans_c: int, m: int, n: int, k: int, type: int
) -> tuple[int, int]:
    """A handle for ``s8gemm`` of these sizes: ``(handle, ret)``.

    C: ``aclblasCreateHandleForS8gemm``.
    """
    return _machine.aclblasCreateHandleForS8gemm(trans_a, trans_b, trans_c, m, n, k, type)


def gemv_ex(
    trans_a: int, m: int, n: int, alpha: int, a: int, lda: int, data_type_a: int, x: int, incx: int, data_type_x:
    int, beta: int, y: int, incy: int, data_type_y: int, type: int, stream: int
) -> int:
    """y = alpha * A @ x + beta * y, an m x n matrix by a vector, of any allowed types; the code.

    As ``gemm_ex``; ``incx`` and ``incy`` are -1 or 1. C: ``aclblasGemvEx``.
    """
    return _machine.aclblasGemvEx(
        trans_a, m, n, alpha, a, lda, data_type_a, x, incx, data_type_x, beta, y, incy, data_type_y, type, stream
    )


def create_handle_for_gemv_ex(
    trans_a: int, m: int, n: int, data_type_a: int, data_type_x: int, data_type_y: int, type: int
) -> tuple[int, int]:
    """A handle for ``gemv_ex`` of these sizes: ``(handle, ret)``.

    C: ``aclblasCreateHandleForGemvEx``.
    """
    return _machine.aclblasCreateHandleForGemvEx(trans_a, m, n, data_type_a, data_type_x, data_type_y, type)


def hgemv(
    trans_a: int, m: int, n: int, alpha: int, a: int, lda: int, x: int, incx: int, beta: int, y: int, incy: int,
    type: int, stream: int
) -> int:
    """y = alpha * A @ x + beta * y in float16; the code.

    As ``gemv_ex``. C: ``aclblasHgemv``.
    """
    return _machine.aclblasHgemv(trans_a, m, n, alpha, a, lda, x, incx, beta, y, incy, type, stream)


def create_handle_for_hgemv(trans_a: int, m: int, n: int, type: int) -> tuple[int, int]:
    """A handle for ``hgemv`` of these sizes: ``(handle, ret)``.

    C: ``aclblasCreateHandleForHgemv``.
    """
    return _machine.aclblasCreateHandleForHgemv(trans_a, m, n, type)


def s8gemv(
    trans_a: int, m: int, n: int, alpha: int, a: int, lda: int, x: int, incx: int, beta: int, y: int, incy: int,
    type: int, stream: int
) -> int:
    """y = alpha * A @ x + beta * y, int8 by int8 into int32; the code.

    As ``gemv_ex``. C: ``aclblasS8gemv``.
    """
    return _machine.aclblasS8gemv(trans_a, m, n, alpha, a, lda, x, incx, beta, y, incy, type, stream)


def create_handle_for_s8gemv(trans_a: int, m: int, n: int, type: int) -> tuple[int, int]:
    """A handle for ``s8gemv`` of these sizes: ``(handle, ret)``.

    C: ``aclblasCreateHandleForS8gemv``.
    """
    return _machine.aclblasCreateHandleForS8gemv(trans_a, m, n, type)
