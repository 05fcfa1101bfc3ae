// acl_rt.h: settings that are kept and given back: time limits, saturation, overflow, resource limits.
#include "capi/acl_rt.hpp"
#include "core/product.hpp"
#include "core/saturation.hpp"
#include "core/status.hpp"

#include <atomic>

using namespace hostacl;

namespace {

constexpr uint64_t kMicro = 1000000;
constexpr uint64_t kInterval = 1000; // the steps of the operator time limit, in microseconds

std::atomic<uint64_t> op_wait_seconds{0};                    // 0: for ever
std::atomic<uint64_t> op_execute_microseconds{547 * kMicro}; // the default of the reference

Code check_limit_type(int32_t type) { return check_range("type", type, 0, 1, "0 (cube cores) or 1 (vector cores)"); }

// How many cores of a sort the device has.
uint32_t whole_device(int32_t type) {
    return static_cast<uint32_t>(type == 0 ? product().cube_cores : product().vector_cores);
}

// The stream whose limits count in this thread (aclrtUseStreamResInCurrentThread).
thread_local Handle stream_in_use = 0;

uint32_t device_limit(int32_t device, int32_t type) { // lock held
    const auto& limits = device_state(device).limits;
    auto found = limits.find(type);
    return found == limits.end() ? whole_device(type) : found->second;
}

uint32_t stream_limit(const Stream& stream, int32_t type) { // lock held
    auto found = stream.limits.find(type);
    return found == stream.limits.end() ? device_limit(stream.device, type) : found->second;
}

Code check_limit(int32_t type, uint32_t value) {
    return check_range("value", value, 1, whole_device(type), "1 to the number of cores of the device");
}

} // namespace

HACL_EXPORT Code hacl_aclrtSetOpWaitTimeout(uint32_t timeout) noexcept {
    return guarded("aclrtSetOpWaitTimeout", [&]() -> Code {
        return with_context([&](Context&) {
            op_wait_seconds = timeout;
            return 0;
        });
    });
}

HACL_EXPORT Code hacl_aclrtSetOpExecuteTimeOut(uint32_t timeout) noexcept {
    return guarded("aclrtSetOpExecuteTimeOut", [&]() -> Code {
        return with_context([&](Context&) {
            op_execute_microseconds = timeout * kMicro;
            return 0;
        });
    });
}

HACL_EXPORT Code hacl_aclrtSetOpExecuteTimeOutV2(uint64_t timeout, uint64_t* actualTimeout) noexcept {
    return guarded("aclrtSetOpExecuteTimeOutV2", [&]() -> Code {
        if (Code code = need(actualTimeout, "actualTimeout")) return code;
        return with_context([&](Context&) {
            *actualTimeout = timeout > UINT64_MAX - kInterval ? timeout / kInterval * kInterval
                                                              : (timeout + kInterval - 1) / kInterval * kInterval;
            op_execute_microseconds = *actualTimeout;
            return 0;
        });
    });
}

HACL_EXPORT Code hacl_aclrtGetOpTimeOutInterval(uint64_t* interval) noexcept {
    return guarded("aclrtGetOpTimeOutInterval", [&]() -> Code {
        if (Code code = need(interval, "interval")) return code;
        *interval = kInterval;
        return 0;
    });
}

HACL_EXPORT Code hacl_aclrtGetOpExecuteTimeout(uint32_t* timeoutMs) noexcept {
    return guarded("aclrtGetOpExecuteTimeout", [&]() -> Code {
        if (Code code = need(timeoutMs, "timeoutMs")) return code;
        *timeoutMs = static_cast<uint32_t>(std::min<uint64_t>(op_execute_microseconds / 1000, UINT32_MAX));
        return 0;
    });
}

HACL_EXPORT Code hacl_aclrtSetDeviceSatMode(int32_t mode) noexcept {
    return guarded("aclrtSetDeviceSatMode", [&]() -> Code {
        if (Code code = check_range("mode", mode, 0, 1, "0 (saturate) or 1 (Inf and NaN)")) return code;
        return with_context([&](Context& context) {
            set_saturation(context.device, mode);
            return 0;
        });
    });
}

HACL_EXPORT Code hacl_aclrtGetDeviceSatMode(int32_t* mode) noexcept {
    return guarded("aclrtGetDeviceSatMode", [&]() -> Code {
        if (Code code = need(mode, "mode")) return code;
        return with_context([&](Context& context) {
            *mode = saturation_of(context.device);
            return 0;
        });
    });
}

