// Operator handles: a call whose description is fixed, run again and again with other buffers.
#include "core/dispatch.hpp"
#include "core/message.hpp"
#include "core/reading.hpp"
#include "core/saturation.hpp"
#include "core/stream_state.hpp"
#include "core/usage.hpp"

namespace hostacl {
namespace {

constexpr Code kInputNumber = 100021, kOutputNumber = 100022, kNoDynamic = 148050;

struct OpHandle {
    std::string op;
    std::vector<TensorDesc> inputs, outputs;
    OpAttr attr;
    PlanPtr plans[2]; // by aclrtFloatOverflowMode
};
using OpHandleTable = HandleTable<OpHandle, Kind::OpHandle>;

OpHandleTable& op_handles() { // lock held
    static auto* table = new OpHandleTable;
    return *table;
}

Code read_handle_list(const TensorList& list, const std::vector<TensorDesc>& descs, Code mismatch, std::vector<Argument>* out) {
    if (list.count < 0) return fail(kInvalidParameter, "HA408", format("%s = %d; allowed: 0 or more", list.count_name, list.count));
    if (static_cast<size_t>(list.count) != descs.size())
        return fail(mismatch, "HA611", format("%s = %d; the handle was made with %zu", list.count_name, list.count, descs.size()));
    if (list.count > 0 && !list.buffers) return null_argument(list.buffer_name);
    out->resize(descs.size());
    for (int i = 0; i < list.count; i++) {
        describe(descs[static_cast<size_t>(i)], 0, &(*out)[static_cast<size_t>(i)]);
        Argument& argument = (*out)[static_cast<size_t>(i)];
        if (Code code = read_buffer(list, i, &argument)) return code;
        if (checking(kConst) && argument.is_const)
            check_const(format("%s[%d]", list.buffer_name, i), descs[static_cast<size_t>(i)], argument);
    }
    return 0;
}

// 0, or that a descriptor has an unknown dim: it is named by its place. Lock held.
Code refuse_unknown_dims(const char* op, const char* list, const std::vector<Argument>& arguments) {
    for (size_t i = 0; i < arguments.size(); i++) {
        const auto& dims = descs().find(arguments[i].desc)->dims;
        for (size_t at = 0; at < dims.size(); at++)
            if (dims[at] < 0)
                return fail(kNoDynamic, "HA610",
                            format("%s: %s[%zu].dims[%zu] = %lld; a handle has fixed shapes. Use aclopExecuteV2", op, list, i,
                                   at, static_cast<long long>(dims[at])));
    }
    return 0;
}

} // namespace

Code create_handle(const CallArguments& call, Handle* handle) {
    Request request;
    const OpAttr* attr = nullptr;
    std::string key;
    {
        Lock lock = lock_machine();
        if (Code code = read_call(call, &request, &key, &attr)) return code;
        if (!handle) return null_argument("handle");
        if (Code code = refuse_unknown_dims(call.op, call.inputs.desc_name, request.inputs)) return code;
        if (Code code = refuse_unknown_dims(call.op, call.outputs.desc_name, request.outputs)) return code;
        snapshot(*attr, &request);
    }
    const int32_t mode = saturation_here();
    set_mode(mode, &request, &key);
    if (Code code = make_plan(request)) return code;
    if (request.plan->shapes == Shapes::Data) return refuse_data_dependent(request);
    OpHandle made{call.op, std::move(request.input_descs), std::move(request.output_descs), std::move(request.attr), {}};
    made.plans[mode] = std::move(request.plan);
    Lock lock = lock_machine();
    *handle = op_handles().add(std::move(made));
    return 0;
}

void destroy_handle(Handle handle) {
    if (!handle) return;
    PlanPtr dropped[2]; // ending one may enter Python: not under the lock
    Lock lock = lock_machine();
    OpHandle* found = op_handles().find(handle);
    if (!found) {
        bad_handle("handle", handle, Kind::OpHandle);
        return;
    }
    std::swap(dropped, found->plans);
    op_handles().remove(handle);
    lock.unlock();
}

Code execute_handle(Handle handle, const TensorList& inputs, const TensorList& outputs, const void* stream_handle) {
    Request request;
    StreamPtr stream;
    if (checking(kOrigins)) request.site = call_site();
    Lock lock = lock_machine();
    if (!handle) return null_argument("handle");
    OpHandle* found = op_handles().find(handle);
    if (!found) return bad_handle("handle", handle, Kind::OpHandle);
    request.via = Via::Handle;
    request.op_owned = found->op;
    request.op = request.op_owned.c_str();
    request.function = Entry::name();
    if (Code code = read_handle_list(inputs, found->inputs, kInputNumber, &request.inputs)) return code;
    if (Code code = read_handle_list(outputs, found->outputs, kOutputNumber, &request.outputs)) return code;
    if (Code code = resolve_stream(as_handle(stream_handle), &stream)) return code;
    if (nothing_to_do(request.outputs)) return 0;
    const int32_t mode = saturation_of(stream->device);
    request.plan = found->plans[mode];
    if (request.plan) return dispatch(lock, stream, request);
    request.input_descs = found->inputs; // the device's mode was switched after the handle was made
    request.output_descs = found->outputs;
    request.attr = found->attr;
    request.saturate = mode == kSaturate;
    lock.unlock();
    if (Code code = make_plan(request)) return code;
    lock.lock();
    if (OpHandle* again = op_handles().find(handle); again && !again->plans[mode]) again->plans[mode] = request.plan;
    return dispatch(lock, stream, request);
}

void clear_handles() {
    std::vector<PlanPtr> dropped; // ended after the lock: ending enters Python
    Lock lock = lock_machine();
    op_handles().each([&](Handle, OpHandle& handle) {
        for (PlanPtr& plan : handle.plans) dropped.push_back(std::move(plan));
    });
    op_handles().clear();
    lock.unlock();
}

size_t live_handles() {
    Lock lock = lock_machine();
    return op_handles().live();
}

} // namespace hostacl
