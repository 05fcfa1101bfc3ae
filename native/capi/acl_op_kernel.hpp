// The C functions of acl_op.h about kernels of the user's own. Opaque pointers are void* here.
#pragma once

#include "core/user_kernels.hpp"

using aclError = int32_t;

HACL_EXPORT aclError hacl_aclopRegisterCompileFunc(const char* opType, hostacl::CompileFunc func) noexcept;
HACL_EXPORT aclError hacl_aclopUnregisterCompileFunc(const char* opType) noexcept;
HACL_EXPORT aclError hacl_aclopCreateKernel(const char* opType, const char* kernelId, const char* kernelName, void* binData, int binSize,
                                            int enginetype, hostacl::Deallocator deallocator) noexcept;
HACL_EXPORT aclError hacl_aclopUpdateParams(const char* opType, int numInputs, const void* const inputDesc[], int numOutputs,
                                            const void* const outputDesc[], const void* attr) noexcept;
HACL_EXPORT aclError hacl_aclopSetKernelArgs(void* kernelDesc, const char* kernelId, uint32_t blockDim, const void* args,
                                             uint32_t argSize) noexcept;
HACL_EXPORT aclError hacl_aclopSetKernelWorkspaceSizes(void* kernelDesc, int numWorkspaces, size_t* workspaceSizes) noexcept;
