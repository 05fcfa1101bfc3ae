// acl_rt.h: memory: making, freeing, registering, asking.
#include "capi/acl_rt.hpp"
#include "core/memory.hpp"
#include "core/status.hpp"

using namespace hostacl;

namespace {

constexpr int32_t kPolicies = 5;             // the largest plain policy
constexpr int32_t kPolicyFlags = 0x7FFFFF00; // kinds of memory, or access, added to it

Code malloc_device(void** devPtr, size_t size, int32_t policy) {
    if (Code code = need(devPtr, "devPtr")) return code;
    *devPtr = nullptr;
    if (size == 0) return fail(ACL_ERROR_INVALID_PARAM, "HA201", "size = 0; allowed: at least 1 byte");
    if (policy < 0 || (policy & ~kPolicyFlags) > kPolicies)
        return fail(ACL_ERROR_RT_INVALID_MALLOC_TYPE, "HA223",
                    format("policy = %d; allowed: 0 to %d of aclrtMemMallocPolicy, and its memory type flags", policy,
                           kPolicies));
    int32_t device = 0;
    Code code = with_context([&](Context& context) {
        device = context.device;
        return 0;
    });
    return code ? code : allocate(Space::Device, device, size, "size", devPtr);
}

Code malloc_host(void** hostPtr, size_t size) {
    if (Code code = need(hostPtr, "hostPtr")) return code;
    *hostPtr = nullptr;
    return allocate(Space::PinnedHost, 0, size, "size", hostPtr);
}

// The cache calls have nothing to do here but to look at their range.
Code check_live(const void* pointer, size_t size, const char* name) {
    if (!pointer) return null_argument(name, "live device memory");
    if (!size) return fail(ACL_ERROR_INVALID_PARAM, "HA201", "size = 0; allowed: at least 1 byte");
    Lock lock = lock_machine();
    auto address = reinterpret_cast<uintptr_t>(pointer);
    BlockPtr block = find_block(address);
    if (block && !block->freed && size <= block->start + block->capacity - address) return 0;
    return fail(ACL_ERROR_RT_PARAM_INVALID, block && block->freed ? "HA204" : "HA218",
                format("%s = %p, size = %zu: %s; allowed: live memory that holds the whole range", name, pointer, size,
                       describe_pointer(address).c_str()));
}

// Which of the two sorts of memory an aclrtMemAttr asks for.
bool asks_for_hbm(int32_t attr) { return attr == 1 || attr == 4 || attr == 5 || attr == 8 || attr == 9; }
bool has_hbm(Family family) { return family != Family::Inference310B && family != Family::Inference310P; }

struct PointerAttributes { // aclrtPtrAttributes: a location, a page size, room
    uint32_t id;
    int32_t type;
    uint32_t page_size;
    uint32_t reserved[4];
};
enum LocationType : int32_t { kHost = 0, kDevice = 1, kUnregistered = 2 };

PointerAttributes attributes_of(const BlockPtr& block) {
    constexpr uint32_t kPage = 4096;
    if (!block) return {0, kUnregistered, 0, {}};
    bool device = block->space == Space::Device;
    return {device ? static_cast<uint32_t>(block->device) : 0, device ? kDevice : kHost, kPage, {}};
}

} // namespace

HACL_EXPORT Code hacl_aclrtMalloc(void** devPtr, size_t size, int32_t policy) noexcept {
    return guarded("aclrtMalloc", [&] { return malloc_device(devPtr, size, policy); });
}

HACL_EXPORT Code hacl_aclrtMallocAlign32(void** devPtr, size_t size, int32_t policy) noexcept {
    return guarded("aclrtMallocAlign32", [&] { return malloc_device(devPtr, size, policy); });
}

HACL_EXPORT Code hacl_aclrtMallocCached(void** devPtr, size_t size, int32_t policy) noexcept {
    return guarded("aclrtMallocCached", [&] { return malloc_device(devPtr, size, policy); });
}

HACL_EXPORT Code hacl_aclrtMallocWithCfg(void** devPtr, size_t size, int32_t policy, const void*) noexcept {
    return guarded("aclrtMallocWithCfg", [&] { return malloc_device(devPtr, size, policy); });
}

HACL_EXPORT Code hacl_aclrtMallocForTaskScheduler(void** devPtr, size_t size, int32_t policy, const void*) noexcept {
    return guarded("aclrtMallocForTaskScheduler", [&] { return malloc_device(devPtr, size, policy); });
}

HACL_EXPORT Code hacl_aclrtMallocHost(void** hostPtr, size_t size) noexcept {
    return guarded("aclrtMallocHost", [&] { return malloc_host(hostPtr, size); });
}

HACL_EXPORT Code hacl_aclrtMallocHostWithCfg(void** ptr, uint64_t size, const void*) noexcept {
    return guarded("aclrtMallocHostWithCfg", [&] { return malloc_host(ptr, size); });
}

HACL_EXPORT Code hacl_aclrtFree(void* devPtr) noexcept {
    return guarded("aclrtFree", [&] { return free_block(Space::Device, as_handle(devPtr), "devPtr"); });
}

HACL_EXPORT Code hacl_aclrtFreeHost(void* hostPtr) noexcept {
    return guarded("aclrtFreeHost", [&] { return free_block(Space::PinnedHost, as_handle(hostPtr), "hostPtr"); });
}

