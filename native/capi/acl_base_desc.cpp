// Tensor descriptors of acl_base.h.
#include "capi/acl_base.hpp"
#include "capi/guard.hpp"
#include "capi/lookup.hpp"
#include "core/memory.hpp"

using namespace hostacl;

namespace {

using Range = std::array<int64_t, 2>;

Code check_dims(int count, const int64_t* dims) {
    if (count < 0) return fail(kInvalidParam, "HA405", format("numDims = %d; allowed: 0 or more", count));
    if (count > 0 && !dims)
        return fail(kInvalidParam, "HA405", format("dims = NULL with numDims = %d; allowed: that many dims", count));
    return check_array("dims", dims, static_cast<size_t>(count), sizeof *dims);
}

// A getter: what `read` gives of a live descriptor, else the fallback with a text.
template <class Value, class Read> HACL_INLINE Value get(const char* function, const void* desc, Value fallback, Read&& read) noexcept {
    return guarded_or(function, fallback, [&]() -> Value {
        Lock lock = lock_machine();
        TensorDesc* found = find_desc(desc);
        return found ? read(*found) : fallback;
    });
}

// A setter: `write` changes a live descriptor and gives a code.
template <class Write> HACL_INLINE Code set(const char* function, void* desc, Write&& write) noexcept {
    return guarded(function, [&]() -> Code {
        Lock lock = lock_machine();
        TensorDesc* found = find_desc(desc);
        if (!found) return kInvalidParam;
        Code code = write(*found);
        found->changed();
        return code;
    });
}

Code bad_index(const TensorDesc& desc, size_t index) {
    return fail(kInvalidParam, "HA406",
                format("index = %zu; allowed: below %zu, the descriptor's number of dims", index, desc.dims.size()));
}

HACL_INLINE Code set_storage_shape(const char* function, void* desc, int count, const int64_t* dims) noexcept {
    return set(function, desc, [&](TensorDesc& found) -> Code {
        if (Code code = check_dims(count, dims)) return code;
        found.storage_dims.assign(dims, dims + count);
        found.has_storage_shape = true;
        return 0;
    });
}

HACL_INLINE Code set_storage_format(const char* function, void* desc, int32_t format) noexcept {
    return set(function, desc, [&](TensorDesc& found) -> Code {
        found.storage_format = format;
        return 0;
    });
}

Code check_ranges(const TensorDesc& desc, size_t count, const int64_t ranges[][2]) {
    if (count > 0 && !ranges) return null_argument("dimsRange", "a (min, max) for each dim");
    bool unknown_rank = !desc.dims.empty() && desc.dims[0] == kUnknownRank;
    if (count != 0 && count != desc.dims.size() && !unknown_rank)
        return fail(kInvalidParam, "HA420",
                    format("dimsCount = %zu; allowed: %zu, one range for each dim", count, desc.dims.size()));
    if (Code code = check_array("dimsRange", ranges, count, sizeof *ranges)) return code;
    for (size_t i = 0; i < count; i++)
        if (ranges[i][0] < 0 || (ranges[i][1] != -1 && ranges[i][1] < ranges[i][0]))
            return fail(kInvalidParam, "HA420",
                        format("dimsRange[%zu] = (%lld, %lld); allowed: 0 <= min <= max, or max -1 for no bound", i,
                               static_cast<long long>(ranges[i][0]), static_cast<long long>(ranges[i][1])));
    return 0;
}

void assign_ranges(std::vector<Range>* out, size_t count, const int64_t ranges[][2]) {
    out->clear();
    for (size_t i = 0; i < count; i++) out->push_back({ranges[i][0], ranges[i][1]});
}

} // namespace

void* hacl_aclCreateTensorDesc(int32_t dataType, int numDims, const int64_t* dims, int32_t format) noexcept {
    return guarded_or("aclCreateTensorDesc", static_cast<void*>(nullptr), [&]() -> void* {
        if (check_dims(numDims, dims)) return nullptr;
        std::vector<int64_t> shape(dims, dims + numDims);
        Handle handle;
        Lock lock = lock_machine();
        TensorDesc& desc = descs().make(&handle);
        desc.dtype = dataType;
        desc.format = format;
        desc.dims = std::move(shape);
        return as_pointer(handle);
    });
}

