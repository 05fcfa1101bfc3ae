#include "core/dispatch.hpp"

#include "core/config.hpp"
#include "core/inject.hpp"
#include "core/lifecycle.hpp"
#include "core/message.hpp"
#include "core/plans.hpp"
#include "core/reading.hpp"
#include "core/saturation.hpp"
#include "core/stale.hpp"
#include "core/usage.hpp"
#include "core/stream_state.hpp"
#include "core/user_kernels.hpp"
#include "core/written.hpp"

namespace hostacl {
namespace {

constexpr Code kNoDynamic = 148050, kInternal = 500000, kGone = 507015;

Failure run_request(Request& request) {
    auto run = hooks().run;
    if (!run) return {kInternal, "HA110: " + std::string(request.op) + ": Python has ended; no operator can run"};
    if (checking(kWritten)) track_reads(request);
    if (checking(kGuards)) check_guards_of(request, When::Before);
    Failure failure = run(request);
    if (checking(kWritten) && !failure.code) track_writes(request);
    if (checking(kGuards)) check_guards_of(request, When::After);
    if (failure.code) {
        failure.text = named(request.function, failure.text);
        if (!request.site.empty()) failure.text += "; submitted at " + request.site;
    }
    return failure;
}

bool lies_in(const Argument& argument, uintptr_t start, uintptr_t end) {
    auto at = reinterpret_cast<uintptr_t>(argument.data);
    return !argument.absent && at < end && start < at + argument.bytes;
}

class OperatorTask : public Task {
  public:
    explicit OperatorTask(std::unique_ptr<Request> request) : request_(std::move(request)) { site = request_->site; }
    Failure run() override {
        Failure gone = gone_memory();
        return gone.code ? gone : run_request(*request_);
    }
    bool enters_python() const override { return true; }
    std::string describe() const override { return "operator " + std::string(request_->op); }
    unsigned uses(uintptr_t start, uintptr_t end) const override {
        unsigned found = 0;
        for (size_t i = 0; i < request_->inputs.size(); i++) {
            const Argument& input = request_->inputs[i];
            if (input.is_const || !input.copy.empty() || !lies_in(input, start, end)) continue;
            found |= request_->plan->updates(i) ? kReads | kWrites : kReads;
        }
        for (const Argument& output : request_->outputs)
            if (lies_in(output, start, end)) found |= kWrites;
        return found;
    }
    const Request& request() const { return *request_; }

  private:
    // Unknown host memory that the program gave back before the operator ran: nothing keeps it.
    Failure gone_memory() const {
        for (const auto* list : {&request_->inputs, &request_->outputs})
            for (const Argument& argument : *list) {
                if (argument.block || argument.absent || argument.is_const || !argument.copy.empty()) continue;
                if (is_mapped(reinterpret_cast<uintptr_t>(argument.data), argument.bytes)) continue;
                return {kGone, named(request_->function, format("HA218 %s: the host memory at %p of %s[%zu] was freed before it ran; keep "
                                                                "it until the stream is synchronized",
                                                                request_->op, argument.data, list == &request_->inputs ? "inputs" : "outputs",
                                                                static_cast<size_t>(&argument - list->data())) +
                                                             submitted_at(site))};
            }
        return {};
    }
    std::unique_ptr<Request> request_;
};

// The request in a place of its own, owning all that it needs once the call has returned. (Moved first: a short op_owned
// lies inside the request.)
std::unique_ptr<Request> detach(Request&& given) {
    if (given.op_owned.empty()) given.op_owned = given.op;
    auto request = std::make_unique<Request>(std::move(given));
    request->op = request->op_owned.c_str();
    for (Argument& input : request->inputs) {
        if (!input.host || input.absent || input.is_const || !input.data) continue;
        const auto* bytes = static_cast<const uint8_t*>(input.data);
        input.copy.assign(bytes, bytes + input.bytes);
        input.data = input.copy.data();
    }
    return request;
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

// Runs in place of its caller, which waits: leaves its answer there before it goes.
class SynchronousTask : public OperatorTask {
  public:
    SynchronousTask(std::unique_ptr<Request> request, std::shared_ptr<Request> answer)
        : OperatorTask(std::move(request)), answer_(std::move(answer)) {}
    Failure run() override {
        Failure failure = OperatorTask::run();
        answer_->true_shapes = request().true_shapes;
        answer_->outputs = request().outputs;
        return failure;
    }

  private:
    std::shared_ptr<Request> answer_; // of both: the task may outlive a wait that was interrupted
};

Code run_synchronously(const StreamPtr& stream, Request&& request) {
    auto answer = std::make_shared<Request>();
    Failure failure = submit_and_run(stream, std::make_unique<SynchronousTask>(detach(std::move(request)), answer));
    if (failure.code) return fail_verbatim(failure.code, failure.text);
    Lock lock = lock_machine();
    waited_for(*stream); // up to this task, the last one
    write_back(*answer);
    return 0;
}

Code run_now(const StreamPtr& stream, Request& request) {
    Failure failure = run_request(request);
    if (failure.code && request.site.empty()) {
        std::string site = call_site();
        if (!site.empty()) failure.text += "; submitted at " + site;
    }
    if (failure.code) tell_early(failure.text);
    finish(*stream, std::move(failure));
    return 0;
}

} // namespace

Code refuse_data_dependent(const Request& request) {
    const char* v2 = request.via == Via::CompileAndExecute ? "aclopCompileAndExecuteV2" : "aclopExecuteV2";
    return fail(kNoDynamic, "HA522",
                format("%s: the size of an output depends on the data and this call cannot write it back; use %s", request.op, v2));
}

void set_mode(int32_t mode, Request* request, std::string* key) {
    request->saturate = mode == kSaturate;
    key->push_back(request->saturate ? 's' : 'i');
}

bool nothing_to_do(const std::vector<Argument>& outputs) {
    for (const Argument& output : outputs)
        if (!output.empty) return false;
    return !outputs.empty();
}

Code make_plan(Request& request) {
    check_initialized();
    if (Code code = need_python(request.op)) return code;
    Failure failure = hooks().prepare(request);
    return failure.code ? fail_verbatim(failure.code, named(request.function, failure.text + binary_hint(request.op))) : 0;
}

Code dispatch(Lock& lock, const StreamPtr& stream, Request& request) {
    if (Code code = check_buffers(&request)) return code;
    if (checking(kThreads)) check_thread(*stream, request);
    if (checking(kAliases)) check_aliases(request);
    if (checking(kStale)) note_touched(*stream, request);
    if (request.plan->shapes == Shapes::Data && !request.writes_back()) return refuse_data_dependent(request);
    use_plan(request.plan);
    request.unwatched = stream->overflow_off;
    if (may_inject()) request.injected = injected_operator();
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
        auto owned = detach(std::move(request));
        lock.unlock();
        owned->site = call_site();
        code = submit(stream, std::make_unique<OperatorTask>(std::move(owned)));
    }
    if (code || !config().launch_blocking) return code;
    return synchronize(stream, -1);
}


} // namespace hostacl
