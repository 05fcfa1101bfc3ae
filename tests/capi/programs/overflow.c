/* The overflow status tells of the operators before it, also of those that ran before it was first asked for. */
#include "add.h"

#include <stdint.h>

static int64_t status_of(aclrtStream stream) {
    int64_t status[8];
    void *memory;
    CHECK(aclrtMalloc(&memory, sizeof status, ACL_MEM_MALLOC_HUGE_FIRST));
    CHECK(aclrtGetOverflowStatus(memory, sizeof status, stream));
    CHECK(aclrtSynchronizeStream(stream));
    CHECK(aclrtMemcpy(status, sizeof status, memory, sizeof status, ACL_MEMCPY_DEVICE_TO_HOST));
    CHECK(aclrtFree(memory));
    return status[0];
}

/* Twice 60000 as halves; gives the bits of the sum. */
static uint16_t twice(aclrtStream stream) {
    uint16_t half = aclFloatToFloat16(60000.0f), out = 0;
    int64_t dims[] = {1};
    void *memory[2];
    for (int i = 0; i < 2; i++) CHECK(aclrtMalloc(&memory[i], 32, ACL_MEM_MALLOC_HUGE_FIRST));
    CHECK(aclrtMemcpy(memory[0], sizeof half, &half, sizeof half, ACL_MEMCPY_HOST_TO_DEVICE));
    aclTensorDesc *desc = aclCreateTensorDesc(ACL_FLOAT16, 1, dims, ACL_FORMAT_ND);
    aclDataBuffer *in = aclCreateDataBuffer(memory[0], sizeof half), *sum = aclCreateDataBuffer(memory[1], sizeof half);
    aclTensorDesc *descs[] = {desc, desc};
    aclDataBuffer *buffers[] = {in, in};
    CHECK(aclopCompileAndExecuteV2("Add", 2, descs, buffers, 1, &desc, &sum, NULL, ACL_ENGINE_SYS, ACL_COMPILE_SYS, NULL, stream));
    CHECK(aclrtSynchronizeStream(stream));
    CHECK(aclrtMemcpy(&out, sizeof out, memory[1], sizeof out, ACL_MEMCPY_DEVICE_TO_HOST));
    CHECK(aclDestroyDataBuffer(in));
    CHECK(aclDestroyDataBuffer(sum));
    aclDestroyTensorDesc(desc);
    for (int i = 0; i < 2; i++) CHECK(aclrtFree(memory[i]));
    return out;
}

int main(void) {
    aclrtStream stream;
    CHECK(aclInit(NULL));
    CHECK(aclrtSetDevice(0));
    CHECK(aclrtCreateStream(&stream));
    CHECK(add_once(stream));
    REQUIRE(status_of(stream) == 0);
    REQUIRE(twice(stream) == 0x7C00);
    REQUIRE(status_of(stream) == 1);
    CHECK(aclrtResetOverflowStatus(stream));
    REQUIRE(status_of(stream) == 0);

    aclrtFloatOverflowMode mode = ACL_RT_OVERFLOW_MODE_UNDEF;
    CHECK(aclrtSetDeviceSatMode(ACL_RT_OVERFLOW_MODE_SATURATION));
    CHECK(aclrtGetDeviceSatMode(&mode));
    REQUIRE(mode == ACL_RT_OVERFLOW_MODE_SATURATION);
    REQUIRE(twice(stream) == 0x7BFF);
    REQUIRE(status_of(stream) == 1);
    CHECK(add_once(stream));
    REQUIRE(status_of(stream) == 1);
    CHECK(aclrtDestroyStream(stream));
    CHECK(aclrtResetDevice(0));
    CHECK(aclFinalize());
    puts("right");
    return 0;
}
