// The log that ASCEND_GLOBAL_LOG_LEVEL, ASCEND_SLOG_PRINT_TO_STDOUT and ASCEND_PROCESS_LOG_PATH ask for.
#pragma once

#include "core/types.hpp"

#include <atomic>
#include <string>

namespace hostacl {

enum class LogLevel : int { Debug = 0, Info = 1, Warning = 2, Error = 3, Off = 4 };

HACL_API extern std::atomic<int> log_threshold; // Off when nobody asked for a log

inline bool log_on(LogLevel level) { return static_cast<int>(level) >= log_threshold.load(std::memory_order_relaxed); }

// Writes one line "[ERROR] HOSTACL(pid,tid):time text". Callers ask log_on first, so that no text is made in vain.
HACL_API void log_line(LogLevel level, const std::string& text);
HACL_API void open_log(); // reads the environment anew
HACL_API void flush_log();

// For the fork handlers.
void lock_log();
void unlock_log();
void rebuild_log_lock(); // the child opens a file of its own

} // namespace hostacl
