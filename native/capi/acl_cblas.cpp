// acl_cblas.h: matrix products, each the operator GEMM with one description: A, B, C, alpha, beta → C, everything ND.
#include "capi/acl_cblas.hpp"

#include "capi/guard.hpp"
#include "core/execute.hpp"
#include "core/machine.hpp"

#include <vector>

using namespace hostacl;

namespace {

constexpr Code kInvalidParam = 100000;
constexpr int kFloat = 0, kHalf = 1, kInt8 = 2, kInt32 = 3;           // aclDataType
constexpr int kNormal = 0, kTransposed = 1, kNz = 2, kNzTransposed = 3; // aclTransType
constexpr int32_t kNd = 2, kFractalNz = 29;                            // aclFormat

struct Matrix {
    const char* name;   // "A"
    int trans;
    int rows, columns;  // of op(matrix)
    int leading;        // as given: -1, or the dense one
    int dtype;
    const void* data;
    bool transposed() const { return trans == kTransposed || trans == kNzTransposed; }
    bool nz() const { return trans == kNz || trans == kNzTransposed; }
    std::vector<int64_t> dims() const {
        return transposed() ? std::vector<int64_t>{columns, rows} : std::vector<int64_t>{rows, columns};
    }
};

struct Product {
    Matrix a, b, c;
    const void *alpha, *beta;
    int precision;
    bool vector = false; // gemv: increments where a matrix has a leading dimension
};

Code refuse(const std::string& text) { return fail(kInvalidParam, "HA422", text); }

Code check_matrix(const Matrix& matrix, bool vector) {
    if (matrix.trans < kNormal || matrix.trans > kNzTransposed)
        return refuse(format("trans%s = %d; allowed: 0 (N), 1 (T), 2 (NZ), 3 (NZ_T)", matrix.name, matrix.trans));
    int64_t dense = vector ? 1 : matrix.dims()[1];
    if (matrix.leading != -1 && matrix.leading != dense)
        return refuse(format("%s%s = %d; allowed: -1 or the dense one, %lld", vector ? "inc" : "ld", matrix.name, matrix.leading,
                             static_cast<long long>(dense)));
    return 0;
}

bool types_allowed(int a, int b, int c) {
    return a == b && ((a == kHalf && (c == kHalf || c == kFloat)) || (a == kInt8 && (c == kFloat || c == kInt32)));
}

Code check_product(const Product& product) {
    const Matrix &a = product.a, &b = product.b, &c = product.c;
    if (Code code = check_matrix(a, false)) return code;
    if (Code code = check_matrix(b, product.vector)) return code;
    if (c.trans != kNormal) return refuse(format("transC = %d; allowed: 0 (N)", c.trans));
    if (Code code = check_matrix(c, product.vector)) return code;
    if (a.rows <= 0 || a.columns <= 0 || b.columns <= 0)
        return refuse(format("sizes %d x %d and %d x %d; allowed: all above 0", a.rows, a.columns, b.rows, b.columns));
    if (!types_allowed(a.dtype, b.dtype, c.dtype))
        return refuse(format("data types %d x %d -> %d; allowed: float16 x float16 -> float16 or float32, int8 x int8 -> float32 or int32",
                             a.dtype, b.dtype, c.dtype));
    if (product.precision != 0 && product.precision != 1)
        return refuse(format("type = %d; allowed: 0 (ACL_COMPUTE_HIGH_PRECISION), 1", product.precision));
    return 0;
}

TensorDesc describe(const Matrix& matrix) {
    TensorDesc desc;
    desc.dtype = matrix.dtype;
    desc.format = kNd;
    desc.dims = matrix.dims();
    if (!matrix.nz()) return desc;
    int64_t block = matrix.dtype == kInt8 ? 32 : 16;
    desc.storage_format = kFractalNz;
    desc.storage_dims = {(desc.dims[1] + block - 1) / block, (desc.dims[0] + 15) / 16, 16, block};
    desc.has_storage_shape = true;
    return desc;
}

// Descriptors, buffers and attributes that live for one call.
class Operands {
  public:
    explicit Operands(const Product& product) {
        Lock lock = lock_machine();
        add(describe(product.a), product.a.data);
        add(describe(product.b), product.b.data);
        add(describe(product.c), product.c.data);
        TensorDesc scalar;
        scalar.dtype = product.c.dtype;
        scalar.format = kNd;
        add(scalar, product.alpha);
        add(scalar, product.beta);
        OpAttr values;
        values.values["transpose_a"] = {AttrKind::Bool, int64_t{product.a.transposed()}};
        values.values["transpose_b"] = {AttrKind::Bool, int64_t{product.b.transposed()}};
        attr_ = attrs().add(std::move(values));
    }
    ~Operands() {
        Lock lock = lock_machine();
        for (void* desc : descs_) descs().remove(as_handle(desc));
        for (void* buffer : buffers_) buffers().remove(as_handle(buffer));
        attrs().remove(attr_);
    }
    Operands(const Operands&) = delete;
    Operands& operator=(const Operands&) = delete;
    CallArguments call(Via via, bool data, const void* stream) const {
        return {via, "GEMM", {5, descs_.data(), buffers_.data(), "5", "inputDesc", "inputs", data},
                {1, &descs_[2], &buffers_[2], "1", "outputDesc", "outputs", data}, as_pointer(attr_), stream};
    }

