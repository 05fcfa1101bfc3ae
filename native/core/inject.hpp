// Failures that a test asks for: of the next call of a C function, or of the nth operator from now on.
#pragma once

#include "core/types.hpp"

#include <atomic>
#include <string>

namespace hostacl {

namespace detail {
HACL_API extern std::atomic<int> injections; // how many are waiting
}

// The one question on the way of every call.
inline bool may_inject() { return __builtin_expect(detail::injections.load(std::memory_order_relaxed) != 0, 0); }

// Asked by every C function once may_inject() says so: the code it is to fail with, its text kept; 0 when it is not
// meant. No lock held.
HACL_API Code injected_call(const char* function);
// Asked for every operator that is handed to a stream: the code it is to fail with when it runs; 0 for none. Lock held.
Code injected_operator();
HACL_API std::string injected_text(Code code, const std::string& where);

// One injection waits until it is met or forgotten; gives its number. `function` is a C name, or pyACL's.
HACL_API uint64_t inject_call(Code code, const std::string& function);
HACL_API uint64_t inject_operator(Code code, int64_t nth); // 1 is the next operator
HACL_API bool forget_injection(uint64_t number);            // whether it was still waiting
HACL_API void forget_injections();

} // namespace hostacl
