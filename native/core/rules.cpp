#include "core/rules.hpp"

#include <algorithm>
#include <cstring>
#include <iterator>

namespace hostacl {
namespace {

constexpr Rule kRuleTable[] = {
#include "core/rules.inc"
};

} // namespace

const Rule& rule_of(const char* code) {
    static constexpr Rule kUnknown{"", "", Severity::Error, false, ""};
    auto at = std::lower_bound(std::begin(kRuleTable), std::end(kRuleTable), code,
                               [](const Rule& rule, const char* wanted) { return std::strcmp(rule.code, wanted) < 0; });
    return at != std::end(kRuleTable) && std::strcmp(at->code, code) == 0 ? *at : kUnknown;
}

const char* severity_name(Severity severity) {
    static const char* const names[] = {"error", "undefined", "portability", "leak"};
    return names[static_cast<int>(severity)];
}

} // namespace hostacl
