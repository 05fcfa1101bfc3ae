#include "core/copy.hpp"

#include "core/callback.hpp"
#include "core/config.hpp"
#include "core/context.hpp"
#include "core/hooks.hpp"
#include "core/message.hpp"
#include "core/passed_over.hpp"
#include "core/schedule.hpp"
#include "core/stale.hpp"
#include "core/status.hpp"
#include "core/written.hpp"

#include <cstring>
#include <vector>

namespace hostacl {
namespace {

// What one end of a copy points to.
struct End {
    uintptr_t address = 0;
    size_t extent = 0; // bytes from the first to the last
    BlockPtr block;    // null: host memory that we do not know
    bool on_device() const { return block && block->space == Space::Device; }
    bool either() const { return block && block->space == Space::Registered; } // a device reaches it too
    bool pageable() const { return !block; }
    bool meets(uintptr_t from, uintptr_t to) const { return address < to && from < address + extent; }
};

Code no_memory_there(const char* name, const End& end) {
    std::string what = (end.address >> 56) ? describe_handle(end.address) : describe_pointer(end.address);
    if (what == "unknown (host) memory")
        what = format("the %zu bytes there are not all memory of this process", end.extent);
    return fail(ACL_ERROR_RT_PARAM_INVALID, "HA218",
                format("%s = 0x%zx: %s; allowed: live memory", name, static_cast<size_t>(end.address), what.c_str()));
}

Code past_the_end(const char* name, const End& end) {
    return fail(ACL_ERROR_RT_PARAM_INVALID, "HA209",
                format("%s = 0x%zx: bytes [0x%zx, 0x%zx) end behind the block [0x%zx, 0x%zx), %s; nothing was written",
                       name, static_cast<size_t>(end.address), static_cast<size_t>(end.address),
                       static_cast<size_t>(end.address + end.extent), static_cast<size_t>(end.block->start),
                       static_cast<size_t>(end.block->start + end.block->size), describe_pointer(end.address).c_str()));
}

// Finds the block of an end and checks that it holds the whole extent. Lock held.
Code look_at(const char* name, const void* pointer, size_t extent, End* end) {
    end->address = reinterpret_cast<uintptr_t>(pointer);
    end->extent = extent;
    end->block = find_block(end->address);
    if (end->block && end->block->freed)
        return fail(ACL_ERROR_RT_PARAM_INVALID, "HA204",
                    format("%s = 0x%zx: %s; allowed: live memory", name, static_cast<size_t>(end->address),
                           describe_pointer(end->address).c_str()));
    if (!end->block || end->either()) {
        if (!is_mapped(end->address, extent)) return no_memory_there(name, *end);
        return 0;
    }
    size_t room = end->block->start + end->block->capacity - end->address;
    if (extent > room) return past_the_end(name, *end);
    if (end->address + extent > end->block->start + end->block->size)
        report(
            "HA221",
            format(
                "%s = 0x%zx: %zu bytes end behind the %zu bytes that were asked for, within their last 32-byte block",
                name, static_cast<size_t>(end->address), extent, end->block->size));
    return 0;
}

const char* side_name(bool device) { return device ? "device" : "host"; }

void check_kind(int32_t kind, const End& dst, const End& src) {
    if (kind == kDefaultKind || dst.either() || src.either()) return;
    bool to_device = kind == kHostToDevice || kind == kDeviceToDevice;
    bool from_device = kind == kDeviceToHost || kind == kDeviceToDevice;
    if (to_device == dst.on_device() && from_device == src.on_device()) return;
    report("HA211", format("kind = %d says %s to %s, but src is %s memory and dst is %s memory; the pointers decide",
                           kind, side_name(from_device), side_name(to_device), side_name(src.on_device()),
                           side_name(dst.on_device())));
}

void check_overlap(const End& dst, const End& src) {
    if (dst.address + dst.extent <= src.address || src.address + src.extent <= dst.address ||
        dst.address == src.address)
        return;
    report("HA214",
           format("dst [0x%zx, %zu bytes] and src [0x%zx, %zu bytes] overlap; on a card the result is undefined",
                  static_cast<size_t>(dst.address), dst.extent, static_cast<size_t>(src.address), src.extent));
}

// A copy that does not wait for the stream whose task still uses the memory. Lock held.
void check_pending(const char* name, const End& end, unsigned hurts, const char* what) {
    if (!queued_tasks()) return;
    std::string pending = describe_pending(end.address, end.address + end.extent, hurts);
    if (!pending.empty())
        report("HA330", format("%s = 0x%zx is %s by the call while %s is pending; synchronize its stream first", name,
                               static_cast<size_t>(end.address), what, pending.c_str()));
}

void check_unawaited(const char* name, const End& end, unsigned hurts, const char* what) {
    if (!checking(kStale) || queued_tasks()) return;
    std::string unawaited = describe_unawaited(end.address, end.address + end.extent, hurts);
    if (!unawaited.empty())
        report("HA330", format("%s = 0x%zx is %s by the call, and nobody has waited for %s; on a card it may come later. Synchronize its "
                               "stream first",
                               name, static_cast<size_t>(end.address), what, unawaited.c_str()));
}

void check_read(const char* name, const End& end) {
    check_pending(name, end, kWrites, "read, and stale,");
    check_unawaited(name, end, kWrites, "read");
}

void check_write(const char* name, const End& end) {
    check_pending(name, end, kReads | kWrites, "written");
    check_unawaited(name, end, kReads | kWrites, "written");
    if (checking(kStale)) forget_touched(end.address, end.address + end.extent);
}

size_t extent_of(size_t pitch, const Copy& copy) { return (copy.height - 1) * pitch + copy.width; }

// Both ends, checked. Lock held.
Code look_at_both(const Copy& copy, End* dst, End* src) {
    if (Code code = look_at(copy.dst_name, copy.dst, extent_of(copy.dpitch, copy), dst)) return code;
    if (Code code = look_at(copy.src_name, copy.src, extent_of(copy.spitch, copy), src)) return code;
    check_kind(copy.kind, *dst, *src);
    check_overlap(*dst, *src);
    return 0;
}

// Everything that needs no table: pointers, kind, pitches.
Code check_plain(const Copy& copy) {
    if (!copy.dst)
        return fail(ACL_ERROR_INVALID_PARAM, "HA213",
                    format("%s = NULL; allowed: memory for the bytes copied", copy.dst_name));
    if (!copy.src)
        return fail(ACL_ERROR_INVALID_PARAM, "HA213", format("%s = NULL; allowed: the memory to copy", copy.src_name));
    if (copy.kind < kHostToHost || copy.kind > kDefaultKind)
        return fail(ACL_ERROR_INVALID_PARAM, "HA212",
                    format("kind = %d; allowed: 0 (host to host), 1 (host to device), 2 (device to host), 3 (device to "
                           "device), 4 (default)",
                           copy.kind));
    size_t pitch = std::min(copy.dpitch, copy.spitch);
    if (copy.height > 1 && pitch < copy.width)
        return fail(ACL_ERROR_RT_PARAM_INVALID, "HA219",
                    format("dpitch = %zu, spitch = %zu, width = %zu; allowed: pitches of at least the width",
                           copy.dpitch, copy.spitch, copy.width));
    size_t most = std::max(copy.dpitch, copy.spitch);
    if (copy.width > SIZE_MAX / 4 || (copy.height > 1 && most && copy.height - 1 > (SIZE_MAX / 4) / most))
        return fail(ACL_ERROR_RT_PARAM_INVALID, "HA219",
                    format("width = %zu, height = %zu: more than any memory", copy.width, copy.height));
    return 0;
}

void move_rows(const Copy& copy) {
    auto* to = static_cast<uint8_t*>(copy.dst);
    const auto* from = static_cast<const uint8_t*>(copy.src);
    if (copy.height) written_over(copy.dst, (copy.height - 1) * copy.dpitch + copy.width);
    for (size_t row = 0; row < copy.height; row++)
        std::memmove(to + row * copy.dpitch, from + row * copy.spitch, copy.width);
}

void set_bytes(const Fill& fill) {
    written_over(fill.dst, fill.count);
    std::memset(fill.dst, fill.value, fill.count);
}

uint64_t digest(const Copy& copy) {
    uint64_t sum = 0xcbf29ce484222325u;
    for (size_t row = 0; row < copy.height; row++) {
        const uint8_t* bytes = static_cast<const uint8_t*>(copy.src) + row * copy.spitch;
        for (size_t at = 0; at < copy.width; at++) sum = (sum ^ bytes[at]) * 0x100000001b3u;
    }
    return sum;
}

std::string describe_copy(const Copy& copy, const End& dst, const End& src) {
    return format("copy of %zu bytes %s to %s", copy.width * copy.height, side_name(src.on_device()),
                  side_name(dst.on_device()));
}

class CopyTask : public Task {
  public:
    CopyTask(const Copy& copy, End dst, End src) : copy_(copy), dst_(std::move(dst)), src_(std::move(src)) {}
    // Takes the bytes now: the program may change unknown host memory once the call has returned.
    void stage() {
        staged_.resize(copy_.width * copy_.height);
        Copy into = copy_;
        into.dst = staged_.data();
        into.dpitch = copy_.width;
        move_rows(into);
        copy_.src = staged_.data();
        copy_.spitch = copy_.width;
    }
    void watch_source() {
        watched_ = true;
        digest_ = digest(copy_);
    }
    Failure run() override {
        if (std::string gone = gone_memory(); !gone.empty()) return {ACL_ERROR_RT_AICORE_EXCEPTION, gone};
        if (watched_ && digest(copy_) != digest_)
            report("HA222",
                   format("src = 0x%zx, the source of a %s%s, was changed while the copy was pending; the new bytes are copied",
                          static_cast<size_t>(src_.address), describe().c_str(), site.empty() ? "" : (" (submitted at " + site + ")").c_str()));
        if (checking(kWritten)) track_copy(copy_, dst_.block, staged_.empty() ? src_.block : nullptr);
        move_rows(copy_);
        return {};
    }
    unsigned uses(uintptr_t start, uintptr_t end) const override {
        return (dst_.meets(start, end) ? kWrites : 0u) | (staged_.empty() && src_.meets(start, end) ? kReads : 0u);
    }
    std::string describe() const override { return describe_copy(copy_, dst_, src_); }

