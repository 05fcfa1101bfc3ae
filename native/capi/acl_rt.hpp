// What the functions of acl.h and acl_rt.h share.
#pragma once

#include "capi/guard.hpp"
#include "capi/lookup.hpp"
#include "core/config.hpp"
#include "core/context.hpp"
#include "core/machine.hpp"
#include "core/schedule.hpp"
#include "core/status.hpp"

namespace hostacl {

// 100000 and a text for an output argument that is NULL.
inline Code need(const void* out, const char* name) {
    return out ? 0 : null_argument(name, "the address of a variable for the result");
}

// Runs `body` with the current context, under the lock.
template <class Body> Code with_context(Body&& body) {
    Lock lock = lock_machine();
    Context* context = nullptr;
    if (Code code = current_context(&context)) return code;
    return body(*context);
}

// Runs `body` with the stream of a handle, under the lock.
template <class Body> Code with_stream(const void* stream, Body&& body) {
    Lock lock = lock_machine();
    StreamPtr found;
    if (Code code = resolve_stream(as_handle(stream), &found)) return code;
    return body(*found);
}

// A number that must lie in a range.
inline Code check_range(const char* name, int64_t value, int64_t least, int64_t most, const char* meaning,
                        Code code = ACL_ERROR_RT_PARAM_INVALID) {
    if (value >= least && value <= most) return 0;
    return fail(code, "HA116", format("%s = %lld; allowed: %s", name, static_cast<long long>(value), meaning));
}

inline Code check_timeout(int32_t timeout) {
    return check_range("timeout", timeout, -1, INT32_MAX, "-1 (for ever) or milliseconds from 0");
}

} // namespace hostacl
