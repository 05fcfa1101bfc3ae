#include "core/inject.hpp"

#include "core/machine.hpp"
#include "core/message.hpp"

#include <algorithm>
#include <vector>

namespace hostacl {

namespace detail {
std::atomic<int> injections{0};
}

namespace {

struct Injection {
    uint64_t number;
    Code code;
    std::string function; // empty: an operator
    int64_t left;         // operators up to and including the one that is meant
};

// Lock held; never destroyed, for late callers may come.
std::vector<Injection>& waiting() {
    static auto* list = new std::vector<Injection>;
    return *list;
}
uint64_t last_number = 0;

uint64_t add(Injection injection) {
    Lock lock = lock_machine();
    injection.number = ++last_number;
    waiting().push_back(std::move(injection));
    detail::injections++;
    return last_number;
}

// The code of the first that is meant, which waits no longer; 0 when there is none. Lock held.
template <class Meant> Code take(Meant meant) {
    auto found = std::find_if(waiting().begin(), waiting().end(), meant);
    if (found == waiting().end()) return 0;
    Code code = found->code;
    waiting().erase(found);
    detail::injections--;
    return code;
}

} // namespace

std::string injected_text(Code code, const std::string& where) {
    return where + format(" fails with %d, injected by hostacl.testing.inject; nothing was done", code);
}

Code injected_call(const char* function) {
    Code code;
    {
        Lock lock = lock_machine();
        code = take([&](const Injection& one) { return one.function == function || one.function == Entry::name(); });
    }
    return code ? fail(code, "HA122", injected_text(code, function)) : 0;
}

Code injected_operator() {
    for (Injection& one : waiting()) one.left -= one.function.empty() ? 1 : 0;
    return take([](const Injection& one) { return one.function.empty() && one.left <= 0; });
}

uint64_t inject_call(Code code, const std::string& function) { return add({0, code, function, 0}); }

uint64_t inject_operator(Code code, int64_t nth) { return add({0, code, "", nth}); }

bool forget_injection(uint64_t number) {
    Lock lock = lock_machine();
    return take([&](const Injection& one) { return one.number == number; }) != 0;
}

void forget_injections() {
    Lock lock = lock_machine();
    detail::injections = 0;
    waiting().clear();
}

} // namespace hostacl
