#include "core/checks.hpp"

#include "core/config.hpp"
#include "core/findings.hpp"
#include "core/message.hpp"
#include "core/rules.hpp"

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <iterator>

namespace hostacl {

std::atomic<uint32_t> costly_checks{0};

namespace {

constexpr int kWord = 64;
constexpr struct {
    int rule; // or, below 10, the hundreds of a group
    Costly flag;
} kCostly[] = {{206, kGuards}, {217, kWritten}, {328, kThreads}, {415, kConst}, {520, kAliases}, {9, kLeaks}, {330, kStale}, {531, kCuts}};

const char* const kMisuses[] = {"report", "raise", "off"};
const char* const kForms[] = {"none", "text", "json"};

std::atomic<uint64_t> rules_off[(kRules + kWord - 1) / kWord]; // a bit for each rule: zero means on
std::atomic<OnMisuse> chosen_misuse{OnMisuse::Report};

// "HA204" or a prefix of it, as first and number of rules; false when it is neither.
bool read_item(std::string item, int* first, int* count) {
    if (item.size() < 3 || item.size() > 5 || std::toupper(item[0]) != 'H' || std::toupper(item[1]) != 'A') return false;
    for (size_t i = 2; i < item.size(); i++)
        if (!std::isdigit(static_cast<unsigned char>(item[i]))) return false;
    *count = item.size() == 5 ? 1 : item.size() == 4 ? 10 : 100;
    *first = std::atoi(item.c_str() + 2) * *count;
    return *first >= kFirstRule && (*count > 1 || *rule_of(format("HA%d", *first).c_str()).code);
}

bool any_on(const RuleSet& on, int rule) {
    if (rule >= kFirstRule) return on[static_cast<size_t>(rule - kFirstRule)];
    for (int each = rule * 100; each < (rule + 1) * 100; each++)
        if (on[static_cast<size_t>(each - kFirstRule)]) return true;
    return false;
}

uint32_t costly_of(const RuleSet& on) {
    uint32_t flags = kOrigins;
    for (const auto& one : kCostly)
        if (any_on(on, one.rule)) flags |= one.flag;
    return flags;
}

int number_of(const char* rule) { return rule[0] == 'H' && rule[1] == 'A' ? std::atoi(rule + 2) : 0; }

} // namespace

bool read_rules(const std::string& list, RuleSet* out) {
    out->reset();
    if (list == "all") out->set();
    if (list == "all" || list.empty()) return true;
    for (size_t at = 0; at <= list.size();) {
        size_t comma = std::min(list.find(',', at), list.size());
        int first = 0, count = 0;
        if (!read_item(list.substr(at, comma - at), &first, &count)) return false;
        for (int each = first; each < first + count; each++) out->set(static_cast<size_t>(each - kFirstRule));
        at = comma + 1;
    }
    return true;
}

void choose_rules(const RuleChoice& choice) {
    RuleSet on, ignored;
    read_rules(choice.check.empty() ? "all" : choice.check, &on);
    read_rules(choice.ignore, &ignored);
    on &= ~ignored;
    bool off = choice.on_misuse == OnMisuse::Off;
    for (size_t word = 0; word < std::size(rules_off); word++) {
        uint64_t bits = 0;
        for (size_t bit = 0; bit < kWord && word * kWord + bit < kRules; bit++)
            if (off || !on[word * kWord + bit]) bits |= uint64_t{1} << bit;
        rules_off[word].store(bits, std::memory_order_relaxed);
    }
    chosen_misuse = choice.on_misuse;
    costly_checks = off || choice.check.empty() ? 0 : costly_of(on);
    choose_report(choice.report, choice.report_file);
}

bool asked_for(const char* rule) {
    int number = number_of(rule);
    return std::any_of(std::begin(kCostly), std::end(kCostly),
                       [=](const auto& one) { return checking(one.flag) && (one.rule == number || one.rule == number / 100); });
}

bool rule_on(const char* rule) {
    int number = number_of(rule);
    if (number < kFirstRule || number >= kFirstRule + kRules) return true;
    size_t at = static_cast<size_t>(number - kFirstRule);
    return !(rules_off[at / kWord].load(std::memory_order_relaxed) >> (at % kWord) & 1);
}

OnMisuse on_misuse() { return chosen_misuse.load(std::memory_order_relaxed); }

namespace detail {

const char* take_rules(RuleChoice& rules, const std::string& name, const std::string& value) {
    static const char* const list = "\"\", all, or codes and prefixes with commas such as HA204,HA3";
    RuleSet set;
    if (name == "check" || name == "ignore") {
        if (!read_rules(value, &set)) return list;
        (name == "check" ? rules.check : rules.ignore) = value;
    } else if (name == "on_misuse") {
        auto found = std::find(std::begin(kMisuses), std::end(kMisuses), value);
        if (found == std::end(kMisuses)) return "report, raise or off";
        rules.on_misuse = static_cast<OnMisuse>(found - std::begin(kMisuses));
    } else if (name == "report") {
        auto found = std::find(std::begin(kForms), std::end(kForms), value);
        if (found == std::end(kForms)) return "none, text or json";
        rules.report = static_cast<ReportForm>(found - std::begin(kForms));
    } else if (name == "report_file") {
        rules.report_file = value;
    } else {
        return "";
    }
    return nullptr;
}

std::string rules_setting(const RuleChoice& rules, const std::string& name) {
    if (name == "check") return rules.check;
    if (name == "ignore") return rules.ignore;
    if (name == "on_misuse") return kMisuses[static_cast<int>(rules.on_misuse)];
    if (name == "report") return kForms[static_cast<int>(rules.report)];
    return name == "report_file" ? rules.report_file : "";
}

} // namespace detail

// A program may make objects before aclInit reads the settings: where they were made must be known then, too.
__attribute__((constructor)) static void check_from_the_start() {
    if (std::getenv("HOSTACL_CHECK")) config();
}

} // namespace hostacl
