#include "core/lifecycle.hpp"

#include "core/config.hpp"
#include "core/context.hpp"
#include "core/event.hpp"
#include "core/inject.hpp"
#include "core/leaks.hpp"
#include "core/log.hpp"
#include "core/machine.hpp"
#include "core/memory.hpp"
#include "core/message.hpp"
#include "core/origins.hpp"
#include "core/schedule.hpp"
#include "core/status.hpp"

#include <cstdio>
#include <string>
#include <vector>

namespace hostacl {
namespace {

// Machine lock held.
struct Life {
    bool initialized = false;
    bool finalized = false; // and not initialized since
    uint64_t references = 0;
    std::string config_text;
    std::vector<void (*)()> endings;
};

Life& life() {
    static Life& the_life = *new Life;
    return the_life;
}

// What is in the streams runs (or is left, if it waits for something that may never come).
void run_what_can_run() {
    Lock lock = lock_machine();
    Wait wait;
    wait.done = [] { return queued_tasks() == 0; };
    wait.timeout_ms = 0;
    run_until(lock, wait);
    if (size_t left = queued_tasks())
        report("HA108", format("%zu tasks are still pending in streams; synchronize before aclFinalize", left));
}

void run_endings() {
    std::vector<void (*)()> endings;
    {
        Lock lock = lock_machine();
        endings = life().endings;
    }
    for (auto ending : endings) ending();
}

void end_everything() {
    run_what_can_run();
    check_guards();
    report_leaks();
    run_endings();
    forget_config_file();
    flush_log();
    std::fflush(nullptr);
}

Code repeated_init(const char* path, const std::string& text) {
    bool differs;
    {
        Lock lock = lock_machine();
        life().references++;
        differs = !text.empty() && text != life().config_text;
    }
    if (differs)
        report("HA115", format("configPath = \"%s\" holds another configuration than that of the first aclInit; it is ignored until aclFinalize", path));
    return fail_harmlessly(ACL_ERROR_REPEAT_INITIALIZE, "HA111", "aclInit was called before in this process; this is harmless");
}

// Counts the new beginning unless another thread was faster.
bool begin_life(const std::string& text) {
    Lock lock = lock_machine();
    if (life().initialized) return false;
    life().initialized = true;
    life().finalized = false;
    life().references = 1;
    life().config_text = text;
    return true;
}

} // namespace

bool is_initialized() {
    Lock lock = lock_machine();
    return life().initialized;
}

void check_initialized() {
    static Throttle throttle;
    bool finalized;
    {
        Lock lock = lock_machine();
        if (life().initialized) return;
        finalized = life().finalized;
    }
    if (throttle.open())
        report("HA124", finalized ? "aclFinalize was called before; call aclInit again" : "aclInit was not called; call it first");
}

Code initialize(const char* path) {
    config(); // the environment counts from here on, also for the log
    std::string text;
    if (path && *path)
        if (Code code = read_config_file(path, &text)) return code;
    if (is_initialized()) return repeated_init(path, text);
    if (Code code = apply_config_text(text, path ? path : "")) return code;
    if (!begin_life(text)) return repeated_init(path, text);
    if (log_on(LogLevel::Info))
        log_line(LogLevel::Info,
                 format("aclInit, scheduler %s, %s", setting("scheduler").c_str(), setting("soc").c_str()));
    return 0;
}

Code finalize() {
    {
        Lock lock = lock_machine();
        if (!life().initialized)
            return fail(ACL_ERROR_REPEAT_FINALIZE, "HA112",
                        life().finalized ? "aclFinalize was called before" : "aclInit was not called");
        life().initialized = false;
        life().finalized = true;
        life().references = 0;
        life().config_text.clear();
    }
    end_everything();
    return 0;
}

Code finalize_reference(uint64_t* count) {
    uint64_t left;
    {
        Lock lock = lock_machine();
        if (!life().initialized)
            return fail(ACL_ERROR_REPEAT_FINALIZE, "HA112",
                        life().finalized ? "aclFinalize was called before" : "aclInit was not called");
        left = life().references > 0 ? --life().references : 0;
    }
    if (count) *count = left;
    return left == 0 ? finalize() : 0;
}

void at_finalize(void (*function)()) {
    Lock lock = lock_machine();
    life().endings.push_back(function);
}

void reset_machine() {
    reset_all_devices();
    run_endings();
    forget_events();
    free_host_memory();
    forget_config_file();
    forget_injections();
    {
        Lock lock = lock_machine();
        life().initialized = life().finalized = false;
        life().references = 0;
        life().config_text.clear();
        forget_origins();
        set_current(0);
    }
    reload_config();
    clear_messages();
}

LiveObjects live_objects() {
    LiveObjects live;
    live.events = live_events();
    MemoryStats stats = memory_stats();
    live.device_blocks = stats.blocks[static_cast<int>(Space::Device)];
    live.host_blocks = stats.blocks[static_cast<int>(Space::PinnedHost)];
    live.registered = stats.blocks[static_cast<int>(Space::Registered)];
    Lock lock = lock_machine();
    each_context([&](Context& context) {
        live.contexts += context.primary ? 0 : 1; // the program made only the others
        live.streams += context.streams.size();
    });
    return live;
}

} // namespace hostacl
