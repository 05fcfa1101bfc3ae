/* Compiles one Add and runs it. */
#include "add.h"

int main(void) {
    CHECK(aclInit(NULL));
    CHECK(aclrtSetDevice(0));
    add_once(NULL);
    CHECK(aclFinalize());
    return 0;
}
