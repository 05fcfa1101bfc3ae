#include "core/event.hpp"

#include "core/context.hpp"
#include "core/hooks.hpp"
#include "core/message.hpp"
#include "core/schedule.hpp"
#include "core/stale.hpp"
#include "core/status.hpp"

#include <chrono>

namespace hostacl {
namespace {

using EventTable = HandleTable<EventPtr, Kind::Event>;

EventTable& events() {
    static EventTable& table = *new EventTable;
    return table;
}

// The event of a handle: 107017 and a text otherwise. Lock held; the pointer is the table's own.
Code find_event(Handle handle, const char* name, const EventPtr** out) {
    EventPtr* found = events().find(handle);
    if (!found)
        return fail(ACL_ERROR_RT_INVALID_HANDLE, "HA303",
                    format("%s = %s; allowed: a live event", name, describe_handle(handle).c_str()));
    *out = found;
    return 0;
}

Code find_event(Handle handle, const char* name, EventPtr* out) {
    const EventPtr* found = nullptr;
    if (Code code = find_event(handle, name, &found)) return code;
    *out = *found;
    return 0;
}

int64_t now_ns() { return std::chrono::steady_clock::now().time_since_epoch() / std::chrono::nanoseconds(1); }

// A mark of an event that was reached: its own again when nobody else looks at it.
void reach(Event& event, const StreamPtr& stream) {
    if (!event.mark || event.mark.use_count() > 1) event.mark = std::make_shared<Mark>();
    event.mark->stream = stream;
    event.mark->time_ns = now_ns();
    event.mark->done = true;
}

class RecordTask : public Task {
  public:
    explicit RecordTask(std::shared_ptr<Mark> mark) : mark_(std::move(mark)) {}
    Failure run() override {
        Lock lock = lock_machine();
        mark_->time_ns = now_ns();
        mark_->done = true;
        machine().moved_on();
        return {};
    }
    std::string describe() const override { return "record of an event"; }

  private:
    std::shared_ptr<Mark> mark_;
};

class WaitTask : public Task {
  public:
    explicit WaitTask(EventPtr event) : event_(std::move(event)), mark_(event_->mark) { event_->waits_pending++; }
    ~WaitTask() override {
        Lock lock = lock_machine();
        event_->waits_pending--;
        machine().moved_on();
    }
    // For an event never recorded so far the next record counts.
    bool ready() const override {
        const Mark* mark = mark_ ? mark_.get() : event_->mark.get();
        return mark ? mark->done : event_->destroyed;
    }
    Failure run() override { return {}; }
    std::string describe() const override {
        return mark_ ? "wait for an event that is not reached yet"
                     : "wait for an event that was not recorded when the wait was made";
    }

