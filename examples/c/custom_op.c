/*
 * An operator that hostacl does not have, written in Python (my_ops.py) and called like any other.
 * Usage: HOSTACL_OPS=my_ops.py hostacl run ./custom_op
 */
#include "acl/acl_op_compiler.h"
#include "check.h"

enum { COUNT = 6 };

int main(void) {
    float x[COUNT], y[COUNT], z[COUNT];
    for (int i = 0; i < COUNT; i++) {
        x[i] = (float)i;
        y[i] = 100.0f * (float)i;
    }

    CHECK(aclInit(NULL));
    CHECK(aclrtSetDevice(0));
    aclrtStream stream;
    CHECK(aclrtCreateStream(&stream));

    int64_t dims[] = {2, 3};
    aclTensorDesc *desc = aclCreateTensorDesc(ACL_FLOAT, 2, dims, ACL_FORMAT_ND);
    void *memory[3];
    aclDataBuffer *buffers[3];
    for (int i = 0; i < 3; i++) {
        CHECK(aclrtMalloc(&memory[i], sizeof x, ACL_MEM_MALLOC_NORMAL_ONLY));
        buffers[i] = aclCreateDataBuffer(memory[i], sizeof x);
    }
    CHECK(aclrtMemcpy(memory[0], sizeof x, x, sizeof x, ACL_MEMCPY_HOST_TO_DEVICE));
    CHECK(aclrtMemcpy(memory[1], sizeof y, y, sizeof y, ACL_MEMCPY_HOST_TO_DEVICE));

    aclTensorDesc *input_descs[] = {desc, desc}, *output_descs[] = {desc};
    aclopAttr *attr = aclopCreateAttr();
    CHECK(aclopSetAttrFloat(attr, "alpha", 0.5f));
    CHECK(aclopCompileAndExecuteV2("AxpyCustom", 2, input_descs, buffers, 1, output_descs, &buffers[2], attr,
                                   ACL_ENGINE_SYS, ACL_COMPILE_SYS, NULL, stream));
    CHECK(aclrtSynchronizeStream(stream));
    CHECK(aclrtMemcpy(z, sizeof z, memory[2], sizeof z, ACL_MEMCPY_DEVICE_TO_HOST));
    for (int i = 0; i < COUNT; i++) REQUIRE(z[i] == 0.5f * x[i] + y[i]);

    aclopDestroyAttr(attr);
    aclDestroyTensorDesc(desc);
    for (int i = 0; i < 3; i++) {
        CHECK(aclDestroyDataBuffer(buffers[i]));
        CHECK(aclrtFree(memory[i]));
    }
    CHECK(aclrtDestroyStream(stream));
    CHECK(aclrtResetDevice(0));
    CHECK(aclFinalize());
    puts("custom_op: right");
    return 0;
}
