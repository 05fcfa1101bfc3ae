#include "core/message.hpp"

#include "core/checks.hpp"
#include "core/config.hpp"
#include "core/findings.hpp"
#include "core/hooks.hpp"
#include "core/log.hpp"
#include "core/origins.hpp"

#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cstdarg>
#include <cstdio>
#include <deque>
#include <mutex>
#include <new>

namespace hostacl {

// One thread-local object: a call looks for its thread's place once.
struct EntryState {
    const char* name = "";
    const void* caller = nullptr;
    int depth = 0;
    bool unplaced = false;    // own_texts->unplaced has some
    bool to_do = false;       // end_call has something to do
    bool from_python = false; // the outermost entry is the Python face's
};

namespace {

thread_local EntryState entry_state;

constexpr size_t kKeptTexts = 64;
constexpr size_t kKeptReports = 4096;

// Plain pointers: a destructor at thread exit could run after the last late call of that thread.
struct ThreadTexts {
    std::deque<std::string> texts; // newest first
    std::string given;             // what take_messages returned last
    Code last = 0;
    std::vector<Report> unplaced; // of the call this thread is in
    std::string harmless;         // among the texts until the next call ends
    bool said_before = false;     // the call that said it has ended
};

struct Shared {
    std::mutex mutex;
    std::deque<std::string> texts; // err_msg_mode 1: of the process
    std::deque<Report> reports;
};

Shared& shared() {
    static Shared& the_shared = *new Shared;
    return the_shared;
}

std::atomic<uint64_t> report_turn{1}; // counts take_reports

thread_local ThreadTexts* own_texts = nullptr;

// Kept until the thread ends; made when a thread first fails.
ThreadTexts& own() {
    struct Owner {
        ~Owner() {
            delete own_texts;
            own_texts = nullptr;
        }
    };
    if (!own_texts) {
        static thread_local Owner owner;
        (void)owner;
        own_texts = new ThreadTexts;
    }
    return *own_texts;
}

void push(std::deque<std::string>& texts, const std::string& text) {
    texts.push_front(text);
    if (texts.size() > kKeptTexts) texts.pop_back();
}

void add_report(Report&& report) {
    note_finding(report, entry_state.from_python && entry_state.depth > 0);
    std::lock_guard<std::mutex> guard(shared().mutex);
    std::deque<Report>& reports = shared().reports;
    if (!reports.empty()) {
        Report& last = reports.back();
        if (last.rule == report.rule && last.text == report.text && last.site == report.site &&
            last.code == report.code) {
            last.count++;
            return;
        }
    }
    reports.push_back(std::move(report));
    if (reports.size() > kKeptReports) reports.pop_front();
}

// Inside a call its site is asked for at the end: now the machine lock may be held, and the site enters Python.
void keep_report(const char* rule, const char* function, const std::string& text, Code code) {
    if (!rule_on(rule)) return;
    Report report{rule, function, text, "", code, 1, ::syscall(SYS_gettid)};
    if (entry_state.depth == 0) return add_report(std::move(report));
    own().unplaced.push_back(std::move(report));
    note_unplaced();
}

void place_reports() {
    std::vector<Report> reports;
    reports.swap(own().unplaced);
    entry_state.unplaced = false;
    std::string site = call_site();
    place_origins(site);
    for (Report& report : reports) {
        report.site = site;
        add_report(std::move(report));
    }
}

// The same of a text that begins with its rule and its function, as those of operators do.
void keep_whole(const std::string& text, Code code) {
    constexpr size_t kRule = 5; // "HA502"
    if (text.compare(0, 2, "HA") != 0 || text.compare(kRule, 2, ": ") != 0) return;
    std::string rule = text.substr(0, kRule), rest = text.substr(kRule + 2);
    size_t end = rest.find("(): ");
    bool named = end != std::string::npos && end < rest.find(' ');
    keep_report(rule.c_str(), named ? rest.substr(0, end).c_str() : Entry::name(), named ? rest.substr(end + 4) : rest, code);
}

void remove(std::deque<std::string>& texts, const std::string& text) {
    auto place = std::find(texts.begin(), texts.end(), text);
    if (place != texts.end()) texts.erase(place);
}

std::string join(std::deque<std::string>& texts) {
    std::string all;
    for (const std::string& text : texts) all += (all.empty() ? "" : "\n") + text;
    texts.clear();
    return all;
}

std::string with_function(const char* name, const char* rule, const std::string& text) {
    return *name ? std::string(rule) + ": " + name + "(): " + text : std::string(rule) + ": " + text;
}

// A text that says "harmless" is there for whoever asks next; a program that goes on does not meet it later.
void age_harmless() {
    ThreadTexts& mine = own();
    if (mine.harmless.empty()) return;
    if (mine.said_before) {
        untell(mine.harmless);
        mine.harmless.clear();
    }
    mine.said_before = !mine.said_before;
    entry_state.to_do = mine.said_before;
}

void end_call() {
    entry_state.to_do = false;
    if (entry_state.unplaced) place_reports();
    age_harmless();
}

} // namespace

Entry::Entry(const char* function, const void* caller) : state_(&entry_state), outermost_(state_->depth++ == 0) {
    if (outermost_) {
        state_->name = function;
        state_->from_python = !caller;
    }
    if (outermost_ || (caller && !state_->caller)) state_->caller = caller;
}

Entry::~Entry() {
    if (outermost_ && state_->to_do) end_call();
    state_->depth--;
    if (!outermost_) return;
    state_->name = "";
    state_->caller = nullptr;
}

const char* Entry::name() { return entry_state.name; }
const void* Entry::caller() { return entry_state.caller; }

namespace {

Code keep_text(Code code, const std::string& text) {
    tell_early(text);
    own().last = code;
    if (log_on(LogLevel::Error)) log_line(LogLevel::Error, format("%d %s", code, text.c_str()));
    return code;
}

} // namespace

Code fail(Code code, const char* rule, const std::string& text) {
    keep_report(rule, Entry::name(), text, code);
    return keep_text(code, with_function(Entry::name(), rule, text));
}

Code fail_harmlessly(Code code, const char* rule, const std::string& text) {
    untell(own().harmless); // said again
    fail(code, rule, text);
    own().harmless = with_function(Entry::name(), rule, text);
    own().said_before = false;
    entry_state.to_do = true;
    return code;
}

void tell_early(const std::string& text) {
    if (config().err_msg_process) {
        std::lock_guard<std::mutex> guard(shared().mutex);
        push(shared().texts, text);
    } else {
        push(own().texts, text);
    }
}

void untell(const std::string& text) {
    if (config().err_msg_process) {
        std::lock_guard<std::mutex> guard(shared().mutex);
        remove(shared().texts, text);
    } else if (own_texts) {
        remove(own_texts->texts, text);
    }
}

Code fail_verbatim(Code code, const std::string& text) {
    keep_whole(text, code);
    return keep_text(code, text);
}

void report(const char* rule, const std::string& text) { report_of(Entry::name(), rule, text); }

void report_of(const char* function, const char* rule, const std::string& text) {
    keep_report(rule, function, text, 0);
    if (log_on(LogLevel::Warning)) log_line(LogLevel::Warning, with_function(function, rule, text));
}

std::string submitted_at(const std::string& site) { return site.empty() ? "" : " (submitted at " + site + ")"; }

const char* take_messages() {
    if (config().err_msg_process) {
        std::lock_guard<std::mutex> guard(shared().mutex);
        if (shared().texts.empty()) return nullptr;
        own().given = join(shared().texts);
        return own().given.c_str();
    }
    if (!own_texts || own_texts->texts.empty()) return nullptr;
    own_texts->given = join(own_texts->texts);
    return own_texts->given.c_str();
}

Code last_error(bool clear) {
    if (!own_texts) return 0;
    Code code = own_texts->last;
    if (clear) own_texts->last = 0;
    return code;
}

bool Throttle::open() {
    constexpr int kMost = 64;
    uint64_t now = report_turn.load(std::memory_order_relaxed);
    if (turn_.exchange(now, std::memory_order_relaxed) != now) said_ = 0;
    return said_.load(std::memory_order_relaxed) < kMost && said_.fetch_add(1, std::memory_order_relaxed) < kMost;
}

std::vector<Report> take_reports() {
    report_turn++;
    std::lock_guard<std::mutex> guard(shared().mutex);
    std::vector<Report> all(shared().reports.begin(), shared().reports.end());
    shared().reports.clear();
    return all;
}

void note_unplaced() {
    if (entry_state.depth > 0) entry_state.unplaced = entry_state.to_do = true;
}

void clear_messages() {
    report_turn++;
    if (own_texts) {
        own_texts->texts.clear();
        own_texts->last = 0;
    }
    std::lock_guard<std::mutex> guard(shared().mutex);
    shared().texts.clear();
    shared().reports.clear();
}

void lock_messages() { shared().mutex.lock(); }
void unlock_messages() { shared().mutex.unlock(); }
void rebuild_message_lock() { new (&shared().mutex) std::mutex; }

std::string format(const char* pattern, ...) {
    va_list arguments;
    va_start(arguments, pattern);
    char small[512];
    va_list again;
    va_copy(again, arguments);
    int size = std::vsnprintf(small, sizeof small, pattern, arguments);
    va_end(arguments);
    std::string text;
    if (size >= 0 && static_cast<size_t>(size) < sizeof small) {
        text.assign(small, static_cast<size_t>(size));
    } else if (size > 0) {
        text.resize(static_cast<size_t>(size));
        std::vsnprintf(text.data(), text.size() + 1, pattern, again);
    }
    va_end(again);
    return text;
}

} // namespace hostacl
