// acl_rt.h: callbacks of streams, and the callback for failed tasks.
#include "capi/acl_rt.hpp"
#include "core/callback.hpp"

using namespace hostacl;

namespace {

// Valid only inside the callback: outside, the pointer may lead anywhere.
template <class Field> HACL_INLINE uint32_t exception_field(const char* function, const void* info, Field field) noexcept {
    constexpr uint32_t kUnknown = 0xFFFFFFFF;
    return guarded_or(function, kUnknown, [&]() -> uint32_t {
        if (is_current_exception(info)) return static_cast<const ExceptionInfo*>(info)->*field;
        fail(ACL_ERROR_INVALID_PARAM, "HA326",
             format("info = %p; allowed: what the exception info callback was given, until it returns", info));
        return kUnknown;
    });
}

} // namespace

HACL_EXPORT Code hacl_aclrtSubscribeReport(uint64_t threadId, void* stream) noexcept {
    return guarded("aclrtSubscribeReport", [&] { return subscribe(Reports::Callback, threadId, as_handle(stream)); });
}

HACL_EXPORT Code hacl_aclrtUnSubscribeReport(uint64_t threadId, void* stream) noexcept {
    return guarded("aclrtUnSubscribeReport",
                   [&] { return unsubscribe(Reports::Callback, threadId, as_handle(stream)); });
}

HACL_EXPORT Code hacl_aclrtLaunchCallback(void (*fn)(void*), void* userData, int32_t blockType, void* stream) noexcept {
    return guarded("aclrtLaunchCallback", [&]() -> Code {
        if (!fn) return null_argument("fn", "a function");
        if (Code code =
                check_range("blockType", blockType, 0, 1,
                            "0 (the stream goes on) or 1 (the stream waits for the callback)", ACL_ERROR_INVALID_PARAM))
            return code;
        return launch_callback(Reports::Callback, fn, userData, blockType == 1, as_handle(stream));
    });
}

HACL_EXPORT Code hacl_aclrtProcessReport(int32_t timeout) noexcept {
    return guarded("aclrtProcessReport", [&]() -> Code {
        if (Code code = check_timeout(timeout)) return code;
        return process_report(Reports::Callback, timeout);
    });
}

HACL_EXPORT Code hacl_aclrtSubscribeHostFunc(uint64_t hostFuncThreadId, void* exeStream) noexcept {
    return guarded("aclrtSubscribeHostFunc",
                   [&] { return subscribe(Reports::HostFunc, hostFuncThreadId, as_handle(exeStream)); });
}

HACL_EXPORT Code hacl_aclrtUnSubscribeHostFunc(uint64_t hostFuncThreadId, void* exeStream) noexcept {
    return guarded("aclrtUnSubscribeHostFunc",
                   [&] { return unsubscribe(Reports::HostFunc, hostFuncThreadId, as_handle(exeStream)); });
}

HACL_EXPORT Code hacl_aclrtProcessHostFunc(int32_t timeout) noexcept {
    return guarded("aclrtProcessHostFunc", [&]() -> Code {
        if (Code code = check_timeout(timeout)) return code;
        return process_report(Reports::HostFunc, timeout);
    });
}

HACL_EXPORT Code hacl_aclrtLaunchHostFunc(void* stream, void (*fn)(void*), void* args) noexcept {
    return guarded("aclrtLaunchHostFunc", [&]() -> Code {
        if (!fn) return null_argument("fn", "a function");
        return launch_host_function(fn, args, as_handle(stream));
    });
}

HACL_EXPORT Code hacl_aclrtSetExceptionInfoCallback(void (*callback)(void*)) noexcept {
    return guarded("aclrtSetExceptionInfoCallback", [&]() -> Code {
        set_exception_callback(callback);
        return 0;
    });
}

HACL_EXPORT uint32_t hacl_aclrtGetTaskIdFromExceptionInfo(const void* info) noexcept {
    return exception_field("aclrtGetTaskIdFromExceptionInfo", info, &ExceptionInfo::task);
}

HACL_EXPORT uint32_t hacl_aclrtGetStreamIdFromExceptionInfo(const void* info) noexcept {
    return exception_field("aclrtGetStreamIdFromExceptionInfo", info, &ExceptionInfo::stream);
}

HACL_EXPORT uint32_t hacl_aclrtGetThreadIdFromExceptionInfo(const void* info) noexcept {
    return exception_field("aclrtGetThreadIdFromExceptionInfo", info, &ExceptionInfo::thread);
}

HACL_EXPORT uint32_t hacl_aclrtGetDeviceIdFromExceptionInfo(const void* info) noexcept {
    return exception_field("aclrtGetDeviceIdFromExceptionInfo", info, &ExceptionInfo::device);
}

HACL_EXPORT uint32_t hacl_aclrtGetErrorCodeFromExceptionInfo(const void* info) noexcept {
    return exception_field("aclrtGetErrorCodeFromExceptionInfo", info, &ExceptionInfo::code);
}
