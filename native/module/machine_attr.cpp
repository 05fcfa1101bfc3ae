// Operator attributes of acl_op.h.
#include "capi/acl_op_attr.hpp"
#include "module/machine_table.hpp"

namespace hostacl {
namespace {

// pyACL's data type setters give the attribute object back.
PyObject* set_data_type(const Row&, const Args& args) {
    void* attr = args.address(0);
    const char* name = args.text(1);
    return tuple_of({to_python(attr), to_python(hacl_aclopSetAttrDataType(attr, name, args.integer<int32_t>(2)))});
}

PyObject* set_list_data_type(const Row&, const Args& args) {
    void* attr = args.address(0);
    const char* name = args.text(1);
    Numbers<int32_t> values = args.integers<int32_t>(2, true);
    return tuple_of({to_python(attr), to_python(hacl_aclopSetAttrListDataType(attr, name, values.count(), values.data()))});
}

PyObject* set_list_bool(const Row&, const Args& args) {
    void* attr = args.address(0);
    const char* name = args.text(1);
    Numbers<uint8_t> values = args.integers<uint8_t>(2, true);
    return to_python(hacl_aclopSetAttrListBool(attr, name, values.count(), values.data()));
}

PyObject* set_list_int(const Row&, const Args& args) {
    void* attr = args.address(0);
    const char* name = args.text(1);
    Numbers<int64_t> values = args.integers<int64_t>(2, true);
    return to_python(hacl_aclopSetAttrListInt(attr, name, values.count(), values.data()));
}

PyObject* set_list_float(const Row&, const Args& args) {
    void* attr = args.address(0);
    const char* name = args.text(1);
    Numbers<float> values = args.singles(2);
    return to_python(hacl_aclopSetAttrListFloat(attr, name, values.count(), values.data()));
}

PyObject* set_list_string(const Row&, const Args& args) {
    void* attr = args.address(0);
    const char* name = args.text(1);
    Numbers<const char*> values = args.texts(2);
    return to_python(hacl_aclopSetAttrListString(attr, name, values.count(), values.data()));
}

PyObject* set_list_list_int(const Row&, const Args& args) {
    void* attr = args.address(0);
    const char* name = args.text(1);
    PyObject* rows = args.list(2);
    std::vector<Numbers<int64_t>> lists;
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(rows); i++)
        lists.push_back(args.integers_of<int64_t>(2, Args::item_of(rows, static_cast<size_t>(i)), true));
    std::vector<int> counts;
    std::vector<const int64_t*> values;
    for (Numbers<int64_t>& list : lists) {
        counts.push_back(list.count());
        values.push_back(list.data());
    }
    return to_python(hacl_aclopSetAttrListListInt(attr, name, static_cast<int>(lists.size()), counts.data(), values.data()));
}

} // namespace

void add_attr_rows(Rows& rows) {
    rows.insert(rows.end(), {
        row("aclopCreateAttr", "acl.op.create_attr", hacl_aclopCreateAttr, {}),
        row("aclopDestroyAttr", "acl.op.destroy_attr", hacl_aclopDestroyAttr, {"attr"}),
        row("aclopSetAttrBool", "acl.op.set_attr_bool", hacl_aclopSetAttrBool, {"attr", "name", "value"}),
        row("aclopSetAttrInt", "acl.op.set_attr_int", hacl_aclopSetAttrInt, {"attr", "name", "value"}),
        row("aclopSetAttrFloat", "acl.op.set_attr_float", hacl_aclopSetAttrFloat, {"attr", "name", "value"}),
        row("aclopSetAttrString", "acl.op.set_attr_string", hacl_aclopSetAttrString, {"attr", "name", "value"}),
        own_row("aclopSetAttrDataType", "acl.op.set_attr_data_type", hacl_aclopSetAttrDataType, {"attr", "name", "value"}, set_data_type),
        own_row("aclopSetAttrListBool", "acl.op.set_attr_list_bool", hacl_aclopSetAttrListBool, {"attr", "name", "values"}, set_list_bool),
        own_row("aclopSetAttrListInt", "acl.op.set_attr_list_int", hacl_aclopSetAttrListInt, {"attr", "name", "values"}, set_list_int),
        own_row("aclopSetAttrListFloat", "acl.op.set_attr_list_float", hacl_aclopSetAttrListFloat, {"attr", "name", "values"},
                set_list_float),
        own_row("aclopSetAttrListString", "acl.op.set_attr_list_string", hacl_aclopSetAttrListString, {"attr", "name", "values"},
                set_list_string),
        own_row("aclopSetAttrListListInt", "acl.op.set_attr_list_list_int", hacl_aclopSetAttrListListInt, {"attr", "name", "values"},
                set_list_list_int),
        own_row("aclopSetAttrListDataType", "acl.op.set_attr_list_data_type", hacl_aclopSetAttrListDataType, {"attr", "name", "values"},
                set_list_data_type),
    });
}

} // namespace hostacl
