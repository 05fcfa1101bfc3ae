/* Add of two float vectors: the model is compiled in the program, then run by aclopExecuteV2. */
#include "acl/acl_op_compiler.h"
#include "check.h"

enum { COUNT = 8 };

int main(void) {
    float a[COUNT], b[COUNT], sum[COUNT];
    for (int i = 0; i < COUNT; i++) {
        a[i] = (float)i;
        b[i] = 0.5f * (float)i;
    }

    aclrtStream stream;
    CHECK(aclInit(NULL));
    CHECK(aclrtSetDevice(0));
    CHECK(aclrtCreateStream(&stream));

    int64_t dims[] = {COUNT};
    aclTensorDesc *descs[3];
    aclDataBuffer *buffers[3];
    void *memory[3];
    for (int i = 0; i < 3; i++) {
        CHECK(aclrtMalloc(&memory[i], sizeof a, ACL_MEM_MALLOC_HUGE_FIRST));
        descs[i] = aclCreateTensorDesc(ACL_FLOAT, 1, dims, ACL_FORMAT_ND);
        buffers[i] = aclCreateDataBuffer(memory[i], sizeof a);
        REQUIRE(descs[i] && buffers[i]);
    }
    CHECK(aclrtMemcpy(memory[0], sizeof a, a, sizeof a, ACL_MEMCPY_HOST_TO_DEVICE));
    CHECK(aclrtMemcpy(memory[1], sizeof b, b, sizeof b, ACL_MEMCPY_HOST_TO_DEVICE));

    aclopAttr *attr = aclopCreateAttr();
    CHECK(aclopCompile("Add", 2, (const aclTensorDesc *const *)descs, 1, (const aclTensorDesc *const *)(descs + 2), attr,
                       ACL_ENGINE_SYS, ACL_COMPILE_SYS, NULL));
    CHECK(aclopExecuteV2("Add", 2, descs, buffers, 1, descs + 2, buffers + 2, attr, stream));
    CHECK(aclrtSynchronizeStream(stream));
    CHECK(aclrtMemcpy(sum, sizeof sum, memory[2], sizeof sum, ACL_MEMCPY_DEVICE_TO_HOST));
    for (int i = 0; i < COUNT; i++) REQUIRE(sum[i] == a[i] + b[i]);

    aclopDestroyAttr(attr);
    for (int i = 0; i < 3; i++) {
        aclDestroyTensorDesc(descs[i]);
        CHECK(aclDestroyDataBuffer(buffers[i]));
        CHECK(aclrtFree(memory[i]));
    }
    CHECK(aclrtDestroyStream(stream));
    CHECK(aclrtResetDevice(0));
    CHECK(aclFinalize());
    puts("add_compile: right");
    return 0;
}
