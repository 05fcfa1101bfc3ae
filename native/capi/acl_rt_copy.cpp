// acl_rt.h: copies and sets.
#include "capi/acl_rt.hpp"
#include "core/copy.hpp"
#include "core/status.hpp"

using namespace hostacl;

namespace {

Copy plain(void* dst, const void* src, size_t count, int32_t kind) {
    Copy copy;
    copy.dst = dst;
    copy.src = src;
    copy.width = copy.dpitch = copy.spitch = count;
    copy.kind = kind;
    return copy;
}

// The order of the contract: nothing to do, null pointers and kind, then sizes. copy_now and copy_async look at the rest.
Code check_size(const Copy& copy, size_t destMax, size_t count) {
    if (!copy.dst || !copy.src || copy.kind < kHostToHost || copy.kind > kDefaultKind) return 0;
    return check_room(destMax, count, "destMax", "count");
}

Copy rows(void* dst, size_t dpitch, const void* src, size_t spitch, size_t width, size_t height, int32_t kind) {
    Copy copy;
    copy.dst = dst;
    copy.src = src;
    copy.dpitch = dpitch;
    copy.spitch = spitch;
    copy.width = width;
    copy.height = height;
    copy.kind = kind;
    return copy;
}

Code check_pitches(const Copy& copy) {
    if (copy.width == 0 || copy.height == 0 || !copy.dst || !copy.src) return 0;
    if (copy.dpitch >= copy.width && copy.spitch >= copy.width) return 0;
    return fail(ACL_ERROR_RT_PARAM_INVALID, "HA219",
                format("dpitch = %zu, spitch = %zu, width = %zu; allowed: pitches of at least the width", copy.dpitch,
                       copy.spitch, copy.width));
}

Code set_size(void* devPtr, size_t maxCount, size_t count) {
    return devPtr && count ? check_room(maxCount, count, "maxCount", "count") : 0;
}

} // namespace

HACL_EXPORT Code hacl_aclrtMemcpy(void* dst, size_t destMax, const void* src, size_t count, int32_t kind) noexcept {
    return guarded("aclrtMemcpy", [&]() -> Code {
        Copy copy = plain(dst, src, count, kind);
        if (Code code = check_size(copy, destMax, count)) return code;
        return copy_now(copy);
    });
}

HACL_EXPORT Code hacl_aclrtMemcpyAsync(void* dst, size_t destMax, const void* src, size_t count, int32_t kind,
                                       void* stream) noexcept {
    return guarded("aclrtMemcpyAsync", [&]() -> Code {
        Copy copy = plain(dst, src, count, kind);
        if (Code code = check_size(copy, destMax, count)) return code;
        return copy_async(copy, as_handle(stream));
    });
}

// Asynchronous where the memory allows it, else synchronous: what copy_async does anyway, for pageable host memory too.
HACL_EXPORT Code hacl_aclrtMemcpyAsyncWithCondition(void* dst, size_t destMax, const void* src, size_t count,
                                                    int32_t kind, void* stream) noexcept {
    return guarded("aclrtMemcpyAsyncWithCondition", [&]() -> Code {
        Copy copy = plain(dst, src, count, kind);
        if (Code code = check_size(copy, destMax, count)) return code;
        return copy_async(copy, as_handle(stream));
    });
}

HACL_EXPORT Code hacl_aclrtMemcpy2d(void* dst, size_t dpitch, const void* src, size_t spitch, size_t width,
                                    size_t height, int32_t kind) noexcept {
    return guarded("aclrtMemcpy2d", [&]() -> Code {
        Copy copy = rows(dst, dpitch, src, spitch, width, height, kind);
        if (Code code = check_pitches(copy)) return code;
        return copy_now(copy);
    });
}

HACL_EXPORT Code hacl_aclrtMemcpy2dAsync(void* dst, size_t dpitch, const void* src, size_t spitch, size_t width,
                                         size_t height, int32_t kind, void* stream) noexcept {
    return guarded("aclrtMemcpy2dAsync", [&]() -> Code {
        Copy copy = rows(dst, dpitch, src, spitch, width, height, kind);
        if (Code code = check_pitches(copy)) return code;
        return copy_async(copy, as_handle(stream));
    });
}

HACL_EXPORT Code hacl_aclrtMemset(void* devPtr, size_t maxCount, int32_t value, size_t count) noexcept {
    return guarded("aclrtMemset", [&]() -> Code {
        if (Code code = set_size(devPtr, maxCount, count)) return code;
        return fill_now({devPtr, value, count});
    });
}

HACL_EXPORT Code hacl_aclrtMemsetAsync(void* devPtr, size_t maxCount, int32_t value, size_t count,
                                       void* stream) noexcept {
    return guarded("aclrtMemsetAsync", [&]() -> Code {
        if (Code code = set_size(devPtr, maxCount, count)) return code;
        return fill_async({devPtr, value, count}, as_handle(stream));
    });
}
