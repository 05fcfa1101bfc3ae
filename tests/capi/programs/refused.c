/* The first operator of a program whose Python cannot be had: a code and a text, and the program goes on. Twice, the same. */
#include "add.h"

int main(void) {
    CHECK(aclInit(NULL));
    CHECK(aclrtSetDevice(0));
    for (int i = 0; i < 2; i++) {
        aclError code = add_once(NULL);
        const char *why = aclGetRecentErrMsg();
        printf("%d %s\n", code, why ? why : "no text");
    }
    CHECK(aclrtResetDevice(0));
    CHECK(aclFinalize());
    return 0;
}
