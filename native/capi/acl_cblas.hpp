// The C functions of acl_cblas.h. Opaque pointers are void* here; aclFloat16 is its bits.
#pragma once

#include "core/types.hpp"

using aclError = int32_t;

HACL_EXPORT aclError hacl_aclblasGemmEx(int transA, int transB, int transC, int m, int n, int k, const void* alpha, const void* matrixA, int lda, int dataTypeA, const void* matrixB, int ldb, int dataTypeB, const void* beta, void* matrixC, int ldc, int dataTypeC, int type, void* stream) noexcept;
HACL_EXPORT aclError hacl_aclblasHgemm(int transA, int transB, int transC, int m, int n, int k, const uint16_t* alpha, const uint16_t* matrixA, int lda, const uint16_t* matrixB, int ldb, const uint16_t* beta, uint16_t* matrixC, int ldc, int type, void* stream) noexcept;
HACL_EXPORT aclError hacl_aclblasS8gemm(int transA, int transB, int transC, int m, int n, int k, const int32_t* alpha, const int8_t* matrixA, int lda, const int8_t* matrixB, int ldb, const int32_t* beta, int32_t* matrixC, int ldc, int type, void* stream) noexcept;
HACL_EXPORT aclError hacl_aclblasGemvEx(int transA, int m, int n, const void* alpha, const void* a, int lda, int dataTypeA, const void* x, int incx, int dataTypeX, const void* beta, void* y, int incy, int dataTypeY, int type, void* stream) noexcept;
HACL_EXPORT aclError hacl_aclblasHgemv(int transA, int m, int n, const uint16_t* alpha, const uint16_t* a, int lda, const uint16_t* x, int incx, const uint16_t* beta, uint16_t* y, int incy, int type, void* stream) noexcept;
HACL_EXPORT aclError hacl_aclblasS8gemv(int transA, int m, int n, const int32_t* alpha, const int8_t* a, int lda, const int8_t* x, int incx, const int32_t* beta, int32_t* y, int incy, int type, void* stream) noexcept;
HACL_EXPORT aclError hacl_aclblasCreateHandleForGemmEx(int transA, int transB, int transC, int m, int n, int k, int dataTypeA, int dataTypeB, int dataTypeC, int type, void** handle) noexcept;
HACL_EXPORT aclError hacl_aclblasCreateHandleForHgemm(int transA, int transB, int transC, int m, int n, int k, int type, void** handle) noexcept;
HACL_EXPORT aclError hacl_aclblasCreateHandleForS8gemm(int transA, int transB, int transC, int m, int n, int k, int type, void** handle) noexcept;
HACL_EXPORT aclError hacl_aclblasCreateHandleForGemvEx(int transA, int m, int n, int dataTypeA, int dataTypeX, int dataTypeY, int type, void** handle) noexcept;
HACL_EXPORT aclError hacl_aclblasCreateHandleForHgemv(int transA, int m, int n, int type, void** handle) noexcept;
HACL_EXPORT aclError hacl_aclblasCreateHandleForS8gemv(int transA, int m, int n, int type, void** handle) noexcept;
