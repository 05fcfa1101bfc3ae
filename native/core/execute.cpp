#include "core/execute.hpp"

#include "bridge/bridge.hpp"
#include "core/dispatch.hpp"
#include "core/message.hpp"
#include "core/plans.hpp"
#include "core/reading.hpp"
#include "core/saturation.hpp"
#include "core/stream_state.hpp"

namespace hostacl {
namespace {

constexpr Code kInternal = 500000;

// The key of the call that this thread is making: kept, so that a warm call allocates nothing for it.
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

Code execute(const CallArguments& call) {
    Request request;
    std::string& key = key_buffer();
    const OpAttr* attr = nullptr;
    StreamPtr stream;
    if (checking(kOrigins)) request.site = call_site();
    Lock lock = lock_machine();
    if (Code code = read_call(call, &request, &key, &attr)) return code;
    if (Code code = resolve_stream(as_handle(call.stream), &stream)) return code;
    if (nothing_to_do(request.outputs)) return 0;
    set_mode(saturation_of(stream->device), &request, &key);
    request.plan = find_plan(key);
    if (request.plan) return dispatch(lock, stream, request);
    snapshot(*attr, &request);
    std::string kept_key = key; // making a plan may call us again on this thread
    lock.unlock();
    if (Code code = make_plan(request)) return code;
    limit_plans();
    lock.lock();
    keep_plan(kept_key, request.plan);
    return dispatch(lock, stream, request);
}

Code compile(const CallArguments& call) {
    Request request;
    const OpAttr* attr = nullptr;
    {
        Lock lock = lock_machine();
        if (Code code = read_call(call, &request, &key_buffer(), &attr)) return code;
        snapshot(*attr, &request);
    }
    return make_plan(request);
}

Code infer_shape(const CallArguments& call) {
    Request request;
    const OpAttr* attr = nullptr;
    {
        Lock lock = lock_machine();
        if (Code code = read_call(call, &request, &key_buffer(), &attr)) return code;
        if (Code code = check_values(&request)) return code;
        snapshot(*attr, &request);
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

} // namespace hostacl
