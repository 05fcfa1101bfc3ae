// acl_rt.h: devices and what they are.
#include "capi/acl_rt.hpp"
#include "core/leaks.hpp"
#include "core/lifecycle.hpp"
#include "core/status.hpp"

#include <unistd.h>

#include <cstring>

using namespace hostacl;

HACL_EXPORT Code hacl_aclGetDeviceCapability(uint32_t deviceId, int32_t deviceInfo, int64_t* value) noexcept;

namespace {

// The user's number of a device is the one before ASCEND_RT_VISIBLE_DEVICES chose. Lock held.
int32_t user_number(int32_t device) {
    return config().visible.empty() ? device : config().visible[static_cast<size_t>(device)];
}

Code device_of_user_number(int32_t user, const char* name, int32_t* device) {
    for (*device = 0; *device < device_count(); ++*device)
        if (user_number(*device) == user) return 0;
    return fail(ACL_ERROR_RT_INVALID_DEVICEID, "HA102",
                format("%s = %d; allowed: the number of a visible device (ASCEND_RT_VISIBLE_DEVICES)", name, user));
}

// Which number of aclDeviceInfo an aclrtDevAttr asks for; -1: another sort.
int32_t capability_of(int32_t attr) {
    switch (attr) {
    case 101:           // AI core
    case 102: return 0; // cube core
    case 201: return 1; // vector core
    case 302: return 2; // L2 bytes
    default: return -1;
    }
}

struct Utilization { // aclrtUtilizationInfo
    int32_t cube, vector, aicpu, memory;
    void* more;
};

Code wants_other_device(int32_t device, int32_t peer) {
    if (Code code = check_device(device)) return code;
    if (Code code = check_device(peer, "peerDeviceId")) return code;
    if (device != peer) return 0;
    return fail(ACL_ERROR_RT_PARAM_INVALID, "HA117",
                format("deviceId = peerDeviceId = %d; allowed: two different devices", device));
}

Code reset(int32_t device, bool force) {
    if (device >= 0) report_leaks(device);
    return reset_device(device, force);
}

} // namespace

HACL_EXPORT Code hacl_aclrtSetDevice(int32_t deviceId) noexcept {
    return guarded("aclrtSetDevice", [&]() -> Code {
        check_initialized();
        Lock lock = lock_machine();
        if (Code code = check_device(deviceId)) return code;
        set_device(deviceId);
        return 0;
    });
}

HACL_EXPORT Code hacl_aclrtResetDevice(int32_t deviceId) noexcept {
    return guarded("aclrtResetDevice", [&] { return reset(deviceId, false); });
}

HACL_EXPORT Code hacl_aclrtResetDeviceForce(int32_t deviceId) noexcept {
    return guarded("aclrtResetDeviceForce", [&] { return reset(deviceId, true); });
}

HACL_EXPORT Code hacl_aclrtGetDevice(int32_t* deviceId) noexcept {
    return guarded("aclrtGetDevice", [&]() -> Code {
        if (Code code = need(deviceId, "deviceId")) return code;
        return with_context([&](Context& context) {
            *deviceId = context.device;
            return 0;
        });
    });
}

HACL_EXPORT Code hacl_aclrtGetDeviceCount(uint32_t* count) noexcept {
    return guarded("aclrtGetDeviceCount", [&]() -> Code {
        if (Code code = need(count, "count")) return code;
        Lock lock = lock_machine();
        *count = static_cast<uint32_t>(device_count());
        return 0;
    });
}

HACL_EXPORT Code hacl_aclrtSetTsDevice(int32_t tsId) noexcept {
    return guarded("aclrtSetTsDevice", [&]() -> Code {
        if (Code code = check_range("tsId", tsId, 0, 1, "0 (AI core) or 1 (vector core)")) return code;
        return with_context([](Context&) { return 0; });
    });
}

