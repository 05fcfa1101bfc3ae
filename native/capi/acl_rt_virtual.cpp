// acl_rt.h: reserved addresses, physical memory, and mapping one to the other.
#include "capi/acl_rt.hpp"
#include "core/memory.hpp"
#include "core/status.hpp"
#include "core/virtual_memory.hpp"

using namespace hostacl;

namespace {

struct PhysicalMemProp { // aclrtPhysicalMemProp
    int32_t handle_type;
    int32_t allocation_type;
    int32_t attribute;
    uint32_t device;
    int32_t place;
    uint64_t reserved;
};

constexpr int32_t kOnDevice = 1, kLastMemAttr = 9;

Code check_prop(const PhysicalMemProp* prop) {
    if (!prop) return null_argument("prop", "the address of an aclrtPhysicalMemProp");
    if (Code code = check_range("prop.handleType", prop->handle_type, 0, 0, "0 (none)")) return code;
    if (Code code = check_range("prop.allocationType", prop->allocation_type, 0, 0, "0 (pinned)")) return code;
    if (Code code = check_range("prop.memAttr", prop->attribute, 0, kLastMemAttr, "an aclrtMemAttr, 0 to 9")) return code;
    if (Code code = check_range("prop.location.type", prop->place, kOnDevice, kOnDevice, "1 (device)")) return code;
    Lock lock = lock_machine();
    return check_device(static_cast<int32_t>(prop->device), "prop.location.id");
}

Code check_size_given(size_t size) {
    return size ? 0 : fail(ACL_ERROR_INVALID_PARAM, "HA201", "size = 0; allowed: at least 1 byte");
}

Code check_zero(const char* name, uint64_t value) {
    return value == 0 ? 0
                      : fail(ACL_ERROR_RT_PARAM_INVALID, "HA116",
                             format("%s = %llu; allowed: 0", name, static_cast<unsigned long long>(value)));
}

uintptr_t address_of(const void* pointer) { return reinterpret_cast<uintptr_t>(pointer); }

} // namespace

HACL_EXPORT Code hacl_aclrtReserveMemAddress(void** virPtr, size_t size, size_t alignment, void* expectPtr,
                                             uint64_t flags) noexcept {
    return guarded("aclrtReserveMemAddress", [&]() -> Code {
        if (Code code = need(virPtr, "virPtr")) return code;
        if (Code code = check_size_given(size)) return code;
        if (Code code = check_zero("alignment", alignment)) return code;
        if (Code code = check_zero("expectPtr", address_of(expectPtr))) return code;
        if (flags > 1) return check_range("flags", 2, 0, 1, "0 (normal pages), 1 (huge pages)");
        uintptr_t start = 0;
        if (Code code = reserve_addresses(size, &start)) return code;
        *virPtr = as_pointer(start);
        return 0;
    });
}

HACL_EXPORT Code hacl_aclrtReleaseMemAddress(void* virPtr) noexcept {
    return guarded("aclrtReleaseMemAddress", [&] { return release_addresses(address_of(virPtr)); });
}

HACL_EXPORT Code hacl_aclrtMallocPhysical(void** handle, size_t size, const PhysicalMemProp* prop, uint64_t flags) noexcept {
    return guarded("aclrtMallocPhysical", [&]() -> Code {
        if (Code code = need(handle, "handle")) return code;
        if (Code code = check_size_given(size)) return code;
        if (Code code = check_prop(prop)) return code;
        if (Code code = check_zero("flags", flags)) return code;
        Handle made = 0;
        if (Code code = make_physical(static_cast<int32_t>(prop->device), size, &made)) return code;
        *handle = as_pointer(made);
        return 0;
    });
}

HACL_EXPORT Code hacl_aclrtFreePhysical(void* handle) noexcept {
    return guarded("aclrtFreePhysical", [&] { return free_physical(as_handle(handle)); });
}

HACL_EXPORT Code hacl_aclrtMapMem(void* virPtr, size_t size, size_t offset, void* handle, uint64_t flags) noexcept {
    return guarded("aclrtMapMem", [&]() -> Code {
        if (Code code = check_zero("offset", offset)) return code;
        if (Code code = check_zero("flags", flags)) return code;
        return map_memory(address_of(virPtr), size, as_handle(handle));
    });
}

HACL_EXPORT Code hacl_aclrtUnmapMem(void* virPtr) noexcept {
    return guarded("aclrtUnmapMem", [&] { return unmap_memory(address_of(virPtr)); });
}

HACL_EXPORT Code hacl_aclrtMemGetAllocationGranularity(const PhysicalMemProp* prop, int32_t option, size_t* granularity) noexcept {
    return guarded("aclrtMemGetAllocationGranularity", [&]() -> Code {
        if (Code code = check_prop(prop)) return code;
        if (Code code = check_range("option", option, 0, 1, "0 (minimum), 1 (recommended)")) return code;
        if (Code code = need(granularity, "granularity")) return code;
        *granularity = kGranularity;
        return 0;
    });
}
