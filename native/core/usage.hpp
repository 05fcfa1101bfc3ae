// Rules about how a call of an operator uses streams, tensors and memory: looked at only while they are asked for.
#pragma once

#include "core/execute.hpp"
#include "core/stream_state.hpp"

namespace hostacl {

// HA328: the stream holds unsynchronized operators of another thread. Lock held.
void check_thread(Stream& stream, const Request& request);

// HA520: an output lies over an input, and the operator is not one that may work in place. Lock held.
void check_aliases(const Request& request);

// HA415: the buffer of a const input holds other bytes than its descriptor. Lock held.
void check_const(const std::string& place, const TensorDesc& desc, const Argument& argument);

enum class When { Before, After };

// HA206: bytes behind a block were changed, before this operator ran or by it. No lock held.
void check_guards_of(const Request& request, When when);

} // namespace hostacl