  private:
    // Unknown host memory that the program gave back before the copy ran: nothing keeps it.
    std::string gone_memory() const {
        for (const End* end : {&dst_, &src_}) {
            if (end->block || (end == &src_ && !staged_.empty()) || is_mapped(end->address, end->extent)) continue;
            return format("HA218: aclrtMemcpyAsync(): %s = 0x%zx: the host memory of a %s%s was freed before it ran; keep it until the "
                          "stream is synchronized",
                          end == &dst_ ? copy_.dst_name : copy_.src_name, static_cast<size_t>(end->address), describe().c_str(),
                          submitted_at(site).c_str());
        }
        return "";
    }
    Copy copy_;
    End dst_, src_;
    std::vector<uint8_t> staged_;
    bool watched_ = false;
    uint64_t digest_ = 0;
};

class FillTask : public Task {
  public:
    FillTask(const Fill& fill, End dst) : fill_(fill), dst_(std::move(dst)) {}
    Failure run() override {
        if (checking(kWritten)) track_fill(dst_.block, fill_.dst, fill_.count);
        set_bytes(fill_);
        return {};
    }
    unsigned uses(uintptr_t start, uintptr_t end) const override { return dst_.meets(start, end) ? kWrites : 0u; }
    std::string describe() const override { return format("set of %zu bytes", fill_.count); }

