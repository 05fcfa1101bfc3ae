// acl_op.h: kernels of the user's own. Their device binaries cannot run here; hostacl.op registers an operator that can.
#include "capi/acl_op_kernel.hpp"

#include "capi/guard.hpp"
#include "core/user_kernels.hpp"

using namespace hostacl;

aclError hacl_aclopRegisterCompileFunc(const char* opType, CompileFunc func) noexcept {
    return guarded("aclopRegisterCompileFunc", [&] { return register_compile_func(opType, func); });
}

aclError hacl_aclopUnregisterCompileFunc(const char* opType) noexcept {
    return guarded("aclopUnregisterCompileFunc", [&] { return unregister_compile_func(opType); });
}

aclError hacl_aclopCreateKernel(const char* opType, const char* kernelId, const char* kernelName, void* binData, int binSize,
                                int enginetype, Deallocator deallocator) noexcept {
    return guarded("aclopCreateKernel",
                   [&] { return create_kernel(opType, kernelId, kernelName, binData, binSize, enginetype, deallocator); });
}

aclError hacl_aclopUpdateParams(const char* opType, int numInputs, const void* const inputDesc[], int numOutputs,
                                const void* const outputDesc[], const void* attr) noexcept {
    return guarded("aclopUpdateParams", [&] {
        TensorList inputs{numInputs, inputDesc, nullptr, "numInputs", "inputDesc", "", false};
        TensorList outputs{numOutputs, outputDesc, nullptr, "numOutputs", "outputDesc", "", false};
        return update_params({Via::Compile, opType, inputs, outputs, attr, nullptr});
    });
}

aclError hacl_aclopSetKernelArgs(void* kernelDesc, const char* kernelId, uint32_t, const void* args,
                                 uint32_t argSize) noexcept {
    return guarded("aclopSetKernelArgs", [&] { return set_kernel_args(as_handle(kernelDesc), kernelId, args, argSize); });
}

aclError hacl_aclopSetKernelWorkspaceSizes(void* kernelDesc, int numWorkspaces, size_t* workspaceSizes) noexcept {
    return guarded("aclopSetKernelWorkspaceSizes",
                   [&] { return set_kernel_workspaces(as_handle(kernelDesc), numWorkspaces, workspaceSizes); });
}
