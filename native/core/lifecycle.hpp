// aclInit and aclFinalize: what begins and ends with them.
#pragma once

#include "core/types.hpp"

namespace hostacl {

Code initialize(const char* config_path); // null or "": no file
Code finalize();
Code finalize_reference(uint64_t* count); // finalizes when the count of aclInit calls reaches 0
HACL_API bool is_initialized();
void check_initialized(); // reports a use before aclInit, or after aclFinalize; no lock held

// Called by finalize and reset with no lock held: tables that end with them (models, handles).
HACL_API void at_finalize(void (*function)());

// As if the process had just begun: devices reset, models forgotten, texts gone, settings read again. No lock held.
HACL_API void reset_machine();

struct LiveObjects {
    size_t contexts = 0, streams = 0, events = 0, device_blocks = 0, host_blocks = 0, registered = 0;
};
HACL_API LiveObjects live_objects();

} // namespace hostacl
