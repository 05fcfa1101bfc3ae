/* Thousands of operators on one stream: the process does not grow with them. */
#include "add.h"

#include <malloc.h>

static size_t in_use(void) {
    struct mallinfo2 info = mallinfo2();
    return info.uordblks + info.hblkhd;
}

int main(void) {
    aclrtStream stream;
    CHECK(aclInit(NULL));
    CHECK(aclrtSetDevice(0));
    CHECK(aclrtCreateStream(&stream));
    for (int i = 0; i < 300; i++) CHECK(add_once(stream));
    size_t before = in_use();
    for (int i = 0; i < 3000; i++) CHECK(add_once(stream));
    size_t after = in_use();
    printf("%ld bytes for each\n", ((long)after - (long)before) / 3000);
    CHECK(aclrtDestroyStream(stream));
    CHECK(aclrtResetDevice(0));
    CHECK(aclFinalize());
    return 0;
}
