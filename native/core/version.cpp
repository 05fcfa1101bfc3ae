#include "core/types.hpp"

// The version of the core, for those that are built with it to compare: two copies of hostacl must not be mixed.
HACL_EXPORT const char* hacl_core_version() noexcept { return HOSTACL_VERSION; }
