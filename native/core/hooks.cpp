#include "core/hooks.hpp"

#include "core/message.hpp"
#include "core/sites.hpp"

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
    return c_site(Entry::caller());
}

} // namespace hostacl
