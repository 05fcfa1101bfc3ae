#include "core/findings.hpp"

#include "core/rules.hpp"

#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <new>
#include <vector>

namespace hostacl {
namespace {

constexpr size_t kMostFindings = 4096;

struct Findings {
    std::mutex mutex;
    ReportForm form = ReportForm::None;
    std::string file;
    bool at_exit = false;
    std::vector<Report> all; // in order of their first time
    std::map<std::string, size_t> places;
    uint64_t dropped = 0;
};

Findings& findings() {
    static Findings& the_findings = *new Findings;
    return the_findings;
}

struct Misuse {
    std::string code, text;
};
thread_local Misuse* raised = nullptr;

// ---- what a report holds, by its parts --------------------------------------------------------------------------

bool is_name(char letter) { return std::isalnum(static_cast<unsigned char>(letter)) || letter == '_'; }

// Where a Python site ends that begins here: behind the line's number. A file's name may hold spaces and commas.
size_t end_of_line_number(const std::string& text, size_t at) {
    for (size_t colon = text.find(':', at); colon != std::string::npos; colon = text.find(':', colon + 1)) {
        size_t end = std::min(text.find_first_not_of("0123456789", colon + 1), text.size());
        if (end > colon + 1 && (end == text.size() || std::strchr(",;])", text[end]))) return end;
    }
    return std::string::npos;
}

// All that stand behind "<verb> at " in a text: "a.py:3", "main+0x1c (program)" ...
std::vector<std::string> sites_of(const std::string& text, const char* verb) {
    std::vector<std::string> sites;
    std::string mark = std::string(verb) + " at ";
    for (size_t at = text.find(mark); at != std::string::npos; at = text.find(mark, at)) {
        at += mark.size();
        size_t end = std::min(text.find_first_of(",; ]", at), text.size());
        size_t close = text.compare(end, 2, " (") == 0 ? text.find(')', end) : std::string::npos;
        bool of_c = text.find('+', at) < end || text.find("+0x", end) < close; // "main+0x1c (program)", "main.c:12 (main+0x1c)"
        if (close != std::string::npos && of_c) end = close + 1;
        if (!of_c && text.find(':', at) >= end) end = std::min(end_of_line_number(text, at), text.size());
        sites.push_back(text.substr(at, end - at));
    }
    return sites;
}

std::string headline(const Report& report) { return report.function.empty() ? report.text : report.function + "(): " + report.text; }

// ---- text -------------------------------------------------------------------------------------------------------

bool colours() { return ::isatty(STDERR_FILENO) && !std::getenv("NO_COLOR"); }

const char* colour_of(Severity severity) {
    if (!colours()) return "";
    return severity == Severity::Portability ? "\033[33m" : severity == Severity::Leak ? "\033[35m" : "\033[31m";
}

void tell(const Report& report) {
    const Rule& rule = rule_of(report.rule.c_str());
    std::string text = format("hostacl: %s%s %s %s%s\n  %s\n", colour_of(rule.severity), severity_name(rule.severity), report.rule.c_str(),
                              rule.title, colours() ? "\033[0m" : "", headline(report).c_str());
    std::string returned = report.code ? format("returned %d", report.code) : "";
    if (!report.site.empty()) text += "  at " + report.site + (returned.empty() ? "" : ", " + returned) + "\n";
    else if (!returned.empty()) text += "  " + returned + "\n";
    if (*rule.right) text += std::string("  right, for example: ") + rule.right + "\n";
    std::fputs(text.c_str(), stderr);
}

void tell_total(const std::vector<Report>& all, uint64_t dropped) {
    if (all.empty()) return;
    size_t counts[4] = {};
    for (const Report& report : all) {
        counts[static_cast<int>(rule_of(report.rule.c_str()).severity)]++;
        if (report.count > 1)
            std::fprintf(stderr, "hostacl: %s at %s: %llu times\n", report.rule.c_str(),
                         report.site.empty() ? "an unknown place" : report.site.c_str(), static_cast<unsigned long long>(report.count));
    }
    std::string text;
    for (int severity = 0; severity < 4; severity++)
        if (counts[severity]) text += format("%s%zu %s", text.empty() ? "" : ", ", counts[severity], severity_name(static_cast<Severity>(severity)));
    std::fprintf(stderr, "hostacl: found %s; `hostacl explain CODE` prints a rule's page\n", text.c_str());
    if (dropped) std::fprintf(stderr, "hostacl: and %llu more that were not kept\n", static_cast<unsigned long long>(dropped));
}

// ---- JSON -------------------------------------------------------------------------------------------------------

// Bytes of the UTF-8 letter at a place; 0 when there is none: programs give names of any bytes.
size_t letter_size(const std::string& text, size_t at) {
    auto byte = static_cast<unsigned char>(text[at]);
    size_t size = byte < 0x80 ? 1 : byte >= 0xC2 && byte < 0xE0 ? 2 : byte >= 0xE0 && byte < 0xF0 ? 3 : byte >= 0xF0 && byte < 0xF5 ? 4 : 0;
    for (size_t next = 1; next < size; next++)
        if (at + next >= text.size() || (static_cast<unsigned char>(text[at + next]) & 0xC0) != 0x80) return 0;
    auto second = static_cast<unsigned char>(size > 2 ? text[at + 1] : 0);
    bool longer_than_needed = (byte == 0xE0 && second < 0xA0) || (byte == 0xF0 && second < 0x90);
    bool no_letter = (byte == 0xED && second >= 0xA0) || (byte == 0xF4 && second >= 0x90); // a surrogate, or beyond the last
    return longer_than_needed || no_letter ? 0 : size;
}

std::string quoted(const std::string& text) {
    std::string out = "\"";
    for (size_t at = 0, size; at < text.size(); at += std::max<size_t>(size, 1)) {
        auto byte = static_cast<unsigned char>(text[at]);
        size = letter_size(text, at);
        if (byte == '"' || byte == '\\') out += '\\', out += text[at];
        else if (size == 0) out += "\\ufffd";
        else if (byte < 0x20) out += format("\\u%04x", byte);
        else out.append(text, at, size);
    }
    return out + "\"";
}

std::string quoted(const std::vector<std::string>& texts) {
    std::string out = "[";
    for (const std::string& text : texts) out += (out.size() > 1 ? ", " : "") + quoted(text);
    return out + "]";
}

std::string json_of(const Report& report) {
    const Rule& rule = rule_of(report.rule.c_str());
    std::string out = "{\"code\": " + quoted(report.rule) + ", \"name\": " + quoted(std::string(rule.title)) +
                      ", \"severity\": " + quoted(std::string(severity_name(rule.severity))) + ", \"function\": " + quoted(report.function) +
                      ", \"place\": " + quoted(place_of(report.text)) + ", \"message\": " + quoted(report.text) +
                      format(", \"returned\": %d", report.code) + ", \"at\": " + quoted(report.site);
    for (const char* verb : {"made", "freed", "destroyed", "submitted"})
        out += std::string(", \"") + verb + "\": " + quoted(sites_of(report.text, verb));
    return out + ", \"right\": " + quoted(std::string(rule.right)) +
           format(", \"thread\": %ld, \"count\": %llu}", report.thread, static_cast<unsigned long long>(report.count));
}

std::string json_of_all(const std::vector<Report>& all, uint64_t dropped) {
    std::string out = format("{\"tool\": \"hostacl\", \"version\": \"%s\", \"process\": %d, \"dropped\": %llu, \"reports\": [", HOSTACL_VERSION,
                             ::getpid(), static_cast<unsigned long long>(dropped));
    for (const Report& report : all) out += (&report == all.data() ? "\n  " : ",\n  ") + json_of(report);
    return out + "\n]}\n";
}

std::string file_name(std::string pattern) {
    size_t at = pattern.find("%p");
    if (at != std::string::npos) pattern.replace(at, 2, std::to_string(::getpid()));
    return pattern;
}

void write_file(const std::string& name, const std::string& text) {
    std::FILE* file = std::fopen(name.c_str(), "w");
    if (file) std::fputs(text.c_str(), file);
    if (!file || std::fclose(file) != 0) std::fprintf(stderr, "hostacl: HOSTACL_REPORT_FILE: cannot write %s: %s\n", name.c_str(), std::strerror(errno));
}

// What is told when the process ends; nothing can be added to it then.
void tell_at_exit() {
    std::vector<Report> all;
    ReportForm form;
    std::string file;
    uint64_t dropped;
    {
        std::lock_guard<std::mutex> guard(findings().mutex);
        all.swap(findings().all);
        form = findings().form;
        file = findings().file;
        dropped = findings().dropped;
    }
    if (form == ReportForm::Text) tell_total(all, dropped);
    if (form == ReportForm::Json) std::fputs(json_of_all(all, dropped).c_str(), stderr);
    if (!file.empty()) write_file(file_name(file), json_of_all(all, dropped));
}

// Whether it is new. Lock held.
bool keep(const Report& report) {
    Findings& here = findings();
    std::string key = report.rule + '\n' + report.function + '\n' + report.site + '\n' + place_of(report.text) + '\n';
    if (report.site.empty()) key += report.text;
    auto [at, is_new] = here.places.try_emplace(key, here.all.size());
    if (!is_new) {
        if (at->second < here.all.size()) here.all[at->second].count += report.count;
        return false;
    }
    if (here.all.size() >= kMostFindings) {
        here.places.erase(at);
        here.dropped++;
        return false;
    }
    here.all.push_back(report);
    return true;
}

void raise_misuse(const Report& report, bool from_python) {
    if (from_python) {
        if (!raised) raised = new Misuse{report.rule, headline(report) + (report.site.empty() ? "" : "; at " + report.site)};
        return;
    }
    tell(report);
    std::fputs("hostacl: on_misuse = raise: the program is stopped at its misuse\n", stderr);
    tell_at_exit(); // nothing runs at the end of an aborted program
    std::abort();
}

} // namespace

void choose_report(ReportForm form, const std::string& file) {
    std::lock_guard<std::mutex> guard(findings().mutex);
    findings().form = form;
    findings().file = file;
    if (findings().at_exit || (form == ReportForm::None && file.empty())) return;
    findings().at_exit = true;
    std::atexit(tell_at_exit);
}

void note_finding(const Report& report, bool from_python) {
    const Rule& rule = rule_of(report.rule.c_str());
    if (rule.answer) return;
    bool fresh = false;
    ReportForm form;
    {
        std::lock_guard<std::mutex> guard(findings().mutex);
        form = findings().form;
        if (form != ReportForm::None || !findings().file.empty()) fresh = keep(report);
    }
    bool raises = on_misuse() == OnMisuse::Raise && rule.severity != Severity::Portability;
    if (fresh && form == ReportForm::Text && (from_python || !raises)) tell(report);
    if (raises) raise_misuse(report, from_python);
}

bool take_misuse(std::string* code, std::string* text) {
    if (!raised) return false;
    *code = std::move(raised->code);
    *text = std::move(raised->text);
    delete raised;
    raised = nullptr;
    return true;
}

std::string place_of(const std::string& text) {
    size_t end = 0;
    while (end < text.size() && (is_name(text[end]) || std::strchr(".[]", text[end]))) end++;
    if (end == 0 || end == text.size() || std::isdigit(static_cast<unsigned char>(text[0])) || text.compare(0, 3, "acl") == 0)
        return "";
    for (const char* next : {" = ", " is ", " was ", " has ", " holds ", " lies ", " points to ", ": "})
        if (text.compare(end, std::strlen(next), next) == 0)
            return std::isupper(static_cast<unsigned char>(text[0])) ? place_of(text.substr(end + 2)) : text.substr(0, end);
    return "";
}

std::string take_reports_json() {
    std::string out = "[";
    for (const Report& report : take_reports()) out += (out.size() > 1 ? ",\n" : "") + json_of(report);
    return out + "]";
}

void forget_findings() {
    std::lock_guard<std::mutex> guard(findings().mutex);
    findings().all.clear();
    findings().places.clear();
    findings().dropped = 0;
}

void lock_findings() { findings().mutex.lock(); }
void unlock_findings() { findings().mutex.unlock(); }
void rebuild_findings_lock() {
    new (&findings().mutex) std::mutex;
    forget_findings();
}

} // namespace hostacl
