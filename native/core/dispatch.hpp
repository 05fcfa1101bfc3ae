// From a described call to its stream: plan, checks, task.
#pragma once

#include "core/execute.hpp"
#include "core/machine.hpp"

namespace hostacl {

// How overflows come out on the device is part of a plan. Lock held.
void set_mode(int32_t mode, Request* request, std::string* key);
// Every output is described with a 0 dim: nothing runs.
bool nothing_to_do(const std::vector<Argument>& outputs);
// 148050: an output's size depends on data, and this call cannot write it back.
Code refuse_data_dependent(const Request& request);
// Makes the request's plan through Python. No lock held.
Code make_plan(Request& request);
// Hands a request with a plan to its stream. The lock is held, and is released.
Code dispatch(Lock& lock, const StreamPtr& stream, Request& request);

} // namespace hostacl
