#include "core/desc.hpp"

#include <limits>

namespace hostacl {
namespace {

// Bytes of a key: fixed widths and length prefixes, so that no two descriptions give the same bytes.
class KeyWriter {
  public:
    explicit KeyWriter(std::string& out) : out_(out) {}
    template <class T> void number(T value) { out_.append(reinterpret_cast<const char*>(&value), sizeof value); }
    void bytes(const void* data, size_t size) {
        number(static_cast<uint32_t>(size));
        if (size) out_.append(static_cast<const char*>(data), size);
    }
    void text(const std::string& value) { bytes(value.data(), value.size()); }
    template <class T> void list(const std::vector<T>& values) { bytes(values.data(), values.size() * sizeof(T)); }

  private:
    std::string& out_;
};

struct ValueWriter {
    KeyWriter& key;
    void operator()(int64_t value) const { key.number(value); }
    void operator()(float value) const { key.number(value); } // by its bits: -0.0 is not 0.0, a NaN equals itself
    void operator()(const std::string& value) const { key.text(value); }
    template <class T> void operator()(const std::vector<T>& values) const {
        key.number(static_cast<uint32_t>(values.size()));
        for (const T& value : values) (*this)(value);
    }
};

void write_desc(const TensorDesc& desc, KeyWriter key) {
    key.number(desc.dtype);
    key.number(desc.format);
    key.list(desc.dims);
    key.number(desc.storage_format);
    key.number(desc.has_storage_shape);
    key.list(desc.storage_dims);
    key.list(desc.ranges);
    key.text(desc.name);
    key.text(desc.dynamic_input);
    key.number(desc.is_const);
    key.list(desc.const_data);
    key.number(desc.placement);
}

} // namespace

const std::string& TensorDesc::call_key() const {
    if (key.empty()) write_desc(*this, KeyWriter(key));
    return key;
}

int64_t TensorDesc::element_count() const {
    int64_t count = 1;
    bool overflow = false;
    for (int64_t dim : has_storage_shape ? storage_dims : dims) {
        if (dim <= 0) return 0;
        overflow |= __builtin_mul_overflow(count, dim, &count);
    }
    return overflow ? std::numeric_limits<int64_t>::max() : count;
}

size_t TensorDesc::byte_size() const {
    size_t size = 0;
    bool overflow = __builtin_mul_overflow(static_cast<size_t>(element_count()), dtype_size(dtype), &size);
    return overflow ? std::numeric_limits<size_t>::max() : size;
}

const std::string& OpAttr::call_key() const {
    if (!key.empty() || values.empty()) return key;
    KeyWriter writer(key);
    for (const auto& [name, attr] : values) {
        writer.text(name);
        writer.number(attr.kind);
        std::visit(ValueWriter{writer}, attr.value);
    }
    return key;
}

// The sizes that aclDataTypeSize documents: a packed type counts a whole byte an element (4-bit floats 8, as published).
size_t dtype_size(int32_t dtype) {
    switch (dtype) {
    case 2: case 4: case 12: case 29: case 30:           // int8, uint8, bool, int4, uint1
    case 34: case 35: case 36: case 37: return 1;        // hifloat8, float8 e5m2, e4m3fn, e8m0
    case 1: case 6: case 7: case 27: return 2;           // float16, int16, uint16, bf16
    case 0: case 3: case 8: case 33: return 4;           // float, int32, uint32, complex32
    case 9: case 10: case 11: case 16:                   // int64, uint64, double, complex64
    case 38: case 39: case 40: case 41: return 8;        // float6 e3m2, e2m3, float4 e2m1, e1m2
    case 17: return 16;                                  // complex128
    default: return 0;                                   // string, undefined, unknown
    }
}

// Never destroyed: calls may come while the process ends.
DescTable& descs() {
    static auto* table = new DescTable;
    return *table;
}

BufferTable& buffers() {
    static auto* table = new BufferTable;
    return *table;
}

AttrTable& attrs() {
    static auto* table = new AttrTable;
    return *table;
}

} // namespace hostacl
