// Finding libpython: from HOSTACL_PYTHON, or from this library's own path up to pyvenv.cfg or to the installation's prefix.
#include "bridge/locate.hpp"

#include <cstdlib>
#include <dlfcn.h>
#include <filesystem>
#include <fstream>

namespace hostacl {

namespace fs = std::filesystem;

namespace {

bool is_there(const fs::path& path) {
    std::error_code ignored;
    return fs::exists(path, ignored);
}

fs::path core_path() {
    Dl_info info;
    if (!dladdr(reinterpret_cast<const void*>(&locate_python), &info) || !info.dli_fname) return {};
    std::error_code error;
    fs::path path = fs::weakly_canonical(info.dli_fname, error);
    return error ? fs::path(info.dli_fname) : path;
}

// The value of `home` in a pyvenv.cfg: the folder of the base interpreter; empty when there is none.
std::string home_of(const fs::path& config) {
    std::ifstream file(config);
    for (std::string line; std::getline(file, line);) {
        size_t equals = line.find('=');
        if (equals == std::string::npos) continue;
        std::string key = line.substr(0, line.find_last_not_of(" \t", equals - 1) + 1);
        size_t start = line.find_first_not_of(" \t", equals + 1);
        if (key == "home" && start != std::string::npos)
            return line.substr(start, line.find_last_not_of(" \t\r") + 1 - start);
    }
    return {};
}

void add_libraries(PythonPlace& place, const fs::path& prefix) {
    for (const char* folder : {"lib", "lib64", "lib/x86_64-linux-gnu", "lib/aarch64-linux-gnu"}) {
        fs::path library = prefix / folder / python_library_name();
        if (is_there(library)) place.libraries.push_back(library);
    }
}

fs::path interpreter_in(const fs::path& folder) {
    for (const char* name : {"python" HOSTACL_PYTHON_VERSION, "python3", "python"})
        if (is_there(folder / name)) return folder / name;
    return {};
}

// A virtual environment's interpreter finds its modules by its own path, and its libpython by its base's.
void use_program(PythonPlace& place, const fs::path& program) {
    place.program = program;
    fs::path config = program.parent_path().parent_path() / "pyvenv.cfg";
    if (is_there(config)) {
        std::string home = home_of(config);
        if (!home.empty()) add_libraries(place, fs::path(home).parent_path());
    }
    add_libraries(place, program.parent_path().parent_path());
    std::error_code error;
    fs::path real = fs::canonical(program, error);
    if (!error) add_libraries(place, real.parent_path().parent_path());
}

void use_setting(PythonPlace& place, const fs::path& given) {
    std::error_code ignored;
    if (fs::is_directory(given, ignored)) {
        fs::path program = interpreter_in(given / "bin");
        if (program.empty()) place.error = "HOSTACL_PYTHON = " + given.string() + " has no bin/python3";
        else use_program(place, program);
    } else if (!is_there(given)) {
        place.error = "HOSTACL_PYTHON = " + given.string() + " does not exist";
    } else if (given.filename().string().rfind("libpython", 0) == 0) {
        place.libraries.push_back(given);
        fs::path program = interpreter_in(given.parent_path().parent_path() / "bin");
        if (!program.empty()) place.program = program;
    } else {
        use_program(place, fs::absolute(given, ignored));
    }
    if (!place.error.empty())
        place.error += "; allowed: the path of a Python " HOSTACL_PYTHON_VERSION " (its executable, its folder, or its "
                       "libpython), with hostacl's dependencies installed. Correct or unset it.";
}

void search_upwards(PythonPlace& place) {
    for (fs::path folder = core_path().parent_path(); folder.has_relative_path(); folder = folder.parent_path()) {
        bool prefix = folder.filename() == "python" HOSTACL_PYTHON_VERSION; // PREFIX/lib/python3.11/site-packages/...
        fs::path root = prefix ? folder.parent_path().parent_path() : folder;
        if (!prefix && !is_there(folder / "pyvenv.cfg")) continue;
        fs::path program = interpreter_in(root / "bin");
        if (program.empty()) continue;
        use_program(place, program);
        return;
    }
}

} // namespace

std::string python_library_name() { return "libpython" HOSTACL_PYTHON_VERSION ".so.1.0"; }

std::string packages_folder() { return core_path().parent_path().parent_path(); }

PythonPlace locate_python() {
    PythonPlace place;
    const char* setting = std::getenv("HOSTACL_PYTHON");
    if (setting && *setting) use_setting(place, setting);
    else search_upwards(place);
    place.libraries.push_back(python_library_name());
    return place;
}

} // namespace hostacl