HACL_EXPORT Code hacl_aclrtMemFlush(void* devPtr, size_t size) noexcept {
    return guarded("aclrtMemFlush", [&] { return check_live(devPtr, size, "devPtr"); });
}

HACL_EXPORT Code hacl_aclrtMemInvalidate(void* devPtr, size_t size) noexcept {
    return guarded("aclrtMemInvalidate", [&] { return check_live(devPtr, size, "devPtr"); });
}

HACL_EXPORT Code hacl_aclrtCmoAsync(void* src, size_t size, int32_t cmoType, void* stream) noexcept {
    return guarded("aclrtCmoAsync", [&]() -> Code {
        if (Code code = check_range("cmoType", cmoType, 0, 3, "0 (prefetch) to 3")) return code;
        if (Code code = check_live(src, size, "src")) return code;
        return with_stream(stream, [](Stream&) { return 0; });
    });
}

HACL_EXPORT Code hacl_aclrtGetMemInfo(int32_t attr, size_t* free, size_t* total) noexcept {
    return guarded("aclrtGetMemInfo", [&]() -> Code {
        constexpr int32_t kLast = 9;
        if (Code code = check_range("attr", attr, 0, kLast, "0 to 9 of aclrtMemAttr")) return code;
        if (Code code = need(free, "free")) return code;
        if (Code code = need(total, "total")) return code;
        return with_context([&](Context& context) {
            bool there = asks_for_hbm(attr) == has_hbm(config().family);
            size_t all = there ? config().device_memory : 0, used = device_bytes_used(context.device);
            *total = all;
            *free = all > used ? all - used : 0;
            return 0;
        });
    });
}

// Memory that lost bits: there is none.
HACL_EXPORT Code hacl_aclrtGetMemUceInfo(int32_t deviceId, void*, size_t, size_t* retSize) noexcept {
    return guarded("aclrtGetMemUceInfo", [&]() -> Code {
        if (Code code = need(retSize, "retSize")) return code;
        Lock lock = lock_machine();
        if (Code code = check_device(deviceId)) return code;
        *retSize = 0;
        return 0;
    });
}

// No memory here is ever uncorrectable, so nothing that could be named is.
HACL_EXPORT Code hacl_aclrtMemUceRepair(int32_t deviceId, const void* memUceInfoArray, size_t arraySize) noexcept {
    return guarded("aclrtMemUceRepair", [&]() -> Code {
        {
            Lock lock = lock_machine();
            if (Code code = check_device(deviceId)) return code;
        }
        if (arraySize && !memUceInfoArray) return null_argument("memUceInfoArray", "what aclrtGetMemUceInfo filled");
        if (arraySize == 0) return 0;
        return fail(ACL_ERROR_RT_PARAM_INVALID, "HA116",
                    format("arraySize = %zu; allowed: 0, as aclrtGetMemUceInfo said: no memory of the device is faulty", arraySize));
    });
}

HACL_EXPORT Code hacl_aclrtPointerGetAttributes(const void* ptr, void* attributes) noexcept {
    return guarded("aclrtPointerGetAttributes", [&]() -> Code {
        if (!ptr) return null_argument("ptr", "an address");
        if (Code code = need(attributes, "attributes")) return code;
        Lock lock = lock_machine();
        auto address = reinterpret_cast<uintptr_t>(ptr);
        BlockPtr block = find_block(address);
        if ((block && block->freed) || (!block && in_arena(address)))
            return fail(ACL_ERROR_RT_PARAM_INVALID, block ? "HA204" : "HA218",
                        format("ptr = %p: %s; allowed: live memory", ptr, describe_pointer(address).c_str()));
        *static_cast<PointerAttributes*>(attributes) = attributes_of(block);
        return 0;
    });
}

HACL_EXPORT Code hacl_aclrtHostRegister(void* ptr, uint64_t size, int32_t type, void** devPtr) noexcept {
    return guarded("aclrtHostRegister", [&]() -> Code {
        if (Code code = check_range("type", type, 0, 0, "0 (mapped)")) return code;
        if (Code code = need(devPtr, "devPtr")) return code;
        if (Code code = register_host(as_handle(ptr), size)) return code;
        *devPtr = ptr; // the device sees the host's addresses
        return 0;
    });
}

HACL_EXPORT Code hacl_aclrtHostRegisterV2(void* ptr, uint64_t size, uint32_t) noexcept {
    return guarded("aclrtHostRegisterV2", [&] { return register_host(as_handle(ptr), size); });
}

HACL_EXPORT Code hacl_aclrtHostGetDevicePointer(void* pHost, void** pDevice, uint32_t) noexcept {
    return guarded("aclrtHostGetDevicePointer", [&]() -> Code {
        if (!pHost) return null_argument("pHost", "registered host memory");
        if (Code code = need(pDevice, "pDevice")) return code;
        Lock lock = lock_machine();
        BlockPtr block = find_block(as_handle(pHost));
        if (!block || block->freed || block->space == Space::Device)
            return fail(ACL_ERROR_RT_PARAM_INVALID, "HA220",
                        format("pHost = %p: %s; allowed: registered host memory", pHost,
                               describe_pointer(as_handle(pHost)).c_str()));
        *pDevice = pHost;
        return 0;
    });
}

HACL_EXPORT Code hacl_aclrtHostUnregister(void* ptr) noexcept {
    return guarded("aclrtHostUnregister", [&] { return unregister_host(as_handle(ptr)); });
}
