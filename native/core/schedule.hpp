// Running what streams hold: in which order, in which thread, and how to wait for it.
#pragma once

#include "core/machine.hpp"
#include "core/memory.hpp"
#include "core/stream_state.hpp"

#include <functional>
#include <string>

namespace hostacl {

enum class Waited : uint8_t { Done, Timeout, Interrupted };

struct Wait {
    std::function<bool()> done;     // lock held
    int64_t timeout_ms = -1;        // -1 for ever; 0 runs what is ready and does not wait
    const Stream* target = nullptr; // run this stream's tasks first; null: of every stream
    bool let_python_run = false;    // release Python's lock while waiting for another thread
};

// Runs what is ready and waits until `done`. The lock is held at the call and after it, not while a task runs.
Waited run_until(Lock& lock, const Wait& wait);

// Under eager: runs whatever has become ready on any stream. No-op when nothing is queued. Lock held at the call and after.
void run_ready(Lock& lock);

// This stream has done all that it holds now. Lock held.
std::function<bool()> done_with_all(const Stream& stream);

// Takes a task into a queue without running anything; a refused task stays the caller's, to let go without the lock. Lock held.
Code enqueue(Stream& stream, std::unique_ptr<Task>& task, std::shared_ptr<Outcome> outcome = nullptr);

// "operator Add (submitted at a.py:3)" when a queued task will use these bytes in one of these ways, else "". Lock held.
std::string describe_pending(uintptr_t start, uintptr_t end, unsigned uses);

// The failures a stream kept, as messages; the first one's code, or 0. Lock held.
std::vector<Failure> take_failures(Stream& stream);
Code say(const std::vector<Failure>& failures);

void leak_queues_after_fork();
size_t queued_tasks();       // of all streams; lock held
uint32_t thread_last_task(); // of this thread; 0: none

// aclrtSetExceptionInfoCallback: called with no lock held when a task has failed.
struct ExceptionInfo {
    uint32_t task = 0, stream = 0, thread = 0, device = 0, code = 0;
};
using ExceptionCallback = void (*)(void* info);
void set_exception_callback(ExceptionCallback callback);
bool is_current_exception(const void* info); // the callback of this thread was given it

} // namespace hostacl
