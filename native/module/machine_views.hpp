// Memory as Python sees it: blocks that views keep alive, bytes objects whose address was asked for.
#pragma once

#include "module/python.hpp"

namespace hostacl {

// Whether address is that of a bytes object of length 0 or 1 that acl.util.bytes_to_ptr was asked about.
bool is_shared_bytes(const void* address);

bool add_view_functions(PyObject* module);

} // namespace hostacl
