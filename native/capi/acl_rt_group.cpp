// acl_rt.h: groups of compute resources. There is one: the whole device.
#include "capi/acl_rt.hpp"
#include "core/product.hpp"
#include "core/status.hpp"

#include <cstring>

using namespace hostacl;

namespace {

struct GroupInfo {
    bool filled = false; // by aclrtGetAllGroupInfo
};

using GroupTable = HandleTable<GroupInfo, Kind::GroupInfo>;

GroupTable& groups() { // lock held
    static GroupTable& table = *new GroupTable;
    return table;
}

enum GroupAttr : int32_t { kAicore, kAiv, kAic, kSdma, kAsq, kGroupId };

int32_t attribute(int32_t attr) {
    switch (attr) {
    case kAicore:
    case kAic: return static_cast<int32_t>(product().cube_cores);
    case kAiv: return static_cast<int32_t>(product().vector_cores);
    default: return 0; // no transfer engines, no queues; the group's number is 0
    }
}

} // namespace

HACL_EXPORT Code hacl_aclrtSetGroup(int32_t groupId) noexcept {
    return guarded("aclrtSetGroup", [&]() -> Code {
        if (Code code = check_range("groupId", groupId, 0, 0, "0, the only group", ACL_ERROR_RT_GROUP_NOT_CREATE))
            return code;
        return with_context([](Context&) { return 0; });
    });
}

HACL_EXPORT Code hacl_aclrtGetGroupCount(uint32_t* count) noexcept {
    return guarded("aclrtGetGroupCount", [&]() -> Code {
        if (Code code = need(count, "count")) return code;
        return with_context([&](Context&) {
            *count = 1;
            return 0;
        });
    });
}

HACL_EXPORT void* hacl_aclrtCreateGroupInfo() noexcept {
    return guarded_or("aclrtCreateGroupInfo", static_cast<void*>(nullptr), [] {
        Lock lock = lock_machine();
        return as_pointer(groups().add({}));
    });
}

HACL_EXPORT Code hacl_aclrtDestroyGroupInfo(void* groupInfo) noexcept {
    return guarded("aclrtDestroyGroupInfo", [&]() -> Code {
        Lock lock = lock_machine();
        if (!lookup(groups(), groupInfo, "groupInfo")) return ACL_ERROR_INVALID_PARAM;
        groups().remove(as_handle(groupInfo));
        return 0;
    });
}

HACL_EXPORT Code hacl_aclrtGetAllGroupInfo(void* groupInfo) noexcept {
    return guarded("aclrtGetAllGroupInfo", [&]() -> Code {
        Lock lock = lock_machine();
        GroupInfo* found = lookup(groups(), groupInfo, "groupInfo");
        if (!found) return ACL_ERROR_INVALID_PARAM;
        found->filled = true;
        return 0;
    });
}

HACL_EXPORT Code hacl_aclrtGetGroupInfoDetail(const void* groupInfo, int32_t groupIndex, int32_t attr, void* attrValue,
                                              size_t valueLen, size_t* paramRetSize) noexcept {
    return guarded("aclrtGetGroupInfoDetail", [&]() -> Code {
        Lock lock = lock_machine();
        GroupInfo* found = lookup(groups(), groupInfo, "groupInfo");
        if (!found) return ACL_ERROR_INVALID_PARAM;
        if (Code code = check_range("groupIndex", groupIndex, 0, 0, "0, the only group", ACL_ERROR_INVALID_PARAM))
            return code;
        if (Code code =
                check_range("attr", attr, kAicore, kGroupId, "0 to 5 of aclrtGroupAttr", ACL_ERROR_INVALID_PARAM))
            return code;
        if (Code code = need(attrValue, "attrValue")) return code;
        if (Code code = check_range("valueLen", static_cast<int64_t>(valueLen), 4, INT64_MAX, "at least 4 bytes",
                                    ACL_ERROR_INVALID_PARAM))
            return code;
        if (Code code = need(paramRetSize, "paramRetSize")) return code;
        if (!found->filled)
            return fail(ACL_ERROR_RT_GROUP_NOT_CREATE, "HA121", "groupInfo is empty; call aclrtGetAllGroupInfo first");
        int32_t value = attribute(attr);
        std::memcpy(attrValue, &value, sizeof value);
        *paramRetSize = sizeof value;
        return 0;
    });
}
