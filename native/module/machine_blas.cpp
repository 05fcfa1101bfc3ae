// acl_cblas.h: matrix products.
#include "capi/acl_cblas.hpp"
#include "module/machine_table.hpp"

namespace hostacl {
namespace {

// All typed pointers are addresses to Python; the table would take a pointer to a number for an output.
using In = const void*;
using Gemm = Code (*)(int, int, int, int, int, int, In, In, int, In, int, In, void*, int, int, void*);
using GemmEx = Code (*)(int, int, int, int, int, int, In, In, int, int, In, int, int, In, void*, int, int, int, void*);
using Gemv = Code (*)(int, int, int, In, In, int, In, int, In, void*, int, int, void*);
using GemvEx = Code (*)(int, int, int, In, In, int, int, In, int, int, In, void*, int, int, int, void*);

} // namespace

void add_blas_rows(Rows& rows) {
    rows.insert(rows.end(), {
        row("aclblasGemmEx", "acl.blas.gemm_ex", reinterpret_cast<GemmEx>(hacl_aclblasGemmEx),
            {"trans_a", "trans_b", "trans_c", "m", "n", "k", "alpha", "matrix_a", "lda", "data_type_a", "matrix_b", "ldb", "data_type_b", "beta", "matrix_c", "ldc", "data_type_c", "type", "stream"}),
        row("aclblasCreateHandleForGemmEx", "acl.blas.create_handle_for_gemm_ex", hacl_aclblasCreateHandleForGemmEx,
            {"trans_a", "trans_b", "trans_c", "m", "n", "k", "data_type_a", "data_type_b", "data_type_c", "type"}),
        row("aclblasHgemm", "acl.blas.hgemm", reinterpret_cast<Gemm>(hacl_aclblasHgemm),
            {"trans_a", "trans_b", "trans_c", "m", "n", "k", "alpha", "matrix_a", "lda", "matrix_b", "ldb", "beta", "matrix_c", "ldc", "type", "stream"}),
        row("aclblasCreateHandleForHgemm", "acl.blas.create_handle_for_hgemm", hacl_aclblasCreateHandleForHgemm,
            {"trans_a", "trans_b", "trans_c", "m", "n", "k", "type"}),
        row("aclblasS8gemm", "acl.blas.s8gemm", reinterpret_cast<Gemm>(hacl_aclblasS8gemm),
            {"trans_a", "trans_b", "trans_c", "m", "n", "k", "alpha", "matrix_a", "lda", "matrix_b", "ldb", "beta", "matrix_c", "ldc", "type", "stream"}),
        row("aclblasCreateHandleForS8gemm", "acl.blas.create_handle_for_s8gemm", hacl_aclblasCreateHandleForS8gemm,
            {"trans_a", "trans_b", "trans_c", "m", "n", "k", "type"}),
        row("aclblasGemvEx", "acl.blas.gemv_ex", reinterpret_cast<GemvEx>(hacl_aclblasGemvEx),
            {"trans_a", "m", "n", "alpha", "a", "lda", "data_type_a", "x", "incx", "data_type_x", "beta", "y", "incy", "data_type_y", "type", "stream"}),
        row("aclblasCreateHandleForGemvEx", "acl.blas.create_handle_for_gemv_ex", hacl_aclblasCreateHandleForGemvEx,
            {"trans_a", "m", "n", "data_type_a", "data_type_x", "data_type_y", "type"}),
        row("aclblasHgemv", "acl.blas.hgemv", reinterpret_cast<Gemv>(hacl_aclblasHgemv),
            {"trans_a", "m", "n", "alpha", "a", "lda", "x", "incx", "beta", "y", "incy", "type", "stream"}),
        row("aclblasCreateHandleForHgemv", "acl.blas.create_handle_for_hgemv", hacl_aclblasCreateHandleForHgemv,
            {"trans_a", "m", "n", "type"}),
        row("aclblasS8gemv", "acl.blas.s8gemv", reinterpret_cast<Gemv>(hacl_aclblasS8gemv),
            {"trans_a", "m", "n", "alpha", "a", "lda", "x", "incx", "beta", "y", "incy", "type", "stream"}),
        row("aclblasCreateHandleForS8gemv", "acl.blas.create_handle_for_s8gemv", hacl_aclblasCreateHandleForS8gemv,
            {"trans_a", "m", "n", "type"}),
    });
}

} // namespace hostacl
