// What a stream holds. Everything in it needs the machine lock.
#pragma once

#include "core/context.hpp"
#include "core/stream.hpp"

#include <chrono>
#include <deque>
#include <map>
#include <memory>
#include <thread>
#include <vector>

namespace hostacl {

// Where the failure of a task goes whose caller waits for it.
struct Outcome {
    bool done = false;
    Failure failure;
};

struct Queued {
    std::unique_ptr<Task> task;
    std::shared_ptr<Outcome> outcome; // null: a failure is kept in the stream
};

// Who submitted the latest operator that was not synchronized; known while that is checked.
struct Submitter {
    long thread = 0;
    std::string op, site;
};

// Bytes that an operator reads or writes which nobody has waited for; known while that is checked.
struct Touched {
    uintptr_t start, end;
    Use use;
    std::string op, site;
};

struct Stream {
    Handle handle = 0; // of a default stream too
    int32_t id = 0;
    std::weak_ptr<Context> context;
    const Context* owner = nullptr; // the same, alive while this stream is not dead: for the way of every call
    int32_t device = 0;
    bool is_default = false;
    bool dead = false;

    std::deque<Queued> queue;
    bool busy = false;      // a task runs, without the lock
    std::thread::id runner; // in this thread
    uint64_t submitted = 0; // tasks taken so far
    uint64_t finished = 0;  // tasks that ran or were dropped
    uint32_t next_task = 0;
    uint32_t running = 0; // the task of the last try_begin

    Submitter submitter;
    std::deque<Touched> touched;              // stale.hpp
    std::vector<std::weak_ptr<Stream>> after; // streams whose events this one waits for
    bool after_all = false;
    std::vector<Failure> failures; // until a synchronize returns them
    bool failure_mode_set = false;
    bool stop_on_failure = false;
    uint64_t callback_thread = 0;  // aclrtSubscribeReport; 0: none
    uint64_t host_func_thread = 0; // aclrtSubscribeHostFunc

    uint32_t priority = 0;
    uint32_t flags = 0;
    uint32_t overflow_switch = 0;
    bool overflow_off = false; // switched off by the program: results of its operators are not looked at
    std::map<int32_t, std::vector<uint8_t>> attributes;
    std::map<int32_t, uint32_t> limits;

    bool idle() const { return finished == submitted; }
};

using StreamTable = HandleTable<StreamPtr, Kind::Stream>;
StreamTable& streams(); // lock held

StreamPtr make_stream(const ContextPtr& context, uint32_t priority, uint32_t flags, bool is_default); // lock held

// Waits for its tasks (or drops them), then the handle is dead. No lock held.
Code destroy_stream(Handle handle, bool force);
void drop_tasks(Stream& stream, const Failure& why,
                std::deque<Queued>* dropped); // lock held; free `dropped` without it

} // namespace hostacl
