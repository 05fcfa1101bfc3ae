// Tensor descriptors, data buffers and operator attributes: what a call is described with.
#pragma once

#include "core/handles.hpp"
#include "core/types.hpp"

#include <array>
#include <cstring>
#include <map>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace hostacl {

constexpr int32_t kUndefined = -1;  // ACL_DT_UNDEFINED, ACL_FORMAT_UNDEFINED
constexpr int64_t kUnknownRank = -2;

struct TensorDesc {
    TensorDesc() {} // not "= default": emplace() would fill all of it with zeros first
    int32_t dtype = kUndefined;
    int32_t format = kUndefined;              // the origin format
    std::vector<int64_t> dims;                // the origin shape; -1 an unknown dim, {-2} an unknown rank
    int32_t storage_format = kUndefined;      // what lies in memory, where it differs
    std::vector<int64_t> storage_dims;
    bool has_storage_shape = false;
    std::vector<std::array<int64_t, 2>> ranges;       // for each dim [min, max], max -1: no bound
    std::vector<std::array<int64_t, 2>> value_ranges;
    std::string name;
    std::string dynamic_input;
    bool is_const = false;
    std::vector<uint8_t> const_data;
    int32_t placement = 0;                    // aclMemType: 0 device, 1 host, 2 host, compile independent
    mutable std::string key;                  // this descriptor's part of a call's key; empty: make it anew

    void changed() { key.clear(); }           // call after every set
    const std::string& call_key() const;      // all that a plan depends on: every field but value_ranges, as bytes (cached)
    bool absent() const { return dtype == kUndefined; }
    int64_t element_count() const;            // of what lies in memory; 1 for a scalar, 0 when any dim is negative
    size_t byte_size() const;
};

struct DataBuffer {
    void* data = nullptr;
    size_t size = 0;
};

enum class AttrKind : uint8_t {
    Bool = 1, Int, Float, String, DataType, ListBool, ListInt, ListFloat, ListString, ListDataType, ListListInt
};

struct AttrValue {
    AttrKind kind;
    std::variant<int64_t, float, std::string, std::vector<int64_t>, std::vector<float>, std::vector<std::string>,
                 std::vector<std::vector<int64_t>>> value; // bool, int and data type are int64_t
};

struct OpAttr {
    std::map<std::string, AttrValue> values;
    mutable std::string key;
    void changed() { key.clear(); }
    const std::string& call_key() const;      // by name, kind and value; empty set = ""
};

size_t dtype_size(int32_t dtype);             // aclDataTypeSize; 0 for unknown codes

using DescTable = HandleTable<TensorDesc, Kind::TensorDesc>;
using BufferTable = HandleTable<DataBuffer, Kind::DataBuffer>;
using AttrTable = HandleTable<OpAttr, Kind::OpAttr>;
HACL_API DescTable& descs();                  // machine lock held for all three
HACL_API BufferTable& buffers();
HACL_API AttrTable& attrs();

} // namespace hostacl
