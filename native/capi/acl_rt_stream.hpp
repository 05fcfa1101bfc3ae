// Making a stream, for its several C functions.
#pragma once

#include "capi/acl_rt.hpp"

namespace hostacl {

Code create_stream(void** stream, uint32_t priority, uint32_t flags);

} // namespace hostacl
