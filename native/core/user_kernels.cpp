#include "core/user_kernels.hpp"

#include "core/lifecycle.hpp"
#include "core/machine.hpp"
#include "core/message.hpp"
#include "core/reading.hpp"
#include "core/status.hpp"

#include <fstream>
#include <map>
#include <utility>

namespace hostacl {
namespace {

struct Binary {
    void* data;
    size_t size;
    Deallocator deallocator;
};

// What a compile function says of the kernel that it chose. Arguments and working memory are the binary's business: not kept.
struct KernelDesc {
    std::string op, kernel;
};
using KernelDescTable = HandleTable<KernelDesc, Kind::KernelDesc>;

struct UserKernels { // lock held
    std::map<std::string, CompileFunc> functions;
    std::map<std::pair<std::string, std::string>, Binary> binaries; // by operator and kernel id
    KernelDescTable descs;
    bool ends_with_finalize = false;
};

UserKernels& kernels() {
    static auto* all = new UserKernels;
    return *all;
}

void forget_kernels() {
    std::map<std::pair<std::string, std::string>, Binary> binaries;
    {
        Lock lock = lock_machine();
        binaries.swap(kernels().binaries);
        kernels().functions.clear();
    }
    for (auto& [key, binary] : binaries) // the program's own code: no lock held
        if (binary.deallocator) binary.deallocator(binary.data, binary.size);
}

void end_with_finalize() {
    {
        Lock lock = lock_machine();
        if (std::exchange(kernels().ends_with_finalize, true)) return;
    }
    at_finalize(forget_kernels);
}

// From Python a function is a number like any other: one that is no code would end the process much later.
bool is_code(uintptr_t address) {
    std::ifstream maps("/proc/self/maps");
    for (std::string line; std::getline(maps, line);) {
        unsigned long start = 0, end = 0;
        char rights[5] = "";
        if (std::sscanf(line.c_str(), "%lx-%lx %4s", &start, &end, rights) == 3 && start <= address && address < end)
            return rights[2] == 'x';
    }
    return false;
}

Code check_kernel(const char* op, const char* id, const char* name, void* binary, int size, int engine, Deallocator deallocator) {
    const std::pair<const char*, const void*> pointers[] = {
        {"opType", op}, {"kernelId", id}, {"kernelName", name}, {"binData", binary}};
    for (const auto& [argument, pointer] : pointers)
        if (!pointer) return null_argument(argument);
    if (size <= 0) return fail(ACL_ERROR_INVALID_PARAM, "HA619", format("binSize = %d; allowed: above 0", size));
    if (engine != 1 && engine != 2)
        return fail(ACL_ERROR_INVALID_PARAM, "HA619",
                    format("enginetype = %d; allowed: 1 (ACL_ENGINE_AICORE) or 2 (ACL_ENGINE_VECTOR)", engine));
    auto address = reinterpret_cast<uintptr_t>(deallocator);
    if (address && !is_code(address))
        return fail(ACL_ERROR_INVALID_PARAM, "HA619",
                    format("deallocator = 0x%llx is no function; allowed: one, or NULL", static_cast<unsigned long long>(address)));
    return 0;
}

Code find_kernel_desc(Handle handle, KernelDesc** out) {
    if (!handle) return null_argument("kernelDesc");
    *out = kernels().descs.find(handle);
    return *out ? 0 : bad_handle("kernelDesc", handle, Kind::KernelDesc);
}

Code check_choice(const KernelDesc& chosen, int answer) {
    const char* op = chosen.op.c_str();
    if (answer) return fail(answer, "HA618", format("the compile function of %s returned %d", op, answer));
    if (chosen.kernel.empty())
        return fail(ACL_ERROR_KERNEL_NOT_FOUND, "HA619",
                    format("the compile function of %s chose no kernel; it must call aclopSetKernelArgs", op));
    Lock lock = lock_machine();
    if (kernels().binaries.count({chosen.op, chosen.kernel})) return 0;
    return fail(ACL_ERROR_KERNEL_NOT_FOUND, "HA619",
                format("the compile function of %s chose kernel \"%s\", which aclopCreateKernel did not register", op,
                       chosen.kernel.c_str()));
}

} // namespace

Code register_compile_func(const char* op, CompileFunc function) {
    if (!op) return null_argument("opType");
    if (!function) return null_argument("func");
    end_with_finalize();
    Lock lock = lock_machine();
    if (kernels().functions.emplace(op, function).second) return 0;
    return fail(ACL_ERROR_BIN_SELECTOR_ALREADY_REGISTERED, "HA618",
                format("opType = \"%s\" has a compile function; call aclopUnregisterCompileFunc first", op));
}

Code unregister_compile_func(const char* op) {
    if (!op) return null_argument("opType");
    Lock lock = lock_machine();
    if (kernels().functions.erase(op)) return 0;
    return fail(ACL_ERROR_BIN_SELECTOR_NOT_REGISTERED, "HA618", format("opType = \"%s\" has no compile function", op));
}

Code create_kernel(const char* op, const char* id, const char* name, void* binary, int size, int engine, Deallocator deallocator) {
    if (Code code = check_kernel(op, id, name, binary, size, engine, deallocator)) return code;
    end_with_finalize();
    {
        Lock lock = lock_machine();
        if (!kernels().binaries.emplace(std::pair(op, id), Binary{binary, static_cast<size_t>(size), deallocator}).second)
            return fail(ACL_ERROR_KERNEL_ALREADY_REGISTERED, "HA619", format("%s has a kernel \"%s\"; give each its own id", op, id));
    }
    report("HA620", format("%s: kernel \"%s\" is a device binary and cannot run on a CPU. Register the operator with hostacl.op", op, id));
    return 0;
}

Code update_params(const CallArguments& call) {
    Request request;
    std::string key;
    const OpAttr* attr = nullptr;
    CompileFunc function = nullptr;
    Handle handle = 0;
    {
        Lock lock = lock_machine();
        if (Code code = read_call(call, &request, &key, &attr)) return code;
        auto found = kernels().functions.find(call.op);
        if (found == kernels().functions.end())
            return fail(ACL_ERROR_BIN_SELECTOR_NOT_REGISTERED, "HA618",
                        format("opType = \"%s\" has no compile function; call aclopRegisterCompileFunc first, or register the operator "
                               "with hostacl.op", call.op));
        function = found->second;
        handle = kernels().descs.add({call.op, ""});
    }
    Code answer = function(call.inputs.count, call.inputs.descs, call.outputs.count, call.outputs.descs, call.attr, as_pointer(handle));
    KernelDesc chosen;
    {
        Lock lock = lock_machine();
        if (KernelDesc* desc = kernels().descs.find(handle)) chosen = std::move(*desc);
        kernels().descs.remove(handle);
    }
    return check_choice(chosen, answer);
}

Code set_kernel_args(Handle desc, const char* id, const void* args, uint32_t size) {
    Lock lock = lock_machine();
    KernelDesc* found = nullptr;
    if (Code code = find_kernel_desc(desc, &found)) return code;
    if (!id) return null_argument("kernelId");
    if (!args) return null_argument("args");
    if (size == 0) return fail(ACL_ERROR_INVALID_PARAM, "HA619", "argSize = 0; allowed: the size of args in bytes");
    found->kernel = id;
    return 0;
}

Code set_kernel_workspaces(Handle desc, int count, const size_t* sizes) {
    Lock lock = lock_machine();
    KernelDesc* found = nullptr;
    if (Code code = find_kernel_desc(desc, &found)) return code;
    if (count < 0) return fail(ACL_ERROR_INVALID_PARAM, "HA619", format("numWorkspaces = %d; allowed: 0 or more", count));
    return count > 0 && !sizes ? null_argument("workspaceSizes") : 0;
}

std::string binary_hint(const std::string& op) {
    Lock lock = lock_machine();
    auto first = kernels().binaries.lower_bound({op, ""});
    if (first == kernels().binaries.end() || first->first.first != op) return "";
    return ". Its kernel \"" + first->first.second + "\" is a device binary, which cannot run on a CPU: register the operator with hostacl.op";
}

std::string op_of_kernel_desc(Handle desc) {
    Lock lock = lock_machine();
    KernelDesc* found = kernels().descs.find(desc);
    return found ? found->op : "";
}

} // namespace hostacl
