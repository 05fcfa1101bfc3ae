/* What every example uses: say what failed and why, and leave. C11 and C++11. */
#ifndef CHECK_H
#define CHECK_H

#include "acl/acl.h"

#include <stdio.h>
#include <stdlib.h>

#define CHECK(call)                                                                                     \
    do {                                                                                                \
        aclError code_ = (call);                                                                        \
        if (code_ != ACL_SUCCESS) {                                                                     \
            const char *why_ = aclGetRecentErrMsg();                                                    \
            fprintf(stderr, "%s:%d: %s gave %d\n%s\n", __FILE__, __LINE__, #call, code_, why_ ? why_ : ""); \
            exit(1);                                                                                    \
        }                                                                                               \
    } while (0)

#define REQUIRE(condition)                                                                   \
    do {                                                                                     \
        if (!(condition)) {                                                                  \
            fprintf(stderr, "%s:%d: %s does not hold\n", __FILE__, __LINE__, #condition);    \
            exit(1);                                                                         \
        }                                                                                    \
    } while (0)

#endif
