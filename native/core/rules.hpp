// The rules of use by code: what src/hostacl/checks says of each, for reports that are made without Python.
#pragma once

#include <cstdint>

namespace hostacl {

enum class Severity : uint8_t { Error, Undefined, Portability, Leak };

struct Rule {
    const char* code;
    const char* title;
    Severity severity;
    bool answer;       // a code that programs ask for, such as a timeout: it is no misuse
    const char* right; // what to do instead; "" when its page has no example
};

const Rule& rule_of(const char* code); // of an unknown code: an error without a title
const char* severity_name(Severity severity);

} // namespace hostacl
