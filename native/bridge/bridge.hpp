// Python in a program that has none, or has not imported hostacl yet. The only place of the core that knows of Python; it
// links no libpython, and reaches it by name. Rules 3, 6, 9 and 10 of the design (docs/c.md).
#pragma once

#include "core/types.hpp"

#include <string>

namespace hostacl {

// Makes hooks() usable: true when hostacl._machine has set them. Imports hostacl into the Python of this process, or starts
// one. False: `why` says what is missing and what to do (the caller's code is 500000). No lock of ours may be held.
HACL_API bool ensure_python(std::string* why);

// hostacl._machine says so when it clears the hooks, because its interpreter ends: no other one is started after that.
HACL_API void python_ended();

// Writes out what Python's sys.stdout and sys.stderr hold, when this library started Python (nobody else will). aclFinalize
// does it. No lock of ours may be held.
HACL_API void flush_python_output();

} // namespace hostacl
