// What the core needs from Python, set by hostacl._machine when it is imported and cleared before the interpreter ends.
// Each hook enters Python by the rules of docs/design.md. No lock may be held at the call.
#pragma once

#include "core/stream.hpp"
#include "core/types.hpp"

namespace hostacl {

struct Request; // execute.hpp
struct Plan;

struct Hooks {
    // Finds or builds a model for the request, and the plan to run it. Sets request.plan.
    Failure (*prepare)(Request& request) = nullptr;
    // Runs a prepared request: arrays over its memory into the plan's function.
    Failure (*run)(Request& request) = nullptr;
    void (*release_plan)(Plan* plan) = nullptr;
    // "file.py:12" of the innermost Python frame that is not ours; empty in a thread without Python.
    std::string (*site)() = nullptr;
    // Lets other Python threads run while this one waits; does nothing in a thread that does not hold Python's lock.
    void* (*release_lock)() = nullptr;
    void (*retake_lock)(void* state) = nullptr;
};

HACL_API Hooks& hooks();

// The submit site of the call this thread is in: the Python line, else the C return address as symbol+offset.
HACL_API std::string call_site();

} // namespace hostacl