HACL_EXPORT Code hacl_aclrtQueryDeviceStatus(int32_t deviceId, int32_t* deviceStatus) noexcept {
    return guarded("aclrtQueryDeviceStatus", [&]() -> Code {
        Lock lock = lock_machine();
        if (Code code = check_device(deviceId)) return code;
        if (Code code = need(deviceStatus, "deviceStatus")) return code;
        *deviceStatus = 0; // ACL_RT_DEVICE_STATUS_NORMAL
        return 0;
    });
}

HACL_EXPORT Code hacl_aclrtGetDeviceUtilizationRate(int32_t deviceId, void* utilizationInfo) noexcept {
    return guarded("aclrtGetDeviceUtilizationRate", [&]() -> Code {
        Lock lock = lock_machine();
        if (Code code = check_device(deviceId)) return code;
        if (Code code = need(utilizationInfo, "utilizationInfo")) return code;
        uint64_t total = config().device_memory;
        auto percent = static_cast<int32_t>(
            total ? 100.0 * static_cast<double>(device_bytes_used(deviceId)) / static_cast<double>(total) : 0);
        bool runs = false;
        each_context([&](Context& context) {
            for (const StreamPtr& stream : context.streams) runs = runs || (context.device == deviceId && stream->busy);
        });
        int32_t busy = runs ? 100 : 0;
        *static_cast<Utilization*>(utilizationInfo) = {busy, busy, 0, percent, nullptr};
        return 0;
    });
}

HACL_EXPORT Code hacl_aclrtGetDeviceInfo(uint32_t deviceId, int32_t attr, int64_t* value) noexcept {
    return guarded("aclrtGetDeviceInfo", [&]() -> Code {
        constexpr int32_t kAicpuCores = 1, kTotalMemory = 301;
        if (Code code = need(value, "value")) return code;
        {
            Lock lock = lock_machine();
            if (Code code = check_device(static_cast<int32_t>(deviceId))) return code;
        }
        if (int32_t info = capability_of(attr); info >= 0) return hacl_aclGetDeviceCapability(deviceId, info, value);
        if (attr == kAicpuCores) *value = ::sysconf(_SC_NPROCESSORS_ONLN);
        else if (attr == kTotalMemory) *value = static_cast<int64_t>(config().device_memory);
        else
            return fail(
                ACL_ERROR_RT_FEATURE_NOT_SUPPORT, "HA118",
                format("attr = %d; allowed: 1 (AI CPU cores), 101 (AI cores), 102 (cube cores), 201 (vector cores), "
                       "301 (memory), 302 (L2 bytes)",
                       attr));
        return 0;
    });
}

HACL_EXPORT Code hacl_aclrtDeviceGetUuid(int32_t deviceId, void* uuid) noexcept {
    return guarded("aclrtDeviceGetUuid", [&]() -> Code {
        Lock lock = lock_machine();
        if (Code code = check_device(deviceId)) return code;
        if (Code code = need(uuid, "uuid")) return code;
        char bytes[16] = {'h', 'o', 's', 't', 'a', 'c', 'l'};
        bytes[15] = static_cast<char>(user_number(deviceId));
        std::memcpy(uuid, bytes, sizeof bytes);
        return 0;
    });
}

HACL_EXPORT Code hacl_aclrtDeviceGetBareTgid(int32_t* pid) noexcept {
    return guarded("aclrtDeviceGetBareTgid", [&]() -> Code {
        if (Code code = need(pid, "pid")) return code;
        *pid = ::getpid();
        return 0;
    });
}

HACL_EXPORT Code hacl_aclrtGetLogicDevIdByUserDevId(int32_t userDevid, int32_t* logicDevId) noexcept {
    return guarded("aclrtGetLogicDevIdByUserDevId", [&]() -> Code {
        Lock lock = lock_machine();
        if (Code code = need(logicDevId, "logicDevId")) return code;
        int32_t device = 0;
        if (Code code = check_device(userDevid, "userDevid"))
            return code; // the program's numbers count the visible ones
        device = user_number(userDevid);
        *logicDevId = device;
        return 0;
    });
}