  private:
    void add(const TensorDesc& desc, const void* data) {
        buffers_.push_back(as_pointer(buffers().add({const_cast<void*>(data), desc.byte_size()})));
        descs_.push_back(as_pointer(descs().add(desc)));
    }
    std::vector<void*> descs_, buffers_;
    Handle attr_ = 0;
};

Code run(const Product& product, const void* stream) {
    if (Code code = check_product(product)) return code;
    const std::pair<const char*, const void*> pointers[] = {{"alpha", product.alpha},
                                                            {product.vector ? "a" : "matrixA", product.a.data},
                                                            {product.vector ? "x" : "matrixB", product.b.data},
                                                            {"beta", product.beta},
                                                            {product.vector ? "y" : "matrixC", product.c.data}};
    for (const auto& pointer : pointers)
        if (!pointer.second) return fail(kInvalidParam, "HA401", format("%s = NULL; allowed: memory", pointer.first));
    Operands operands(product);
    return execute(operands.call(Via::Execute, true, stream));
}

Code make_handle_for(const Product& product, void** handle) {
    if (Code code = check_product(product)) return code;
    if (!handle) return fail(kInvalidParam, "HA401", "handle = NULL; allowed: memory for a handle");
    Operands operands(product);
    Handle made = 0;
    Code code = create_handle(operands.call(Via::CreateHandle, false, nullptr), &made);
    if (!code) *handle = as_pointer(made);
    return code;
}

Product gemm(int trans_a, int trans_b, int trans_c, int m, int n, int k, const void* alpha, const void* a, int lda, int type_a,
             const void* b, int ldb, int type_b, const void* beta, const void* c, int ldc, int type_c, int precision) {
    return {{"A", trans_a, m, k, lda, type_a, a}, {"B", trans_b, k, n, ldb, type_b, b}, {"C", trans_c, m, n, ldc, type_c, c},
            alpha, beta, precision};
}

// y = alpha * op(A) * x + beta * y with op(A) of m rows and n columns: a product with a matrix of one column.
Product gemv(int trans_a, int m, int n, const void* alpha, const void* a, int lda, int type_a, const void* x, int incx, int type_x,
             const void* beta, const void* y, int incy, int type_y, int precision) {
    Product product{{"A", trans_a, m, n, lda, type_a, a}, {"X", kNormal, n, 1, incx, type_x, x}, {"Y", kNormal, m, 1, incy, type_y, y},
                    alpha, beta, precision};
    product.vector = true;
    return product;
}

} // namespace

aclError hacl_aclblasGemmEx(int transA, int transB, int transC, int m, int n, int k, const void* alpha, const void* matrixA, int lda,
                            int dataTypeA, const void* matrixB, int ldb, int dataTypeB, const void* beta, void* matrixC, int ldc,
                            int dataTypeC, int type, void* stream) noexcept {
    return guarded("aclblasGemmEx", [&] {
        return run(gemm(transA, transB, transC, m, n, k, alpha, matrixA, lda, dataTypeA, matrixB, ldb, dataTypeB, beta, matrixC, ldc,
                        dataTypeC, type), stream);
    });
}

aclError hacl_aclblasHgemm(int transA, int transB, int transC, int m, int n, int k, const uint16_t* alpha, const uint16_t* matrixA,
                           int lda, const uint16_t* matrixB, int ldb, const uint16_t* beta, uint16_t* matrixC, int ldc, int type,
                           void* stream) noexcept {
    return guarded("aclblasHgemm", [&] {
        return run(gemm(transA, transB, transC, m, n, k, alpha, matrixA, lda, kHalf, matrixB, ldb, kHalf, beta, matrixC, ldc, kHalf, type),
                   stream);
    });
}

