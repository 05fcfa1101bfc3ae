#include "core/execute.hpp"

#include "bridge/bridge.hpp"
#include "core/config.hpp"
#include "core/machine.hpp"
#include "core/message.hpp"
#include "core/saturation.hpp"
#include "core/stream_state.hpp"

#include <cstring>
#include <unordered_map>

namespace hostacl {
namespace {

constexpr Code kInvalidParam = 100000, kNoMatch = 100024, kInputNumber = 100021, kOutputNumber = 100022;
constexpr Code kBufferTooSmall = 145000, kNoDynamic = 148050, kNotSupported = 200001, kInternal = 500000, kBuildFailed = 500002;
constexpr size_t kBlockBytes = 32; // aclrtMalloc rounds up to whole blocks of this size

std::unordered_map<std::string, PlanPtr>& plans() {
    static auto* map = new std::unordered_map<std::string, PlanPtr>; // never destroyed: late callers may come
    return *map;
}
constexpr size_t kMaxPlans = 40000;
std::atomic<uint64_t> use_clock{0};

struct OpHandle {
    std::string op;
    std::vector<TensorDesc> inputs, outputs;
    OpAttr attr;
    PlanPtr plans[2]; // by aclrtFloatOverflowMode
};
using OpHandleTable = HandleTable<OpHandle, Kind::OpHandle>;
OpHandleTable& op_handles() {
    static auto* table = new OpHandleTable;
    return *table;
}

// ---- texts -------------------------------------------------------------------------------------------------------

std::string place(const char* name, int index) { return format("%s[%d]", name, index); }

// A handle that was not found, called by what it is.
Code bad_handle(const std::string& argument, Handle handle, Kind wanted) {
    return fail(kInvalidParam, handle_rule(handle, wanted),
                format("%s is %s; allowed: a live %s", argument.c_str(), describe_handle(handle).c_str(), kind_name(wanted)));
}

Code null_argument(const char* name) {
    return fail(kInvalidParam, "HA401", format("%s = NULL; allowed: a valid pointer", name));
}

// Python's side has put the rule first ("HA502 text"); the function's name goes between.
std::string named(const char* function, const std::string& text) {
    size_t space = text.find(' ');
    if (text.compare(0, 2, "HA") == 0 && space != std::string::npos)
        return text.substr(0, space) + ": " + function + "(): " + text.substr(space + 1);
    return std::string(function) + "(): " + text;
}

// ---- the arguments -----------------------------------------------------------------------------------------------

int bits_of(int32_t dtype) {
    switch (dtype) {
    case 29: case 40: case 41: case 42: return 4; // int4, float4
    case 31: case 32: return 2;
    case 30: return 1; // uint1
    case 38: case 39: return 6;
    default: return static_cast<int>(dtype_size(dtype)) * 8;
    }
}

size_t bytes_of(const TensorDesc& desc) {
    if (desc.dtype == kUndefined) return 0;
    int64_t count = desc.element_count();
    return count <= 0 ? 0 : (static_cast<size_t>(count) * static_cast<size_t>(bits_of(desc.dtype)) + 7) / 8;
}

bool has_zero(const std::vector<int64_t>& dims) {
    for (int64_t dim : dims)
        if (dim == 0) return true;
    return false;
}

Code check_list(const TensorList& list) {
    if (list.count < 0) return fail(kInvalidParam, "HA408", format("%s = %d; allowed: 0 or more", list.count_name, list.count));
    if (list.count > 0 && !list.descs) return null_argument(list.desc_name);
    return 0;
}

Code find_desc(const TensorList& list, int index, TensorDesc** out) {
    Handle handle = as_handle(list.descs[index]);
    if (!handle) return fail(kInvalidParam, "HA408", place(list.desc_name, index) + " = NULL; allowed: a tensor descriptor");
    *out = descs().find(handle);
    if (*out) return 0;
    return bad_handle(place(list.desc_name, index), handle, Kind::TensorDesc);
}

Code read_buffer(const TensorList& list, int index, Argument* argument) {
    Handle handle = as_handle(list.buffers[index]);
    if (!handle) return fail(kInvalidParam, "HA408", place(list.buffer_name, index) + " = NULL; allowed: a data buffer");
    DataBuffer* buffer = buffers().find(handle);
    if (!buffer)
        return bad_handle(place(list.buffer_name, index), handle, Kind::DataBuffer);
    if (!buffer->data && buffer->size > 0)
        return fail(kInvalidParam, "HA409",
                    format("%s has data NULL and size %zu; allowed: an address, or NULL with size 0",
                           place(list.buffer_name, index).c_str(), buffer->size));
    argument->data = buffer->data;
    argument->size = buffer->size;
    return 0;
}

void describe(const TensorDesc& desc, Handle handle, Argument* argument) {
    argument->desc = handle;
    argument->absent = desc.absent();
    argument->is_const = desc.is_const;
    argument->host = desc.placement != 0;
    argument->empty = has_zero(desc.dims);
    argument->bytes = bytes_of(desc);
}

Code check_known_dims(const TensorDesc& desc, const TensorList& list, int index) {
    for (size_t dim = 0; dim < desc.dims.size(); dim++)
        if (desc.dims[dim] < 0)
            return fail(kInvalidParam, "HA602",
                        format("%s.dims[%zu] = %lld; allowed: the real shape (an unknown dim or rank may stand in a model, not in a call)",
                               place(list.desc_name, index).c_str(), dim, static_cast<long long>(desc.dims[dim])));
    return 0;
}

bool runs(Via via) { return via != Via::Compile && via != Via::CreateHandle && via != Via::InferShape; }

// Reads one list: descriptors, then buffers, appending to the key. Lock held.
Code read_list(const TensorList& list, Via via, std::vector<Argument>* arguments, std::string* key) {
    if (Code code = check_list(list)) return code;
    arguments->resize(static_cast<size_t>(list.count));
    for (int i = 0; i < list.count; i++) {
        TensorDesc* desc = nullptr;
        if (Code code = find_desc(list, i, &desc)) return code;
        if (runs(via))
            if (Code code = check_known_dims(*desc, list, i)) return code;
        describe(*desc, as_handle(list.descs[i]), &(*arguments)[static_cast<size_t>(i)]);
        key->append(desc->call_key());
        key->push_back('|');
    }
    if (!list.has_buffers) return 0;
    if (list.count > 0 && !list.buffers) return null_argument(list.buffer_name);
    for (int i = 0; i < list.count; i++)
        if (Code code = read_buffer(list, i, &(*arguments)[static_cast<size_t>(i)])) return code;
    return 0;
}

Code read_attr(const void* attr, const OpAttr** out) {
    static const auto* none = new OpAttr;
    *out = none;
    if (!attr) return 0;
    *out = attrs().find(as_handle(attr));
    if (*out) return 0;
    return bad_handle("attr", as_handle(attr), Kind::OpAttr);
}

Code check_compile(const CallArguments& call) {
    if (call.engine < 0 || call.engine > 2)
        return fail(kInvalidParam, "HA612", format("engineType = %d; allowed: 0 (ACL_ENGINE_SYS), 1 or 2", call.engine));
    if (call.flag == 0) return 0;
    return fail(kNotSupported, "HA612",
                format("compileFlag = %d; allowed: 0 (ACL_COMPILE_SYS). Register user kernels with hostacl.op instead", call.flag));
}

// Every argument, left to right, into the request and the key. Lock held.
Code read_call(const CallArguments& call, Request* request, std::string* key, const OpAttr** attr) {
    if (!call.op) return null_argument("opType");
    request->via = call.via;
    request->op = call.op;
    request->function = Entry::name();
    key->assign(call.op);
    key->push_back('\0');
    if (Code code = read_list(call.inputs, call.via, &request->inputs, key)) return code;
    key->push_back('>');
    if (Code code = read_list(call.outputs, call.via, &request->outputs, key)) return code;
    if (Code code = read_attr(call.attr, attr)) return code;
    key->append((*attr)->call_key());
    if (request->compiles())
        if (Code code = check_compile(call)) return code;
    if (call.op_path) request->op_path = call.op_path;
    return 0;
}

void snapshot(const std::vector<Argument>& arguments, std::vector<TensorDesc>* out) {
    out->clear();
    for (const Argument& argument : arguments) out->push_back(*descs().find(argument.desc));
}

// The part of a plan that follows from the device: how overflows come out.
void add_mode(int32_t mode, Request* request, std::string* key) {
    request->saturate = mode == kSaturate;
    key->push_back(request->saturate ? 's' : 'i');
}

bool nothing_to_do(const std::vector<Argument>& outputs) {
    for (const Argument& output : outputs)
        if (!output.empty) return false;
    return !outputs.empty();
}

// ---- buffers -----------------------------------------------------------------------------------------------------

size_t whole_blocks(size_t bytes) { return (bytes + kBlockBytes - 1) / kBlockBytes; }

Code too_small(const char* list, int index, const Argument& argument, const std::string& more) {
    return fail(kBufferTooSmall, "HA410",
                format("%s[%d] has %zu bytes; its descriptor needs %zu%s", list, index, argument.size, argument.bytes, more.c_str()));
}

// The buffer holds what its descriptor says, and known memory ends nowhere before. Lock held.
Code check_buffer(const Argument& argument, const char* list, int index) {
    if (argument.absent || argument.is_const || argument.bytes == 0) return 0;
    if (whole_blocks(argument.size) < whole_blocks(argument.bytes)) return too_small(list, index, argument, "");
    auto address = reinterpret_cast<uintptr_t>(argument.data);
    std::shared_ptr<Block> block = find_block(address);
    if (block && block->freed)
        return fail(kInvalidParam, "HA204",
                    format("%s[%d] points to %s; allowed: live memory", list, index, describe_pointer(address).c_str()));
    bool held = block && address + argument.bytes <= block->start + block->capacity;
    if (block && !held)
        return too_small(list, index, argument, format(" and its memory ends before: %s", describe_pointer(address).c_str()));
    if (argument.size >= argument.bytes) return 0;
    if (!held) return too_small(list, index, argument, " and lies in memory that is not known to hold them");
    report("HA411", format("%s[%d] has %zu bytes; its descriptor needs %zu (within the same %zu-byte block)", list, index, argument.size,
                           argument.bytes, kBlockBytes));
    return 0;
}

Code check_buffers(const Request& request) {
    for (size_t i = 0; i < request.inputs.size(); i++)
        if (Code code = check_buffer(request.inputs[i], "inputs", static_cast<int>(i))) return code;
    for (size_t i = 0; i < request.outputs.size(); i++)
        if (Code code = check_buffer(request.outputs[i], "outputs", static_cast<int>(i))) return code;
    return 0;
}

// ---- running -----------------------------------------------------------------------------------------------------

Failure run_request(Request& request) {
    auto run = hooks().run;
    if (!run) return {kInternal, "HA110: " + std::string(request.op) + ": Python has ended; no operator can run"};
    Failure failure = run(request);
    if (failure.code) {
        failure.text = named(request.function, failure.text);
        if (!request.site.empty()) failure.text += "; submitted at " + request.site;
    }
    return failure;
}

class OperatorTask : public Task {
  public:
    explicit OperatorTask(std::unique_ptr<Request> request) : request_(std::move(request)) { site = request_->site; }
    Failure run() override { return run_request(*request_); }
    bool enters_python() const override { return true; }
    std::string describe() const override { return "operator " + std::string(request_->op); }
    bool touches(const Block& block) const override {
        for (const auto* list : {&request_->inputs, &request_->outputs})
            for (const Argument& argument : *list)
                if (argument.block.get() == &block) return true;
        return false;
    }
    const Request& request() const { return *request_; }

