/* A forked child that runs a function, and that it ended well. */
#ifndef CHILD_H
#define CHILD_H

#include "add.h"

#include <sys/wait.h>
#include <unistd.h>

static inline void in_child(int (*run)(void)) {
    fflush(stdout);
    pid_t pid = fork();
    if (pid == 0) _exit(run());
    int status = -1;
    waitpid(pid, &status, 0);
    REQUIRE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

#endif
