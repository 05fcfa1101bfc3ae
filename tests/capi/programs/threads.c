/* Eight threads whose first operators come at once: one Python is started, all get their results. */
#include "add.h"

#include <pthread.h>

static aclrtContext context;
static pthread_barrier_t barrier;

static void *work(void *unused) {
    (void)unused;
    aclrtStream stream;
    CHECK(aclrtSetCurrentContext(context));
    CHECK(aclrtCreateStream(&stream));
    pthread_barrier_wait(&barrier);
    for (int i = 0; i < 50; i++) CHECK(add_once(stream));
    CHECK(aclrtDestroyStream(stream));
    return NULL;
}

int main(void) {
    pthread_t threads[8];
    CHECK(aclInit(NULL));
    CHECK(aclrtSetDevice(0));
    CHECK(aclrtGetCurrentContext(&context));
    pthread_barrier_init(&barrier, NULL, 8);
    for (int i = 0; i < 8; i++) pthread_create(&threads[i], NULL, work, NULL);
    for (int i = 0; i < 8; i++) pthread_join(threads[i], NULL);
    CHECK(aclrtResetDevice(0));
    CHECK(aclFinalize());
    puts("right");
    return 0;
}
