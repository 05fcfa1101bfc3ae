#include "core/context.hpp"

#include "core/callback.hpp"
#include "core/config.hpp"
#include "core/message.hpp"
#include "core/schedule.hpp"
#include "core/status.hpp"
#include "core/virtual_memory.hpp"

#include <set>

namespace hostacl {
namespace {

using ContextTable = HandleTable<ContextPtr, Kind::Context>;

ContextTable& contexts() {
    static ContextTable& table = *new ContextTable;
    return table;
}

thread_local Handle current = 0;

std::map<int32_t, Device>& devices() {
    static std::map<int32_t, Device>& states = *new std::map<int32_t, Device>;
    return states;
}

ContextPtr pointer_of(Handle handle) {
    ContextPtr* found = contexts().find(handle);
    return found ? *found : nullptr;
}

std::vector<StreamPtr> all_streams(const Context& context) {
    std::vector<StreamPtr> all = context.streams;
    if (context.default_stream) all.push_back(context.default_stream);
    return all;
}

} // namespace

int32_t device_count() {
    return config().visible.empty() ? config().devices : static_cast<int32_t>(config().visible.size());
}

bool is_device(int32_t device) { return device >= 0 && device < device_count(); }

Device& device_state(int32_t device) { return devices()[device]; }

Code check_device(int32_t device, const char* name) {
    if (is_device(device)) return 0;
    return fail(ACL_ERROR_RT_INVALID_DEVICEID, "HA102",
                format("%s = %d; allowed: 0 to %d (HOSTACL_DEVICES sets how many there are)", name, device,
                       device_count() - 1));
}

Context* find_context(Handle handle) {
    ContextPtr* found = contexts().find(handle);
    return found && (*found)->alive ? found->get() : nullptr;
}

Code current_context(Context** context) {
    *context = current ? find_context(current) : nullptr;
    if (*context) return 0;
    const char* why =
        current ? "the context of this thread was destroyed, or its device reset" : "this thread has no context";
    return fail(ACL_ERROR_RT_CONTEXT_NULL, "HA101",
                std::string(why) + "; call aclrtSetDevice or aclrtSetCurrentContext in this thread first");
}

Handle current_context_handle() { return current; }
void set_current(Handle context) { current = context; }

Handle make_context(int32_t device, bool primary) {
    auto context = std::make_shared<Context>();
    context->device = device;
    context->primary = primary;
    context->default_stream = make_stream(context, 0, 0, true);
    context->handle = contexts().add(context);
    return context->handle;
}

Handle set_device(int32_t device) {
    Device& state = device_state(device);
    if (!find_context(state.primary)) state.primary = make_context(device, true);
    current = state.primary;
    return current;
}

void each_context(const std::function<void(Context&)>& visit) {
    contexts().each([&](Handle, const ContextPtr& context) { visit(*context); });
}

void end_context(const ContextPtr& context, bool drop) {
    std::deque<Queued> dropped;
    Lock lock = lock_machine();
    if (!context->alive) return;
    std::vector<StreamPtr> all = all_streams(*context);
    if (drop)
        for (const StreamPtr& stream : all)
            drop_tasks(*stream, {ACL_ERROR_RT_DEVICE_TASK_ABORT, "HA307: the device was reset by force"}, &dropped);
    std::thread::id self = std::this_thread::get_id();
    Wait wait; // a task of this very thread cannot end before this call does
    wait.done = [&] {
        for (const StreamPtr& stream : all)
            if (!stream->idle() && !(stream->busy && stream->runner == self)) return false;
        return true;
    };
    if (run_until(lock, wait) != Waited::Done)
        for (const StreamPtr& stream : all)
            drop_tasks(*stream, {ACL_ERROR_RT_DEVICE_TASK_ABORT, "HA307: the context was destroyed"}, &dropped);
    context->alive = false;
    for (const StreamPtr& stream : all) {
        stream->dead = true;
        end_subscriptions(*stream);
        streams().remove(stream->handle);
    }
    contexts().remove(context->handle);
    machine().moved_on();
    lock.unlock(); // before `dropped` goes
}

Code destroy_context(Handle handle) {
    ContextPtr context;
    {
        Lock lock = lock_machine();
        context = pointer_of(handle);
        if (!context || !context->alive)
            return fail(ACL_ERROR_RT_PARAM_INVALID, "HA106",
                        format("context = %s; allowed: a live context", describe_handle(handle).c_str()));
        if (context->primary)
            return fail(
                ACL_ERROR_RT_PARAM_INVALID, "HA107",
                format("context is the primary context of device %d; aclrtResetDevice ends it", context->device));
        if (!context->streams.empty())
            report("HA308", format("the context is destroyed with %zu streams that were not", context->streams.size()));
    }
    end_context(context, false);
    return 0;
}

Code reset_device(int32_t device, bool force) {
    std::vector<ContextPtr> ending;
    {
        Lock lock = lock_machine();
        if (Code code = check_device(device)) return code;
        contexts().each([&](Handle, const ContextPtr& context) {
            if (context->device == device) ending.push_back(context);
        });
    }
    for (const ContextPtr& context : ending) end_context(context, force);
    Lock lock = lock_machine();
    free_device_memory(device);
    forget_physical(device);
    devices().erase(device);
    return 0;
}

void reset_all_devices() {
    std::set<int32_t> used;
    {
        Lock lock = lock_machine();
        contexts().each([&](Handle, const ContextPtr& context) { used.insert(context->device); });
        for (const auto& [device, state] : devices()) used.insert(device);
    }
    for (int32_t device : used)
        if (is_device(device)) reset_device(device, true);
}

// The child has the memory, but no context: its streams' threads are gone, and what they held is left alone
// (freeing it could enter Python in a child that is about to exec).
void forget_contexts_after_fork() {
    contexts().each([](Handle, const ContextPtr& context) { context->alive = false; });
    streams().each([](Handle, const StreamPtr& stream) {
        stream->busy = false;
        stream->dead = true;
        end_subscriptions(*stream);
    });
    leak_queues_after_fork();
    for (auto& [device, state] : devices()) state.primary = 0;
    current = 0;
}

} // namespace hostacl