  private:
    EventPtr event_;
    std::shared_ptr<Mark> mark_;
};

class ResetTask : public Task {
  public:
    Failure run() override { return {}; } // the event was reset in the order of the calls
    std::string describe() const override { return "reset of an event"; }
};

// Runs what is ready so that a polling program gets on. Lock held.
void get_on(Lock& lock, const EventPtr& event) {
    StreamPtr stream = event->mark ? event->mark->stream.lock() : nullptr;
    Wait wait;
    wait.done = [&] { return event->mark && event->mark->done && event->waits_pending == 0; };
    wait.timeout_ms = 0;
    wait.target = stream.get();
    if (queued_tasks()) run_until(lock, wait);
}

} // namespace

Code create_event(uint32_t flags, Handle* handle) {
    static uint32_t next_id = 0;
    Lock lock = lock_machine();
    Context* context = nullptr;
    if (Code code = current_context(&context)) return code;
    auto event = std::make_shared<Event>();
    event->flags = flags;
    event->id = next_id++;
    event->handle = events().add(event);
    *handle = event->handle;
    return 0;
}

Code destroy_event(Handle handle) {
    Lock lock = lock_machine();
    EventPtr event;
    if (Code code = find_event(handle, "event", &event)) return code;
    if (event->waits_pending && !event->mark)
        report("HA304", "the event is destroyed while a stream waits for it and nobody recorded it; the wait ends "
                        "here, on a card it may never end");
    else if (event->waits_pending || (event->mark && !event->mark->done))
        report("HA304", format("event = 0x%llx is destroyed while %s; synchronize first", static_cast<unsigned long long>(handle),
                               event->waits_pending ? "a stream has yet to wait for it" : "a stream has yet to record it"));
    event->destroyed = true;
    events().remove(handle);
    machine().moved_on();
    run_ready(lock);
    return 0;
}

Code record_event(Handle handle, Handle stream_handle) {
    EventPtr event;
    StreamPtr stream;
    {
        const EventPtr* found = nullptr;
        const StreamPtr* on = nullptr;
        Lock lock = lock_machine();
        if (Code code = find_event(handle, "event", &found)) return code;
        if (Code code = find_stream(stream_handle, &on)) return code;
        if (queued_tasks() == 0 && try_begin(**on)) {
            reach(**found, *on);
            (*on)->busy = false;
            (*on)->finished++;
            machine().moved_on();
            return 0;
        }
        event = *found;
        stream = *on;
    }
    auto mark = std::make_shared<Mark>();
    mark->stream = stream;
    std::unique_ptr<Task> task = std::make_unique<RecordTask>(mark);
    task->site = call_site();
    Lock lock = lock_machine();
    if (Code code = enqueue(*stream, task)) return code;
    event->mark = mark;
    run_ready(lock);
    return 0;
}

Code reset_event(Handle handle, Handle stream_handle) {
    EventPtr event;
    StreamPtr stream;
    {
        Lock lock = lock_machine();
        if (Code code = find_event(handle, "event", &event)) return code;
        if (Code code = resolve_stream(stream_handle, &stream)) return code;
        event->mark = nullptr;
    }
    return submit(stream, std::make_unique<ResetTask>());
}

Code wait_event(Handle stream_handle, Handle event_handle) {
    EventPtr event;
    StreamPtr stream;
    std::unique_ptr<WaitTask> task;
    bool waits;
    {
        Lock lock = lock_machine();
        if (Code code = resolve_stream(stream_handle, &stream)) return code;
        if (Code code = find_event(event_handle, "event", &event)) return code;
        if (!event->mark)
            report("HA309", format("event = 0x%llx was never recorded (or was reset): on a card there is nothing to wait for; here the "
                                   "next record is waited for",
                                   static_cast<unsigned long long>(event_handle)));
        if (checking(kStale)) note_order(*stream, event->mark ? event->mark->stream.lock() : nullptr);
        task = std::make_unique<WaitTask>(event);
        waits = !task->ready() || !stream->idle();
    }
    if (waits) task->site = call_site();
    return submit(stream, std::move(task));
}

Code synchronize_event(Handle handle, int64_t timeout_ms) {
    EventPtr event;
    Lock lock = lock_machine();
    Context* context = nullptr;
    if (Code code = find_event(handle, "event", &event)) return code;
    if (Code code = current_context(&context)) return code;
    std::shared_ptr<Mark> mark = event->mark;
    if (!mark) {
        report("HA309", format("event = 0x%llx was never recorded (or was reset): there is nothing to wait for",
                               static_cast<unsigned long long>(handle)));
        return 0;
    }
    StreamPtr stream = mark->stream.lock();
    Wait wait; // a mark whose stream was destroyed by force is never reached
    wait.done = [&] { return mark->done || !stream || stream->dead; };
    wait.timeout_ms = timeout_ms;
    wait.target = stream.get();
    Waited waited = run_until(lock, wait);
    if (waited == Waited::Interrupted) return fail(ACL_ERROR_INTERNAL_ERROR, "HA311", "the wait was interrupted");
    if (waited == Waited::Timeout)
        return fail(ACL_ERROR_RT_EVENT_SYNC_TIMEOUT, "HA313",
                    format("event = 0x%llx was not reached after %lld ms", static_cast<unsigned long long>(handle), static_cast<long long>(timeout_ms)));
    if (!stream) return 0;
    std::vector<Failure> failures = take_failures(*stream);
    lock.unlock();
    return say(failures);
}

Code query_event(Handle handle, bool* recorded, bool* waits_done) {
    EventPtr event;
    Lock lock = lock_machine();
    if (Code code = find_event(handle, "event", &event)) return code;
    get_on(lock, event);
    *recorded = event->mark && event->mark->done;
    if (checking(kStale) && *recorded)
        if (StreamPtr stream = event->mark->stream.lock()) waited_for(*stream);
    *waits_done = event->waits_pending == 0;
    return 0;
}

Code event_time(Handle handle, const char* name, int64_t* time_ns) {
    EventPtr event;
    Lock lock = lock_machine();
    if (Code code = find_event(handle, name, &event)) return code;
    get_on(lock, event);
    if (!event->mark)
        return fail(ACL_ERROR_RT_EVENT_TIMESTAMP_INVALID, "HA314",
                    format("%s was never recorded (or was reset): it has no time", name));
    if (!event->mark->done)
        return fail(ACL_ERROR_RT_EVENT_NOT_COMPLETE, "HA315",
                    format("%s is not reached yet; synchronize it first", name));
    *time_ns = event->mark->time_ns;
    return 0;
}

Code event_id(Handle handle, uint32_t* id) {
    EventPtr event;
    Lock lock = lock_machine();
    if (Code code = find_event(handle, "event", &event)) return code;
    *id = event->id;
    return 0;
}

bool is_live_event(Handle handle) { return events().find(handle) != nullptr; }

void forget_events() {
    Lock lock = lock_machine();
    events().clear();
}

size_t live_events() {
    Lock lock = lock_machine();
    return events().live();
}

} // namespace hostacl
