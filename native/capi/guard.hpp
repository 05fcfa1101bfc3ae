// What every C function stands in: its name for the texts, and a catch-all, so that no exception leaves it.
#pragma once

#include "core/inject.hpp"
#include "core/message.hpp"

#include <exception>
#include <new>

// Always inlined, so that the return address is the program's.
#define HACL_INLINE __attribute__((always_inline)) inline

namespace hostacl {

// Says what escaped, and gives the code for it. Never throws: called from a catch block of a noexcept function.
inline Code escaped() noexcept {
    try {
        try {
            throw;
        } catch (const std::bad_alloc&) {
            return fail(200000, "HA113", "out of host memory; free some and call again");
        } catch (const std::exception& error) {
            return fail(500000, "HA114", format("internal error: %s; this is a fault of hostacl, please report it", error.what()));
        } catch (...) {
            return fail(500000, "HA114", "internal error; this is a fault of hostacl, please report it");
        }
    } catch (...) {
        return 200000; // no memory even for the text
    }
}

// A C function that returns a code: bad_alloc 200000, anything else 500000.
template <class Body> HACL_INLINE Code guarded(const char* function, Body&& body) noexcept {
    try {
        Entry entry(function, __builtin_return_address(0));
        try {
            if (may_inject())
                if (Code code = injected_call(function)) return code;
            return body();
        } catch (...) {
            return escaped();
        }
    } catch (...) {
        return 200000;
    }
}

// One that returns something else, or nothing: `fallback` when an exception came.
template <class Value, class Body> HACL_INLINE Value guarded_or(const char* function, Value fallback, Body&& body) noexcept {
    try {
        Entry entry(function, __builtin_return_address(0));
        try {
            if (may_inject() && injected_call(function)) return fallback;
            return body();
        } catch (...) {
            escaped();
            return fallback;
        }
    } catch (...) {
        return fallback;
    }
}

} // namespace hostacl
