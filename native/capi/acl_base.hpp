// The C functions of acl_base.h: descriptors, data buffers, half numbers. Opaque pointers are void* here, enums int32_t.
#pragma once

#include "core/types.hpp"

HACL_EXPORT void* hacl_aclCreateDataBuffer(void* data, size_t size) noexcept;
HACL_EXPORT int32_t hacl_aclDestroyDataBuffer(const void* dataBuffer) noexcept;
HACL_EXPORT int32_t hacl_aclUpdateDataBuffer(void* dataBuffer, void* data, size_t size) noexcept;
HACL_EXPORT void* hacl_aclGetDataBufferAddr(const void* dataBuffer) noexcept;
HACL_EXPORT uint32_t hacl_aclGetDataBufferSize(const void* dataBuffer) noexcept;
HACL_EXPORT size_t hacl_aclGetDataBufferSizeV2(const void* dataBuffer) noexcept;

HACL_EXPORT void* hacl_aclCreateTensorDesc(int32_t dataType, int numDims, const int64_t* dims, int32_t format) noexcept;
HACL_EXPORT void hacl_aclDestroyTensorDesc(const void* desc) noexcept;
HACL_EXPORT int32_t hacl_aclGetTensorDescType(const void* desc) noexcept;
HACL_EXPORT int32_t hacl_aclGetTensorDescFormat(const void* desc) noexcept;
HACL_EXPORT size_t hacl_aclGetTensorDescSize(const void* desc) noexcept;
HACL_EXPORT size_t hacl_aclGetTensorDescElementCount(const void* desc) noexcept;
HACL_EXPORT size_t hacl_aclGetTensorDescNumDims(const void* desc) noexcept;
HACL_EXPORT int64_t hacl_aclGetTensorDescDim(const void* desc, size_t index) noexcept;
HACL_EXPORT int32_t hacl_aclGetTensorDescDimV2(const void* desc, size_t index, int64_t* dimSize) noexcept;
HACL_EXPORT int32_t hacl_aclGetTensorDescDimRange(const void* desc, size_t index, size_t dimRangeNum, int64_t* dimRange) noexcept;
HACL_EXPORT const char* hacl_aclGetTensorDescName(void* desc) noexcept;
HACL_EXPORT void* hacl_aclGetTensorDescByIndex(void* desc, size_t index) noexcept;
HACL_EXPORT void* hacl_aclGetTensorDescAddress(const void* desc) noexcept;
HACL_EXPORT int32_t hacl_aclTransTensorDescFormat(const void* srcDesc, int32_t dstFormat, void** dstDesc) noexcept;

HACL_EXPORT void hacl_aclSetTensorDescName(void* desc, const char* name) noexcept;
HACL_EXPORT int32_t hacl_aclSetTensorFormat(void* desc, int32_t format) noexcept;
HACL_EXPORT int32_t hacl_aclSetTensorShape(void* desc, int numDims, const int64_t* dims) noexcept;
HACL_EXPORT int32_t hacl_aclSetTensorOriginFormat(void* desc, int32_t format) noexcept;
HACL_EXPORT int32_t hacl_aclSetTensorOriginShape(void* desc, int numDims, const int64_t* dims) noexcept;
HACL_EXPORT int32_t hacl_aclSetTensorStorageFormat(void* desc, int32_t format) noexcept;
HACL_EXPORT int32_t hacl_aclSetTensorStorageShape(void* desc, int numDims, const int64_t* dims) noexcept;
HACL_EXPORT int32_t hacl_aclSetTensorShapeRange(void* desc, size_t dimsCount, int64_t dimsRange[][2]) noexcept;
HACL_EXPORT int32_t hacl_aclSetTensorValueRange(void* desc, size_t valueCount, int64_t valueRange[][2]) noexcept;
HACL_EXPORT int32_t hacl_aclSetTensorConst(void* desc, void* dataBuffer, size_t length) noexcept;
HACL_EXPORT int32_t hacl_aclSetTensorPlaceMent(void* desc, int32_t memType) noexcept;
HACL_EXPORT int32_t hacl_aclSetTensorDynamicInput(void* desc, const char* dynamicInputName) noexcept;

HACL_EXPORT size_t hacl_aclDataTypeSize(int32_t dataType) noexcept;
HACL_EXPORT float hacl_aclFloat16ToFloat(uint16_t value) noexcept;
HACL_EXPORT uint16_t hacl_aclFloatToFloat16(float value) noexcept;
HACL_EXPORT void hacl_aclAppLog(int32_t logLevel, const char* func, const char* file, uint32_t line, const char* fmt, ...) noexcept;
HACL_EXPORT int32_t hacl_aclGetCannAttributeList(const int32_t** cannAttrList, size_t* num) noexcept;
HACL_EXPORT int32_t hacl_aclGetCannAttribute(int32_t cannAttr, int32_t* value) noexcept;
HACL_EXPORT int32_t hacl_aclGetDeviceCapability(uint32_t deviceId, int32_t deviceInfo, int64_t* value) noexcept;
