// aclTransTensorDescFormat: the same tensor, described in another format.
#include "capi/acl_base.hpp"
#include "capi/guard.hpp"
#include "capi/lookup.hpp"

using namespace hostacl;

namespace {

constexpr int32_t kNd = 2, kNc1hwc0 = 3;

// The axes of a plain format as letters; null for any other format.
const char* axes_of(int32_t format) {
    switch (format) {
    case 0: return "NCHW";
    case 1: return "NHWC";
    case 16: return "HWCN";
    case 27: return "NDHWC";
    case 30: return "NCDHW";
    default: return nullptr;
    }
}

bool permute(const TensorDesc& from, const char* source, const char* target, std::vector<int64_t>* dims) {
    if (std::strlen(source) != from.dims.size()) return false;
    for (const char* axis = target; *axis; axis++) {
        const char* at = std::strchr(source, *axis);
        if (!at) return false;
        dims->push_back(from.dims[static_cast<size_t>(at - source)]);
    }
    return dims->size() == from.dims.size();
}

bool to_nc1hwc0(const TensorDesc& from, const char* source, std::vector<int64_t>* dims) {
    std::vector<int64_t> nchw;
    if (!permute(from, source, "NCHW", &nchw)) return false;
    int64_t c0 = from.dtype == 2 || from.dtype == 4 ? 32 : 16;
    *dims = {nchw[0], nchw[1] < 0 ? nchw[1] : (nchw[1] + c0 - 1) / c0, nchw[2], nchw[3], c0};
    return true;
}

bool translate(const TensorDesc& from, int32_t format, std::vector<int64_t>* dims) {
    const char* source = axes_of(from.format);
    const char* target = axes_of(format);
    if (format == from.format || format == kNd || (from.format == kNd && target && std::strlen(target) == from.dims.size())) {
        *dims = from.dims;
        return true;
    }
    if (source && format == kNc1hwc0) return to_nc1hwc0(from, source, dims);
    return source && target && permute(from, source, target, dims);
}

} // namespace

int32_t hacl_aclTransTensorDescFormat(const void* srcDesc, int32_t dstFormat, void** dstDesc) noexcept {
    return guarded("aclTransTensorDescFormat", [&]() -> Code {
        Lock lock = lock_machine();
        TensorDesc* found = find_desc(srcDesc, "srcDesc");
        if (!found) return kInvalidParam;
        if (!dstDesc) return null_argument("dstDesc", "an address for the new descriptor");
        TensorDesc result;
        result.dtype = found->dtype;
        result.format = dstFormat;
        result.name = found->name;
        if (!translate(*found, dstFormat, &result.dims))
            return fail(kInvalidParam, "HA413",
                        format("srcDesc has format %d and %zu dims, dstFormat = %d; allowed: among NCHW, NHWC, HWCN (4 dims), among NCDHW, "
                               "NDHWC (5 dims), from the first three to NC1HWC0, and ND", found->format, found->dims.size(), dstFormat));
        *dstDesc = as_pointer(descs().add(std::move(result)));
        return 0;
    });
}
