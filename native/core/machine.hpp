// The one lock, and what it guards. Nothing that enters Python, runs a callback or copies a large block
// may run while it is held; nobody may wait for Python's lock while holding it.
#pragma once

#include "core/types.hpp"

#include <condition_variable>
#include <mutex>

namespace hostacl {

struct Machine {
    std::mutex mutex;                // guards every table: handles, memory, devices, contexts, streams, events
    std::condition_variable changed; // a stream, event or callback queue moved on
    int waiting = 0;                 // threads in a wait on `changed`
    HACL_API void moved_on();        // wakes them; lock held
};

HACL_API Machine& machine();

using Lock = std::unique_lock<std::mutex>;
inline Lock lock_machine() { return Lock(machine().mutex); }

} // namespace hostacl
