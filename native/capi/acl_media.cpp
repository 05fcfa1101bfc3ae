// acl_dvpp.h: memory for media; the rest of media processing is not there.
#include "capi/acl_rt.hpp"
#include "core/memory.hpp"

using namespace hostacl;

HACL_EXPORT Code hacl_acldvppMalloc(void** devPtr, size_t size) noexcept {
    return guarded("acldvppMalloc", [&]() -> Code {
        if (Code code = need(devPtr, "devPtr")) return code;
        *devPtr = nullptr;
        int32_t device = 0;
        Code code = with_context([&](Context& context) {
            device = context.device;
            return 0;
        });
        return code ? code : allocate(Space::Device, device, size, "size", devPtr);
    });
}

HACL_EXPORT Code hacl_acldvppFree(void* devPtr) noexcept {
    return guarded("acldvppFree", [&] { return free_block(Space::Device, as_handle(devPtr), "devPtr"); });
}