void hacl_aclDestroyTensorDesc(const void* desc) noexcept {
    guarded("aclDestroyTensorDesc", [&]() -> Code {
        Lock lock = lock_machine();
        if (desc && find_desc(desc)) descs().remove(as_handle(desc));
        return 0;
    });
}

int32_t hacl_aclGetTensorDescType(const void* desc) noexcept {
    return get("aclGetTensorDescType", desc, kUndefined, [](TensorDesc& found) { return found.dtype; });
}

int32_t hacl_aclGetTensorDescFormat(const void* desc) noexcept {
    return get("aclGetTensorDescFormat", desc, kUndefined, [](TensorDesc& found) { return found.format; });
}

size_t hacl_aclGetTensorDescSize(const void* desc) noexcept {
    return get("aclGetTensorDescSize", desc, size_t{0}, [](TensorDesc& found) { return found.byte_size(); });
}

size_t hacl_aclGetTensorDescElementCount(const void* desc) noexcept {
    return get("aclGetTensorDescElementCount", desc, size_t{0},
               [](TensorDesc& found) { return static_cast<size_t>(found.element_count()); });
}

size_t hacl_aclGetTensorDescNumDims(const void* desc) noexcept {
    return get("aclGetTensorDescNumDims", desc, size_t{0}, [](TensorDesc& found) {
        bool unknown_rank = !found.dims.empty() && found.dims[0] == kUnknownRank;
        return unknown_rank ? static_cast<size_t>(kUnknownRank) : found.dims.size();
    });
}

int64_t hacl_aclGetTensorDescDim(const void* desc, size_t index) noexcept {
    return get("aclGetTensorDescDim", desc, int64_t{-1}, [&](TensorDesc& found) -> int64_t {
        if (index < found.dims.size()) return found.dims[index];
        bad_index(found, index);
        return -1;
    });
}

int32_t hacl_aclGetTensorDescDimV2(const void* desc, size_t index, int64_t* dimSize) noexcept {
    return get("aclGetTensorDescDimV2", desc, kInvalidParam, [&](TensorDesc& found) -> Code {
        if (index >= found.dims.size()) return bad_index(found, index);
        if (!dimSize) return null_argument("dimSize", "an address for one int64");
        *dimSize = found.dims[index];
        return 0;
    });
}

int32_t hacl_aclGetTensorDescDimRange(const void* desc, size_t index, size_t dimRangeNum, int64_t* dimRange) noexcept {
    return get("aclGetTensorDescDimRange", desc, kInvalidParam, [&](TensorDesc& found) -> Code {
        size_t count = std::max(found.dims.size(), found.ranges.size());
        if (index >= count) return bad_index(found, index);
        if (dimRangeNum < 2)
            return fail(kInvalidParam, "HA420", format("dimRangeNum = %zu; allowed: 2, room for min and max", dimRangeNum));
        if (!dimRange) return null_argument("dimRange", "an address for two int64");
        int64_t dim = index < found.dims.size() ? found.dims[index] : -1;
        Range range = index < found.ranges.size() ? found.ranges[index] : dim < 0 ? Range{0, -1} : Range{dim, dim};
        dimRange[0] = range[0];
        dimRange[1] = range[1];
        return 0;
    });
}

const char* hacl_aclGetTensorDescName(void* desc) noexcept {
    return get("aclGetTensorDescName", desc, static_cast<const char*>(""), [](TensorDesc& found) { return found.name.c_str(); });
}

void* hacl_aclGetTensorDescByIndex(void* desc, size_t index) noexcept {
    return get("aclGetTensorDescByIndex", desc, static_cast<void*>(nullptr), [&](TensorDesc&) -> void* {
        if (index == 0) return desc;
        fail(kInvalidParam, "HA406", format("index = %zu; allowed: 0, a descriptor here describes one tensor", index));
        return nullptr;
    });
}

void* hacl_aclGetTensorDescAddress(const void* desc) noexcept {
    return get("aclGetTensorDescAddress", desc, static_cast<void*>(nullptr), [](TensorDesc& found) -> void* {
        if (found.is_const) return found.const_data.data();
        fail(200001, "HA401", "desc has no const data; other data are in a data buffer: use aclGetDataBufferAddr");
        return nullptr;
    });
}

