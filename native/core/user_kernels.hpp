// Kernels of the user's own, as a card takes them: functions that choose one, and device binaries. A binary cannot run on a
// CPU: what is registered is kept and checked, and the texts name hostacl.op, which is the way in here.
#pragma once

#include "core/execute.hpp"

namespace hostacl {

// Chooses a kernel for a described call: counts and descriptors of inputs and outputs, attributes, the kernel descriptor to fill.
using CompileFunc = Code (*)(int, const void* const*, int, const void* const*, const void*, void*);
using Deallocator = void (*)(void* data, size_t length); // gives a binary's memory back when its kernel is forgotten

HACL_API Code register_compile_func(const char* op, CompileFunc function);
HACL_API Code unregister_compile_func(const char* op);
Code create_kernel(const char* op, const char* id, const char* name, void* binary, int size, int engine, Deallocator deallocator);
// Calls the operator's function; the kernel that it chose must be there.
HACL_API Code update_params(const CallArguments& call);

// What to add to a failure's text when the operator has a device binary: why it does not run, and what does. "" without one.
std::string binary_hint(const std::string& op);

// For the function, while it runs.
Code set_kernel_args(Handle desc, const char* id, const void* args, uint32_t size);
Code set_kernel_workspaces(Handle desc, int count, const size_t* sizes);
// The operator that a live kernel descriptor is for; "" when it is none.
HACL_API std::string op_of_kernel_desc(Handle desc);

} // namespace hostacl
