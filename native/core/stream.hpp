// Streams: tasks in order, failures kept until a synchronize returns them.
#pragma once

#include "core/types.hpp"

#include <deque>
#include <memory>
#include <string>

namespace hostacl {

enum Use : unsigned { kReads = 1, kWrites = 2 }; // what a task does with memory

struct Failure {
    Code code = 0;
    std::string text; // complete: rule, function, operator, shapes, submit site
};

class Task {
  public:
    virtual ~Task() = default;
    virtual bool ready() const { return true; } // lock held
    virtual Failure run() = 0;                  // no lock held; runs once
    virtual bool enters_python() const { return false; }
    virtual std::string describe() const = 0;   // "operator Add", "copy of 64 bytes host to device"
    virtual unsigned uses(uintptr_t, uintptr_t) const { return 0; } // what it will do with the bytes from start to end; lock held
    uint32_t id = 0;                            // numbered by the stream that takes it
    std::string site;                           // where it was submitted
};

struct Stream; // context, queue, busy mark, kept failures, failure mode, callback thread: stream.cpp
using StreamPtr = std::shared_ptr<Stream>;

// The stream of a handle; 0 is the default stream of this thread's current context. Checks the context
// first (107002), then the handle (107017), keeping a text. Lock held.
HACL_API Code resolve_stream(Handle stream, StreamPtr* out);
Code find_stream(Handle stream, const StreamPtr** out); // the same, where the table keeps it: valid while the lock is held

// The fast way for a task that can run at once: true when the scheduler is eager and nothing is pending, and
// marks the stream busy. The caller then drops the lock, runs the work, and calls finish(). Lock held.
HACL_API bool try_begin(Stream& stream);

// Ends what try_begin began: keeps the failure if there is one (`keep`), then runs what arrived meanwhile. No lock held.
HACL_API void finish(Stream& stream, Failure failure, bool keep = true);

// Queues a task, or runs it now if try_begin allows. A refusing stream (stop on failure) gives its code. No lock held.
HACL_API Code submit(const StreamPtr& stream, std::unique_ptr<Task> task);

// Submits and runs the stream up to and including this task, whatever the scheduler; gives this task's own failure and
// does not keep it. No lock held.
HACL_API Failure submit_and_run(const StreamPtr& stream, std::unique_ptr<Task> task);

// Runs what has become ready on every stream, waits until `stream` is idle or the time (ms, -1 for ever) is over, returns
// and clears the stream's first kept failure (all their texts are kept as messages). No lock held.
HACL_API Code synchronize(const StreamPtr& stream, int64_t timeout_ms);

} // namespace hostacl
