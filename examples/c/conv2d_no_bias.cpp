// Conv2D whose optional bias is left out: an undefined descriptor and an empty buffer keep its place.
#include "acl/acl_op_compiler.h"
#include "tensor.hpp"

#include <cstdio>

namespace {

constexpr int N = 1, C = 2, H = 5, W = 6, OUT = 3, KERNEL = 3;

// Stride 1, padding 1: as large as the input.
std::vector<float> convolution(const std::vector<float> &x, const std::vector<float> &filter) {
    std::vector<float> out(N * OUT * H * W);
    for (int o = 0; o < OUT; o++)
        for (int h = 0; h < H; h++)
            for (int w = 0; w < W; w++)
                for (int c = 0; c < C; c++)
                    for (int i = 0; i < KERNEL; i++)
                        for (int j = 0; j < KERNEL; j++) {
                            int row = h + i - 1, column = w + j - 1;
                            if (row < 0 || row >= H || column < 0 || column >= W) continue;
                            out[(o * H + h) * W + w] +=
                                x[(c * H + row) * W + column] * filter[((o * C + c) * KERNEL + i) * KERNEL + j];
                        }
    return out;
}

void convolve(aclrtStream stream) {
    std::vector<float> x(N * C * H * W), filter(OUT * C * KERNEL * KERNEL);
    for (size_t i = 0; i < x.size(); i++) x[i] = static_cast<float>(i % 11) - 5;
    for (size_t i = 0; i < filter.size(); i++) filter[i] = static_cast<float>(i % 3) - 1;
    Tensor input(ACL_FLOAT, {N, C, H, W}, x, ACL_FORMAT_NCHW);
    Tensor weight(ACL_FLOAT, {OUT, C, KERNEL, KERNEL}, filter, ACL_FORMAT_NCHW);
    Tensor output(ACL_FLOAT, {N, OUT, H, W}, ACL_FORMAT_NCHW);

    aclTensorDesc *no_bias = aclCreateTensorDesc(ACL_DT_UNDEFINED, 0, nullptr, ACL_FORMAT_UNDEFINED);
    aclDataBuffer *no_buffer = aclCreateDataBuffer(nullptr, 0);
    aclTensorDesc *input_descs[] = {input.desc(), weight.desc(), no_bias}, *output_descs[] = {output.desc()};
    aclDataBuffer *inputs[] = {input.buffer(), weight.buffer(), no_buffer}, *outputs[] = {output.buffer()};

    const int64_t ones[] = {1, 1, 1, 1};
    aclopAttr *attr = aclopCreateAttr();
    CHECK(aclopSetAttrListInt(attr, "strides", 4, ones));
    CHECK(aclopSetAttrListInt(attr, "pads", 4, ones));
    CHECK(aclopSetAttrListInt(attr, "dilations", 4, ones));
    CHECK(aclopSetAttrInt(attr, "groups", 1));
    CHECK(aclopSetAttrString(attr, "data_format", "NCHW"));
    CHECK(aclopCompileAndExecuteV2("Conv2D", 3, input_descs, inputs, 1, output_descs, outputs, attr, ACL_ENGINE_SYS,
                                   ACL_COMPILE_SYS, nullptr, stream));
    CHECK(aclrtSynchronizeStream(stream));
    REQUIRE(output.values<float>() == convolution(x, filter));

    aclopDestroyAttr(attr);
    aclDestroyTensorDesc(no_bias);
    CHECK(aclDestroyDataBuffer(no_buffer));
}

} // namespace

int main() {
    CHECK(aclInit(nullptr));
    CHECK(aclrtSetDevice(0));
    aclrtStream stream;
    CHECK(aclrtCreateStream(&stream));
    convolve(stream);
    CHECK(aclrtDestroyStream(stream));
    CHECK(aclrtResetDevice(0));
    CHECK(aclFinalize());
    std::puts("conv2d_no_bias: right");
}
