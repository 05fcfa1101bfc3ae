// The C types of the API as the core sees them, and the return codes it gives.
#pragma once

#include <cstddef>
#include <cstdint>

#define HACL_EXPORT extern "C" __attribute__((visibility("default")))
#define HACL_API __attribute__((visibility("default")))

namespace hostacl {

using Code = int32_t;    // aclError
using Handle = uint64_t; // an opaque pointer of the C API: never dereferenced, looked up (handles.hpp)

inline Handle as_handle(const void* pointer) { return reinterpret_cast<Handle>(pointer); }
inline void* as_pointer(Handle handle) { return reinterpret_cast<void*>(handle); }

} // namespace hostacl
