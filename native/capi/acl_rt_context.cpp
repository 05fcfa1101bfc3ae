// acl_rt.h: contexts, and the parameters that a context, or the process, holds.
#include "capi/acl_rt.hpp"
#include "core/status.hpp"

using namespace hostacl;

namespace {

// Determinism and debug kernels are what this machine does anyway: stored and returned.
Code check_parameter(int32_t opt) { return check_range("opt", opt, 0, INT32_MAX, "a number of aclSysParamOpt"); }

std::map<int32_t, int64_t>& process_parameters() { // lock held
    // ACL_OPT_DETERMINISTIC and ACL_OPT_ENABLE_DEBUG_KERNEL are off until they are set: clients read them first.
    static std::map<int32_t, int64_t>& parameters = *new std::map<int32_t, int64_t>{{0, 0}, {1, 0}};
    return parameters;
}

Code read_parameter(const std::map<int32_t, int64_t>& parameters, int32_t opt, int64_t* value) {
    auto found = parameters.find(opt);
    if (found == parameters.end())
        return fail(ACL_ERROR_RT_SYSPARAMOPT_NOT_SET, "HA119", format("opt = %d was never set", opt));
    *value = found->second;
    return 0;
}

} // namespace

HACL_EXPORT Code hacl_aclrtCreateContext(void** context, int32_t deviceId) noexcept {
    return guarded("aclrtCreateContext", [&]() -> Code {
        if (Code code = need(context, "context")) return code;
        Lock lock = lock_machine();
        if (Code code = check_device(deviceId)) return code;
        Handle made = make_context(deviceId, false);
        set_current(made);
        *context = as_pointer(made);
        return 0;
    });
}

HACL_EXPORT Code hacl_aclrtDestroyContext(void* context) noexcept {
    return guarded("aclrtDestroyContext", [&] { return destroy_context(as_handle(context)); });
}

HACL_EXPORT Code hacl_aclrtSetCurrentContext(void* context) noexcept {
    return guarded("aclrtSetCurrentContext", [&]() -> Code {
        Lock lock = lock_machine();
        Handle handle = as_handle(context);
        if (!find_context(handle))
            return fail(ACL_ERROR_RT_PARAM_INVALID, "HA106",
                        format("context = %s; allowed: a live context", describe_handle(handle).c_str()));
        set_current(handle);
        return 0;
    });
}

HACL_EXPORT Code hacl_aclrtGetCurrentContext(void** context) noexcept {
    return guarded("aclrtGetCurrentContext", [&]() -> Code {
        if (Code code = need(context, "context")) return code;
        return with_context([&](Context& current) {
            *context = as_pointer(current.handle);
            return 0;
        });
    });
}

HACL_EXPORT Code hacl_aclrtCtxGetCurrentDefaultStream(void** stream) noexcept {
    return guarded("aclrtCtxGetCurrentDefaultStream", [&]() -> Code {
        if (Code code = need(stream, "stream")) return code;
        return with_context([&](Context& current) {
            *stream = as_pointer(current.default_stream->handle);
            return 0;
        });
    });
}

HACL_EXPORT Code hacl_aclrtGetPrimaryCtxState(int32_t deviceId, uint32_t* flags, int32_t* active) noexcept {
    return guarded("aclrtGetPrimaryCtxState", [&]() -> Code {
        Lock lock = lock_machine();
        if (Code code = check_device(deviceId)) return code;
        if (Code code = need(active, "active")) return code;
        if (flags) *flags = 0;
        *active = find_context(device_state(deviceId).primary) ? 1 : 0;
        return 0;
    });
}

HACL_EXPORT Code hacl_aclrtCtxSetSysParamOpt(int32_t opt, int64_t value) noexcept {
    return guarded("aclrtCtxSetSysParamOpt", [&]() -> Code {
        if (Code code = check_parameter(opt)) return code;
        return with_context([&](Context& context) {
            context.parameters[opt] = value;
            return 0;
        });
    });
}

HACL_EXPORT Code hacl_aclrtCtxGetSysParamOpt(int32_t opt, int64_t* value) noexcept {
    return guarded("aclrtCtxGetSysParamOpt", [&]() -> Code {
        if (Code code = check_parameter(opt)) return code;
        if (Code code = need(value, "value")) return code;
        return with_context([&](Context& context) { return read_parameter(context.parameters, opt, value); });
    });
}

HACL_EXPORT Code hacl_aclrtSetSysParamOpt(int32_t opt, int64_t value) noexcept {
    return guarded("aclrtSetSysParamOpt", [&]() -> Code {
        if (Code code = check_parameter(opt)) return code;
        Lock lock = lock_machine();
        process_parameters()[opt] = value;
        return 0;
    });
}

HACL_EXPORT Code hacl_aclrtGetSysParamOpt(int32_t opt, int64_t* value) noexcept {
    return guarded("aclrtGetSysParamOpt", [&]() -> Code {
        if (Code code = check_parameter(opt)) return code;
        if (Code code = need(value, "value")) return code;
        Lock lock = lock_machine();
        return read_parameter(process_parameters(), opt, value);
    });
}
