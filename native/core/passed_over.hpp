// Results that nobody has looked at for overflow, since the overflow status had not been asked for: they are looked at when it is.
#pragma once

#include "core/types.hpp"

#include <atomic>
#include <memory>
#include <vector>

namespace hostacl {

struct Block;
struct Request;

struct PassedOver {
    std::weak_ptr<Block> block; // of device memory that may be freed meanwhile
    const void* data;
    size_t bytes, count;
    int32_t dtype;
    bool saturates;
};

// No lock held for all of these.
void pass_over(PassedOver result);
// Takes those that are still there; `gone` says whether others were freed, written over, or too many.
std::vector<PassedOver> take_passed_over(bool* gone);
void forget_passed_over();

inline std::atomic<bool> any_passed_over{false};
void drop_passed_over(const void* start, size_t size);
// Before the program writes over memory.
inline void written_over(const void* start, size_t size) {
    if (any_passed_over.load(std::memory_order_relaxed)) drop_passed_over(start, size);
}
// Before an operator writes its outputs; one exactly in an input's memory moves or replaces what was there.
HACL_API void written_over_by(const Request& request);

} // namespace hostacl
