#include "core/log.hpp"

#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <mutex>
#include <new>

namespace hostacl {

std::atomic<int> log_threshold{static_cast<int>(LogLevel::Off)};

namespace {

struct Sink {
    std::mutex mutex;
    bool to_stdout = false;
    std::string folder;
    std::FILE* file = nullptr;
};

Sink& sink() {
    static Sink& the_sink = *new Sink;
    return the_sink;
}

// The file of this process, opened at the first line.
std::FILE* file_of_process() {
    Sink& to = sink();
    if (to.file || to.folder.empty()) return to.file;
    ::mkdir(to.folder.c_str(), 0777);
    std::string path = to.folder + "/hostacl-" + std::to_string(::getpid()) + ".log";
    to.file = std::fopen(path.c_str(), "a");
    if (!to.file) {
        std::fprintf(stderr, "hostacl: ASCEND_PROCESS_LOG_PATH: cannot write %s: %s\n", path.c_str(),
                     std::strerror(errno));
        to.folder.clear();
    }
    return to.file;
}

int level_asked_for() {
    const char* text = std::getenv("ASCEND_GLOBAL_LOG_LEVEL");
    if (!text || !*text) return static_cast<int>(LogLevel::Error);
    if (std::strlen(text) == 1 && *text >= '0' && *text <= '4') return *text - '0';
    std::fprintf(stderr,
                 "hostacl: ASCEND_GLOBAL_LOG_LEVEL = \"%s\": use 0 (debug) to 3 (error) or 4 (off); 3 is taken.\n",
                 text);
    return static_cast<int>(LogLevel::Error);
}

} // namespace

void open_log() {
    const char* screen = std::getenv("ASCEND_SLOG_PRINT_TO_STDOUT");
    const char* folder = std::getenv("ASCEND_PROCESS_LOG_PATH");
    std::lock_guard<std::mutex> guard(sink().mutex);
    sink().to_stdout = screen && std::strcmp(screen, "1") == 0;
    if (sink().file) std::fclose(sink().file);
    sink().file = nullptr;
    sink().folder = folder ? folder : "";
    bool wanted = sink().to_stdout || !sink().folder.empty();
    log_threshold = wanted ? level_asked_for() : static_cast<int>(LogLevel::Off);
}

void log_line(LogLevel level, const std::string& text) {
    static const char* const names[] = {"DEBUG", "INFO", "WARNING", "ERROR"};
    if (level >= LogLevel::Off || level < LogLevel::Debug) return;
    struct timespec now;
    ::clock_gettime(CLOCK_REALTIME, &now);
    struct tm local;
    ::localtime_r(&now.tv_sec, &local);
    char when[40];
    std::strftime(when, sizeof when, "%Y-%m-%d-%H:%M:%S", &local);
    long thread = ::syscall(SYS_gettid);
    std::lock_guard<std::mutex> guard(sink().mutex);
    std::FILE* outputs[] = {sink().to_stdout ? stdout : nullptr, file_of_process()};
    for (std::FILE* output : outputs) {
        if (!output) continue;
        std::fprintf(output, "[%s] HOSTACL(%d,%ld):%s.%03ld %s\n", names[static_cast<int>(level)], ::getpid(), thread,
                     when, now.tv_nsec / 1000000, text.c_str());
        if (level == LogLevel::Error) std::fflush(output);
    }
}

void flush_log() {
    std::lock_guard<std::mutex> guard(sink().mutex);
    if (sink().file) std::fflush(sink().file);
}

void lock_log() { sink().mutex.lock(); }
void unlock_log() { sink().mutex.unlock(); }

void rebuild_log_lock() {
    new (&sink().mutex) std::mutex;
    sink().file = nullptr; // the parent's: closing it here would write its buffer twice
}

} // namespace hostacl
