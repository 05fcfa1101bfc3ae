// A program ends in every order of finalize, reset and destroy, some of it left out, the rest done by static destructors.
#include "add.h"

#include <algorithm>
#include <string>
#include <sys/wait.h>
#include <unistd.h>

namespace {

struct Late {
    ~Late() { // after main: answered, whatever was ended before
        int64_t dims[] = {1};
        aclTensorDesc *desc = aclCreateTensorDesc(ACL_FLOAT, 1, dims, ACL_FORMAT_ND);
        aclDestroyTensorDesc(desc);
        int32_t device;
        aclrtGetDevice(&device);
        aclrtSynchronizeDevice();
        aclrtResetDevice(0);
        aclFinalize();
    }
} late;

aclrtStream stream;
aclrtEvent event;

void step(char which) {
    if (which == 'f') aclFinalize();
    if (which == 'r') aclrtResetDevice(0);
    if (which == 'd') {
        aclrtDestroyStream(stream);
        aclrtDestroyEvent(event);
    }
}

void child(const std::string &order) {
    CHECK(aclInit(nullptr));
    CHECK(aclrtSetDevice(0));
    CHECK(aclrtCreateStream(&stream));
    CHECK(aclrtCreateEvent(&event));
    CHECK(add_once(stream));
    CHECK(aclrtRecordEvent(event, stream));
    for (char which : order) step(which);
    std::exit(0);
}

} // namespace

int main() {
    for (size_t length = 1; length <= 3; length++) {
        std::string steps = "dfr";
        do {
            std::fflush(stdout);
            pid_t pid = fork();
            if (pid == 0) child(steps.substr(0, length));
            int status = -1;
            waitpid(pid, &status, 0);
            if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) {
                std::printf("order %s: status %d\n", steps.substr(0, length).c_str(), status);
                return 1;
            }
        } while (length > 1 && std::next_permutation(steps.begin(), steps.end()));
    }
    std::puts("right");
    return 0;
}
