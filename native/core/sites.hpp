// Where a call came from in a program without Python: a symbol and an address, and the source line where debug information has it.
#pragma once

#include <string>

namespace hostacl {

// "main+0x1c (program)"; while checks are on and the program was built with -g "main.c:12 (main+0x1c)". No lock held.
std::string c_site(const void* return_address);

void lock_sites(); // for the fork handlers
void unlock_sites();
void rebuild_sites_lock();

} // namespace hostacl