HACL_EXPORT Code hacl_aclrtGetUserDevIdByLogicDevId(int32_t logicDevId, int32_t* userDevid) noexcept {
    return guarded("aclrtGetUserDevIdByLogicDevId", [&]() -> Code {
        Lock lock = lock_machine();
        if (Code code = need(userDevid, "userDevid")) return code;
        int32_t device = 0;
        if (Code code = device_of_user_number(logicDevId, "logicDevId", &device)) return code;
        *userDevid = device;
        return 0;
    });
}

HACL_EXPORT Code hacl_aclrtGetLogicDevIdByPhyDevId(int32_t phyDevId, int32_t* logicDevId) noexcept {
    return guarded("aclrtGetLogicDevIdByPhyDevId", [&]() -> Code {
        Lock lock = lock_machine();
        if (Code code = need(logicDevId, "logicDevId")) return code;
        if (Code code = check_range("phyDevId", phyDevId, 0, config().devices - 1, "the number of a device",
                                    ACL_ERROR_RT_INVALID_DEVICEID))
            return code;
        *logicDevId = phyDevId;
        return 0;
    });
}

HACL_EXPORT Code hacl_aclrtGetPhyDevIdByLogicDevId(int32_t logicDevId, int32_t* phyDevId) noexcept {
    return guarded("aclrtGetPhyDevIdByLogicDevId", [&]() -> Code {
        Lock lock = lock_machine();
        if (Code code = need(phyDevId, "phyDevId")) return code;
        if (Code code = check_range("logicDevId", logicDevId, 0, config().devices - 1, "the number of a device",
                                    ACL_ERROR_RT_INVALID_DEVICEID))
            return code;
        *phyDevId = logicDevId;
        return 0;
    });
}

HACL_EXPORT Code hacl_aclrtDeviceCanAccessPeer(int32_t* canAccessPeer, int32_t deviceId,
                                               int32_t peerDeviceId) noexcept {
    return guarded("aclrtDeviceCanAccessPeer", [&]() -> Code {
        if (Code code = need(canAccessPeer, "canAccessPeer")) return code;
        Lock lock = lock_machine();
        if (Code code = check_device(deviceId)) return code;
        if (Code code = check_device(peerDeviceId, "peerDeviceId")) return code;
        *canAccessPeer = deviceId != peerDeviceId;
        return 0;
    });
}

HACL_EXPORT Code hacl_aclrtDeviceEnablePeerAccess(int32_t peerDeviceId, uint32_t flags) noexcept {
    return guarded("aclrtDeviceEnablePeerAccess", [&]() -> Code {
        return with_context([&](Context& context) -> Code {
            if (Code code = wants_other_device(context.device, peerDeviceId)) return code;
            if (Code code = check_range("flags", flags, 0, 0, "0")) return code;
            device_state(context.device).peers[peerDeviceId] = true;
            return 0;
        });
    });
}

HACL_EXPORT Code hacl_aclrtDeviceDisablePeerAccess(int32_t peerDeviceId) noexcept {
    return guarded("aclrtDeviceDisablePeerAccess", [&]() -> Code {
        return with_context([&](Context& context) -> Code {
            if (Code code = wants_other_device(context.device, peerDeviceId)) return code;
            device_state(context.device).peers.erase(peerDeviceId);
            return 0;
        });
    });
}

HACL_EXPORT Code hacl_aclrtDevicePeerAccessStatus(int32_t deviceId, int32_t peerDeviceId, int32_t* status) noexcept {
    return guarded("aclrtDevicePeerAccessStatus", [&]() -> Code {
        if (Code code = need(status, "status")) return code;
        Lock lock = lock_machine();
        if (Code code = wants_other_device(deviceId, peerDeviceId)) return code;
        *status = device_state(deviceId).peers.count(peerDeviceId) ? 1 : 0;
        return 0;
    });
}
