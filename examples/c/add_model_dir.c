/*
 * Add of two int32 matrices by a model that was made before:
 * atc --singleop=add.json --output=op_models --soc_version=Ascend910B1
 * Usage: add_model_dir [op_models]. aclopExecute is the older call; aclopExecuteV2 takes its place in new programs.
 */
#include "check.h"

#pragma GCC diagnostic ignored "-Wdeprecated-declarations"

enum { ROWS = 8, COLUMNS = 16, COUNT = ROWS * COLUMNS, BYTES = COUNT * sizeof(int32_t) };

int main(int argc, char **argv) {
    CHECK(aclInit(NULL));
    CHECK(aclopSetModelDir(argc > 1 ? argv[1] : "op_models"));
    CHECK(aclrtSetDevice(0));
    aclrtStream stream;
    CHECK(aclrtCreateStream(&stream));

    int32_t *a, *b, sum[COUNT]; /* asynchronous copies want memory of aclrtMallocHost */
    CHECK(aclrtMallocHost((void **)&a, BYTES));
    CHECK(aclrtMallocHost((void **)&b, BYTES));
    for (int i = 0; i < COUNT; i++) {
        a[i] = i;
        b[i] = 1000 * i;
    }

    int64_t dims[] = {ROWS, COLUMNS};
    void *memory[3];
    aclTensorDesc *descs[3];
    aclDataBuffer *buffers[3];
    for (int i = 0; i < 3; i++) {
        CHECK(aclrtMalloc(&memory[i], BYTES, ACL_MEM_MALLOC_NORMAL_ONLY));
        descs[i] = aclCreateTensorDesc(ACL_INT32, 2, dims, ACL_FORMAT_ND);
        buffers[i] = aclCreateDataBuffer(memory[i], BYTES);
    }
    CHECK(aclrtMemcpyAsync(memory[0], BYTES, a, BYTES, ACL_MEMCPY_HOST_TO_DEVICE, stream));
    CHECK(aclrtMemcpyAsync(memory[1], BYTES, b, BYTES, ACL_MEMCPY_HOST_TO_DEVICE, stream));

    const aclTensorDesc *input_descs[] = {descs[0], descs[1]}, *output_descs[] = {descs[2]};
    const aclDataBuffer *inputs[] = {buffers[0], buffers[1]};
    aclopAttr *attr = aclopCreateAttr();
    CHECK(aclopExecute("Add", 2, input_descs, inputs, 1, output_descs, &buffers[2], attr, stream));
    aclopDestroyAttr(attr); /* a submitted call keeps what it needs */
    CHECK(aclrtSynchronizeStream(stream));
    CHECK(aclrtMemcpy(sum, sizeof sum, memory[2], sizeof sum, ACL_MEMCPY_DEVICE_TO_HOST));
    for (int i = 0; i < COUNT; i++) REQUIRE(sum[i] == 1001 * i);

    for (int i = 0; i < 3; i++) {
        aclDestroyTensorDesc(descs[i]);
        CHECK(aclDestroyDataBuffer(buffers[i]));
        CHECK(aclrtFree(memory[i]));
    }
    CHECK(aclrtFreeHost(a));
    CHECK(aclrtFreeHost(b));
    CHECK(aclrtDestroyStream(stream));
    CHECK(aclrtResetDevice(0));
    CHECK(aclFinalize());
    puts("add_model_dir: right");
    return 0;
}
