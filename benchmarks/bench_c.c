/* Loops that bench_c.py times: what a C client pays for the calls it makes all the time. Each gives seconds of one turn. */
#include "acl/acl.h"
#include "acl/acl_op_compiler.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { COUNT = 8, THREADS = 4 };

#define CHECK(call)                                                                                \
    do {                                                                                           \
        aclError code_ = (call);                                                                   \
        if (code_ != ACL_SUCCESS) {                                                                \
            fprintf(stderr, "%s:%d: %s gave %d: %s\n", __FILE__, __LINE__, #call, code_, aclGetRecentErrMsg()); \
            exit(1);                                                                               \
        }                                                                                          \
    } while (0)

static double read_clock(clockid_t clock) {
    struct timespec time;
    clock_gettime(clock, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

/* In the thread's own time: another process puts off a long loop, and a short one hardly ever. */
static double now(void) { return read_clock(CLOCK_THREAD_CPUTIME_ID); }
static double wall(void) { return read_clock(CLOCK_MONOTONIC); }

static aclrtContext context;

void begin(void) {
    CHECK(aclInit(NULL));
    CHECK(aclrtSetDevice(0));
    CHECK(aclrtGetCurrentContext(&context));
}

double malloc_free(long turns) {
    double start = now();
    for (long i = 0; i < turns; i++) {
        void *volatile memory = malloc(64);
        free(memory);
    }
    return (now() - start) / (double)turns;
}

double descriptor(long turns) {
    int64_t dims[] = {2, 3};
    double start = now();
    for (long i = 0; i < turns; i++) aclDestroyTensorDesc(aclCreateTensorDesc(ACL_FLOAT, 2, dims, ACL_FORMAT_ND));
    return (now() - start) / (double)turns;
}

double buffer(long turns) {
    char memory[64];
    double start = now();
    for (long i = 0; i < turns; i++) aclDestroyDataBuffer(aclCreateDataBuffer(memory, sizeof memory));
    return (now() - start) / (double)turns;
}

double attribute(long turns) {
    aclopAttr *attr = aclopCreateAttr();
    double start = now();
    for (long i = 0; i < turns; i++) aclopSetAttrInt(attr, "axis", i);
    double end = now();
    aclopDestroyAttr(attr);
    return (end - start) / (double)turns;
}

double event_record(long turns) {
    aclrtEvent event;
    CHECK(aclrtCreateEvent(&event));
    double start = now();
    for (long i = 0; i < turns; i++) aclrtRecordEvent(event, NULL);
    double end = now();
    CHECK(aclrtDestroyEvent(event));
    return (end - start) / (double)turns;
}

/* Add of 8 floats, warmed: descriptors and buffers stay. */
static double add_on(aclrtStream stream, long turns) {
    int64_t dims[] = {COUNT};
    float host[COUNT] = {1, 2, 3, 4, 5, 6, 7, 8};
    void *memory[3];
    aclTensorDesc *descs[3];
    aclDataBuffer *buffers[3];
    for (int i = 0; i < 3; i++) {
        CHECK(aclrtMalloc(&memory[i], sizeof host, ACL_MEM_MALLOC_HUGE_FIRST));
        CHECK(aclrtMemcpy(memory[i], sizeof host, host, sizeof host, ACL_MEMCPY_HOST_TO_DEVICE));
        descs[i] = aclCreateTensorDesc(ACL_FLOAT, 1, dims, ACL_FORMAT_ND);
        buffers[i] = aclCreateDataBuffer(memory[i], sizeof host);
    }
    CHECK(aclopCompileAndExecuteV2("Add", 2, descs, buffers, 1, descs + 2, buffers + 2, NULL, ACL_ENGINE_SYS, ACL_COMPILE_SYS, NULL,
                                   stream));
    double start = now();
    for (long i = 0; i < turns; i++) CHECK(aclopExecuteV2("Add", 2, descs, buffers, 1, descs + 2, buffers + 2, NULL, stream));
    CHECK(aclrtSynchronizeStream(stream));
    double end = now();
    CHECK(aclrtMemcpy(host, sizeof host, memory[2], sizeof host, ACL_MEMCPY_DEVICE_TO_HOST));
    if (host[7] != 16) exit(1);
    for (int i = 0; i < 3; i++) {
        aclDestroyTensorDesc(descs[i]);
        CHECK(aclDestroyDataBuffer(buffers[i]));
        CHECK(aclrtFree(memory[i]));
    }
    return (end - start) / (double)turns;
}

double add(long turns) { return add_on(NULL, turns); }

static void *add_in_thread(void *turns) {
    aclrtStream stream;
    CHECK(aclrtSetCurrentContext(context));
    CHECK(aclrtCreateStream(&stream));
    add_on(stream, *(long *)turns);
    CHECK(aclrtDestroyStream(stream));
    return NULL;
}

/* Wall time over all operators of all threads; with one thread it is started in the same way. */
double add_threads(long turns, int threads) {
    pthread_t all[THREADS];
    long each = turns / threads;
    double start = wall();
    for (int i = 0; i < threads; i++) pthread_create(&all[i], NULL, add_in_thread, &each);
    for (int i = 0; i < threads; i++) pthread_join(all[i], NULL);
    return (wall() - start) / (double)(each * threads);
}
