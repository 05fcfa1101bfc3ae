/* Add by handle: the model is looked for once; then only buffers are given. */
#include "acl/acl_op_compiler.h"
#include "check.h"

enum { COUNT = 24, ROUNDS = 5 };

int main(void) {
    aclrtStream stream;
    CHECK(aclInit(""));
    CHECK(aclrtSetDevice(0));
    CHECK(aclrtCreateStream(&stream));

    int64_t dims[] = {2, 3, 4};
    aclTensorDesc *desc = aclCreateTensorDesc(ACL_INT64, 3, dims, ACL_FORMAT_ND);
    const aclTensorDesc *inputs[] = {desc, desc}, *outputs[] = {desc}; /* one object in three places */
    size_t size = aclGetTensorDescSize(desc);
    REQUIRE(size == COUNT * sizeof(int64_t));
    CHECK(aclopCompile("Add", 2, inputs, 1, outputs, NULL, ACL_ENGINE_SYS, ACL_COMPILE_SYS, NULL));
    aclopHandle *handle = NULL;
    CHECK(aclopCreateHandle("Add", 2, inputs, 1, outputs, NULL, &handle));
    aclDestroyTensorDesc(desc);

    int64_t host[COUNT];
    void *total, *step;
    CHECK(aclrtMalloc(&total, size, ACL_MEM_MALLOC_HUGE_FIRST));
    CHECK(aclrtMalloc(&step, size, ACL_MEM_MALLOC_HUGE_FIRST));
    for (int i = 0; i < COUNT; i++) host[i] = (INT64_C(1) << 60) + i; /* no float holds it */
    CHECK(aclrtMemset(total, size, 0, size));
    CHECK(aclrtMemcpy(step, size, host, size, ACL_MEMCPY_HOST_TO_DEVICE));

    aclDataBuffer *sum = aclCreateDataBuffer(total, size), *addend = aclCreateDataBuffer(step, size);
    const aclDataBuffer *arguments[] = {sum, addend};
    for (int round = 0; round < ROUNDS; round++) /* in place: the sum is the first input, too */
        CHECK(aclopExecWithHandle(handle, 2, arguments, 1, &sum, stream));
    CHECK(aclrtSynchronizeStream(stream));
    CHECK(aclrtMemcpy(host, size, total, size, ACL_MEMCPY_DEVICE_TO_HOST));
    for (int i = 0; i < COUNT; i++) REQUIRE(host[i] == ROUNDS * ((INT64_C(1) << 60) + i));

    aclopDestroyHandle(handle);
    CHECK(aclDestroyDataBuffer(sum));
    CHECK(aclDestroyDataBuffer(addend));
    CHECK(aclrtFree(total));
    CHECK(aclrtFree(step));
    CHECK(aclrtDestroyStream(stream));
    CHECK(aclrtResetDevice(0));
    CHECK(aclFinalize());
    puts("add_handle: right");
    return 0;
}
