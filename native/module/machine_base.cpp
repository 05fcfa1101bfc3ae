// acl.h and acl_base.h: start and end, descriptors, data buffers, half numbers.
#include "capi/acl_base.hpp"
#include "core/hooks.hpp"
#include "module/machine_table.hpp"
#include "module/functions.hpp"

DECLARE(int32_t, aclInit, const char*)
DECLARE(int32_t, aclFinalize)
DECLARE(int32_t, aclFinalizeReference, uint64_t*)
DECLARE(int32_t, aclrtGetVersion, int32_t*, int32_t*, int32_t*)
DECLARE(int32_t, aclsysGetVersionStr, char*, char*)
DECLARE(const char*, aclrtGetSocName)
DECLARE(const char*, aclGetRecentErrMsg)

namespace hostacl {
namespace {

PyObject* init(const Row&, const Args& args) {
    const char* path = args.count() == 0 ? nullptr : args.text_or_none(0);
    return to_python(hacl_aclInit(path));
}

PyObject* recent_message(const Row&, const Args&) {
    const char* text = hacl_aclGetRecentErrMsg();
    return text ? to_python(text) : Py_NewRef(Py_None);
}

PyObject* version_text(const Row&, const Args& args) {
    const char* package = args.text(0);
    char version[256] = ""; // the longest that the API writes is 128
    Code code = hacl_aclsysGetVersionStr(const_cast<char*>(package), version);
    return tuple_of({to_python(static_cast<const char*>(version)), to_python(code)});
}

PyObject* app_log(const Row&, const Args& args) {
    std::string site = call_site();
    hacl_aclAppLog(args.integer<int32_t>(0), "", site.c_str(), 0, "%s", args.text(1));
    return Py_NewRef(Py_None);
}

PyObject* create_buffer(const Row&, const Args& args) {
    void* data = args.address_or_empty_list(0);
    return to_python(hacl_aclCreateDataBuffer(data, args.integer<size_t>(1)));
}

// create_tensor_desc(data_type, dims, format), or with the number of dims before the list, as the reference's page has it.
PyObject* create_desc(const Row&, const Args& args) {
    auto dtype = args.integer<int32_t>(0);
    int number = args.count() == 4 ? args.integer<int32_t>(1) : 0;
    int at = args.count() == 4 ? 2 : 1;
    Numbers<int64_t> dims = args.integers<int64_t>(at);
    auto data_format = args.integer<int32_t>(at + 1);
    if (at == 1 || number == dims.count()) return to_python(hacl_aclCreateTensorDesc(dtype, dims.count(), dims.data(), data_format));
    fail(100000, "HA405", format("num_dims = %d with a list of %d dims; allowed: the list's length", number, dims.count()));
    return to_python(static_cast<void*>(nullptr));
}

// The names of the two forms differ from the second argument on.
PyObject* create_desc_either(const Row& row, const Args& args) {
    static const char* const long_names[] = {"data_type", "num_dims", "dims", "format"};
    return create_desc(row, args.count() == 4 ? args.renamed(long_names) : args);
}

PyObject* dim_range(const Row&, const Args& args) {
    void* desc = args.address(0);
    auto index = args.integer<size_t>(1), number = args.integer<size_t>(2);
    int64_t range[2] = {0, 0};
    Code code = hacl_aclGetTensorDescDimRange(desc, index, number, range);
    PyObject* list = code ? Py_NewRef(Py_None)
                          : Py_BuildValue("[LL]", static_cast<long long>(range[0]), static_cast<long long>(range[1]));
    return tuple_of({list, to_python(code)});
}

template <Code (*function)(void*, int, const int64_t*) noexcept> PyObject* set_shape(const Row&, const Args& args) {
    void* desc = args.address(0);
    Numbers<int64_t> dims = args.integers<int64_t>(1);
    return to_python(function(desc, dims.count(), dims.data()));
}

template <Code (*function)(void*, size_t, int64_t[][2]) noexcept> PyObject* set_ranges(const Row&, const Args& args) {
    void* desc = args.address(0);
    auto ranges = args.pairs(1);
    return to_python(function(desc, ranges.size(), reinterpret_cast<int64_t(*)[2]>(ranges.data())));
}

PyObject* attribute_list(const Row&, const Args&) {
    const int32_t* attributes = nullptr;
    size_t number = 0;
    Code code = hacl_aclGetCannAttributeList(&attributes, &number);
    Ref list = Ref::take(PyList_New(0));
    for (size_t i = 0; list && i < number; i++) {
        Ref item = Ref::take(to_python(attributes[i]));
        if (!item || PyList_Append(list.get(), item.get()) < 0) return nullptr;
    }
    return tuple_of({list.release(), to_python(number), to_python(code)});
}

void add_general_rows(Rows& rows) {
    rows.insert(rows.end(), {
        own_row("aclInit", "acl.init", hacl_aclInit, {"config_path"}, init, 0),
        row("aclFinalize", "acl.finalize", hacl_aclFinalize, {}, Waits::Yes),
        row("aclFinalizeReference", "acl.finalize_reference", hacl_aclFinalizeReference, {}, Waits::Yes),
        row("aclrtGetVersion", "acl.get_version", hacl_aclrtGetVersion, {}),
        own_row("aclsysGetVersionStr", "acl.get_version_str", hacl_aclsysGetVersionStr, {"pkg_name"}, version_text),
        row("aclrtGetSocName", "acl.get_soc_name", hacl_aclrtGetSocName, {}),
        own_row("aclGetRecentErrMsg", "acl.get_recent_err_msg", hacl_aclGetRecentErrMsg, {}, recent_message),
        own_row("aclAppLog", "acl.app_log", hacl_aclGetRecentErrMsg, {"level", "message"}, app_log),
        row("aclFloat16ToFloat", "acl.float16_to_float", hacl_aclFloat16ToFloat, {"value"}),
        row("aclFloatToFloat16", "acl.float_to_float16", hacl_aclFloatToFloat16, {"value"}),
        row("aclDataTypeSize", "acl.data_type_size", hacl_aclDataTypeSize, {"data_type"}),
        own_row("aclGetCannAttributeList", "acl.get_cann_attribute_list", hacl_aclGetCannAttributeList, {}, attribute_list),
        row("aclGetCannAttribute", "acl.get_cann_attribute", hacl_aclGetCannAttribute, {"attr"}),
        row("aclGetDeviceCapability", "acl.get_device_capability", hacl_aclGetDeviceCapability, {"device_id", "device_info"}),
    });
}

void add_buffer_rows(Rows& rows) {
    rows.insert(rows.end(), {
        own_row("aclCreateDataBuffer", "acl.create_data_buffer", hacl_aclCreateDataBuffer, {"data", "size"}, create_buffer),
        row("aclDestroyDataBuffer", "acl.destroy_data_buffer", hacl_aclDestroyDataBuffer, {"data_buffer"}),
        row("aclUpdateDataBuffer", "acl.update_data_buffer", hacl_aclUpdateDataBuffer, {"data_buffer", "data", "size"}),
        row("aclGetDataBufferAddr", "acl.get_data_buffer_addr", hacl_aclGetDataBufferAddr, {"data_buffer"}),
        row("aclGetDataBufferSize", "acl.get_data_buffer_size", hacl_aclGetDataBufferSize, {"data_buffer"}),
        row("aclGetDataBufferSizeV2", "acl.get_data_buffer_size_v2", hacl_aclGetDataBufferSizeV2, {"data_buffer"}),
    });
}

void add_desc_getters(Rows& rows) {
    rows.insert(rows.end(), {
        own_row("aclCreateTensorDesc", "acl.create_tensor_desc", hacl_aclCreateTensorDesc, {"data_type", "dims", "format", "format"},
                create_desc_either, 3),
        row("aclDestroyTensorDesc", "acl.destroy_tensor_desc", hacl_aclDestroyTensorDesc, {"desc"}),
        row("aclGetTensorDescType", "acl.get_tensor_desc_type", hacl_aclGetTensorDescType, {"desc"}),
        row("aclGetTensorDescFormat", "acl.get_tensor_desc_format", hacl_aclGetTensorDescFormat, {"desc"}),
        row("aclGetTensorDescSize", "acl.get_tensor_desc_size", hacl_aclGetTensorDescSize, {"desc"}),
        row("aclGetTensorDescElementCount", "acl.get_tensor_desc_element_count", hacl_aclGetTensorDescElementCount, {"desc"}),
        row("aclGetTensorDescNumDims", "acl.get_tensor_desc_num_dims", hacl_aclGetTensorDescNumDims, {"desc"}),
        row("aclGetTensorDescDim", "acl.get_tensor_desc_dim", hacl_aclGetTensorDescDim, {"desc", "index"}),
        row("aclGetTensorDescDimV2", "acl.get_tensor_desc_dim_v2", hacl_aclGetTensorDescDimV2, {"desc", "index"}),
        own_row("aclGetTensorDescDimRange", "acl.get_tensor_desc_dim_range", hacl_aclGetTensorDescDimRange,
                {"desc", "index", "dim_range_num"}, dim_range),
        row("aclGetTensorDescName", "acl.get_tensor_desc_name", hacl_aclGetTensorDescName, {"desc"}),
        row("aclGetTensorDescByIndex", "acl.get_tensor_desc_by_index", hacl_aclGetTensorDescByIndex, {"desc", "index"}),
        row("aclGetTensorDescAddress", "acl.get_tensor_desc_address", hacl_aclGetTensorDescAddress, {"desc"}),
        row("aclTransTensorDescFormat", "acl.trans_tensor_desc_format", hacl_aclTransTensorDescFormat, {"src_desc", "dst_format"}),
    });
}

void add_desc_setters(Rows& rows) {
    rows.insert(rows.end(), {
        row("aclSetTensorDescName", "acl.set_tensor_desc_name", hacl_aclSetTensorDescName, {"desc", "name"}),
        row("aclSetTensorFormat", "acl.set_tensor_format", hacl_aclSetTensorFormat, {"desc", "format"}),
        row("aclSetTensorOriginFormat", "acl.set_tensor_origin_format", hacl_aclSetTensorOriginFormat, {"desc", "format"}),
        row("aclSetTensorStorageFormat", "acl.set_tensor_storage_format", hacl_aclSetTensorStorageFormat, {"desc", "format"}),
        own_row("aclSetTensorShape", "acl.set_tensor_shape", hacl_aclSetTensorShape, {"desc", "dims"}, set_shape<hacl_aclSetTensorShape>),
        own_row("aclSetTensorOriginShape", "acl.set_tensor_origin_shape", hacl_aclSetTensorOriginShape, {"desc", "dims"},
                set_shape<hacl_aclSetTensorOriginShape>),
        own_row("aclSetTensorStorageShape", "acl.set_tensor_storage_shape", hacl_aclSetTensorStorageShape, {"desc", "dims"},
                set_shape<hacl_aclSetTensorStorageShape>),
        own_row("aclSetTensorShapeRange", "acl.set_tensor_shape_range", hacl_aclSetTensorShapeRange, {"desc", "ranges"},
                set_ranges<hacl_aclSetTensorShapeRange>),
        own_row("aclSetTensorValueRange", "acl.set_tensor_value_range", hacl_aclSetTensorValueRange, {"desc", "ranges"},
                set_ranges<hacl_aclSetTensorValueRange>),
        row("aclSetTensorConst", "acl.set_tensor_const", hacl_aclSetTensorConst, {"desc", "data", "size"}),
        row("aclSetTensorPlaceMent", "acl.set_tensor_place_ment", hacl_aclSetTensorPlaceMent, {"desc", "mem_type"}),
        row("aclSetTensorDynamicInput", "acl.set_tensor_dynamic_input", hacl_aclSetTensorDynamicInput, {"desc", "name"}),
    });
}

} // namespace

void add_base_rows(Rows& rows) {
    add_general_rows(rows);
    add_buffer_rows(rows);
    add_desc_getters(rows);
    add_desc_setters(rows);
}

} // namespace hostacl
