// Where each object was made and ended; known while checks are on. The sites are those of whole calls, so they come when these end.
#pragma once

#include "core/checks.hpp"
#include "core/types.hpp"

#include <functional>
#include <string>

namespace hostacl {

HACL_API void note_made(Handle handle); // by the call that this thread is in; lock held for all but the last
HACL_API void note_ended(Handle handle);
std::string origin_text(Handle handle); // " made at a.py:3, destroyed at a.py:5"; "" when unknown
void each_living(const std::function<void(Handle handle, const std::string& made)>& visit);
void forget_origins();

void place_origins(const std::string& site); // of what was noted in the call that ends here; no lock held

} // namespace hostacl
