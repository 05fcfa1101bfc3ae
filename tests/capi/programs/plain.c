/* Signals and locale are the program's, before and after Python came; a late call from an exit handler is answered. */
#include "add.h"

#include <locale.h>
#include <signal.h>
#include <string.h>

static void at_exit(void) {
    int32_t device = -1;
    aclrtGetDevice(&device);
    aclrtResetDevice(0);
    aclrtSynchronizeDevice();
    puts("exit handler answered");
}

int main(void) {
    atexit(at_exit);
    char before[64];
    strcpy(before, setlocale(LC_ALL, NULL));
    struct sigaction interrupt, pipe, action;  // a shell's background job has SIGINT ignored
    sigaction(SIGINT, NULL, &interrupt);
    sigaction(SIGPIPE, NULL, &pipe);
    CHECK(aclInit(NULL));
    CHECK(aclrtSetDevice(0));
    CHECK(add_once(NULL));
    REQUIRE(sigaction(SIGINT, NULL, &action) == 0 && action.sa_handler == interrupt.sa_handler);
    REQUIRE(sigaction(SIGPIPE, NULL, &action) == 0 && action.sa_handler == pipe.sa_handler);
    REQUIRE(strcmp(before, setlocale(LC_ALL, NULL)) == 0);
    CHECK(aclrtResetDevice(0));
    CHECK(aclFinalize());
    puts("right");
    return 0;
}
