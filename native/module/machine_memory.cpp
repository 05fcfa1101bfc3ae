// acl_rt.h: memory and copies.
#include "module/machine_table.hpp"
#include "module/functions.hpp"

DECLARE(int32_t, aclrtMalloc, void**, size_t, int32_t)
DECLARE(int32_t, aclrtMallocAlign32, void**, size_t, int32_t)
DECLARE(int32_t, aclrtMallocCached, void**, size_t, int32_t)
DECLARE(int32_t, aclrtMallocHost, void**, size_t)
DECLARE(int32_t, aclrtFree, void*)
DECLARE(int32_t, aclrtFreeHost, void*)
DECLARE(int32_t, aclrtMemFlush, void*, size_t)
DECLARE(int32_t, aclrtMemInvalidate, void*, size_t)
DECLARE(int32_t, aclrtGetMemInfo, int32_t, size_t*, size_t*)
WEAK(int32_t, aclrtReduceAsync, void*, const void*, uint64_t, int32_t, int32_t, void*, void*)
DECLARE(int32_t, aclrtCmoAsync, void*, size_t, int32_t, void*)
DECLARE(int32_t, aclrtHostRegister, void*, uint64_t, int32_t, void**)
DECLARE(int32_t, aclrtHostRegisterV2, void*, uint64_t, uint32_t)
DECLARE(int32_t, aclrtHostGetDevicePointer, void*, void**, uint32_t)
DECLARE(int32_t, aclrtHostUnregister, void*)

DECLARE(int32_t, aclrtGetGroupCount, uint32_t*)
DECLARE(void*, aclrtCreateGroupInfo, )
DECLARE(int32_t, aclrtDestroyGroupInfo, void*)
DECLARE(int32_t, aclrtGetAllGroupInfo, void*)
DECLARE(int32_t, aclrtGetGroupInfoDetail, const void*, int32_t, int32_t, void*, size_t, size_t*)

namespace hostacl {
namespace {

// acl.media.dvpp_malloc: device memory for pictures; here as any other.
PyObject* picture_memory(const Row&, const Args& args) {
    auto size = args.integer<uint32_t>(0);
    void* address = nullptr;
    Code code = hacl_aclrtMalloc(&address, size, 0);
    return tuple_of({to_python(address), to_python(code)});
}

PyObject* group_count(const Row&, const Args& args) {
    args.integer<int64_t>(0); // pyACL takes a number that it does not use
    uint32_t count = 0;
    Code code = hacl_aclrtGetGroupCount(&count);
    return tuple_of({to_python(count), to_python(code)});
}

// The attribute's values as a list.
PyObject* group_detail(const Row&, const Args& args) {
    void* info = args.address(0);
    auto group = args.integer<int32_t>(1), attr = args.integer<int32_t>(2);
    int32_t value = 0;
    size_t size = 0;
    Code code = hacl_aclrtGetGroupInfoDetail(info, group, attr, &value, sizeof value, &size);
    return tuple_of({code ? PyList_New(0) : Py_BuildValue("[i]", value), to_python(code)});
}

} // namespace

void add_memory_rows(Rows& rows) {
    rows.insert(rows.end(), {
        row("aclrtMalloc", "acl.rt.malloc", hacl_aclrtMalloc, {"size", "policy"}),
        row("aclrtMallocAlign32", "acl.rt.malloc_align32", hacl_aclrtMallocAlign32, {"size", "policy"}),
        row("aclrtMallocCached", "acl.rt.malloc_cached", hacl_aclrtMallocCached, {"size", "policy"}),
        row("aclrtMallocHost", "acl.rt.malloc_host", hacl_aclrtMallocHost, {"size"}),
        row("aclrtFree", "acl.rt.free", hacl_aclrtFree, {"ptr"}),
        row("aclrtFreeHost", "acl.rt.free_host", hacl_aclrtFreeHost, {"ptr"}),
        row("aclrtMemFlush", "acl.rt.mem_flush", hacl_aclrtMemFlush, {"ptr", "size"}),
        row("aclrtMemInvalidate", "acl.rt.mem_invalidate", hacl_aclrtMemInvalidate, {"ptr", "size"}),
        row("aclrtGetMemInfo", "acl.rt.get_mem_info", hacl_aclrtGetMemInfo, {"attr"}),
        row("aclrtReduceAsync", "acl.rt.reduce_async", hacl_aclrtReduceAsync, {"dst", "src", "count", "kind", "type", "stream", "reserve"}),
        row("aclrtCmoAsync", "acl.rt.cmo_async", hacl_aclrtCmoAsync, {"src", "size", "cmo_type", "stream"}),
        row("aclrtHostRegister", "acl.rt.host_register", hacl_aclrtHostRegister, {"ptr", "size", "type"}),
        row("aclrtHostRegisterV2", "acl.rt.host_register_v2", hacl_aclrtHostRegisterV2, {"ptr", "size", "flag"}),
        row("aclrtHostGetDevicePointer", "acl.rt.host_get_device_pointer", hacl_aclrtHostGetDevicePointer, {"host_ptr", "flag"}),
        row("aclrtHostUnregister", "acl.rt.host_unregister", hacl_aclrtHostUnregister, {"ptr"}),
        own_row("aclrtGetGroupCount", "acl.rt.get_group_count", hacl_aclrtGetGroupCount, {"unused"}, group_count),
        row("aclrtCreateGroupInfo", "acl.rt.create_group_info", hacl_aclrtCreateGroupInfo, {}),
        row("aclrtDestroyGroupInfo", "acl.rt.destroy_group_info", hacl_aclrtDestroyGroupInfo, {"group_info"}),
        row("aclrtGetAllGroupInfo", "acl.rt.get_all_group_info", hacl_aclrtGetAllGroupInfo, {"group_info"}),
        own_row("aclrtGetGroupInfoDetail", "acl.rt.get_group_info_detail", hacl_aclrtGetGroupInfoDetail, {"group_info", "group_id", "attr"},
                group_detail),
        own_row("acldvppMalloc", "acl.media.dvpp_malloc", hacl_aclrtMalloc, {"size"}, picture_memory),
        row("acldvppFree", "acl.media.dvpp_free", hacl_aclrtFree, {"ptr"}),
    });
}

} // namespace hostacl
