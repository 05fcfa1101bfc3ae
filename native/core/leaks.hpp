// HA9xx: what was made and never given back.
#pragma once

#include "core/types.hpp"

namespace hostacl {

// Reports by kind what is alive: all of it, or (device >= 0) what ends when this device is reset. Gives the number of kinds.
// No-op while leaks are not checked. No lock held.
HACL_API size_t report_leaks(int32_t device = -1);

} // namespace hostacl
