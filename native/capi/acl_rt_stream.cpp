// acl_rt.h: streams: making, ending, asking, modes.
#include "capi/acl_rt_stream.hpp"
#include "core/saturation.hpp"
#include "core/stale.hpp"
#include "core/status.hpp"

using namespace hostacl;

namespace {

constexpr int32_t kLeastPriority = 7, kGreatestPriority = 0; // smaller numbers come first
constexpr uint32_t kMostStreams = 2048;

} // namespace

namespace hostacl {

Code create_stream(void** stream, uint32_t priority, uint32_t flags) {
    if (Code code = need(stream, "stream")) return code;
    return with_context([&](Context& context) -> Code {
        if (Code code = check_range("priority", priority, kGreatestPriority, kLeastPriority, "0 (first) to 7 (last)"))
            return code;
        if (streams().live() >= kMostStreams)
            return fail(ACL_ERROR_RT_NO_STREAM_RESOURCE, "HA316",
                        format("%zu streams are alive; allowed: %u. Destroy some", streams().live(), kMostStreams));
        ContextPtr owner = context.default_stream->context.lock();
        StreamPtr made = make_stream(owner, priority, flags, false);
        owner->streams.push_back(made);
        *stream = as_pointer(made->handle);
        return 0;
    });
}

} // namespace hostacl

namespace {

Code abort_tasks(const std::vector<StreamPtr>& all, Lock& lock) {
    std::deque<Queued> dropped;
    for (const StreamPtr& stream : all)
        drop_tasks(*stream, {ACL_ERROR_RT_DEVICE_TASK_ABORT, "HA317: the task was aborted"}, &dropped);
    for (const StreamPtr& stream : all)
        if (ContextPtr context = stream->context.lock()) context->stopped = {};
    lock.unlock(); // before `dropped` goes
    return 0;
}

} // namespace

HACL_EXPORT Code hacl_aclrtCreateStream(void** stream) noexcept {
    return guarded("aclrtCreateStream", [&] { return create_stream(stream, 0, 0); });
}

HACL_EXPORT Code hacl_aclrtCreateStreamWithConfig(void** stream, uint32_t priority, uint32_t flag) noexcept {
    return guarded("aclrtCreateStreamWithConfig", [&] { return create_stream(stream, priority, flag); });
}

HACL_EXPORT Code hacl_aclrtDestroyStream(void* stream) noexcept {
    return guarded("aclrtDestroyStream", [&] { return destroy_stream(as_handle(stream), false); });
}

HACL_EXPORT Code hacl_aclrtDestroyStreamForce(void* stream) noexcept {
    return guarded("aclrtDestroyStreamForce", [&] { return destroy_stream(as_handle(stream), true); });
}

HACL_EXPORT Code hacl_aclrtStreamQuery(void* stream, int32_t* status) noexcept {
    return guarded("aclrtStreamQuery", [&]() -> Code {
        if (Code code = need(status, "status")) return code;
        Lock lock = lock_machine();
        StreamPtr found;
        if (Code code = resolve_stream(as_handle(stream), &found)) return code;
        Wait wait;
        wait.done = [&] { return found->idle(); };
        wait.timeout_ms = 0;
        wait.target = found.get();
        *status = run_until(lock, wait) == Waited::Done ? 0 : 1;
        if (*status == 0) waited_for(*found);
        return 0;
    });
}

HACL_EXPORT Code hacl_aclrtStreamAbort(void* stream) noexcept {
    return guarded("aclrtStreamAbort", [&]() -> Code {
        Lock lock = lock_machine();
        StreamPtr found;
        if (Code code = resolve_stream(as_handle(stream), &found)) return code;
        return abort_tasks({found}, lock);
    });
}

HACL_EXPORT Code hacl_aclrtDeviceTaskAbort(int32_t deviceId, uint32_t) noexcept {
    return guarded("aclrtDeviceTaskAbort", [&]() -> Code {
        Lock lock = lock_machine();
        if (Code code = check_device(deviceId)) return code;
        std::vector<StreamPtr> all;
        streams().each([&](Handle, const StreamPtr& stream) {
            if (stream->device == deviceId) all.push_back(stream);
        });
        return abort_tasks(all, lock);
    });
}

HACL_EXPORT Code hacl_aclrtStreamGetId(void* stream, int32_t* streamId) noexcept {
    return guarded("aclrtStreamGetId", [&]() -> Code {
        if (Code code = need(streamId, "streamId")) return code;
        return with_stream(stream, [&](Stream& found) {
            *streamId = found.id;
            return 0;
        });
    });
}

HACL_EXPORT Code hacl_aclrtGetStreamAvailableNum(uint32_t* streamCount) noexcept {
    return guarded("aclrtGetStreamAvailableNum", [&]() -> Code {
        if (Code code = need(streamCount, "streamCount")) return code;
        return with_context([&](Context&) {
            *streamCount = kMostStreams - std::min(kMostStreams, static_cast<uint32_t>(streams().live()));
            return 0;
        });
    });
}

HACL_EXPORT Code hacl_aclrtDeviceGetStreamPriorityRange(int32_t* leastPriority, int32_t* greatestPriority) noexcept {
    return guarded("aclrtDeviceGetStreamPriorityRange", [&]() -> Code {
        if (Code code = need(leastPriority, "leastPriority")) return code;
        if (Code code = need(greatestPriority, "greatestPriority")) return code;
        return with_context([&](Context&) {
            *leastPriority = kLeastPriority;
            *greatestPriority = kGreatestPriority;
            return 0;
        });
    });
}

HACL_EXPORT Code hacl_aclrtSetStreamFailureMode(void* stream, uint64_t mode) noexcept {
    return guarded("aclrtSetStreamFailureMode", [&]() -> Code {
        return with_stream(stream, [&](Stream& found) -> Code {
            if (mode > 1)
                return fail(
                    ACL_ERROR_RT_PARAM_INVALID, "HA318",
                    format("mode = %llu; allowed: 0 (go on) or 1 (stop)", static_cast<unsigned long long>(mode)));
            if (found.failure_mode_set)
                return fail(ACL_ERROR_RT_PARAM_INVALID, "HA318",
                            format("stream = %d: its failure mode was set before; it can be set once", found.id));
            found.failure_mode_set = true;
            found.stop_on_failure = mode == 1;
            return 0;
        });
    });
}

HACL_EXPORT Code hacl_aclrtSetStreamOverflowSwitch(void* stream, uint32_t flag) noexcept {
    return guarded("aclrtSetStreamOverflowSwitch", [&]() -> Code {
        if (Code code = check_range("flag", flag, 0, 1, "0 (off) or 1 (on)")) return code;
        return with_stream(stream, [&](Stream& found) {
            found.overflow_switch = flag;
            found.overflow_off = flag == 0;
            if (flag) watch_overflow();
            return 0;
        });
    });
}

HACL_EXPORT Code hacl_aclrtGetStreamOverflowSwitch(void* stream, uint32_t* flag) noexcept {
    return guarded("aclrtGetStreamOverflowSwitch", [&]() -> Code {
        if (Code code = need(flag, "flag")) return code;
        return with_stream(stream, [&](Stream& found) {
            *flag = found.overflow_switch;
            return 0;
        });
    });
}
