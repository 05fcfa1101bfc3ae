// Data buffers, half numbers, the log and what the device can do, of acl_base.h.
#include "capi/acl_base.hpp"

#include "capi/guard.hpp"
#include "capi/lookup.hpp"
#include "core/log.hpp"
#include "core/product.hpp"

#include <cstdarg>
#include <cstdio>
#include <cstring>

using namespace hostacl;

HACL_EXPORT int32_t hacl_aclrtGetDeviceCount(uint32_t* count) noexcept;

namespace {

template <class Value, class Read> HACL_INLINE Value get(const char* function, const void* buffer, Read&& read) noexcept {
    return guarded_or(function, Value{}, [&]() -> Value {
        Lock lock = lock_machine();
        DataBuffer* found = find_buffer(buffer);
        return found ? read(*found) : Value{};
    });
}

Code not_in_enum(const char* argument, int value, const char* allowed) {
    return fail(kInvalidParam, "HA422", format("%s = %d; allowed: %s", argument, value, allowed));
}

} // namespace

void* hacl_aclCreateDataBuffer(void* data, size_t size) noexcept {
    return guarded_or("aclCreateDataBuffer", static_cast<void*>(nullptr), [&] {
        Handle handle;
        Lock lock = lock_machine();
        buffers().make(&handle, DataBuffer{data, size});
        return as_pointer(handle);
    });
}

int32_t hacl_aclDestroyDataBuffer(const void* dataBuffer) noexcept {
    return guarded("aclDestroyDataBuffer", [&]() -> Code {
        Lock lock = lock_machine();
        if (!find_buffer(dataBuffer)) return kInvalidParam;
        buffers().remove(as_handle(dataBuffer));
        return 0;
    });
}

int32_t hacl_aclUpdateDataBuffer(void* dataBuffer, void* data, size_t size) noexcept {
    return guarded("aclUpdateDataBuffer", [&]() -> Code {
        Lock lock = lock_machine();
        DataBuffer* found = find_buffer(dataBuffer);
        if (!found) return kInvalidParam;
        *found = DataBuffer{data, size};
        return 0;
    });
}

void* hacl_aclGetDataBufferAddr(const void* dataBuffer) noexcept {
    return get<void*>("aclGetDataBufferAddr", dataBuffer, [](DataBuffer& found) { return found.data; });
}

uint32_t hacl_aclGetDataBufferSize(const void* dataBuffer) noexcept {
    return get<uint32_t>("aclGetDataBufferSize", dataBuffer,
                         [](DataBuffer& found) { return static_cast<uint32_t>(found.size); });
}

size_t hacl_aclGetDataBufferSizeV2(const void* dataBuffer) noexcept {
    return get<size_t>("aclGetDataBufferSizeV2", dataBuffer, [](DataBuffer& found) { return found.size; });
}

size_t hacl_aclDataTypeSize(int32_t dataType) noexcept { return dtype_size(dataType); }

// This half has no Inf and no NaN: exponent 31 is one more power of two. The API's helper works so; operators do not.
float hacl_aclFloat16ToFloat(uint16_t value) noexcept {
    int exponent = (value >> 10) & 31;
    float mantissa = static_cast<float>(value & 1023);
    float size = exponent ? __builtin_ldexpf(1024 + mantissa, exponent - 25) : __builtin_ldexpf(mantissa, -24);
    return value & 0x8000 ? -size : size;
}

uint16_t hacl_aclFloatToFloat16(float value) noexcept {
    uint32_t bits;
    std::memcpy(&bits, &value, sizeof bits);
    uint16_t sign = static_cast<uint16_t>((bits >> 16) & 0x8000);
    uint32_t size = bits & 0x7FFFFFFF;
    if (size >= 0x477FF000) return sign | 0x7BFF; // rounds to 65536 or more; Inf and NaN too
    if (size >= 0x38800000) {                     // a normal half: drop 13 bits, ties to even
        uint32_t half = size - 0x38000000;
        return sign | static_cast<uint16_t>((half + 0xFFF + ((half >> 13) & 1)) >> 13);
    }
    float shifted = __builtin_ldexpf(value < 0 ? -value : value, 24); // below 2^10: exact, in units of the least half
    return sign | static_cast<uint16_t>(__builtin_nearbyintf(shifted));
}

void hacl_aclAppLog(int32_t logLevel, const char* func, const char* file, uint32_t line, const char* fmt, ...) noexcept {
    va_list values;
    va_start(values, fmt);
    guarded("aclAppLog", [&]() -> Code {
        auto level = static_cast<LogLevel>(logLevel);
        if (!fmt || !log_on(level)) return 0;
        char text[1024] = "";
        std::vsnprintf(text, sizeof text, fmt, values);
        log_line(level, format("%s:%u %s: %s", file ? file : "", line, func ? func : "", text));
        return 0;
    });
    va_end(values);
}

int32_t hacl_aclGetCannAttributeList(const int32_t** cannAttrList, size_t* num) noexcept {
    return guarded("aclGetCannAttributeList", [&]() -> Code {
        static const int32_t attributes[] = {0, 1, 2};
        if (!cannAttrList) return null_argument("cannAttrList", "an address for the list");
        if (!num) return null_argument("num", "an address for the count");
        *cannAttrList = attributes;
        *num = 3;
        return 0;
    });
}

int32_t hacl_aclGetCannAttribute(int32_t cannAttr, int32_t* value) noexcept {
    return guarded("aclGetCannAttribute", [&]() -> Code {
        if (cannAttr < 0 || cannAttr > 2)
            return not_in_enum("cannAttr", cannAttr, "0 (INF_NAN), 1 (BF16), 2 (JIT_COMPILE)");
        if (!value) return null_argument("value", "an address for one int32");
        *value = cannAttr == 2 ? !product().bf16_and_inf_nan : product().bf16_and_inf_nan;
        return 0;
    });
}

int32_t hacl_aclGetDeviceCapability(uint32_t deviceId, int32_t deviceInfo, int64_t* value) noexcept {
    return guarded("aclGetDeviceCapability", [&]() -> Code {
        uint32_t count = 0;
        if (Code code = hacl_aclrtGetDeviceCount(&count)) return code;
        if (deviceId >= count) return fail(107001, "HA102", format("deviceId = %u; allowed: 0 to %u", deviceId, count - 1));
        if (deviceInfo < 0 || deviceInfo > 2)
            return not_in_enum("deviceInfo", deviceInfo, "0 (AI_CORE_NUM), 1 (VECTOR_CORE_NUM), 2 (L2_SIZE)");
        if (!value) return null_argument("value", "an address for one int64");
        Product device = product();
        *value = deviceInfo == 0 ? device.cube_cores : deviceInfo == 1 ? device.vector_cores : device.l2_bytes;
        return 0;
    });
}
