// Which rules of use are on, and what happens when one is broken. Read on every call, so without a lock.
#pragma once

#include "core/types.hpp"

#include <atomic>
#include <bitset>
#include <string>

namespace hostacl {

enum class OnMisuse : uint8_t { Report, Raise, Off };
enum class ReportForm : uint8_t { None, Text, Json };

// What costs more than a look at what is there anyway: off unless asked for.
enum Costly : uint32_t {
    kOrigins = 1, // where each object was made and ended
    kWritten = 2, // HA217
    kGuards = 4,  // HA206 after each operator, which names it
    kThreads = 8, // HA328
    kConst = 16,  // HA415
    kAliases = 32, // HA520
    kLeaks = 64,  // HA9xx
    kStale = 128, // HA330 of what has run, but was not waited for
    kCuts = 256,  // HA531
};

// The choice of rules as the settings give it: "" (the cheap ones), "all", or codes and prefixes such as "HA2,HA309".
struct RuleChoice {
    std::string check, ignore; // as given
    OnMisuse on_misuse = OnMisuse::Report;
    ReportForm report = ReportForm::None; // to stderr, as it happens (text) or at the end (JSON)
    std::string report_file;              // gets the JSON at the end; "" none. %p in it is the process's number
};

constexpr int kFirstRule = 100, kRules = 900;
using RuleSet = std::bitset<kRules>; // by the number behind HA, less kFirstRule

// The rules of a list of codes and prefixes; false when an item is neither. "" is none, "all" is all.
bool read_rules(const std::string& list, RuleSet* out);

// Puts a choice (of valid lists) in force.
void choose_rules(const RuleChoice& choice);

HACL_API extern std::atomic<uint32_t> costly_checks;
inline bool checking(uint32_t which) { return (costly_checks.load(std::memory_order_relaxed) & which) != 0; }

HACL_API bool asked_for(const char* rule); // one of the costly rules, whose flag is set
bool rule_on(const char* rule); // it is selected, not ignored, and misuse is not off
HACL_API OnMisuse on_misuse();

} // namespace hostacl
