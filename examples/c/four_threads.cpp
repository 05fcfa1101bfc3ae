// Four threads, each with a stream of its own, in the context of the main thread: x = x * 3 - x, again and again.
#include "acl/acl_op_compiler.h"
#include "tensor.hpp"

#include <cstdio>
#include <thread>

namespace {

constexpr int kThreads = 4, kRounds = 15, kCount = 1000;

void run(const char *op, Tensor &x1, Tensor &x2, Tensor &y, aclrtStream stream) {
    aclTensorDesc *input_descs[] = {x1.desc(), x2.desc()}, *output_descs[] = {y.desc()};
    aclDataBuffer *inputs[] = {x1.buffer(), x2.buffer()}, *outputs[] = {y.buffer()};
    CHECK(aclopCompileAndExecuteV2(op, 2, input_descs, inputs, 1, output_descs, outputs, nullptr, ACL_ENGINE_SYS,
                                   ACL_COMPILE_SYS, nullptr, stream));
}

void work(aclrtContext context, int number) {
    CHECK(aclrtSetCurrentContext(context)); // a new thread has none
    aclrtStream stream;
    CHECK(aclrtCreateStream(&stream));
    std::vector<int32_t> values(kCount);
    for (int i = 0; i < kCount; i++) values[i] = number * kCount + i;
    {
        Tensor x(ACL_INT32, {kCount}, values), tripled(ACL_INT32, {kCount});
        Tensor three(ACL_INT32, {}, std::vector<int32_t>{3});
        for (int round = 0; round < kRounds; round++) {
            run("Mul", x, three, tripled, stream);
            run("Sub", tripled, x, x, stream);
        }
        CHECK(aclrtSynchronizeStream(stream));
        std::vector<int32_t> result = x.values<int32_t>();
        for (int i = 0; i < kCount; i++) REQUIRE(result[i] == values[i] * (1 << kRounds));
    }
    CHECK(aclrtDestroyStream(stream));
}

} // namespace

int main() {
    CHECK(aclInit(nullptr));
    CHECK(aclrtSetDevice(0));
    aclrtContext context;
    CHECK(aclrtGetCurrentContext(&context));
    std::vector<std::thread> threads;
    for (int i = 0; i < kThreads; i++) threads.emplace_back(work, context, i);
    for (std::thread &thread : threads) thread.join();
    CHECK(aclrtResetDevice(0));
    CHECK(aclFinalize());
    std::puts("four_threads: right");
}
