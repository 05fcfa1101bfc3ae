// How results that leave the range of float16 come out, and whether any did.
#pragma once

#include "core/types.hpp"

namespace hostacl {

enum Saturation : int32_t { kSaturate = 0, kInfNan = 1 }; // aclrtFloatOverflowMode

// Lock held.
HACL_API int32_t saturation_of(int32_t device);
void set_saturation(int32_t device, int32_t mode);

// The mode of the current device of this thread, of device 0 when there is none. No lock held.
HACL_API int32_t saturation_here();

// An operator met an overflow: aclrtGetOverflowStatus tells of it until it is reset. No lock held.
HACL_API void note_overflow();

// Both are tasks of the stream. The status is a 64-bit number: 0, or 1 after an overflow.
Code write_overflow_status(void* output, size_t size, Handle stream);
Code reset_overflow_status(Handle stream);

} // namespace hostacl