HACL_EXPORT Code hacl_aclrtGetOverflowStatus(void* outputAddr, size_t outputSize, void* stream) noexcept {
    return guarded("aclrtGetOverflowStatus",
                   [&]() -> Code { return write_overflow_status(outputAddr, outputSize, as_handle(stream)); });
}

HACL_EXPORT Code hacl_aclrtResetOverflowStatus(void* stream) noexcept {
    return guarded("aclrtResetOverflowStatus", [&] { return reset_overflow_status(as_handle(stream)); });
}

HACL_EXPORT Code hacl_aclrtSetDeviceResLimit(int32_t deviceId, int32_t type, uint32_t value) noexcept {
    return guarded("aclrtSetDeviceResLimit", [&]() -> Code {
        Lock lock = lock_machine();
        if (Code code = check_device(deviceId)) return code;
        if (Code code = check_limit_type(type)) return code;
        if (Code code = check_limit(type, value)) return code;
        device_state(deviceId).limits[type] = value;
        return 0;
    });
}

HACL_EXPORT Code hacl_aclrtGetDeviceResLimit(int32_t deviceId, int32_t type, uint32_t* value) noexcept {
    return guarded("aclrtGetDeviceResLimit", [&]() -> Code {
        Lock lock = lock_machine();
        if (Code code = check_device(deviceId)) return code;
        if (Code code = check_limit_type(type)) return code;
        if (Code code = need(value, "value")) return code;
        *value = device_limit(deviceId, type);
        return 0;
    });
}

HACL_EXPORT Code hacl_aclrtResetDeviceResLimit(int32_t deviceId) noexcept {
    return guarded("aclrtResetDeviceResLimit", [&]() -> Code {
        Lock lock = lock_machine();
        if (Code code = check_device(deviceId)) return code;
        device_state(deviceId).limits.clear();
        return 0;
    });
}

HACL_EXPORT Code hacl_aclrtSetStreamResLimit(void* stream, int32_t type, uint32_t value) noexcept {
    return guarded("aclrtSetStreamResLimit", [&]() -> Code {
        if (Code code = check_limit_type(type)) return code;
        if (Code code = check_limit(type, value)) return code;
        return with_stream(stream, [&](Stream& found) {
            found.limits[type] = value;
            return 0;
        });
    });
}

HACL_EXPORT Code hacl_aclrtGetStreamResLimit(void* stream, int32_t type, uint32_t* value) noexcept {
    return guarded("aclrtGetStreamResLimit", [&]() -> Code {
        if (Code code = check_limit_type(type)) return code;
        if (Code code = need(value, "value")) return code;
        return with_stream(stream, [&](Stream& found) {
            *value = stream_limit(found, type);
            return 0;
        });
    });
}

HACL_EXPORT Code hacl_aclrtResetStreamResLimit(void* stream) noexcept {
    return guarded("aclrtResetStreamResLimit", [&]() -> Code {
        return with_stream(stream, [&](Stream& found) {
            found.limits.clear();
            return 0;
        });
    });
}

HACL_EXPORT Code hacl_aclrtUseStreamResInCurrentThread(void* stream) noexcept {
    return guarded("aclrtUseStreamResInCurrentThread", [&]() -> Code {
        return with_stream(stream, [&](Stream& found) {
            stream_in_use = found.handle;
            return 0;
        });
    });
}

HACL_EXPORT Code hacl_aclrtUnuseStreamResInCurrentThread(void* stream) noexcept {
    return guarded("aclrtUnuseStreamResInCurrentThread", [&]() -> Code {
        return with_stream(stream, [&](Stream& found) -> Code {
            if (found.handle != stream_in_use)
                return fail(ACL_ERROR_RT_PARAM_INVALID, "HA327",
                            format("stream = %d is not the one whose resources this thread uses", found.id));
            stream_in_use = 0;
            return 0;
        });
    });
}

HACL_EXPORT Code hacl_aclrtGetResInCurrentThread(int32_t type, uint32_t* value) noexcept {
    return guarded("aclrtGetResInCurrentThread", [&]() -> Code {
        if (Code code = check_limit_type(type)) return code;
        if (Code code = need(value, "value")) return code;
        return with_context([&](Context& context) {
            StreamPtr* used = streams().find(stream_in_use);
            *value = used ? stream_limit(**used, type) : device_limit(context.device, type);
            return 0;
        });
    });
}
