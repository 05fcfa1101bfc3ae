// What the core needs from Python, set by hostacl._machine when it is imported and cleared before the interpreter ends.
// Each hook enters Python by the rules of docs/design.md. No lock may be held at the call.
#pragma once

#include "core/stream.hpp"
#include "core/types.hpp"

namespace hostacl {

struct Request; // execute.hpp
struct Plan;

struct Hooks {
    // Finds (or, when request.via compiles, builds) a model for the request and makes request.plan.
    Failure (*prepare)(Request& request) = nullptr;
    // Runs a prepared request: arrays over its memory into the plan's function; fills request.true_shapes.
    Failure (*run)(Request& request) = nullptr;
    // Fills request.inferred, one a described output.
    Failure (*infer)(Request& request) = nullptr;
    // Models: a blob in memory; a folder.
    Failure (*load)(const void* model, size_t size) = nullptr;
    Failure (*set_model_dir)(const char* path) = nullptr;
    Failure (*set_queue_limit)(uint64_t count) = nullptr;
    void (*release_plan)(Plan* plan) = nullptr;
    // "file.py:12" of the innermost Python frame that is not ours; empty in a thread without Python.
    std::string (*site)() = nullptr;
    // Lets other Python threads run while this one waits; does nothing in a thread that does not hold Python's lock.
    void* (*release_lock)() = nullptr;
    void (*retake_lock)(void* state) = nullptr;
    // True when the wait that this thread is in should end (Ctrl-C); asked ten times a second. It must answer at
    // once, without waiting for Python's lock, in a thread whose wait was not begun from Python.
    bool (*interrupted)() = nullptr;
};

HACL_API Hooks& hooks();

// The submit site of the call this thread is in: the Python line, else the C return address as symbol+offset.
HACL_API std::string call_site();

} // namespace hostacl
