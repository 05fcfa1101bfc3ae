// The attribute functions of acl_op.h. Opaque pointers are void* here, enums int32_t.
#pragma once

#include "core/types.hpp"

HACL_EXPORT void* hacl_aclopCreateAttr() noexcept;
HACL_EXPORT void hacl_aclopDestroyAttr(const void* attr) noexcept;
HACL_EXPORT int32_t hacl_aclopSetAttrBool(void* attr, const char* attrName, uint8_t attrValue) noexcept;
HACL_EXPORT int32_t hacl_aclopSetAttrInt(void* attr, const char* attrName, int64_t attrValue) noexcept;
HACL_EXPORT int32_t hacl_aclopSetAttrFloat(void* attr, const char* attrName, float attrValue) noexcept;
HACL_EXPORT int32_t hacl_aclopSetAttrString(void* attr, const char* attrName, const char* attrValue) noexcept;
HACL_EXPORT int32_t hacl_aclopSetAttrDataType(void* attr, const char* attrName, int32_t attrValue) noexcept;
HACL_EXPORT int32_t hacl_aclopSetAttrListBool(void* attr, const char* attrName, int numValues, const uint8_t* values) noexcept;
HACL_EXPORT int32_t hacl_aclopSetAttrListInt(void* attr, const char* attrName, int numValues, const int64_t* values) noexcept;
HACL_EXPORT int32_t hacl_aclopSetAttrListFloat(void* attr, const char* attrName, int numValues, const float* values) noexcept;
HACL_EXPORT int32_t hacl_aclopSetAttrListString(void* attr, const char* attrName, int numValues, const char** values) noexcept;
HACL_EXPORT int32_t hacl_aclopSetAttrListDataType(void* attr, const char* attrName, int numValues, const int32_t values[]) noexcept;
HACL_EXPORT int32_t hacl_aclopSetAttrListListInt(void* attr, const char* attrName, int numLists, const int* numValues,
                                                 const int64_t* const values[]) noexcept;
