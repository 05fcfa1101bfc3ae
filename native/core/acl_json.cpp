// acl.json: the settings that aclInit takes from a file.
#include "core/config.hpp"
#include "core/json.hpp"
#include "core/machine.hpp"
#include "core/message.hpp"
#include "core/status.hpp"

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <sstream>

namespace hostacl {
namespace {

constexpr int kDeepest = 10;

Code bad_value(const std::string& where, const char* key, const std::string& given, const char* allowed,
               Code code = ACL_ERROR_INVALID_PARAM, const char* rule = "HA104") {
    return fail(code, rule,
                format("configPath: %s: \"%s\" = \"%s\"; allowed: %s", where.c_str(), key, given.c_str(), allowed));
}

Code take_queue_limit(const Json& root, const std::string& where, Config* config) {
    const Json* found = root.find("max_opqueue_num");
    if (!found) return 0;
    std::string given = found->text();
    char* end = nullptr;
    errno = 0;
    long long number = std::strtoll(given.c_str(), &end, 10);
    if (given.empty() || *end || errno || number < 1)
        return bad_value(where, "max_opqueue_num", given, "a string with a number above 0, such as \"20000\"",
                         ACL_ERROR_INVALID_MAX_OPQUEUE_NUM_CONFIG);
    config->max_opqueue_num = number;
    return 0;
}

Code take_error_mode(const Json& root, const std::string& where, Config* config) {
    const Json* found = root.find("err_msg_mode");
    if (!found) return 0;
    std::string given = found->text();
    if (given != "0" && given != "1")
        return bad_value(where, "err_msg_mode", given, "\"0\" (a thread) or \"1\" (the process)");
    config->err_msg_process = given == "1";
    return 0;
}

Code take_default_device(const Json& root, const std::string& where, Config* config) {
    const Json* holder = root.find("defaultDevice");
    const Json* found = holder ? holder->find("default_device") : nullptr;
    if (!found) return 0;
    std::string given = found->text();
    char* end = nullptr;
    long number = std::strtol(given.c_str(), &end, 10);
    if (given.empty() || *end || number < 0 || number >= config->devices)
        return bad_value(where, "default_device", given, "the number of a device");
    config->default_device = static_cast<int32_t>(number);
    return 0;
}

// The `hostacl` object, which a card ignores: the settings by name.
Code take_own(const Json& root, const std::string& where, Config* config) {
    const Json* own = root.find("hostacl");
    if (!own || !own->object()) return 0;
    for (const auto& [name, value] : *own->object()) {
        if (!detail::is_setting(name)) continue; // one of the operators' side
        if (const char* allowed = detail::take_setting(*config, name, value.text()))
            return bad_value(where, name.c_str(), value.text(), allowed, ACL_ERROR_INVALID_PARAM, "HA105");
    }
    return 0;
}

} // namespace

Code read_config_file(const char* path, std::string* text) {
    std::ifstream file(path, std::ios::binary);
    std::ostringstream all;
    if (!file || !(all << file.rdbuf() || file.peek() == EOF))
        return fail(ACL_ERROR_INVALID_FILE, "HA103",
                    format("configPath = \"%s\" cannot be read (%s); allowed: NULL, \"\" or the path of an acl.json",
                           path, std::strerror(errno)));
    *text = all.str();
    return 0;
}

Code apply_config_text(const std::string& text, const std::string& where) {
    if (text.find_first_not_of(" \t\r\n") == std::string::npos) return 0;
    Json root;
    std::string wrong;
    if (read_json(text, kDeepest, &root, &wrong) && !root.object()) wrong = "the whole must be one object { }";
    if (!wrong.empty())
        return fail(ACL_ERROR_PARSE_FILE, "HA104", format("configPath: %s, %s", where.c_str(), wrong.c_str()));
    Config changed = config();
    for (auto* take : {take_queue_limit, take_error_mode, take_default_device, take_own})
        if (Code code = take(root, where, &changed)) return code;
    Lock lock = lock_machine();
    detail::mutable_config() = changed;
    choose_rules(changed.rules);
    return 0;
}

void forget_config_file() {
    Lock lock = lock_machine();
    Config& now = detail::mutable_config();
    now.err_msg_process = false;
    now.max_opqueue_num = Config{}.max_opqueue_num;
    now.default_device = -1;
}

} // namespace hostacl
