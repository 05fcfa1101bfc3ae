// Compile options of acl_op_compiler.h: kept and given back; they never change a result.
#include "capi/acl_op.hpp"

#include "capi/guard.hpp"
#include "core/machine.hpp"

#include <cstring>
#include <map>
#include <string>

using namespace hostacl;

namespace {

constexpr Code kInvalidParam = 100000, kUnknownOption = 500000;
constexpr int kLastOption = 16, kJitCompile = 10; // aclCompileOpt

std::map<int, std::string>& options() { // machine lock held
    // every operator is built for the shapes it is called with: JIT_COMPILE is on until a program says otherwise
    static auto* kept = new std::map<int, std::string>{{kJitCompile, "enable"}};
    return *kept;
}

Code check_option(int opt) {
    if (opt >= 0 && opt <= kLastOption) return 0;
    return fail(kUnknownOption, "HA616", format("opt = %d; allowed: an aclCompileOpt, 0..%d", opt, kLastOption));
}

Code check_value(int opt, const char* value) {
    if (!value) return fail(kInvalidParam, "HA401", format("value = NULL for option %d; allowed: text", opt));
    if (opt == kJitCompile && *value && strcmp(value, "enable") != 0 && strcmp(value, "disable") != 0)
        return fail(kInvalidParam, "HA616",
                    format("value = \"%s\" for ACL_OP_JIT_COMPILE; allowed: \"enable\", \"disable\", \"\" (the default)", value));
    return 0;
}

} // namespace

aclError hacl_aclSetCompileopt(int opt, const char* value) noexcept {
    return guarded("aclSetCompileopt", [&]() -> Code {
        if (Code code = check_option(opt)) return code;
        if (Code code = check_value(opt, value)) return code;
        Lock lock = lock_machine();
        options()[opt] = value;
        return 0;
    });
}

aclError hacl_aclGetCompileopt(int opt, char* value, size_t length) noexcept {
    return guarded("aclGetCompileopt", [&]() -> Code {
        if (Code code = check_option(opt)) return code;
        if (!value) return fail(kInvalidParam, "HA401", "value = NULL; allowed: memory for the text");
        Lock lock = lock_machine();
        const std::string& kept = options()[opt];
        if (length < kept.size() + 1)
            return fail(kInvalidParam, "HA616",
                        format("length = %zu; allowed: aclGetCompileoptSize gives %zu", length, kept.size() + 1));
        memcpy(value, kept.c_str(), kept.size() + 1);
        return 0;
    });
}

size_t hacl_aclGetCompileoptSize(int opt) noexcept {
    return guarded_or("aclGetCompileoptSize", size_t{0}, [&]() -> size_t {
        if (check_option(opt)) return 0;
        Lock lock = lock_machine();
        return options()[opt].size() + 1;
    });
}

aclError hacl_aclopSetCompileFlag(int flag) noexcept {
    return guarded("aclopSetCompileFlag", [&]() -> Code {
        if (flag == 0 || flag == 1) return 0; // default, fuzzy: every model here takes the shapes it is given
        return fail(kInvalidParam, "HA612", format("flag = %d; allowed: 0 (ACL_OP_COMPILE_DEFAULT), 1 (ACL_OP_COMPILE_FUZZ)", flag));
    });
}
