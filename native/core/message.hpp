// What went wrong, in words: kept for each thread until aclGetRecentErrMsg reads it.
#pragma once

#include "core/types.hpp"

#include <atomic>
#include <string>
#include <vector>

namespace hostacl {

struct EntryState;

// Names the public function that this thread is in. The outermost entry wins, so the binding of a
// face names the function as its user knows it ("acl.rt.malloc") before the C function names itself.
class HACL_API Entry {
  public:
    explicit Entry(const char* function, const void* caller = nullptr); // caller: the return address into the program
    ~Entry();
    Entry(const Entry&) = delete;
    Entry& operator=(const Entry&) = delete;
    static const char* name();   // "" outside of any entry
    static const void* caller(); // null when unknown

  private:
    EntryState* state_; // this thread's
    bool outermost_;
};

// Keeps the text "HA204: acl.rt.free(): <text>" for this thread and gives the code back: `return fail(...)`.
// The text names argument, value given, what is allowed, what to do.
HACL_API Code fail(Code code, const char* rule, const std::string& text);

// The same for a code that a program may pass over: the end of this thread's next call takes the text back. One that asks for
// texts later, to learn whether an operator failed, would blame that operator for it.
HACL_API Code fail_harmlessly(Code code, const char* rule, const std::string& text);

// The same for a text that already names its function (a failure kept from an earlier call).
HACL_API Code fail_verbatim(Code code, const std::string& text);

// Keeps the text of an operator that failed in the call that submitted it, though that call succeeds: the code comes with
// the next synchronize, which says the text again in place of this one unless it was read before.
HACL_API void tell_early(const std::string& text);
HACL_API void untell(const std::string& text);

// Something worth saying about a call that succeeds (a pageable host pointer, a dropped attribute ...).
// Goes to the log and to the report hook, never to the recent error messages.
HACL_API void report(const char* rule, const std::string& text);

// The same about a call made before this one, such as that of a queued operator which now runs.
HACL_API void report_of(const char* function, const char* rule, const std::string& text);

std::string submitted_at(const std::string& site); // " (submitted at a.py:3)"; "" for an unknown site

// All texts kept for this thread (err_msg_mode 1: for the process), newest first, one a line; clears them.
// NULL when nothing failed. The pointer stays valid until this thread's next call.
HACL_API const char* take_messages();

// The newest failing code of this thread, for aclrtGetLastError / aclrtPeekAtLastError.
HACL_API Code last_error(bool clear);

// What was said, for the checks: failures (code != 0) and reports (code 0), oldest first; a repeat is counted.
struct Report {
    std::string rule;
    std::string function;
    std::string text;
    std::string site;
    Code code = 0;
    uint64_t count = 1;
    long thread = 0;
};
HACL_API std::vector<Report> take_reports(); // gives them and forgets them; at most the newest 4096 are kept

// Has this thread's call ask for its site when it ends, for what was noted in it.
void note_unplaced();

// Lets the first 64 reports of a place through, again after each take_reports: for what a loop would say every time.
class Throttle {
  public:
    bool open();

  private:
    std::atomic<uint64_t> turn_{0};
    std::atomic<int> said_{0};
};

// Forgets every text, report and last error of this thread (and the texts of the process).
HACL_API void clear_messages();

// For the fork handlers.
void lock_messages();
void unlock_messages();
void rebuild_message_lock();

// printf into a std::string.
HACL_API std::string format(const char* pattern, ...) __attribute__((format(printf, 1, 2)));

} // namespace hostacl
