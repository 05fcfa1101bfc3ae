// acl_rt.h: stream configurations and stream attributes.
#include "capi/acl_rt_stream.hpp"
#include "core/memory.hpp"

#include <cstring>
#include <set>

using namespace hostacl;

namespace {

struct StreamConfig { // aclrtStreamConfigHandle of acl_rt.h
    void* workptr;
    size_t work_size;
    size_t flag;
    uint32_t priority;
};

std::set<const StreamConfig*>& live_configs() { // lock held
    static std::set<const StreamConfig*>& live = *new std::set<const StreamConfig*>;
    return live;
}

Code check_config(const StreamConfig* handle) {
    if (live_configs().count(handle)) return 0;
    return fail(ACL_ERROR_INVALID_PARAM, handle ? "HA402" : "HA401",
                format("handle = %p; allowed: what aclrtCreateStreamConfigHandle gave and nobody destroyed",
                       static_cast<const void*>(handle)));
}

enum StreamAttr : int32_t { kFailureMode = 1, kOverflowCheck = 2, kUserTag = 3, kCacheOpInfo = 4 };
constexpr size_t kAttrBytes = 16; // aclrtStreamAttrValue: a union of up to four 32-bit numbers

Code check_attr(int32_t attr, const void* value) {
    if (Code code = check_range("stmAttrType", attr, kFailureMode, kCacheOpInfo,
                                "1 (failure mode), 2 (overflow check), 3 (user tag), 4 (cache operator info)"))
        return code;
    return value ? 0 : null_argument("value", "the address of an aclrtStreamAttrValue");
}

} // namespace

HACL_EXPORT Code hacl_aclrtSetStreamFailureMode(void* stream, uint64_t mode) noexcept;
HACL_EXPORT Code hacl_aclrtSetStreamOverflowSwitch(void* stream, uint32_t flag) noexcept;

HACL_EXPORT StreamConfig* hacl_aclrtCreateStreamConfigHandle() noexcept {
    return guarded_or("aclrtCreateStreamConfigHandle", static_cast<StreamConfig*>(nullptr), [] {
        Lock lock = lock_machine();
        auto* made = new StreamConfig{};
        live_configs().insert(made);
        if (checking(kOrigins)) note_made(address_handle(Kind::StreamConfig, made));
        return made;
    });
}

HACL_EXPORT Code hacl_aclrtDestroyStreamConfigHandle(StreamConfig* handle) noexcept {
    return guarded("aclrtDestroyStreamConfigHandle", [&]() -> Code {
        Lock lock = lock_machine();
        if (Code code = check_config(handle)) return code;
        live_configs().erase(handle);
        if (checking(kOrigins)) note_ended(address_handle(Kind::StreamConfig, handle));
        delete handle;
        return 0;
    });
}

HACL_EXPORT Code hacl_aclrtSetStreamConfigOpt(StreamConfig* handle, int32_t attr, const void* attrValue,
                                              size_t valueSize) noexcept {
    return guarded("aclrtSetStreamConfigOpt", [&]() -> Code {
        Lock lock = lock_machine();
        if (Code code = check_config(handle)) return code;
        if (Code code = check_range("attr", attr, 0, 3, "0 (work address), 1 (work size), 2 (flag), 3 (priority)",
                                    ACL_ERROR_INVALID_PARAM))
            return code;
        if (!attrValue) return null_argument("attrValue", "the address of the value");
        struct {
            void* field;
            size_t size;
        } const fields[] = {{&handle->workptr, sizeof handle->workptr},
                            {&handle->work_size, sizeof handle->work_size},
                            {&handle->flag, sizeof handle->flag},
                            {&handle->priority, sizeof handle->priority}};
        if (valueSize != fields[attr].size)
            return fail(ACL_ERROR_INVALID_PARAM, "HA116",
                        format("valueSize = %zu; allowed for attr %d: %zu", valueSize, attr, fields[attr].size));
        std::memcpy(fields[attr].field, attrValue, valueSize);
        return 0;
    });
}

HACL_EXPORT Code hacl_aclrtCreateStreamV2(void** stream, const StreamConfig* handle) noexcept {
    return guarded("aclrtCreateStreamV2", [&]() -> Code {
        uint32_t priority, flags;
        {
            Lock lock = lock_machine();
            if (Code code = check_config(handle)) return code;
            priority = handle->priority;
            flags = static_cast<uint32_t>(handle->flag);
        }
        return create_stream(stream, priority, flags);
    });
}

HACL_EXPORT Code hacl_aclrtSetStreamAttribute(void* stream, int32_t stmAttrType, const void* value) noexcept {
    return guarded("aclrtSetStreamAttribute", [&]() -> Code {
        if (Code code = check_attr(stmAttrType, value)) return code;
        uint64_t number = 0;
        std::memcpy(&number, value, stmAttrType == kFailureMode ? 8 : 4);
        if (stmAttrType == kFailureMode) return hacl_aclrtSetStreamFailureMode(stream, number);
        if (stmAttrType == kOverflowCheck)
            return hacl_aclrtSetStreamOverflowSwitch(stream, static_cast<uint32_t>(number));
        return with_stream(stream, [&](Stream& found) {
            const auto* bytes = static_cast<const uint8_t*>(value);
            found.attributes[stmAttrType].assign(bytes, bytes + 4);
            return 0;
        });
    });
}

HACL_EXPORT Code hacl_aclrtGetStreamAttribute(void* stream, int32_t stmAttrType, void* value) noexcept {
    return guarded("aclrtGetStreamAttribute", [&]() -> Code {
        if (Code code = check_attr(stmAttrType, value)) return code;
        return with_stream(stream, [&](Stream& found) {
            uint8_t bytes[kAttrBytes] = {};
            if (stmAttrType == kFailureMode) bytes[0] = found.stop_on_failure;
            else if (stmAttrType == kOverflowCheck) std::memcpy(bytes, &found.overflow_switch, 4);
            else if (auto set = found.attributes.find(stmAttrType); set != found.attributes.end())
                std::memcpy(bytes, set->second.data(), 4);
            std::memcpy(value, bytes, sizeof bytes);
            return 0;
        });
    });
}
