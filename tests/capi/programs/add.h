/* One addition by the API, checked: the smallest use of Python that a C program makes. */
#ifndef ADD_H
#define ADD_H

#include "acl/acl.h"
#include "acl/acl_op_compiler.h"

#include <stdio.h>
#include <stdlib.h>

/* Writes the messages of this thread and ends the process with a code of its own. */
static inline void fail_at(int line, long code) {
    const char *why = aclGetRecentErrMsg();
    printf("line %d: %ld\n%s\n", line, code, why ? why : "no text");
    fflush(stdout);
    _Exit(3);
}
#define CHECK(call)                                      \
    do {                                                 \
        long code_ = (call);                             \
        if (code_) fail_at(__LINE__, code_);             \
    } while (0)
#define REQUIRE(condition)                               \
    do {                                                 \
        if (!(condition)) fail_at(__LINE__, -1);         \
    } while (0)

/* 1.5 + 2.25 on 8 floats, by Add or another name, on a stream; gives the code of the call, else of the synchronize. */
static inline aclError add_with(const char *op, const aclopAttr *attr, aclrtStream stream) {
    float host[8], out[8];
    int64_t dims[] = {8};
    void *memory[3];
    aclTensorDesc *descs[3];
    aclDataBuffer *buffers[3];
    for (int i = 0; i < 3; i++) {
        CHECK(aclrtMalloc(&memory[i], sizeof host, ACL_MEM_MALLOC_HUGE_FIRST));
        for (int k = 0; k < 8; k++) host[k] = i == 0 ? 1.5f : i == 1 ? 2.25f + (float)k : 0;
        CHECK(aclrtMemcpy(memory[i], sizeof host, host, sizeof host, ACL_MEMCPY_HOST_TO_DEVICE));
        descs[i] = aclCreateTensorDesc(ACL_FLOAT, 1, dims, ACL_FORMAT_ND);
        buffers[i] = aclCreateDataBuffer(memory[i], sizeof host);
    }
    aclError code = aclopCompileAndExecuteV2(op, 2, descs, buffers, 1, descs + 2, buffers + 2, (aclopAttr *)attr, ACL_ENGINE_SYS,
                                             ACL_COMPILE_SYS, NULL, stream);
    if (!code) code = aclrtSynchronizeStream(stream);
    if (!code) {
        CHECK(aclrtMemcpy(out, sizeof out, memory[2], sizeof out, ACL_MEMCPY_DEVICE_TO_HOST));
        for (int k = 0; k < 8; k++) REQUIRE(out[k] == 3.75f + (float)k);
    }
    for (int i = 0; i < 3; i++) {
        aclDestroyTensorDesc(descs[i]);
        CHECK(aclDestroyDataBuffer(buffers[i]));
        CHECK(aclrtFree(memory[i]));
    }
    return code;
}

static inline aclError add_once(aclrtStream stream) { return add_with("Add", NULL, stream); }

#endif
