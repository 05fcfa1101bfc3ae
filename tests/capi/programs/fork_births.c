/* A fork while new threads run their first operators: each makes a state of Python's, whose list the child needs. */
#include "child.h"

#include <pthread.h>

static aclrtContext context;
static volatile int stop = 0;

static void *once(void *unused) {
    (void)unused;
    aclrtStream stream;
    CHECK(aclrtSetCurrentContext(context));
    CHECK(aclrtCreateStream(&stream));
    CHECK(add_once(stream));
    CHECK(aclrtDestroyStream(stream));
    return NULL;
}

static void *births(void *unused) {
    pthread_t threads[4];
    while (!stop) {
        for (int i = 0; i < 4; i++) pthread_create(&threads[i], NULL, once, unused);
        for (int i = 0; i < 4; i++) pthread_join(threads[i], NULL);
    }
    return NULL;
}

static int child(void) {
    CHECK(aclrtSetDevice(0));
    CHECK(add_once(NULL));
    return 0;
}

int main(void) {
    CHECK(aclInit(NULL));
    CHECK(aclrtSetDevice(0));
    CHECK(add_once(NULL));
    CHECK(aclrtGetCurrentContext(&context));
    pthread_t thread;
    pthread_create(&thread, NULL, births, NULL);
    for (int i = 0; i < 100; i++) in_child(child);
    stop = 1;
    pthread_join(thread, NULL);
    CHECK(aclrtResetDevice(0));
    CHECK(aclFinalize());
    puts("right");
    return 0;
}
