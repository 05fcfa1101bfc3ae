// From a handle of the C API to its live object, or a text that says what the handle is instead.
#pragma once

#include "core/desc.hpp"
#include "core/machine.hpp"
#include "core/memory.hpp"
#include "core/message.hpp"

namespace hostacl {

constexpr Code kInvalidParam = 100000;

template <class T, Kind K> T* lookup(HandleTable<T, K>& table, const void* pointer, const char* argument) {
    Handle handle = as_handle(pointer);
    if (T* found = table.find(handle)) return found;
    fail(kInvalidParam, handle ? handle_rule(handle, K) : "HA401",
         format("%s = %s; allowed: a live %s", argument, describe_handle(handle).c_str(), kind_name(K)));
    return nullptr;
}

// These three need the machine lock, as their tables do.
inline TensorDesc* find_desc(const void* desc, const char* argument = "desc") { return lookup(descs(), desc, argument); }
inline DataBuffer* find_buffer(const void* buffer) { return lookup(buffers(), buffer, "dataBuffer"); }
inline OpAttr* find_attr(const void* attr) { return lookup(attrs(), attr, "attr"); }

inline Code null_argument(const char* argument, const char* allowed) {
    return fail(kInvalidParam, "HA401", format("%s = NULL; allowed: %s", argument, allowed));
}

} // namespace hostacl