void hacl_aclSetTensorDescName(void* desc, const char* name) noexcept {
    set("aclSetTensorDescName", desc, [&](TensorDesc& found) -> Code {
        found.name = name ? name : "";
        return 0;
    });
}

int32_t hacl_aclSetTensorFormat(void* desc, int32_t format) noexcept {
    return set_storage_format("aclSetTensorFormat", desc, format);
}

int32_t hacl_aclSetTensorStorageFormat(void* desc, int32_t format) noexcept {
    return set_storage_format("aclSetTensorStorageFormat", desc, format);
}

int32_t hacl_aclSetTensorShape(void* desc, int numDims, const int64_t* dims) noexcept {
    return set_storage_shape("aclSetTensorShape", desc, numDims, dims);
}

int32_t hacl_aclSetTensorStorageShape(void* desc, int numDims, const int64_t* dims) noexcept {
    return set_storage_shape("aclSetTensorStorageShape", desc, numDims, dims);
}

int32_t hacl_aclSetTensorOriginFormat(void* desc, int32_t format) noexcept {
    return set("aclSetTensorOriginFormat", desc, [&](TensorDesc& found) -> Code {
        found.format = format;
        return 0;
    });
}

int32_t hacl_aclSetTensorOriginShape(void* desc, int numDims, const int64_t* dims) noexcept {
    return set("aclSetTensorOriginShape", desc, [&](TensorDesc& found) -> Code {
        if (Code code = check_dims(numDims, dims)) return code;
        found.dims.assign(dims, dims + numDims);
        return 0;
    });
}

int32_t hacl_aclSetTensorShapeRange(void* desc, size_t dimsCount, int64_t dimsRange[][2]) noexcept {
    return set("aclSetTensorShapeRange", desc, [&](TensorDesc& found) -> Code {
        if (Code code = check_ranges(found, dimsCount, dimsRange)) return code;
        assign_ranges(&found.ranges, dimsCount, dimsRange);
        return 0;
    });
}

int32_t hacl_aclSetTensorValueRange(void* desc, size_t valueCount, int64_t valueRange[][2]) noexcept {
    return set("aclSetTensorValueRange", desc, [&](TensorDesc& found) -> Code {
        if (valueCount > 0 && !valueRange) return null_argument("valueRange", "a (min, max) for each value");
        if (Code code = check_array("valueRange", valueRange, valueCount, sizeof *valueRange)) return code;
        assign_ranges(&found.value_ranges, valueCount, valueRange);
        return 0;
    });
}

int32_t hacl_aclSetTensorConst(void* desc, void* dataBuffer, size_t length) noexcept {
    return set("aclSetTensorConst", desc, [&](TensorDesc& found) -> Code {
        if (!dataBuffer || length == 0)
            return fail(kInvalidParam, "HA414",
                        format("dataBuffer = %p, length = %zu; allowed: the address and size of the const bytes", dataBuffer, length));
        if (!is_live(reinterpret_cast<uintptr_t>(dataBuffer), length))
            return fail(kInvalidParam, "HA218",
                        format("dataBuffer = %p: the %zu bytes there are not all live memory; allowed: the const bytes", dataBuffer, length));
        const auto* bytes = static_cast<const uint8_t*>(dataBuffer);
        found.const_data.assign(bytes, bytes + length);
        found.is_const = true;
        return 0;
    });
}

int32_t hacl_aclSetTensorPlaceMent(void* desc, int32_t memType) noexcept {
    return set("aclSetTensorPlaceMent", desc, [&](TensorDesc& found) -> Code {
        if (memType < 0 || memType > 2)
            return fail(kInvalidParam, "HA422",
                        format("memType = %d; allowed: 0 (ACL_MEMTYPE_DEVICE), 1 (ACL_MEMTYPE_HOST), "
                               "2 (ACL_MEMTYPE_HOST_COMPILE_INDEPENDENT)", memType));
        found.placement = memType;
        return 0;
    });
}

int32_t hacl_aclSetTensorDynamicInput(void* desc, const char* dynamicInputName) noexcept {
    return set("aclSetTensorDynamicInput", desc, [&](TensorDesc& found) -> Code {
        if (!dynamicInputName) return null_argument("dynamicInputName", "the prototype's name of the dynamic input");
        found.dynamic_input = dynamicInputName;
        return 0;
    });
}
