// MatMul of float16 matrices. The numbers are small integers, so that float16 holds every product and sum exactly.
#include "acl/acl_op_compiler.h"
#include "tensor.hpp"

#include <cstdio>

namespace {

constexpr int M = 4, K = 8, N = 5;

std::vector<aclFloat16> halves(const std::vector<float> &values) {
    std::vector<aclFloat16> out;
    for (float value : values) out.push_back(aclFloatToFloat16(value));
    return out;
}

std::vector<float> product(const std::vector<float> &a, const std::vector<float> &b) {
    std::vector<float> out(M * N);
    for (int i = 0; i < M; i++)
        for (int j = 0; j < N; j++)
            for (int k = 0; k < K; k++) out[i * N + j] += a[i * K + k] * b[k * N + j];
    return out;
}

void multiply(aclrtStream stream) {
    std::vector<float> a(M * K), b(K * N);
    for (int i = 0; i < M * K; i++) a[i] = static_cast<float>(i % 7 - 3);
    for (int i = 0; i < K * N; i++) b[i] = static_cast<float>(i % 5 - 2);
    Tensor x1(ACL_FLOAT16, {M, K}, halves(a)), x2(ACL_FLOAT16, {K, N}, halves(b)), y(ACL_FLOAT16, {M, N});

    const aclTensorDesc *input_descs[] = {x1.desc(), x2.desc()}, *output_descs[] = {y.desc()};
    const aclDataBuffer *inputs[] = {x1.buffer(), x2.buffer()};
    aclDataBuffer *outputs[] = {y.buffer()};
    aclopAttr *attr = aclopCreateAttr();
    CHECK(aclopSetAttrBool(attr, "transpose_x1", 0));
    CHECK(aclopSetAttrBool(attr, "transpose_x2", 0));
    CHECK(aclopCompileAndExecute("MatMul", 2, input_descs, inputs, 1, output_descs, outputs, attr, ACL_ENGINE_SYS,
                                 ACL_COMPILE_SYS, nullptr, stream));
    CHECK(aclrtSynchronizeStream(stream));
    aclopDestroyAttr(attr);

    std::vector<aclFloat16> result = y.values<aclFloat16>();
    std::vector<float> expected = product(a, b);
    for (int i = 0; i < M * N; i++) REQUIRE(aclFloat16ToFloat(result[i]) == expected[i]);
}

} // namespace

int main() {
    CHECK(aclInit(nullptr));
    CHECK(aclrtSetDevice(0));
    aclrtStream stream;
    CHECK(aclrtCreateStream(&stream));
    multiply(stream);
    CHECK(aclrtDestroyStream(stream));
    CHECK(aclrtResetDevice(0));
    CHECK(aclFinalize());
    std::puts("matmul_float16: right");
}
