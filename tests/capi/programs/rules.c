/* A client library in a Python process: what its threads may do while Python's lock is held, and what must not happen to them. */
#include "add.h"

#include <pthread.h>
#include <time.h>

static aclrtContext context;
static pthread_mutex_t allocator = PTHREAD_MUTEX_INITIALIZER; /* as a caching allocator's */
static volatile int stop = 0;
static volatile aclError failure = 0;

static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

int begin(void) {
    CHECK(aclInit(NULL));
    CHECK(aclrtSetDevice(0));
    CHECK(aclrtGetCurrentContext(&context));
    return add_once(NULL);
}

int end(void) {
    CHECK(aclrtResetDevice(0));
    return aclFinalize();
}

static void everything_but_operators(aclrtStream stream, aclrtEvent event, char *host, void *device) {
    int64_t dims[] = {64};
    CHECK(aclrtMemcpy(device, 64, host, 64, ACL_MEMCPY_HOST_TO_DEVICE));
    CHECK(aclrtMemcpyAsync(host, 64, device, 64, ACL_MEMCPY_DEVICE_TO_HOST, stream));
    CHECK(aclrtRecordEvent(event, stream));
    CHECK(aclrtStreamWaitEvent(stream, event));
    CHECK(aclrtSynchronizeEvent(event));
    CHECK(aclrtSynchronizeStream(stream));
    aclTensorDesc *desc = aclCreateTensorDesc(ACL_INT8, 1, dims, ACL_FORMAT_ND);
    aclDataBuffer *buffer = aclCreateDataBuffer(device, 64);
    aclopAttr *attr = aclopCreateAttr();
    CHECK(aclopSetAttrInt(attr, "axis", 0));
    aclopDestroyAttr(attr);
    CHECK(aclDestroyDataBuffer(buffer));
    aclDestroyTensorDesc(desc);
    REQUIRE(aclrtFree(host) != 0); /* a text is made, too */
    REQUIRE(aclGetRecentErrMsg());
}

static void *machine_calls(void *seconds) {
    aclrtStream stream;
    aclrtEvent event;
    void *device;
    char host[64];
    CHECK(aclrtSetCurrentContext(context));
    CHECK(aclrtCreateStream(&stream));
    CHECK(aclrtCreateEvent(&event));
    CHECK(aclrtMalloc(&device, 64, ACL_MEM_MALLOC_HUGE_FIRST));
    for (double over = now() + *(double *)seconds; now() < over;) everything_but_operators(stream, event, host, device);
    CHECK(aclrtFree(device));
    CHECK(aclrtDestroyEvent(event));
    CHECK(aclrtDestroyStream(stream));
    return NULL;
}

/* Called with Python's lock held, which stays held while the thread works. */
int wait_while_holding_the_lock(double seconds) {
    pthread_t thread;
    pthread_create(&thread, NULL, machine_calls, &seconds);
    return pthread_join(thread, NULL);
}

/* Each time another attribute: no model fits, and much Python runs. It is one that no operator knows. */
static aclError add_anew(aclrtStream stream) {
    static int64_t number = 0;
    aclopAttr *attr = aclopCreateAttr();
    CHECK(aclopSetAttrInt(attr, "number", __atomic_add_fetch(&number, 1, __ATOMIC_RELAXED)));
    aclError code = add_with("Add", attr, stream);
    aclopDestroyAttr(attr);
    return code;
}

static void *operators(void *unused) {
    (void)unused;
    aclrtStream stream;
    CHECK(aclrtSetCurrentContext(context));
    CHECK(aclrtCreateStream(&stream));
    while (!stop) {
        void *memory;
        if ((failure = add_once(stream)) != 0 || (failure = add_anew(stream)) != 0) break;
        pthread_mutex_lock(&allocator);
        CHECK(aclrtMalloc(&memory, 64, ACL_MEM_MALLOC_HUGE_FIRST));
        CHECK(aclrtFree(memory));
        pthread_mutex_unlock(&allocator);
    }
    CHECK(aclrtDestroyStream(stream));
    return NULL;
}

enum { WORKERS = 3 };
static pthread_t workers[WORKERS];

void start_operators(void) {
    stop = 0;
    for (int i = 0; i < WORKERS; i++) pthread_create(&workers[i], NULL, operators, NULL);
}

/* Called with the lock released; gives the failure that ended a worker. */
int stop_operators(void) {
    stop = 1;
    for (int i = 0; i < WORKERS; i++) pthread_join(workers[i], NULL);
    return failure;
}

/* Called with Python's lock held: takes the allocator's mutex, as the workers do without the lock. */
int allocate_while_holding_the_lock(void) {
    void *memory;
    pthread_mutex_lock(&allocator);
    CHECK(aclrtMalloc(&memory, 64, ACL_MEM_MALLOC_HUGE_FIRST));
    CHECK(aclrtFree(memory));
    pthread_mutex_unlock(&allocator);
    return 0;
}
