// The C functions of acl_op.h and acl_op_compiler.h that enter the operators. Opaque pointers are void* here.
#pragma once

#include "core/types.hpp"

using aclError = int32_t;

HACL_EXPORT aclError hacl_aclopSetModelDir(const char* modelDir) noexcept;
HACL_EXPORT aclError hacl_aclopLoad(const void* model, size_t modelSize) noexcept;

HACL_EXPORT aclError hacl_aclopExecute(const char* opType, int numInputs, const void* const inputDesc[], const void* const inputs[],
                                       int numOutputs, const void* const outputDesc[], void* const outputs[], const void* attr,
                                       void* stream) noexcept;
HACL_EXPORT aclError hacl_aclopExecuteV2(const char* opType, int numInputs, void* inputDesc[], void* inputs[], int numOutputs,
                                         void* outputDesc[], void* outputs[], void* attr, void* stream) noexcept;
HACL_EXPORT aclError hacl_aclopExecWithHandle(void* handle, int numInputs, const void* const inputs[], int numOutputs,
                                              void* const outputs[], void* stream) noexcept;
HACL_EXPORT aclError hacl_aclopCreateHandle(const char* opType, int numInputs, const void* const inputDesc[], int numOutputs,
                                            const void* const outputDesc[], const void* opAttr, void** handle) noexcept;
HACL_EXPORT void hacl_aclopDestroyHandle(void* handle) noexcept;

HACL_EXPORT aclError hacl_aclopCast(const void* srcDesc, const void* srcBuffer, const void* dstDesc, void* dstBuffer, uint8_t truncate,
                                    void* stream) noexcept;
HACL_EXPORT aclError hacl_aclopCreateHandleForCast(void* srcDesc, void* dstDesc, uint8_t truncate, void** handle) noexcept;

HACL_EXPORT aclError hacl_aclopInferShape(const char* opType, int numInputs, void* inputDesc[], void* inputs[], int numOutputs,
                                          void* outputDesc[], void* attr) noexcept;

HACL_EXPORT aclError hacl_aclopCompile(const char* opType, int numInputs, const void* const inputDesc[], int numOutputs,
                                       const void* const outputDesc[], const void* attr, int engineType, int compileFlag,
                                       const char* opPath) noexcept;
HACL_EXPORT aclError hacl_aclopCompileAndExecute(const char* opType, int numInputs, const void* const inputDesc[],
                                                 const void* const inputs[], int numOutputs, const void* const outputDesc[],
                                                 void* const outputs[], const void* attr, int engineType, int compileFlag,
                                                 const char* opPath, void* stream) noexcept;
HACL_EXPORT aclError hacl_aclopCompileAndExecuteV2(const char* opType, int numInputs, void* inputDesc[], void* inputs[], int numOutputs,
                                                   void* outputDesc[], void* outputs[], void* attr, int engineType, int compileFlag,
                                                   const char* opPath, void* stream) noexcept;

HACL_EXPORT aclError hacl_aclopSetMaxOpQueueNum(uint64_t maxOpNum) noexcept;
HACL_EXPORT aclError hacl_aclSetCompileopt(int opt, const char* value) noexcept;
HACL_EXPORT aclError hacl_aclGetCompileopt(int opt, char* value, size_t length) noexcept;
HACL_EXPORT size_t hacl_aclGetCompileoptSize(int opt) noexcept;
HACL_EXPORT aclError hacl_aclopSetCompileFlag(int flag) noexcept;
