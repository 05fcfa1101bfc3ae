#include "core/config.hpp"

#include "core/log.hpp"
#include "core/machine.hpp"
#include "core/message.hpp"
#include "core/status.hpp"

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <iterator>
#include <set>

namespace hostacl {
namespace {

const char* const kNames[] = {"scheduler", "devices", "device_memory", "fill", "guard", "strict", "soc", "cann",
                              "check", "ignore", "on_misuse", "report", "report_file"};

// Reads a count with an optional K, M, G or T behind it; base 0 takes 0xCD too.
bool read_number(const std::string& text, uint64_t* number) {
    if (text.empty() || !std::isdigit(static_cast<unsigned char>(text[0]))) return false;
    char* end = nullptr;
    errno = 0;
    unsigned long long value = std::strtoull(text.c_str(), &end, 0);
    if (errno) return false;
    static const std::string units = "KMGT";
    if (*end) {
        size_t unit = units.find(static_cast<char>(std::toupper(static_cast<unsigned char>(*end))));
        if (unit == std::string::npos) return false;
        std::string rest = end + 1;
        if (!rest.empty() && rest != "iB" && rest != "B") return false;
        int shift = 10 * (static_cast<int>(unit) + 1);
        if (value > (~0ULL >> shift)) return false;
        value <<= shift;
    }
    *number = value;
    return true;
}

const char* take_scheduler(Config& config, const std::string& value) {
    uint64_t seed = 0;
    if (value == "eager") {
        config.scheduler = Scheduler::Eager;
    } else if (value == "deferred") {
        config.scheduler = Scheduler::Deferred;
    } else if (value.rfind("shuffled:", 0) == 0 && read_number(value.substr(9), &seed)) {
        config.scheduler = Scheduler::Shuffled;
        config.seed = seed;
    } else {
        return "eager, deferred, or shuffled:SEED with a number as SEED";
    }
    config.times_scheduled++;
    return nullptr;
}

// Names live for ever: aclrtGetSocName gives them out.
const char* interned(const std::string& name) {
    static std::set<std::string>& names = *new std::set<std::string>;
    return names.insert(name).first->c_str();
}

const char* take_soc(Config& config, const std::string& value) {
    static const struct {
        const char* prefix;
        Family family;
    } kFamilies[] = {{"Ascend950", Family::A350},
                     {"Ascend910_93", Family::A3},
                     {"Ascend910B", Family::A2},
                     {"Ascend310B", Family::Inference310B},
                     {"Ascend310P", Family::Inference310P},
                     {"Ascend910A", Family::Training910}};
    for (const auto& known : kFamilies) {
        if (value.rfind(known.prefix, 0) != 0) continue;
        config.soc = interned(value);
        config.family = known.family;
        return nullptr;
    }
    return "Ascend950..., Ascend910_93..., Ascend910B1 (and other 910B names), Ascend310B..., Ascend310P..., "
           "Ascend910A...";
}

// "9.0", "8.0.0", "8.0.RC3", "8.1.RC1.alpha001".
const char* take_cann(Config& config, const std::string& value) {
    static const char* const allowed = "a CANN version such as 9.0, 8.0.0 or 8.0.RC3";
    Cann version;
    int used = 0;
    if (std::sscanf(value.c_str(), "%d.%d%n", &version.major, &version.minor, &used) != 2 || version.major < 1 ||
        version.minor < 0)
        return allowed;
    const char* rest = value.c_str() + used;
    int more = 0;
    if (std::sscanf(rest, ".RC%d%n", &version.stage, &more) == 1) {
        int patch = 0;
        if (std::sscanf(rest + more, ".%d", &patch) == 1) version.patch = patch;
    } else if (std::sscanf(rest, ".%d%n", &version.patch, &more) == 1) {
        version.stage = 1000;
    } else if (*rest) {
        return allowed;
    }
    version.text = value;
    config.cann = version;
    return nullptr;
}

const char* take_bounded(const std::string& value, uint64_t least, uint64_t most, const char* allowed,
                         uint64_t* number) {
    return read_number(value, number) && *number >= least && *number <= most ? nullptr : allowed;
}

const char* take_flag(const std::string& value, bool* flag) {
    if (value != "0" && value != "1") return "0 or 1";
    *flag = value == "1";
    return nullptr;
}

void tell_invisible(const Config& config, const std::string& value, const std::string& item) {
    std::string effect = config.visible.empty() ? "is ignored" : format("shows %zu devices", config.visible.size());
    std::fprintf(stderr, "hostacl: ASCEND_RT_VISIBLE_DEVICES = \"%s\" %s: \"%s\" is no device; allowed: 0 to %d, with commas.\n",
                 value.c_str(), effect.c_str(), item.c_str(), config.devices - 1);
}

// As on a card, the list ends at the first number that is no device; without any number it shows all.
void take_visible(Config& config, const std::string& value) {
    config.visible.clear();
    for (size_t at = 0; at < value.size();) {
        size_t comma = std::min(value.find(',', at), value.size());
        uint64_t device = 0;
        if (!read_number(value.substr(at, comma - at), &device) || device >= static_cast<uint64_t>(config.devices))
            return tell_invisible(config, value, value.substr(at, comma - at));
        config.visible.push_back(static_cast<int32_t>(device));
        at = comma + 1;
    }
}

uint64_t default_device_memory() {
    uint64_t pages = 0, page = 4096;
    if (std::FILE* file = std::fopen("/proc/meminfo", "r")) {
        unsigned long long kilobytes = 0;
        if (std::fscanf(file, "MemTotal: %llu kB", &kilobytes) == 1) pages = kilobytes * 1024 / page;
        std::fclose(file);
    }
    uint64_t machine_memory = pages ? pages * page : 32ULL << 30;
    return std::min<uint64_t>(machine_memory, 32ULL << 30);
}

void take_variable(Config& config, const char* variable, const char* name) {
    const char* value = std::getenv(variable);
    if (!value || !*value) return;
    if (const char* allowed = detail::take_setting(config, name, value))
        std::fprintf(stderr, "hostacl: %s = \"%s\" is ignored; allowed: %s.\n", variable, value, allowed);
}

Config from_environment() {
    Config config;
    config.device_memory = default_device_memory();
    for (const char* name : kNames) {
        std::string variable = "HOSTACL_";
        for (const char* letter = name; *letter; letter++) variable += static_cast<char>(std::toupper(*letter));
        take_variable(config, variable.c_str(), name);
    }
    if (const char* visible = std::getenv("ASCEND_RT_VISIBLE_DEVICES"); visible && *visible)
        take_visible(config, visible);
    take_variable(config, "ASCEND_LAUNCH_BLOCKING", "launch_blocking");
    open_log();
    choose_rules(config.rules);
    return config;
}

std::string scheduler_text(const Config& config) {
    if (config.scheduler == Scheduler::Shuffled) return "shuffled:" + std::to_string(config.seed);
    return config.scheduler == Scheduler::Deferred ? "deferred" : "eager";
}

} // namespace

bool Cann::at_least(int32_t other_major, int32_t other_minor, int32_t other_stage) const {
    if (major != other_major) return major > other_major;
    if (minor != other_minor) return minor > other_minor;
    return stage >= other_stage;
}

namespace detail {

bool is_setting(const std::string& name) {
    return name == "launch_blocking" ||
           std::any_of(std::begin(kNames), std::end(kNames), [&](const char* known) { return name == known; });
}

Config& mutable_config() {
    static Config& the_config = *new Config(from_environment());
    return the_config;
}

const char* take_setting(Config& config, const std::string& name, const std::string& value) {
    uint64_t number = 0;
    const char* wrong = nullptr;
    if (name == "scheduler") return take_scheduler(config, value);
    if (name == "soc") return take_soc(config, value);
    if (name == "cann") return take_cann(config, value);
    if (name == "strict") return take_flag(value, &config.strict);
    if (name == "launch_blocking") return take_flag(value, &config.launch_blocking);
    if (name == "devices") {
        if (!(wrong = take_bounded(value, 1, 64, "1 to 64", &number))) config.devices = static_cast<int32_t>(number);
    } else if (name == "device_memory") {
        if (!(wrong =
                  take_bounded(value, 1, 1ULL << 44, "a number of bytes, also as 512M or 32G, at most 16T", &number)))
            config.device_memory = number;
    } else if (name == "fill") {
        if (value == "none") config.fill = -1;
        else if (!(wrong = take_bounded(value, 0, 255, "none, or a byte such as 0xCD", &number)))
            config.fill = static_cast<int>(number);
    } else if (name == "guard") {
        if (!(wrong = take_bounded(value, 0, 4096, "0 to 4096 bytes", &number))) config.guard = number;
    } else if (const char* answer = take_rules(config.rules, name, value); !answer || *answer) {
        wrong = answer;
    } else {
        wrong = "scheduler, devices, device_memory, fill, guard, strict, soc, cann, launch_blocking, check, ignore, on_misuse, "
                "report, report_file as the setting's name";
    }
    return wrong;
}

} // namespace detail

const Config& config() { return detail::mutable_config(); }

Code configure(const std::string& name, const std::string& value) {
    const char* allowed;
    {
        Lock lock = lock_machine();
        allowed = detail::take_setting(detail::mutable_config(), name, value);
        if (!allowed) choose_rules(config().rules);
    }
    return allowed ? fail(ACL_ERROR_INVALID_PARAM, "HA105",
                          format("setting %s = \"%s\"; allowed: %s", name.c_str(), value.c_str(), allowed))
                   : 0;
}

std::string setting(const std::string& name) {
    Lock lock = lock_machine();
    const Config& now = config();
    if (name == "scheduler") return scheduler_text(now);
    if (name == "soc") return now.soc;
    if (name == "cann") return now.cann.text;
    if (name == "strict") return now.strict ? "1" : "0";
    if (name == "launch_blocking") return now.launch_blocking ? "1" : "0";
    if (name == "devices") return std::to_string(now.devices);
    if (name == "device_memory") return std::to_string(now.device_memory);
    if (name == "fill") return now.fill < 0 ? "none" : std::to_string(now.fill);
    if (name == "guard") return std::to_string(now.guard);
    if (name == "max_opqueue_num") return std::to_string(now.max_opqueue_num);
    if (name == "err_msg_mode") return now.err_msg_process ? "1" : "0";
    return detail::rules_setting(now.rules, name);
}

void reload_config() {
    Config fresh = from_environment();
    Lock lock = lock_machine();
    detail::mutable_config() = fresh;
}

} // namespace hostacl
