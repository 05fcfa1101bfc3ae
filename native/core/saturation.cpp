#include "core/saturation.hpp"

#include "core/config.hpp"
#include "core/context.hpp"
#include "core/desc.hpp"
#include "core/hooks.hpp"
#include "core/machine.hpp"
#include "core/memory.hpp"
#include "core/message.hpp"
#include "core/passed_over.hpp"
#include "core/status.hpp"
#include "core/stream_state.hpp"
#include "core/written.hpp"

#include <algorithm>
#include <atomic>
#include <cstring>

namespace hostacl {
namespace {

constexpr size_t kAlwaysLookedAt = 4096; // bytes

std::atomic<bool> overflowed{false};
std::atomic<bool> watching{false};

bool can_switch(Family family) { return family == Family::A2 || family == Family::A3; }
bool starts_with_inf_nan(Family family) { return can_switch(family) || family == Family::A350; }

class StatusTask : public Task {
  public:
    StatusTask(void* output, size_t size, BlockPtr block) : output_(output), size_(size), block_(std::move(block)) {}
    Failure run() override {
        int64_t status = overflowed;
        if (checking(kWritten)) track_fill(block_, output_, size_);
        std::memset(output_, 0, size_);
        std::memcpy(output_, &status, sizeof status);
        return {};
    }
    unsigned uses(uintptr_t start, uintptr_t end) const override {
        auto at = reinterpret_cast<uintptr_t>(output_);
        return at < end && start < at + size_ ? kWrites : 0u;
    }
    std::string describe() const override { return "read of the overflow status"; }

  private:
    void* output_;
    size_t size_;
    BlockPtr block_;
};

class ResetStatusTask : public Task {
  public:
    Failure run() override {
        clear_overflow();
        return {};
    }
    std::string describe() const override { return "reset of the overflow status"; }
};

enum : int32_t { kFloat = 0, kFloat16 = 1, kDouble = 11, kComplex64 = 16, kComplex128 = 17, kBfloat16 = 27, kComplex32 = 33 };

void note(bool overflow) {
    if (overflow) overflowed = true;
}

// Whether any number is this size or larger, without its sign: sizes, infinity and NaN are ordered as their bits are.
template <class Bits> bool reaches(const void* data, size_t count, Bits from) {
    constexpr size_t kPart = 8192;
    constexpr Bits kSize = static_cast<Bits>(~Bits{0}) >> 1;
    const auto* bits = static_cast<const Bits*>(data);
    for (size_t start = 0; start < count; start += kPart) {
        Bits largest = 0;
        for (size_t i = start; i < std::min(count, start + kPart); i++)
            largest = std::max(largest, static_cast<Bits>(bits[i] & kSize));
        if (largest >= from) return true;
    }
    return false;
}

void look_at(const void* data, size_t count, int32_t dtype, bool saturates) {
    switch (dtype) {
    case kComplex32: count *= 2; [[fallthrough]];
    case kFloat16: return note(reaches<uint16_t>(data, count, saturates ? 0x7BFF : 0x7C00));
    case kBfloat16: return note(reaches<uint16_t>(data, count, saturates ? 0x7F7F : 0x7F80));
    case kComplex64: count *= 2; [[fallthrough]];
    case kFloat: return note(reaches<uint32_t>(data, count, 0x7F800000));
    case kComplex128: count *= 2; [[fallthrough]];
    case kDouble: return note(reaches<uint64_t>(data, count, 0x7FF0000000000000));
    default: return;
    }
}

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

bool overflow_seen() { return overflowed; }

void clear_overflow() {
    overflowed = false;
    forget_passed_over();
}

void forget_overflow() {
    clear_overflow();
    watching = false;
}

void watch_overflow() {
    if (watching.exchange(true)) return;
    bool gone = false;
    for (const PassedOver& one : take_passed_over(&gone)) {
        BlockPtr block = one.block.lock();
        if (block) look_at(one.data, one.count, one.dtype, one.saturates);
        else gone = true;
    }
    if (!gone || overflowed) return;
    report("HA123", format("results of more than %zu bytes came before the overflow status was first asked for and are gone (freed or "
                           "written over) without having been looked at; call aclrtResetOverflowStatus, or run NPUClearFloatStatus, "
                           "before the operators that it is about",
                           kAlwaysLookedAt));
}

void look_for_overflow(const void* data, size_t count, int32_t dtype, bool saturates, const BlockPtr& block) {
    size_t bytes = count * dtype_size(dtype);
    if (watching || bytes <= kAlwaysLookedAt) look_at(data, count, dtype, saturates);
    else pass_over({block, data, bytes, count, dtype, saturates});
}

Code write_overflow_status(void* output, size_t size, Handle handle) {
    watch_overflow();
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
    forget_passed_over();
    watch_overflow();
    {
        Lock lock = lock_machine();
        if (Code code = resolve_stream(handle, &stream)) return code;
    }
    return submit(stream, std::make_unique<ResetStatusTask>());
}

} // namespace hostacl
