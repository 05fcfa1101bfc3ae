/* A host function in a stream, out of which an exception comes (wrong), or none. */
#include "acl/acl.h"

#include <cstring>
#include <stdexcept>

extern "C" aclError aclrtLaunchHostFunc(aclrtStream stream, void (*function)(void *), void *arguments); // newer than the header

static void host_function(void *wrong) {
    if (wrong) throw std::runtime_error("not foreseen");
}

int main(int count, char **words) {
    aclrtStream stream = nullptr;
    if (count < 2 || aclInit(nullptr) || aclrtSetDevice(0) || aclrtCreateStream(&stream)) return 2;
    if (aclrtLaunchHostFunc(stream, host_function, std::strcmp(words[1], "wrong") ? nullptr : words[1])) return 2;
    aclrtSynchronizeStream(stream);
    return aclrtDestroyStream(stream) || aclFinalize();
}
