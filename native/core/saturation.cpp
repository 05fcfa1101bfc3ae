#include "core/saturation.hpp"

#include "core/config.hpp"
#include "core/context.hpp"
#include "core/hooks.hpp"
#include "core/machine.hpp"
#include "core/memory.hpp"
#include "core/message.hpp"
#include "core/status.hpp"
#include "core/stream_state.hpp"

#include <atomic>
#include <cstring>

namespace hostacl {
namespace {

std::atomic<bool> overflowed{false};

bool can_switch(Family family) { return family == Family::A2 || family == Family::A3; }
bool starts_with_inf_nan(Family family) { return can_switch(family) || family == Family::A350; }

class StatusTask : public Task {
  public:
    StatusTask(void* output, size_t size, BlockPtr block) : output_(output), size_(size), block_(std::move(block)) {}
    Failure run() override {
        int64_t status = overflowed;
        std::memset(output_, 0, size_);
        std::memcpy(output_, &status, sizeof status);
        return {};
    }
    bool touches(const Block& block) const override { return block_.get() == &block; }
    std::string describe() const override { return "read of the overflow status"; }

  private:
    void* output_;
    size_t size_;
    BlockPtr block_;
};

class ResetStatusTask : public Task {
  public:
    Failure run() override {
        overflowed = false;
        return {};
    }
    std::string describe() const override { return "reset of the overflow status"; }
};

Code check_output(void* output, size_t size, BlockPtr* block) { // lock held
    if (!output || size < sizeof(int64_t))
        return fail(
            ACL_ERROR_RT_PARAM_INVALID, "HA116",
            format("outputAddr = %p, outputSize = %zu; allowed: device memory of at least 8 bytes", output, size));
    auto address = reinterpret_cast<uintptr_t>(output);
    *block = find_block(address);
    if (*block && !(*block)->freed && (*block)->space == Space::Device &&
        size <= (*block)->start + (*block)->capacity - address)
        return 0;
    return fail(ACL_ERROR_RT_PARAM_INVALID, *block && (*block)->freed ? "HA204" : "HA218",
                format("outputAddr = %p, outputSize = %zu: %s; allowed: live device memory that holds them", output,
                       size, describe_pointer(address).c_str()));
}

} // namespace

int32_t saturation_of(int32_t device) {
    int32_t mode = device_state(device).saturation;
    if (mode >= 0 && can_switch(config().family)) return mode;
    return starts_with_inf_nan(config().family) ? kInfNan : kSaturate;
}

void set_saturation(int32_t device, int32_t mode) {
    if (!can_switch(config().family))
        report("HA120",
               format("mode = %d: %s has one overflow mode only (%d); the call is accepted and changes nothing", mode,
                      config().soc, saturation_of(device)));
    device_state(device).saturation = mode;
}

int32_t saturation_here() {
    Lock lock = lock_machine();
    Context* context = find_context(current_context_handle());
    return saturation_of(context ? context->device : 0);
}

void note_overflow() { overflowed = true; }

Code write_overflow_status(void* output, size_t size, Handle handle) {
    StreamPtr stream;
    BlockPtr block;
    {
        Lock lock = lock_machine();
        if (Code code = check_output(output, size, &block)) return code;
        if (Code code = resolve_stream(handle, &stream)) return code;
    }
    auto task = std::make_unique<StatusTask>(output, size, std::move(block));
    task->site = call_site();
    return submit(stream, std::move(task));
}

Code reset_overflow_status(Handle handle) {
    StreamPtr stream;
    {
        Lock lock = lock_machine();
        if (Code code = resolve_stream(handle, &stream)) return code;
    }
    return submit(stream, std::make_unique<ResetStatusTask>());
}

} // namespace hostacl
