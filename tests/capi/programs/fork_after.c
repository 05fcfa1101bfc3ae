/* A fork while another thread runs operators: the child has no context, sets a device, and runs its own. */
#include "child.h"

#include <pthread.h>

static aclrtContext context;
static volatile int stop = 0;

static void *work(void *unused) {
    (void)unused;
    aclrtStream stream;
    CHECK(aclrtSetCurrentContext(context));
    CHECK(aclrtCreateStream(&stream));
    while (!stop) CHECK(add_once(stream));
    CHECK(aclrtDestroyStream(stream));
    return NULL;
}

static int child(void) {
    aclrtContext none;
    REQUIRE(aclrtGetCurrentContext(&none) == ACL_ERROR_RT_CONTEXT_NULL);
    aclGetRecentErrMsg();
    CHECK(aclrtSetDevice(0));
    for (int i = 0; i < 20; i++) CHECK(add_once(NULL));
    CHECK(aclrtResetDevice(0));
    return 0;
}

int main(void) {
    CHECK(aclInit(NULL));
    CHECK(aclrtSetDevice(0));
    CHECK(add_once(NULL));
    CHECK(aclrtGetCurrentContext(&context));
    pthread_t thread;
    pthread_create(&thread, NULL, work, NULL);
    for (int i = 0; i < 10; i++) in_child(child);
    stop = 1;
    pthread_join(thread, NULL);
    CHECK(aclrtResetDevice(0));
    CHECK(aclFinalize());
    puts("right");
    return 0;
}
