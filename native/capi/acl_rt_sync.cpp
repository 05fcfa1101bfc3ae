// acl_rt.h: waiting for streams and devices.
#include "capi/acl_rt.hpp"
#include "core/callback.hpp"
#include "core/memory.hpp"
#include "core/status.hpp"

#include <algorithm>

using namespace hostacl;

namespace {

Code synchronize_handle(void* stream, int32_t timeout) {
    if (Code code = check_timeout(timeout)) return code;
    StreamPtr found;
    {
        Lock lock = lock_machine();
        if (Code code = resolve_stream(as_handle(stream), &found)) return code;
    }
    return synchronize(found, timeout);
}

// All streams of the current device; lock held.
Code streams_of_device(std::vector<StreamPtr>* all) {
    Context* context = nullptr;
    if (Code code = current_context(&context)) return code;
    streams().each([&](Handle, const StreamPtr& stream) {
        if (stream->device == context->device) all->push_back(stream);
    });
    return 0;
}

Code synchronize_device(int32_t timeout) {
    if (Code code = check_timeout(timeout)) return code;
    Lock lock = lock_machine();
    std::vector<StreamPtr> all;
    if (Code code = streams_of_device(&all)) return code;
    std::vector<std::function<bool()>> parts;
    for (const StreamPtr& stream : all) {
        if (waits_for_this_thread(*stream))
            return fail(ACL_ERROR_RT_PARAM_INVALID, "HA310",
                        "the device waits for itself: the call comes from inside one of its tasks");
        if (!stream->idle()) parts.push_back(done_with_all(*stream));
    }
    Waited waited = Waited::Done;
    if (!parts.empty()) {
        Wait wait;
        wait.timeout_ms = timeout;
        wait.done = [&] { return std::all_of(parts.begin(), parts.end(), [](const auto& part) { return part(); }); };
        waited = run_until(lock, wait);
    }
    if (waited == Waited::Interrupted)
        return fail(ACL_ERROR_INTERNAL_ERROR, "HA311", "the wait was interrupted; the device goes on");
    if (waited == Waited::Timeout)
        return fail(ACL_ERROR_RT_STREAM_SYNC_TIMEOUT, "HA312", format("the device was not done after %d ms", timeout));
    std::vector<Failure> failures;
    for (const StreamPtr& stream : all)
        for (Failure& failure : take_failures(*stream)) failures.push_back(std::move(failure));
    bool strict = config().strict;
    lock.unlock();
    if (strict) check_guards();
    return say(failures);
}

} // namespace

HACL_EXPORT Code hacl_aclrtSynchronizeStream(void* stream) noexcept {
    return guarded("aclrtSynchronizeStream", [&] { return synchronize_handle(stream, -1); });
}

HACL_EXPORT Code hacl_aclrtSynchronizeStreamWithTimeout(void* stream, int32_t timeout) noexcept {
    return guarded("aclrtSynchronizeStreamWithTimeout", [&] { return synchronize_handle(stream, timeout); });
}

HACL_EXPORT Code hacl_aclrtSynchronizeDevice() noexcept {
    return guarded("aclrtSynchronizeDevice", [] { return synchronize_device(-1); });
}

HACL_EXPORT Code hacl_aclrtSynchronizeDeviceWithTimeout(int32_t timeout) noexcept {
    return guarded("aclrtSynchronizeDeviceWithTimeout", [&] { return synchronize_device(timeout); });
}
