// What the checks found in this process: each misuse once, repeats counted, told on stderr as it happens or as JSON at the end.
#pragma once

#include "core/checks.hpp"
#include "core/message.hpp"

#include <string>

namespace hostacl {

// Where findings go from now on; with ReportForm::None and no file they are not collected.
void choose_report(ReportForm form, const std::string& file);

// Takes a report in, told in the thread of the call that it is about. `from_python`: that call is one of the Python face.
// No lock held.
void note_finding(const Report& report, bool from_python);

// The misuse that this thread's last call was found in, where misuse raises; false when there is none. It is forgotten.
HACL_API bool take_misuse(std::string* code, std::string* text);

// "inputDesc[1].dims[0]" of a text that begins with a place, or with an operator and a place; else "".
std::string place_of(const std::string& text);

HACL_API std::string take_reports_json(); // take_reports(), each as the JSON at the end has it

void forget_findings();
void lock_findings(); // for the fork handlers
void unlock_findings();
void rebuild_findings_lock(); // in the child: what was found before is the parent's

} // namespace hostacl
