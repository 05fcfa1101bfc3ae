// Where the Python is that belongs to this copy of hostacl.
#pragma once

#include <string>
#include <vector>

namespace hostacl {

struct PythonPlace {
    std::string program;                // its executable, from which it finds its modules; empty: its own default
    std::vector<std::string> libraries; // shared libpythons to try, in order; the last one is a bare name
    std::string error;                  // HOSTACL_PYTHON that makes no sense
};

std::string python_library_name();  // "libpython3.11.so.1.0"
std::string packages_folder();      // the folder that holds the package `hostacl` of this core; empty: unknown
PythonPlace locate_python();        // HOSTACL_PYTHON, else the virtual environment or prefix that this core lies in

} // namespace hostacl
