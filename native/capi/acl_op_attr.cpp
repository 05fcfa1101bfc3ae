#include "capi/acl_op_attr.hpp"

#include "capi/guard.hpp"
#include "capi/lookup.hpp"

using namespace hostacl;

namespace {

Code bad_attr(const std::string& text) { return fail(kInvalidParam, "HA417", text); }

// Checks attr and name, makes the value, and keeps it under the name. `make` gives an AttrValue, or nothing after a fail().
template <class Make> HACL_INLINE Code set_attr(const char* function, void* attr, const char* name, Make&& make) noexcept {
    return guarded(function, [&]() -> Code {
        Lock lock = lock_machine();
        OpAttr* object = find_attr(attr);
        if (!object) return kInvalidParam;
        if (!name) return bad_attr("attrName = NULL; allowed: the attribute's name");
        AttrValue value;
        if (Code code = make(&value)) return code;
        object->values[name] = std::move(value);
        object->changed();
        return 0;
    });
}

template <class T> Code check_list(int count, const T* values) {
    if (count < 0) return bad_attr(format("numValues = %d; allowed: 0 or more", count));
    if (count > 0 && !values) return bad_attr(format("values = NULL with numValues = %d; allowed: that many values", count));
    return check_array("values", values, static_cast<size_t>(count), sizeof *values);
}

template <class Wide, class T> auto maker(AttrKind kind, int count, const T* values) {
    return [=](AttrValue* out) -> Code {
        if (Code code = check_list(count, values)) return code;
        *out = AttrValue{kind, std::vector<Wide>(values, values + count)};
        return 0;
    };
}

auto number(AttrKind kind, int64_t value) {
    return [=](AttrValue* out) -> Code {
        *out = AttrValue{kind, value};
        return 0;
    };
}

} // namespace

void* hacl_aclopCreateAttr() noexcept {
    return guarded_or("aclopCreateAttr", static_cast<void*>(nullptr), [] {
        Lock lock = lock_machine();
        return as_pointer(attrs().add(OpAttr{}));
    });
}

void hacl_aclopDestroyAttr(const void* attr) noexcept {
    guarded("aclopDestroyAttr", [&]() -> Code {
        Lock lock = lock_machine();
        if (!attr || !find_attr(attr)) return 0;
        attrs().remove(as_handle(attr));
        return 0;
    });
}

int32_t hacl_aclopSetAttrBool(void* attr, const char* attrName, uint8_t attrValue) noexcept {
    return set_attr("aclopSetAttrBool", attr, attrName, number(AttrKind::Bool, attrValue != 0));
}

int32_t hacl_aclopSetAttrInt(void* attr, const char* attrName, int64_t attrValue) noexcept {
    return set_attr("aclopSetAttrInt", attr, attrName, number(AttrKind::Int, attrValue));
}

int32_t hacl_aclopSetAttrFloat(void* attr, const char* attrName, float attrValue) noexcept {
    return set_attr("aclopSetAttrFloat", attr, attrName, [=](AttrValue* out) -> Code {
        *out = AttrValue{AttrKind::Float, attrValue};
        return 0;
    });
}

int32_t hacl_aclopSetAttrString(void* attr, const char* attrName, const char* attrValue) noexcept {
    return set_attr("aclopSetAttrString", attr, attrName, [=](AttrValue* out) -> Code {
        if (!attrValue) return bad_attr("attrValue = NULL; allowed: a string");
        *out = AttrValue{AttrKind::String, std::string(attrValue)};
        return 0;
    });
}

int32_t hacl_aclopSetAttrDataType(void* attr, const char* attrName, int32_t attrValue) noexcept {
    return set_attr("aclopSetAttrDataType", attr, attrName, number(AttrKind::DataType, attrValue));
}

int32_t hacl_aclopSetAttrListBool(void* attr, const char* attrName, int numValues, const uint8_t* values) noexcept {
    return set_attr("aclopSetAttrListBool", attr, attrName, [=](AttrValue* out) -> Code {
        if (Code code = check_list(numValues, values)) return code;
        std::vector<int64_t> flags;
        for (int i = 0; i < numValues; i++) flags.push_back(values[i] != 0);
        *out = AttrValue{AttrKind::ListBool, std::move(flags)};
        return 0;
    });
}

int32_t hacl_aclopSetAttrListInt(void* attr, const char* attrName, int numValues, const int64_t* values) noexcept {
    return set_attr("aclopSetAttrListInt", attr, attrName, maker<int64_t>(AttrKind::ListInt, numValues, values));
}

int32_t hacl_aclopSetAttrListFloat(void* attr, const char* attrName, int numValues, const float* values) noexcept {
    return set_attr("aclopSetAttrListFloat", attr, attrName, maker<float>(AttrKind::ListFloat, numValues, values));
}

int32_t hacl_aclopSetAttrListDataType(void* attr, const char* attrName, int numValues, const int32_t values[]) noexcept {
    return set_attr("aclopSetAttrListDataType", attr, attrName, maker<int64_t>(AttrKind::ListDataType, numValues, values));
}

int32_t hacl_aclopSetAttrListString(void* attr, const char* attrName, int numValues, const char** values) noexcept {
    return set_attr("aclopSetAttrListString", attr, attrName, [=](AttrValue* out) -> Code {
        if (Code code = check_list(numValues, values)) return code;
        for (int i = 0; i < numValues; i++)
            if (!values[i]) return bad_attr(format("values[%d] = NULL; allowed: a string", i));
        *out = AttrValue{AttrKind::ListString, std::vector<std::string>(values, values + numValues)};
        return 0;
    });
}

int32_t hacl_aclopSetAttrListListInt(void* attr, const char* attrName, int numLists, const int* numValues,
                                     const int64_t* const values[]) noexcept {
    return set_attr("aclopSetAttrListListInt", attr, attrName, [=](AttrValue* out) -> Code {
        if (Code code = check_list(numLists, values)) return code;
        if (Code code = check_list(numLists, numValues)) return code;
        std::vector<std::vector<int64_t>> lists;
        for (int i = 0; i < numLists; i++) {
            if (Code code = check_list(numValues[i], values[i])) return code;
            lists.emplace_back(values[i], values[i] + numValues[i]);
        }
        *out = AttrValue{AttrKind::ListListInt, std::move(lists)};
        return 0;
    });
}
