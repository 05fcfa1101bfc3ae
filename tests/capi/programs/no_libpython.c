/* As refused.c, on a machine without any libpython: this program's dlopen does not find one. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <string.h>

static const char *said = NULL;

__attribute__((visibility("default"))) void *dlopen(const char *name, int flags) {
    static void *(*real)(const char *, int);
    if (!real) *(void **)&real = dlsym(RTLD_NEXT, "dlopen");
    if (name && strstr(name, "libpython")) {
        said = "libpython: cannot open shared object file: No such file or directory";
        return NULL;
    }
    return real(name, flags);
}

__attribute__((visibility("default"))) char *dlerror(void) {
    char *text = (char *)said;
    said = NULL;
    return text;
}

#include "refused.c"
