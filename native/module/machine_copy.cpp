// acl_rt.h: copies and fills. A large one lets other Python threads run; none writes into a bytes object that the whole
// process shares.
#include "module/machine_table.hpp"
#include "module/machine_views.hpp"
#include "module/functions.hpp"

DECLARE(int32_t, aclrtMemcpy, void*, size_t, const void*, size_t, int32_t)
DECLARE(int32_t, aclrtMemcpyAsync, void*, size_t, const void*, size_t, int32_t, void*)
DECLARE(int32_t, aclrtMemcpyAsyncWithCondition, void*, size_t, const void*, size_t, int32_t, void*)
DECLARE(int32_t, aclrtMemcpy2d, void*, size_t, const void*, size_t, size_t, size_t, int32_t)
DECLARE(int32_t, aclrtMemcpy2dAsync, void*, size_t, const void*, size_t, size_t, size_t, int32_t, void*)
DECLARE(int32_t, aclrtMemset, void*, size_t, int32_t, size_t)
DECLARE(int32_t, aclrtMemsetAsync, void*, size_t, int32_t, size_t, void*)

namespace hostacl {
namespace {

constexpr size_t kLargeCopy = 64 << 10; // bytes; below, giving up Python's lock costs more than the copy

// Calls the row's function with the arguments read so far; `bytes` are written to `dst`.
template <class... P> PyObject* copy(const Row& row, void* dst, size_t bytes, P... arguments) {
    auto function = reinterpret_cast<Code (*)(P...)>(row.target);
    if (bytes > 0 && is_shared_bytes(dst))
        return to_python(fail(100000, "HA230",
                              format("dst = %p is a bytes object of length 0 or 1, which the whole process shares; allowed: one of two or "
                                     "more bytes, or a NumPy array", dst)));
    Code code;
    {
        Waiting waiting(bytes > kLargeCopy);
        code = function(arguments...);
    }
    return to_python(code);
}

size_t area(size_t pitch, size_t height) {
    size_t bytes = 0;
    return __builtin_mul_overflow(pitch, height, &bytes) ? std::numeric_limits<size_t>::max() : bytes;
}

PyObject* memcpy_call(const Row& row, const Args& args) {
    void* dst = args.address(0);
    auto max = args.integer<size_t>(1);
    const void* src = args.address(2);
    auto count = args.integer<size_t>(3);
    auto kind = args.integer<int32_t>(4);
    return copy(row, dst, count, dst, max, src, count, kind);
}

PyObject* memcpy_async_call(const Row& row, const Args& args) {
    void* dst = args.address(0);
    auto max = args.integer<size_t>(1);
    const void* src = args.address(2);
    auto count = args.integer<size_t>(3);
    auto kind = args.integer<int32_t>(4);
    return copy(row, dst, count, dst, max, src, count, kind, args.address(5));
}

PyObject* memcpy2d_call(const Row& row, const Args& args) {
    void* dst = args.address(0);
    auto dpitch = args.integer<size_t>(1);
    const void* src = args.address(2);
    auto spitch = args.integer<size_t>(3), width = args.integer<size_t>(4), height = args.integer<size_t>(5);
    auto kind = args.integer<int32_t>(6);
    return copy(row, dst, area(width, height), dst, dpitch, src, spitch, width, height, kind);
}

PyObject* memcpy2d_async_call(const Row& row, const Args& args) {
    void* dst = args.address(0);
    auto dpitch = args.integer<size_t>(1);
    const void* src = args.address(2);
    auto spitch = args.integer<size_t>(3), width = args.integer<size_t>(4), height = args.integer<size_t>(5);
    auto kind = args.integer<int32_t>(6);
    return copy(row, dst, area(width, height), dst, dpitch, src, spitch, width, height, kind, args.address(7));
}

PyObject* memset_call(const Row& row, const Args& args) {
    void* dst = args.address(0);
    auto max = args.integer<size_t>(1);
    auto value = args.integer<int32_t>(2);
    auto count = args.integer<size_t>(3);
    return copy(row, dst, count, dst, max, value, count);
}

PyObject* memset_async_call(const Row& row, const Args& args) {
    void* dst = args.address(0);
    auto max = args.integer<size_t>(1);
    auto value = args.integer<int32_t>(2);
    auto count = args.integer<size_t>(3);
    return copy(row, dst, count, dst, max, value, count, args.address(4));
}

} // namespace

void add_copy_rows(Rows& rows) {
    rows.insert(rows.end(), {
        own_row("aclrtMemcpy", "acl.rt.memcpy", hacl_aclrtMemcpy, {"dst", "dest_max", "src", "count", "kind"}, memcpy_call),
        own_row("aclrtMemcpyAsync", "acl.rt.memcpy_async", hacl_aclrtMemcpyAsync,
                {"dst", "dest_max", "src", "count", "kind", "stream"}, memcpy_async_call),
        own_row("aclrtMemcpyAsyncWithCondition", "acl.rt.memcpy_async_with_condition", hacl_aclrtMemcpyAsyncWithCondition,
                {"dst", "dest_max", "src", "count", "kind", "stream"}, memcpy_async_call),
        own_row("aclrtMemcpy2d", "acl.rt.memcpy2d", hacl_aclrtMemcpy2d,
                {"dst", "dpitch", "src", "spitch", "width", "height", "kind"}, memcpy2d_call),
        own_row("aclrtMemcpy2dAsync", "acl.rt.memcpy2d_async", hacl_aclrtMemcpy2dAsync,
                {"dst", "dpitch", "src", "spitch", "width", "height", "kind", "stream"}, memcpy2d_async_call),
        own_row("aclrtMemset", "acl.rt.memset", hacl_aclrtMemset, {"ptr", "max_count", "value", "count"}, memset_call),
        own_row("aclrtMemsetAsync", "acl.rt.memset_async", hacl_aclrtMemsetAsync, {"ptr", "max_count", "value", "count", "stream"},
                memset_async_call),
    });
}

} // namespace hostacl
