// acl.h: begin and end, the last texts, versions.
#include "capi/acl_rt.hpp"
#include "core/lifecycle.hpp"

#include <cstdio>
#include <cstring>

using namespace hostacl;

namespace {

constexpr int32_t kMajorVersion = 1, kMinorVersion = 10, kPatchVersion = 0; // of the interface, as in acl.h
constexpr int32_t kPackages = 8;                                            // CANN, runtime, compiler ... driver

// aclCANNPackageVersion of the public reference.
struct PackageVersion {
    char version[128];
    char major[64];
    char minor[64];
    char release[64];
    char patch[64];
    char reserved[128];
};

template <size_t Size> void put(char (&field)[Size], const std::string& text) {
    std::snprintf(field, Size, "%s", text.c_str());
}

PackageVersion package_version(const Cann& cann) {
    PackageVersion version{};
    put(version.version, cann.text);
    put(version.major, std::to_string(cann.major));
    put(version.minor, std::to_string(cann.minor));
    put(version.release, cann.stage < 1000 ? "RC" + std::to_string(cann.stage) : "0");
    put(version.patch, std::to_string(cann.patch));
    return version;
}

} // namespace

HACL_EXPORT Code hacl_aclInit(const char* configPath) noexcept {
    return guarded("aclInit", [&] { return initialize(configPath); });
}

HACL_EXPORT Code hacl_aclFinalize() noexcept {
    return guarded("aclFinalize", [] { return finalize(); });
}

HACL_EXPORT Code hacl_aclFinalizeReference(uint64_t* refCount) noexcept {
    return guarded("aclFinalizeReference", [&] { return finalize_reference(refCount); });
}

HACL_EXPORT const char* hacl_aclGetRecentErrMsg() noexcept {
    return guarded_or("aclGetRecentErrMsg", static_cast<const char*>(nullptr), [] { return take_messages(); });
}

HACL_EXPORT Code hacl_aclrtGetVersion(int32_t* majorVersion, int32_t* minorVersion, int32_t* patchVersion) noexcept {
    return guarded("aclrtGetVersion", [&]() -> Code {
        if (Code code = need(majorVersion, "majorVersion")) return code;
        if (Code code = need(minorVersion, "minorVersion")) return code;
        if (Code code = need(patchVersion, "patchVersion")) return code;
        *majorVersion = kMajorVersion;
        *minorVersion = kMinorVersion;
        *patchVersion = kPatchVersion;
        return 0;
    });
}

HACL_EXPORT Code hacl_aclsysGetCANNVersion(int32_t name, void* version) noexcept {
    return guarded("aclsysGetCANNVersion", [&]() -> Code {
        if (Code code = check_range("name", name, 0, kPackages - 1, "0 (CANN) to 7 (driver)", ACL_ERROR_INVALID_PARAM))
            return code;
        if (Code code = need(version, "version")) return code;
        Lock lock = lock_machine();
        PackageVersion all = package_version(config().cann);
        std::memcpy(version, &all, sizeof all);
        return 0;
    });
}

HACL_EXPORT Code hacl_aclsysGetVersionStr(char* pkgName, char* versionStr) noexcept {
    return guarded("aclsysGetVersionStr", [&]() -> Code {
        if (!pkgName) return null_argument("pkgName", "the name of a package, such as \"runtime\"");
        if (Code code = need(versionStr, "versionStr")) return code;
        Lock lock = lock_machine();
        std::snprintf(versionStr, sizeof(PackageVersion::version), "%s", config().cann.text.c_str());
        return 0;
    });
}

HACL_EXPORT const char* hacl_aclrtGetSocName() noexcept {
    return guarded_or("aclrtGetSocName", static_cast<const char*>(nullptr), [] { return config().soc; });
}

HACL_EXPORT Code hacl_aclrtGetRunMode(int32_t* runMode) noexcept {
    return guarded("aclrtGetRunMode", [&]() -> Code {
        if (Code code = need(runMode, "runMode")) return code;
        *runMode = 1; // ACL_HOST: the program runs beside the device, not on it
        return 0;
    });
}

HACL_EXPORT Code hacl_aclrtPeekAtLastError(int32_t level) noexcept {
    return guarded("aclrtPeekAtLastError", [&]() -> Code {
        if (Code code = check_range("flag", level, 0, 0, "0 (of this thread)")) return code;
        return last_error(false);
    });
}

HACL_EXPORT Code hacl_aclrtGetLastError(int32_t level) noexcept {
    return guarded("aclrtGetLastError", [&]() -> Code {
        if (Code code = check_range("flag", level, 0, 0, "0 (of this thread)")) return code;
        return last_error(true);
    });
}

HACL_EXPORT Code hacl_aclrtGetThreadLastTaskId(uint32_t* taskId) noexcept {
    return guarded("aclrtGetThreadLastTaskId", [&]() -> Code {
        if (Code code = need(taskId, "taskId")) return code;
        *taskId = thread_last_task();
        return 0;
    });
}