  private:
    std::unique_ptr<Request> request_;
};

// Makes the request own all that it needs once the call has returned. Lock held.
void detach(Request* request) {
    request->op_owned = request->op;
    request->op = request->op_owned.c_str();
    for (auto* list : {&request->inputs, &request->outputs})
        for (Argument& argument : *list) argument.block = find_block(reinterpret_cast<uintptr_t>(argument.data));
    for (Argument& input : request->inputs) {
        if (!input.host || input.absent || input.is_const || !input.data) continue;
        const auto* bytes = static_cast<const uint8_t*>(input.data);
        input.copy.assign(bytes, bytes + input.bytes);
        input.data = input.copy.data();
    }
}

// The true dims of a synchronous call, into the caller's descriptors. Lock held.
void write_back(const Request& request) {
    for (size_t i = 0; i < request.true_shapes.size() && i < request.outputs.size(); i++) {
        TensorDesc* desc = descs().find(request.outputs[i].desc);
        if (!desc || desc->dims == request.true_shapes[i]) continue;
        desc->dims = request.true_shapes[i];
        desc->has_storage_shape = false;
        desc->storage_dims.clear();
        desc->changed();
    }
}

Code refuse_data_dependent(const Request& request) {
    const char* v2 = request.via == Via::CompileAndExecute ? "aclopCompileAndExecuteV2" : "aclopExecuteV2";
    return fail(kNoDynamic, "HA522",
                format("%s: the size of an output depends on the data and this call cannot write it back; use %s", request.op, v2));
}

// Runs in place of its caller, which waits: leaves its answer there before it goes.
class SynchronousTask : public OperatorTask {
  public:
    SynchronousTask(std::unique_ptr<Request> request, Request* answer) : OperatorTask(std::move(request)), answer_(answer) {}
    Failure run() override {
        Failure failure = OperatorTask::run();
        answer_->true_shapes = request().true_shapes;
        answer_->outputs = request().outputs;
        return failure;
    }