  private:
    Fill fill_;
    End dst_;
};

std::string both_on_host(const Copy& copy) {
    return format("%s = 0x%zx and %s = 0x%zx are both host memory; an asynchronous copy has one end on the device. "
                  "Use aclrtMemcpy",
                  copy.dst_name, reinterpret_cast<size_t>(copy.dst), copy.src_name, reinterpret_cast<size_t>(copy.src));
}

class RefusedCopyTask : public Task {
  public:
    explicit RefusedCopyTask(const Copy& copy) : told_(both_on_host(copy)) {}
    Failure run() override {
        return {ACL_ERROR_RT_FEATURE_NOT_SUPPORT,
                "HA215: aclrtMemcpyAsync(): " + told_ + (site.empty() ? "" : "; submitted at " + site)};
    }
    std::string describe() const override { return "copy host to host"; }

  private:
    std::string told_;
};

// Asynchronous copies between host memories: refused at the call since 8.0.RC3, when they run before.
Code host_to_host(const StreamPtr& stream, const Copy& copy, bool at_once) {
    if (at_once)
        return fail(ACL_ERROR_RT_FEATURE_NOT_SUPPORT, "HA215", both_on_host(copy));
    auto task = std::make_unique<RefusedCopyTask>(copy);
    task->site = call_site();
    return submit(stream, std::move(task));
}

bool is_host_to_host(const Copy& copy, const End& dst, const End& src) {
    if (dst.on_device() || src.on_device()) return false;
    return copy.kind == kHostToHost || !(dst.either() || src.either());
}

void note_pageable(const char* name, const End& end, bool waits) {
    static Throttle throttle;
    if (!throttle.open()) return;
    report("HA216", format("%s = 0x%zx is host memory that aclrtMallocHost did not give: %s", name,
                           static_cast<size_t>(end.address),
                           waits ? "the call returns only after the copy" : "before CANN 9.0 the result is undefined"));
}

void note_unaligned(const Copy& copy, const End& dst, const End& src) {
    constexpr uintptr_t kAligned = 64;
    static Throttle throttle;
    if ((dst.address % kAligned == 0 && src.address % kAligned == 0) || !throttle.open()) return;
    report("HA224",
           format("dst = 0x%zx, src = 0x%zx: asynchronous copies want addresses at multiples of 64 (%zu bytes)",
                  static_cast<size_t>(dst.address), static_cast<size_t>(src.address), copy.width));
}

// Runs the stream up to this copy: the caller may use unknown host memory as soon as the call returns.
Code wait_for_copy(const StreamPtr& stream, bool for_ever) {
    Lock lock = lock_machine();
    Wait wait;
    wait.done = done_with_all(*stream);
    wait.timeout_ms = for_ever ? -1 : 0;
    wait.target = stream.get();
    wait.let_python_run = true;
    if (waits_for_this_thread(*stream)) return 0; // from inside a task: it comes after
    if (run_until(lock, wait) == Waited::Interrupted)
        return fail(ACL_ERROR_INTERNAL_ERROR, "HA311", "the wait for the copy was interrupted");
    return 0;
}

Code queue_copy(const StreamPtr& stream, const Copy& copy, const End& dst, const End& src, bool waits) {
    auto task = std::make_unique<CopyTask>(copy, dst, src);
    task->site = call_site();
    bool staged = waits && src.pageable();
    if (staged) task->stage();
    else if (!src.on_device() && config().scheduler != Scheduler::Eager) task->watch_source();
    if (Code code = submit(stream, std::move(task))) return code;
    return waits ? wait_for_copy(stream, !staged) : 0;
}

} // namespace

Code check_room(size_t max, size_t count, const char* max_name, const char* count_name) {
    if (count <= max) return 0;
    return fail(
        ACL_ERROR_RT_PARAM_INVALID, "HA210",
        format("%s = %zu, %s = %zu; allowed: %s up to %s", max_name, max, count_name, count, count_name, max_name));
}

Code copy_now(const Copy& copy) {
    if (copy.width == 0 || copy.height == 0) return 0;
    if (Code code = check_plain(copy)) return code;
    End dst, src;
    {
        Lock lock = lock_machine();
        Context* context = nullptr;
        if (Code code = current_context(&context)) return code;
        if (Code code = look_at_both(copy, &dst, &src)) return code;
        check_read(copy.src_name, src);
        check_write(copy.dst_name, dst);
    }
    if (checking(kWritten)) track_copy(copy, dst.block, src.block);
    move_rows(copy);
    return 0;
}

Code copy_async(const Copy& copy, Handle stream_handle) {
    if (copy.width == 0 || copy.height == 0) return 0;
    if (Code code = check_plain(copy)) return code;
    End dst, src;
    StreamPtr stream;
    Lock lock = lock_machine();
    if (Code code = resolve_stream(stream_handle, &stream)) return code;
    if (Code code = look_at_both(copy, &dst, &src)) return code;
    bool now = config().cann.at_least(8, 0, 3),
         waits = config().cann.at_least(9, 0) && (dst.pageable() || src.pageable());
    if (is_host_to_host(copy, dst, src)) {
        lock.unlock();
        return host_to_host(stream, copy, now);
    }
    if (dst.pageable()) note_pageable(copy.dst_name, dst, waits);
    if (src.pageable()) note_pageable(copy.src_name, src, waits);
    note_unaligned(copy, dst, src);
    if (checking(kStale)) {
        forget_touched(dst.address, dst.address + dst.extent);
        if (waits) waited_for(*stream);
    }
    if (try_begin(*stream)) {
        lock.unlock();
        if (checking(kWritten)) track_copy(copy, dst.block, src.block);
        move_rows(copy);
        finish(*stream, {});
        return 0;
    }
    lock.unlock();
    return queue_copy(stream, copy, dst, src, waits);
}

Code fill_now(const Fill& fill) {
    if (fill.count == 0) return 0;
    if (!fill.dst) return fail(ACL_ERROR_INVALID_PARAM, "HA213", "devPtr = NULL; allowed: memory for the bytes set");
    End dst;
    {
        Lock lock = lock_machine();
        Context* context = nullptr;
        if (Code code = current_context(&context)) return code;
        if (Code code = look_at("devPtr", fill.dst, fill.count, &dst)) return code;
        check_write("devPtr", dst);
    }
    if (checking(kWritten)) track_fill(dst.block, fill.dst, fill.count);
    set_bytes(fill);
    return 0;
}

Code fill_async(const Fill& fill, Handle stream_handle) {
    if (fill.count == 0) return 0;
    if (!fill.dst) return fail(ACL_ERROR_INVALID_PARAM, "HA213", "devPtr = NULL; allowed: memory for the bytes set");
    End dst;
    StreamPtr stream;
    Lock lock = lock_machine();
    if (Code code = resolve_stream(stream_handle, &stream)) return code;
    if (Code code = look_at("devPtr", fill.dst, fill.count, &dst)) return code;
    if (try_begin(*stream)) {
        lock.unlock();
        if (checking(kWritten)) track_fill(dst.block, fill.dst, fill.count);
        set_bytes(fill);
        finish(*stream, {});
        return 0;
    }
    lock.unlock();
    auto task = std::make_unique<FillTask>(fill, dst);
    task->site = call_site();
    return submit(stream, std::move(task));
}

} // namespace hostacl
