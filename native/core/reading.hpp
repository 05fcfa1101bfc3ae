// The arguments of an operator call: checked from left to right, and taken into a request.
#pragma once

#include "core/execute.hpp"

namespace hostacl {

constexpr Code kInvalidParameter = 100000; // ACL_ERROR_INVALID_PARAM

// Texts of what several calls refuse.
Code null_argument(const char* name);
Code bad_handle(const std::string& argument, Handle handle, Kind wanted);
// A text of Python's side ("HA502 text") with the function's name after the rule.
std::string named(const char* function, const std::string& text);

// All need the machine lock.
Code read_call(const CallArguments& call, Request* request, std::string* key, const OpAttr** attr);
Code read_buffer(const TensorList& list, int index, Argument* argument);
void describe(const TensorDesc& desc, Handle handle, Argument* argument);
// What a call without a plan is described with.
void snapshot(const OpAttr& attr, Request* request);
// Every buffer holds what its descriptor says; arguments get hold of their blocks.
Code check_buffers(Request* request);
// The inputs whose bytes shape inference reads can be read.
Code check_values(Request* request);

} // namespace hostacl