  private:
    Request* answer_;
};

Code run_synchronously(const StreamPtr& stream, Request&& request) {
    auto owned = std::make_unique<Request>(std::move(request));
    {
        Lock lock = lock_machine();
        detach(owned.get());
    }
    Request answer;
    Failure failure = submit_and_run(stream, std::make_unique<SynchronousTask>(std::move(owned), &answer));
    if (failure.code) return fail_verbatim(failure.code, failure.text);
    Lock lock = lock_machine();
    write_back(answer);
    return 0;
}

Code run_now(const StreamPtr& stream, Request& request) {
    Failure failure = run_request(request);
    if (failure.code && request.site.empty()) {
        std::string site = call_site();
        if (!site.empty()) failure.text += "; submitted at " + site;
    }
    finish(*stream, std::move(failure));
    return 0;
}

// Hands a matched, checked request to its stream. `lock` is held and is released.
Code dispatch(Lock& lock, const StreamPtr& stream, Request& request) {
    if (Code code = check_buffers(request)) return code;
    if (request.plan->shapes == Shapes::Data && !request.writes_back()) return refuse_data_dependent(request);
    request.plan->last_use.store(++use_clock, std::memory_order_relaxed);
    if (request.plan->shapes != Shapes::Exact && request.writes_back()) {
        lock.unlock();
        request.site = call_site();
        return run_synchronously(stream, std::move(request));
    }
    Code code;
    if (try_begin(*stream)) {
        lock.unlock();
        code = run_now(stream, request);
    } else {
        detach(&request);
        lock.unlock();
        request.site = call_site();
        code = submit(stream, std::make_unique<OperatorTask>(std::make_unique<Request>(std::move(request))));
    }
    if (code || !config().launch_blocking) return code;
    return synchronize(stream, -1);
}

// Matches or builds through Python, and keeps the plan. No lock held.
Code prepare(Request& request, const std::string& key) {
    if (Code code = need_python(request.op)) return code;
    Failure failure = hooks().prepare(request);
    if (failure.code) return fail_verbatim(failure.code, named(request.function, failure.text));
    if (request.via == Via::Compile) return 0;
    std::unordered_map<std::string, PlanPtr> dropped;
    Lock lock = lock_machine();
    if (plans().size() >= kMaxPlans) dropped.swap(plans());
    plans()[key] = request.plan;
    return 0;
}

std::string& key_buffer() {
    static thread_local std::string buffer;
    return buffer;
}

} // namespace

Code need_python(const char* what) {
    std::string why;
    if (hooks().prepare || ensure_python(&why)) return 0;
    return fail(kInternal, "HA110", format("%s: %s", what, why.c_str()));
}

PlanPtr own_plan(Plan* plan) {
    return PlanPtr(plan, [](Plan* dead) {
        if (hooks().release_plan) hooks().release_plan(dead);
    });
}

Code execute(const CallArguments& call) {
    Request request;
    std::string& key = key_buffer();
    const OpAttr* attr = nullptr;
    StreamPtr stream;
    Lock lock = lock_machine();
    if (Code code = read_call(call, &request, &key, &attr)) return code;
    if (Code code = resolve_stream(as_handle(call.stream), &stream)) return code;
    if (nothing_to_do(request.outputs)) return 0;
    add_mode(saturation_of(stream->device), &request, &key);
    auto found = plans().find(key);
    if (found != plans().end()) {
        request.plan = found->second;
        return dispatch(lock, stream, request);
    }
    snapshot(request.inputs, &request.input_descs);
    snapshot(request.outputs, &request.output_descs);
    request.attr = *attr;
    std::string kept_key = key; // preparing may call us again on this thread
    lock.unlock();
    if (Code code = prepare(request, kept_key)) return code;
    lock.lock();
    return dispatch(lock, stream, request);
}

Code compile(const CallArguments& call) {
    Request request;
    const OpAttr* attr = nullptr;
    {
        Lock lock = lock_machine();
        if (Code code = read_call(call, &request, &key_buffer(), &attr)) return code;
        snapshot(request.inputs, &request.input_descs);
        snapshot(request.outputs, &request.output_descs);
        request.attr = *attr;
    }
    return prepare(request, "");
}

Code infer_shape(const CallArguments& call) {
    Request request;
    const OpAttr* attr = nullptr;
    {
        Lock lock = lock_machine();
        if (Code code = read_call(call, &request, &key_buffer(), &attr)) return code;
        snapshot(request.inputs, &request.input_descs);
        snapshot(request.outputs, &request.output_descs);
        request.attr = *attr;
    }
    if (Code code = need_python(request.op)) return code;
    Failure failure = hooks().infer(request);
    if (failure.code) return fail_verbatim(failure.code, named(request.function, failure.text));
    Lock lock = lock_machine();
    for (size_t i = 0; i < request.inferred.size() && i < request.outputs.size(); i++) {
        TensorDesc* desc = descs().find(request.outputs[i].desc);
        if (!desc) continue;
        desc->dtype = request.inferred[i].dtype;
        desc->format = request.inferred[i].format;
        desc->dims = request.inferred[i].dims;
        desc->ranges = request.inferred[i].ranges;
        desc->changed();
    }
    return 0;
}

Code create_handle(const CallArguments& call, Handle* handle) {
    Request request;
    const OpAttr* attr = nullptr;
    std::string key;
    {
        Lock lock = lock_machine();
        if (Code code = read_call(call, &request, &key, &attr)) return code;
        if (!handle) return null_argument("handle");
        for (const auto* list : {&request.inputs, &request.outputs})
            for (const Argument& argument : *list)
                for (int64_t dim : descs().find(argument.desc)->dims)
                    if (dim < 0)
                        return fail(kNoDynamic, "HA610",
                                    format("%s: a descriptor has dim %lld; a handle has fixed shapes. Use aclopExecuteV2", call.op,
                                           static_cast<long long>(dim)));
        snapshot(request.inputs, &request.input_descs);
        snapshot(request.outputs, &request.output_descs);
        request.attr = *attr;
    }
    const int32_t mode = saturation_here();
    add_mode(mode, &request, &key);
    if (Code code = prepare(request, key)) return code;
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

namespace {

Code read_handle_list(const TensorList& list, const std::vector<TensorDesc>& descs, Code mismatch, std::vector<Argument>* out) {
    if (list.count < 0) return fail(kInvalidParam, "HA408", format("%s = %d; allowed: 0 or more", list.count_name, list.count));
    if (static_cast<size_t>(list.count) != descs.size())
        return fail(mismatch, "HA611", format("%s = %d; the handle was made with %zu", list.count_name, list.count, descs.size()));
    if (list.count > 0 && !list.buffers) return null_argument(list.buffer_name);
    out->resize(descs.size());
    for (int i = 0; i < list.count; i++) {
        describe(descs[static_cast<size_t>(i)], 0, &(*out)[static_cast<size_t>(i)]);
        if (Code code = read_buffer(list, i, &(*out)[static_cast<size_t>(i)])) return code;
    }
    return 0;
}

} // namespace

Code execute_handle(Handle handle, const TensorList& inputs, const TensorList& outputs, const void* stream_handle) {
    Request request;
    StreamPtr stream;
    Lock lock = lock_machine();
    if (!handle) return null_argument("handle");
    OpHandle* found = op_handles().find(handle);
    if (!found)
        return bad_handle("handle", handle, Kind::OpHandle);
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
    if (Failure failure = hooks().prepare(request); failure.code)
        return fail_verbatim(failure.code, named(request.function, failure.text));
    lock.lock();
    if (OpHandle* again = op_handles().find(handle)) again->plans[mode] = request.plan;
    return dispatch(lock, stream, request);
}

void drop_plans(uint64_t model) {
    std::vector<PlanPtr> dropped; // ended after the lock: ending enters Python
    Lock lock = lock_machine();
    for (auto entry = plans().begin(); entry != plans().end();) {
        if (model == 0 || entry->second->model == model) {
            dropped.push_back(std::move(entry->second));
            entry = plans().erase(entry);
        } else {
            ++entry;
        }
    }
    lock.unlock();
}

uint64_t plan_last_use(uint64_t model) {
    Lock lock = lock_machine();
    uint64_t latest = 0;
    for (auto& entry : plans())
        if (entry.second->model == model) latest = std::max(latest, entry.second->last_use.load(std::memory_order_relaxed));
    return latest;
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
