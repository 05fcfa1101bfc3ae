#include "core/hooks.hpp"

#include "core/message.hpp"

#include <dlfcn.h>

#include <cstring>

namespace hostacl {

Hooks& hooks() {
    static Hooks& the_hooks = *new Hooks;
    return the_hooks;
}

std::string call_site() {
    if (hooks().site) {
        std::string site = hooks().site();
        if (!site.empty()) return site;
    }
    const void* caller = Entry::caller();
    Dl_info info{};
    if (!caller || !::dladdr(caller, &info) || !info.dli_fname) return "";
    const char* slash = std::strrchr(info.dli_fname, '/');
    const char* file = slash ? slash + 1 : info.dli_fname;
    auto address = reinterpret_cast<uintptr_t>(caller);
    if (info.dli_sname)
        return format("%s+0x%zx (%s)", info.dli_sname, address - reinterpret_cast<uintptr_t>(info.dli_saddr), file);
    return format("%s+0x%zx", file, address - reinterpret_cast<uintptr_t>(info.dli_fbase));
}

} // namespace hostacl
