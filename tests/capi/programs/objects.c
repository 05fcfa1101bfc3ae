/* Every kind of object, made and ended a thousand times, and every kind of copy; no operator, so no Python. */
#include "add.h"

#include <string.h>

static void objects(void) {
    int64_t dims[] = {2, 3}, ones[] = {1, 1}, ranges[][2] = {{1, 2}, {3, 3}};
    uint8_t flags[] = {0, 1};
    const char *words[] = {"a", "b"};
    char bytes[24] = {1};
    aclTensorDesc *desc = aclCreateTensorDesc(ACL_INT32, 2, dims, ACL_FORMAT_ND);
    aclSetTensorDescName(desc, "x");
    CHECK(aclSetTensorShapeRange(desc, 2, ranges));
    CHECK(aclSetTensorConst(desc, bytes, sizeof bytes));
    aclDataBuffer *buffer = aclCreateDataBuffer(bytes, sizeof bytes);
    aclopAttr *attr = aclopCreateAttr();
    CHECK(aclopSetAttrString(attr, "s", "text"));
    CHECK(aclopSetAttrListInt(attr, "i", 2, ones));
    CHECK(aclopSetAttrListBool(attr, "b", 2, flags));
    CHECK(aclopSetAttrListString(attr, "l", 2, words));
    aclopDestroyAttr(attr);
    CHECK(aclDestroyDataBuffer(buffer));
    aclDestroyTensorDesc(desc);
    aclDestroyTensorDesc(desc); /* dead: nothing happens */
    REQUIRE(aclDestroyDataBuffer(buffer) == ACL_ERROR_INVALID_PARAM);
    REQUIRE(strstr(aclGetRecentErrMsg(), "aclDestroyDataBuffer"));
}

static void machine(void) {
    aclrtContext context;
    aclrtStream stream;
    aclrtEvent start, end;
    void *device, *host;
    float ms;
    CHECK(aclrtCreateContext(&context, 0));
    CHECK(aclrtCreateStream(&stream));
    CHECK(aclrtCreateEvent(&start));
    CHECK(aclrtCreateEvent(&end));
    CHECK(aclrtMalloc(&device, 1000, ACL_MEM_MALLOC_HUGE_FIRST));
    CHECK(aclrtMallocHost(&host, 1000));
    CHECK(aclrtRecordEvent(start, stream));
    CHECK(aclrtMemsetAsync(device, 1000, 5, 1000, stream));
    CHECK(aclrtMemcpyAsync(host, 1000, device, 1000, ACL_MEMCPY_DEVICE_TO_HOST, stream));
    CHECK(aclrtRecordEvent(end, stream));
    CHECK(aclrtSynchronizeStream(stream));
    REQUIRE(((char *)host)[999] == 5);
    CHECK(aclrtEventElapsedTime(&ms, start, end));
    CHECK(aclrtFree(device));
    CHECK(aclrtFreeHost(host));
    CHECK(aclrtDestroyEvent(start));
    CHECK(aclrtDestroyEvent(end));
    CHECK(aclrtDestroyStream(stream));
    CHECK(aclrtDestroyContext(context));
}

int main(void) {
    CHECK(aclInit(NULL));
    CHECK(aclrtSetDevice(0));
    for (int i = 0; i < 1000; i++) objects();
    for (int i = 0; i < 100; i++) machine();
    CHECK(aclrtResetDevice(0));
    CHECK(aclFinalize());
    puts("right");
    return 0;
}
