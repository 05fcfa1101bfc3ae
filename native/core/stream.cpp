#include "core/stream.hpp"

#include "core/callback.hpp"
#include "core/config.hpp"
#include "core/message.hpp"
#include "core/schedule.hpp"
#include "core/status.hpp"

#include <algorithm>

namespace hostacl {
namespace {

// A stream of another context works here; on a card it is an error on another device.
void note_foreign_context(const Stream& stream, const Context& current) {
    ContextPtr owner = stream.context.lock();
    if (owner && owner.get() != &current)
        report("HA305", format("stream = 0x%llx belongs to another context than the current one; set that context first",
                               static_cast<unsigned long long>(stream.handle)));
}

Code synchronize_from_inside(const Stream& stream) {
    return fail(ACL_ERROR_RT_PARAM_INVALID, "HA310",
                format("stream = %d waits for itself: the call comes from inside one of its tasks", stream.id));
}

} // namespace

StreamTable& streams() {
    static StreamTable& table = *new StreamTable;
    return table;
}

StreamPtr make_stream(const ContextPtr& context, uint32_t priority, uint32_t flags, bool is_default) {
    static int32_t next_id = 0;
    auto stream = std::make_shared<Stream>();
    stream->context = context;
    stream->owner = context.get();
    stream->device = context->device;
    stream->priority = priority;
    stream->flags = flags;
    stream->is_default = is_default;
    stream->id = next_id++;
    stream->handle = streams().add(stream);
    return stream;
}

Code resolve_stream(Handle handle, StreamPtr* out) {
    const StreamPtr* found = nullptr;
    if (Code code = find_stream(handle, &found)) return code;
    *out = *found;
    return 0;
}

Code find_stream(Handle handle, const StreamPtr** out) {
    Context* context = nullptr;
    if (Code code = current_context(&context)) return code;
    if (!handle) {
        *out = &context->default_stream;
        return 0;
    }
    StreamPtr* found = streams().find(handle);
    if (!found)
        return fail(ACL_ERROR_RT_INVALID_HANDLE, "HA302",
                    format("stream = %s; allowed: a live stream, or 0 for the default stream",
                           describe_handle(handle).c_str()));
    if ((*found)->owner != context) note_foreign_context(**found, *context);
    *out = found;
    return 0;
}

Code synchronize(const StreamPtr& stream, int64_t timeout_ms) {
    Lock lock = lock_machine();
    if (waits_for_this_thread(*stream)) return synchronize_from_inside(*stream);
    Waited waited = Waited::Done;
    if (!stream->idle() || queued_tasks()) {
        Wait wait;
        wait.done = done_with_all(*stream);
        wait.timeout_ms = timeout_ms;
        wait.target = stream.get();
        waited = run_until(lock, wait);
    }
    if (waited == Waited::Interrupted)
        return fail(ACL_ERROR_INTERNAL_ERROR, "HA311", "the wait was interrupted; the stream goes on");
    if (waited == Waited::Timeout) {
        std::string what =
            stream->queue.empty() ? "a task that runs in another thread" : stream->queue.front().task->describe();
        return fail(ACL_ERROR_RT_STREAM_SYNC_TIMEOUT, "HA312",
                    format("stream = %d was not done after %lld ms; it is at: %s", stream->id,
                           static_cast<long long>(timeout_ms), what.c_str()));
    }
    std::vector<Failure> failures = take_failures(*stream);
    bool strict = config().strict;
    lock.unlock();
    if (strict) check_guards();
    return failures.empty() ? 0 : say(failures);
}

Code destroy_stream(Handle handle, bool force) {
    StreamPtr stream;
    std::deque<Queued> dropped;
    Lock lock = lock_machine();
    StreamPtr* found = streams().find(handle);
    if (!found)
        return fail(ACL_ERROR_RT_INVALID_HANDLE, "HA302",
                    format("stream = %s; allowed: a live stream", describe_handle(handle).c_str()));
    stream = *found;
    if (stream->is_default)
        return fail(ACL_ERROR_RT_PARAM_INVALID, "HA306",
                    "stream is the default stream of a context; it ends with the context");
    if (waits_for_this_thread(*stream)) return synchronize_from_inside(*stream);
    if (!stream->queue.empty())
        report("HA307", format("stream = %d is destroyed with %zu tasks not run, first %s%s; synchronize first", stream->id,
                               stream->queue.size(), stream->queue.front().task->describe().c_str(),
                               submitted_at(stream->queue.front().task->site).c_str()));
    if (force) {
        drop_tasks(*stream, {ACL_ERROR_RT_DEVICE_TASK_ABORT, "HA307: the stream was destroyed by force"}, &dropped);
    }
    Wait wait;
    wait.done = [&] { return stream->idle() || stream->dead; };
    wait.target = stream.get();
    if (run_until(lock, wait) == Waited::Interrupted)
        return fail(ACL_ERROR_INTERNAL_ERROR, "HA311", "the wait was interrupted; the stream goes on");
    stream->dead = true;
    end_subscriptions(*stream);
    streams().remove(handle);
    for (const Failure& failure : stream->failures)
        report("HA308", "a stream is destroyed with a failure that no synchronize returned: " + failure.text);
    if (ContextPtr context = stream->context.lock()) {
        auto& all = context->streams;
        all.erase(std::remove(all.begin(), all.end(), stream), all.end());
        if (context->stopped_by == stream.get()) {
            context->stopped = {};
            context->stopped_by = nullptr;
        }
    }
    lock.unlock(); // before `dropped` goes: what the tasks hold may enter Python
    return 0;
}

} // namespace hostacl
