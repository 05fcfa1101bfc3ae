/* A program with an interpreter of its own: operators use it, from the thread with the lock and from one without; after it has
 * ended they are refused, and the rest of the API still answers. */
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include "add.h"

#include <pthread.h>

static aclrtContext context;

static void *work(void *unused) {
    (void)unused;
    CHECK(aclrtSetCurrentContext(context));
    CHECK(add_once(NULL));
    return NULL;
}

int main(int argc, char **argv) {
    PyConfig config;
    PyConfig_InitPythonConfig(&config);
    REQUIRE(argc == 2 && !PyStatus_Exception(PyConfig_SetBytesString(&config, &config.program_name, argv[1])));
    REQUIRE(!PyStatus_Exception(Py_InitializeFromConfig(&config)));
    PyConfig_Clear(&config);

    CHECK(aclInit(NULL));
    CHECK(aclrtSetDevice(0));
    CHECK(aclrtGetCurrentContext(&context));
    CHECK(add_once(NULL));
    pthread_t thread;
    Py_BEGIN_ALLOW_THREADS;
    pthread_create(&thread, NULL, work, NULL);
    pthread_join(thread, NULL);
    Py_END_ALLOW_THREADS;
    REQUIRE(PyRun_SimpleString("import hostacl") == 0);

    REQUIRE(Py_FinalizeEx() == 0);
    const char *ops[] = {"Add", "AddV2"}; /* one that ran before, one that did not */
    for (int i = 0; i < 2; i++) {
        aclError code = add_with(ops[i], NULL, NULL);
        const char *why = aclGetRecentErrMsg();
        printf("%d %s\n", code, why ? why : "no text");
    }
    REQUIRE(!Py_IsInitialized());
    CHECK(aclrtSynchronizeDevice());
    CHECK(aclrtResetDevice(0));
    CHECK(aclFinalize());
    return 0;
}
