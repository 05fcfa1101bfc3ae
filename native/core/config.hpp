// The settings: read from the environment once, changed by acl.json and at run time.
#pragma once

#include "core/checks.hpp"
#include "core/types.hpp"

#include <string>
#include <vector>

namespace hostacl {

enum class Scheduler : uint8_t { Eager, Deferred, Shuffled };
enum class Family : uint8_t { A350, A3, A2, Inference310B, Inference310P, Training910 };

// A CANN version by its rank: 8.0.RC2 < 8.0.RC3 < 8.0.0 < 8.1.
struct Cann {
    int32_t major = 9, minor = 0, stage = 1000, patch = 0; // stage: the n of RCn; 1000 for a release
    std::string text = "9.0";
    bool at_least(int32_t other_major, int32_t other_minor, int32_t other_stage = 0) const;
};

struct Config {
    Scheduler scheduler = Scheduler::Eager;
    uint64_t seed = 0;
    uint64_t times_scheduled = 0; // changes when the scheduler was set, to the same seed too
    int32_t devices = 1;
    uint64_t device_memory = 0;      // bytes of one device
    int fill = -1;                   // the byte that fresh device memory is filled with; -1: none
    size_t guard = 32;               // guard bytes behind each block
    bool strict = false;             // look at all guard bytes at every synchronize
    const char* soc = "Ascend910B1"; // lives for ever
    Family family = Family::A2;
    Cann cann;
    std::vector<int32_t> visible; // ASCEND_RT_VISIBLE_DEVICES: the user's number of each device we show
    bool launch_blocking = false;
    bool err_msg_process = false;    // acl.json: err_msg_mode "1"
    int64_t max_opqueue_num = 20000; // acl.json
    int32_t default_device = -1;     // acl.json: defaultDevice
    RuleChoice rules;
};

// The settings in force. Reading a number needs no lock; strings and lists need the machine lock.
HACL_API const Config& config();

// Sets one setting by the name of its variable without HOSTACL_, in small letters: configure("scheduler", "deferred").
// A value that is not allowed changes nothing: 100000 and a text. No lock held.
HACL_API Code configure(const std::string& name, const std::string& value);
HACL_API std::string setting(const std::string& name); // in the form configure takes; "" for an unknown name

HACL_API void reload_config(); // from the environment again

// The settings of an acl.json: 100003 it is not there, 100006 malformed or nested deeper than 10. `text` gets the file's text.
// `forget_config_file` undoes it. No lock held.
Code read_config_file(const char* path, std::string* text);
Code apply_config_text(const std::string& text, const std::string& where);
void forget_config_file();

namespace detail {
Config& mutable_config();
bool is_setting(const std::string& name);
// Nullptr when the value was taken, else what is allowed.
const char* take_setting(Config& config, const std::string& name, const std::string& value);
const char* take_rules(RuleChoice& rules, const std::string& name, const std::string& value); // "" where the name is another
std::string rules_setting(const RuleChoice& rules, const std::string& name);
} // namespace detail

} // namespace hostacl
