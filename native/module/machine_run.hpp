// Gives the core the hooks that run operators; machine_run.cpp.
#pragma once

namespace hostacl {
void install_run_hooks();
}
