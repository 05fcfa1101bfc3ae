// Events: marks in streams that other streams and the program wait for.
#pragma once

#include "core/handles.hpp"
#include "core/stream.hpp"

#include <memory>

namespace hostacl {

// One record of an event. Lock held for all of it.
struct Mark {
    bool done = false;
    int64_t time_ns = 0;
    std::weak_ptr<Stream> stream; // where it stands
};

struct Event {
    Handle handle = 0;
    uint32_t id = 0;
    uint32_t flags = 0;
    bool destroyed = false;
    std::shared_ptr<Mark> mark; // of the latest record; null: never recorded, or reset
    size_t waits_pending = 0;   // aclrtStreamWaitEvent tasks that have not run
};
using EventPtr = std::shared_ptr<Event>;

constexpr uint32_t kEventSync = 1, kEventProgress = 2, kEventTimeLine = 8;

Code create_event(uint32_t flags, Handle* handle);
Code destroy_event(Handle handle);
Code record_event(Handle event, Handle stream);
Code reset_event(Handle event, Handle stream);
Code wait_event(Handle stream, Handle event);
Code synchronize_event(Handle event, int64_t timeout_ms);
Code query_event(Handle event, bool* recorded, bool* waits_done); // runs what is ready first
Code event_time(Handle event, const char* name, int64_t* time_ns);
Code event_id(Handle event, uint32_t* id);
bool is_live_event(Handle event); // lock held
size_t live_events();             // no lock held
void forget_events();             // all are dead then; no lock held

} // namespace hostacl
