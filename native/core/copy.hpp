// Copies and sets of memory: checked against the known blocks, at once or as a task of a stream.
#pragma once

#include "core/types.hpp"

namespace hostacl {

enum CopyKind : int32_t { kHostToHost, kHostToDevice, kDeviceToHost, kDeviceToDevice, kDefaultKind };

// `height` rows of `width` bytes; a plain copy has one row.
struct Copy {
    void* dst = nullptr;
    const void* src = nullptr;
    size_t dpitch = 0, spitch = 0, width = 0, height = 1;
    int32_t kind = kDefaultKind;
    const char *dst_name = "dst", *src_name = "src";
};

struct Fill {
    void* dst = nullptr;
    int32_t value = 0;
    size_t count = 0;
};

// 0 at once when there is nothing to copy; then null pointers, kind, sizes, context, pointers. No lock held.
Code copy_now(const Copy& copy);
Code copy_async(const Copy& copy, Handle stream);
Code check_room(size_t max, size_t count, const char* max_name, const char* count_name); // 107000: count > max
Code fill_now(const Fill& fill);
Code fill_async(const Fill& fill, Handle stream);

} // namespace hostacl
