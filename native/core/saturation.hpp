// How results that leave the range of float16 come out, and whether any did.
#pragma once

#include "core/types.hpp"

#include <memory>

namespace hostacl {

struct Block;

enum Saturation : int32_t { kSaturate = 0, kInfNan = 1 }; // aclrtFloatOverflowMode

// Lock held.
HACL_API int32_t saturation_of(int32_t device);
void set_saturation(int32_t device, int32_t mode);

// The mode of the current device of this thread, of device 0 when there is none. No lock held.
HACL_API int32_t saturation_here();

// The overflow status: whether a result was not finite (or, where halves saturate, at its largest) since it was last cleared.
// One for the process, for aclrtGetOverflowStatus and the operators that read it. No lock held for all of these.
HACL_API bool overflow_seen();
HACL_API void clear_overflow();
HACL_API void forget_overflow(); // as if the status had never been asked for
// From now on results of any size are looked at; before, only small ones, where it costs nothing. Larger ones are looked at now,
// those that are still there.
HACL_API void watch_overflow();
// Looks at results of an aclDataType, later if they are large and nobody has asked; float and complex types only.
HACL_API void look_for_overflow(const void* data, size_t count, int32_t dtype, bool saturates, const std::shared_ptr<Block>& block);

// Both are tasks of the stream. The status is a 64-bit number: 0, or 1 after an overflow.
Code write_overflow_status(void* output, size_t size, Handle stream);
Code reset_overflow_status(Handle stream);

} // namespace hostacl