aclError hacl_aclblasS8gemm(int transA, int transB, int transC, int m, int n, int k, const int32_t* alpha, const int8_t* matrixA, int lda,
                            const int8_t* matrixB, int ldb, const int32_t* beta, int32_t* matrixC, int ldc, int type,
                            void* stream) noexcept {
    return guarded("aclblasS8gemm", [&] {
        return run(gemm(transA, transB, transC, m, n, k, alpha, matrixA, lda, kInt8, matrixB, ldb, kInt8, beta, matrixC, ldc, kInt32, type),
                   stream);
    });
}

aclError hacl_aclblasGemvEx(int transA, int m, int n, const void* alpha, const void* a, int lda, int dataTypeA, const void* x, int incx,
                            int dataTypeX, const void* beta, void* y, int incy, int dataTypeY, int type, void* stream) noexcept {
    return guarded("aclblasGemvEx", [&] {
        return run(gemv(transA, m, n, alpha, a, lda, dataTypeA, x, incx, dataTypeX, beta, y, incy, dataTypeY, type), stream);
    });
}

aclError hacl_aclblasHgemv(int transA, int m, int n, const uint16_t* alpha, const uint16_t* a, int lda, const uint16_t* x, int incx,
                           const uint16_t* beta, uint16_t* y, int incy, int type, void* stream) noexcept {
    return guarded("aclblasHgemv", [&] {
        return run(gemv(transA, m, n, alpha, a, lda, kHalf, x, incx, kHalf, beta, y, incy, kHalf, type), stream);
    });
}

aclError hacl_aclblasS8gemv(int transA, int m, int n, const int32_t* alpha, const int8_t* a, int lda, const int8_t* x, int incx,
                            const int32_t* beta, int32_t* y, int incy, int type, void* stream) noexcept {
    return guarded("aclblasS8gemv", [&] {
        return run(gemv(transA, m, n, alpha, a, lda, kInt8, x, incx, kInt8, beta, y, incy, kInt32, type), stream);
    });
}

aclError hacl_aclblasCreateHandleForGemmEx(int transA, int transB, int transC, int m, int n, int k, int dataTypeA, int dataTypeB,
                                           int dataTypeC, int type, void** handle) noexcept {
    return guarded("aclblasCreateHandleForGemmEx", [&] {
        return make_handle_for(gemm(transA, transB, transC, m, n, k, nullptr, nullptr, -1, dataTypeA, nullptr, -1, dataTypeB, nullptr,
                                    nullptr, -1, dataTypeC, type), handle);
    });
}

aclError hacl_aclblasCreateHandleForHgemm(int transA, int transB, int transC, int m, int n, int k, int type, void** handle) noexcept {
    return guarded("aclblasCreateHandleForHgemm", [&] {
        return make_handle_for(gemm(transA, transB, transC, m, n, k, nullptr, nullptr, -1, kHalf, nullptr, -1, kHalf, nullptr, nullptr, -1,
                                    kHalf, type), handle);
    });
}

aclError hacl_aclblasCreateHandleForS8gemm(int transA, int transB, int transC, int m, int n, int k, int type, void** handle) noexcept {
    return guarded("aclblasCreateHandleForS8gemm", [&] {
        return make_handle_for(gemm(transA, transB, transC, m, n, k, nullptr, nullptr, -1, kInt8, nullptr, -1, kInt8, nullptr, nullptr, -1,
                                    kInt32, type), handle);
    });
}

aclError hacl_aclblasCreateHandleForGemvEx(int transA, int m, int n, int dataTypeA, int dataTypeX, int dataTypeY, int type,
                                           void** handle) noexcept {
    return guarded("aclblasCreateHandleForGemvEx", [&] {
        return make_handle_for(gemv(transA, m, n, nullptr, nullptr, -1, dataTypeA, nullptr, -1, dataTypeX, nullptr, nullptr, -1, dataTypeY,
                                    type), handle);
    });
}

aclError hacl_aclblasCreateHandleForHgemv(int transA, int m, int n, int type, void** handle) noexcept {
    return guarded("aclblasCreateHandleForHgemv", [&] {
        return make_handle_for(gemv(transA, m, n, nullptr, nullptr, -1, kHalf, nullptr, -1, kHalf, nullptr, nullptr, -1, kHalf, type),
                               handle);
    });
}

aclError hacl_aclblasCreateHandleForS8gemv(int transA, int m, int n, int type, void** handle) noexcept {
    return guarded("aclblasCreateHandleForS8gemv", [&] {
        return make_handle_for(gemv(transA, m, n, nullptr, nullptr, -1, kInt8, nullptr, -1, kInt8, nullptr, nullptr, -1, kInt32, type),
                               handle);
    });
}
