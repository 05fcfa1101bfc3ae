// acl_rt.h: events.
#include "capi/acl_rt.hpp"
#include "core/event.hpp"
#include "core/status.hpp"

using namespace hostacl;

namespace {

constexpr uint32_t kKnownFlags = 0x7F; // sync, progress, time line and the later ones
constexpr uint32_t kMostEvents = 65536;

Code create(void** event, uint32_t flags) {
    if (Code code = need(event, "event")) return code;
    if (flags == 0 || (flags & ~kKnownFlags))
        return fail(
            ACL_ERROR_RT_PARAM_INVALID, "HA319",
            format("flag = 0x%x; allowed: 1 (sync), 2 (stream progress), 8 (time line), or some of them together",
                   flags));
    if (live_events() >= kMostEvents)
        return fail(ACL_ERROR_RT_NO_EVENT_RESOURCE, "HA316",
                    format("%u events are alive: no more can be made. Destroy some", kMostEvents));
    Handle made = 0;
    if (Code code = create_event(flags, &made)) return code;
    *event = as_pointer(made);
    return 0;
}

Code query(void* event, void* status, bool* recorded, bool* waits_done) {
    if (Code code = need(status, "status")) return code;
    return query_event(as_handle(event), recorded, waits_done);
}

} // namespace

HACL_EXPORT Code hacl_aclrtCreateEvent(void** event) noexcept {
    return guarded("aclrtCreateEvent", [&] { return create(event, kEventSync | kEventProgress | kEventTimeLine); });
}

HACL_EXPORT Code hacl_aclrtCreateEventWithFlag(void** event, uint32_t flag) noexcept {
    return guarded("aclrtCreateEventWithFlag", [&] { return create(event, flag); });
}

HACL_EXPORT Code hacl_aclrtCreateEventExWithFlag(void** event, uint32_t flag) noexcept {
    return guarded("aclrtCreateEventExWithFlag", [&] { return create(event, flag); });
}

HACL_EXPORT Code hacl_aclrtDestroyEvent(void* event) noexcept {
    return guarded("aclrtDestroyEvent", [&] { return destroy_event(as_handle(event)); });
}

HACL_EXPORT Code hacl_aclrtRecordEvent(void* event, void* stream) noexcept {
    return guarded("aclrtRecordEvent", [&] { return record_event(as_handle(event), as_handle(stream)); });
}

HACL_EXPORT Code hacl_aclrtResetEvent(void* event, void* stream) noexcept {
    return guarded("aclrtResetEvent", [&] { return reset_event(as_handle(event), as_handle(stream)); });
}

HACL_EXPORT Code hacl_aclrtStreamWaitEvent(void* stream, void* event) noexcept {
    return guarded("aclrtStreamWaitEvent", [&] { return wait_event(as_handle(stream), as_handle(event)); });
}

HACL_EXPORT Code hacl_aclrtSynchronizeEvent(void* event) noexcept {
    return guarded("aclrtSynchronizeEvent", [&] { return synchronize_event(as_handle(event), -1); });
}

HACL_EXPORT Code hacl_aclrtSynchronizeEventWithTimeout(void* event, int32_t timeout) noexcept {
    return guarded("aclrtSynchronizeEventWithTimeout", [&]() -> Code {
        if (Code code = check_timeout(timeout)) return code;
        return synchronize_event(as_handle(event), timeout);
    });
}

// The three queries count differently: 0 is "complete" here ...
HACL_EXPORT Code hacl_aclrtQueryEvent(void* event, int32_t* status) noexcept {
    return guarded("aclrtQueryEvent", [&]() -> Code {
        bool recorded = false, waits_done = false;
        if (Code code = query(event, status, &recorded, &waits_done)) return code;
        *status = recorded ? 0 : 1;
        return 0;
    });
}

// ... 1 is "complete" here ...
HACL_EXPORT Code hacl_aclrtQueryEventStatus(void* event, int32_t* status) noexcept {
    return guarded("aclrtQueryEventStatus", [&]() -> Code {
        bool recorded = false, waits_done = false;
        if (Code code = query(event, status, &recorded, &waits_done)) return code;
        *status = recorded ? 1 : 0;
        return 0;
    });
}

// ... and 0 again here.
HACL_EXPORT Code hacl_aclrtQueryEventWaitStatus(void* event, int32_t* status) noexcept {
    return guarded("aclrtQueryEventWaitStatus", [&]() -> Code {
        bool recorded = false, waits_done = false;
        if (Code code = query(event, status, &recorded, &waits_done)) return code;
        *status = waits_done ? 0 : 1;
        return 0;
    });
}

HACL_EXPORT Code hacl_aclrtEventElapsedTime(float* ms, void* startEvent, void* endEvent) noexcept {
    return guarded("aclrtEventElapsedTime", [&]() -> Code {
        if (Code code = need(ms, "ms")) return code;
        int64_t start = 0, end = 0;
        if (Code code = event_time(as_handle(startEvent), "startEvent", &start)) return code;
        if (Code code = event_time(as_handle(endEvent), "endEvent", &end)) return code;
        if (end < start)
            return fail(ACL_ERROR_RT_EVENT_TIMESTAMP_REVERSAL, "HA314",
                        "endEvent was reached before startEvent; give them in the order in which they were recorded");
        *ms = static_cast<float>(static_cast<double>(end - start) / 1e6);
        return 0;
    });
}

HACL_EXPORT Code hacl_aclrtEventGetTimestamp(void* event, uint64_t* timestamp) noexcept {
    return guarded("aclrtEventGetTimestamp", [&]() -> Code {
        if (Code code = need(timestamp, "timestamp")) return code;
        int64_t nanoseconds = 0;
        if (Code code = event_time(as_handle(event), "event", &nanoseconds)) return code;
        *timestamp = static_cast<uint64_t>(nanoseconds / 1000);
        return 0;
    });
}

HACL_EXPORT Code hacl_aclrtGetEventId(void* event, uint32_t* eventId) noexcept {
    return guarded("aclrtGetEventId", [&]() -> Code {
        if (Code code = need(eventId, "eventId")) return code;
        return event_id(as_handle(event), eventId);
    });
}

HACL_EXPORT Code hacl_aclrtGetEventAvailNum(uint32_t* eventCount) noexcept {
    return guarded("aclrtGetEventAvailNum", [&]() -> Code {
        if (Code code = need(eventCount, "eventCount")) return code;
        auto live = static_cast<uint32_t>(live_events());
        return with_context([&](Context&) {
            *eventCount = live < kMostEvents ? kMostEvents - live : 0;
            return 0;
        });
    });
}
