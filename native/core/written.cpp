#include "core/written.hpp"

#include "core/config.hpp"
#include "core/execute.hpp"
#include "core/machine.hpp"
#include "core/message.hpp"

#include <algorithm>
#include <cstring>
#include <iterator>

namespace hostacl {
namespace {

constexpr size_t kRoundedTail = 32; // programs copy whole 32-byte blocks, as memory is handed out in them
constexpr uint8_t kUnwritten = 0xF9;  // as a number of any type it is far from what programs compute, and finite
constexpr size_t kNoChance = 4;       // so many bytes that hold it are not data of a program
constexpr size_t kMostFilled = size_t{64} << 20; // of one block: pools of gigabytes do not become real memory

size_t offset_in(const Block& block, const void* address) { return reinterpret_cast<uintptr_t>(address) - block.start; }

// Narrows a range that no call wrote to the first bytes in it that still hold what they held at first; false: the program wrote all.
bool untouched(const Block& block, size_t* first, size_t* last) {
    const auto* bytes = reinterpret_cast<const uint8_t*>(block.start);
    size_t enough = std::min(kNoChance, *last - *first + 1);
    for (size_t at = *first, end; at <= *last; at = end + 1) {
        for (end = at; end <= *last && bytes[end] == block.written->held;) end++;
        if (end - at < enough) continue;
        *first = at;
        *last = end - 1;
        return true;
    }
    return false;
}

bool find_unwritten(const Block& block, size_t start, size_t end, size_t* first, size_t* last) {
    for (; block.written->missing(start, end, first, last); start = *last + 1) {
        size_t behind = *last;
        if (untouched(block, first, last)) return true;
        *last = behind;
    }
    return false;
}

// "bytes 0 to 15 of device memory [0x.., 16 bytes] made at a.py:3 were never written", or "". whole: only if all of it is so. Lock held.
std::string never_written(const BlockPtr& block, const void* address, size_t size, bool whole = false) {
    size_t first = 0, last = 0, start = block && block->written ? offset_in(*block, address) : 0;
    if (!block || !block->written || !find_unwritten(*block, start, start + size, &first, &last)) return "";
    bool rounding = last == start + size - 1 && first > start && last - first < kRoundedTail;
    if (rounding || first >= block->size || (whole && (first > start || last + 1 < start + size))) return "";
    return format("bytes %zu to %zu of %s were never written", first, last, describe_pointer(block->start).c_str());
}

// Whether an input counts that is multiplied by another one: not when all of that is 0.
bool is_counted(const Argument& factor) {
    const auto* bytes = factor.copy.empty() ? static_cast<const uint8_t*>(factor.data) : factor.copy.data();
    return bytes && std::any_of(bytes, bytes + factor.bytes, [](uint8_t byte) { return byte != 0; });
}

// As never_written, of what the operator reads of its input. Lock held.
std::string never_written(const Request& request, size_t place) {
    const Argument& input = request.inputs[place];
    bool parts = false;
    for (const Read& read : request.plan->read) {
        if (static_cast<size_t>(read.input) != place) continue;
        parts = read.how == Read::kParts;
        if (read.how == Read::kNothing || (!parts && !is_counted(request.inputs[static_cast<size_t>(read.how)]))) return "";
    }
    return never_written(input.block, input.data, input.bytes, parts);
}

// One row of a copy. Lock held.
void move_knowledge(const void* to, const BlockPtr& dst, const void* from, const BlockPtr& src, size_t width) {
    if (!dst || !dst->written) return;
    size_t target = offset_in(*dst, to);
    if (!src || !src->written || src->written->held != dst->written->held) return dst->written->add(target, target + width);
    size_t start = offset_in(*src, from);
    Written copied = *src->written; // the blocks may be one
    dst->written->add_from(copied, start, start + width, target);
}

} // namespace

void Written::add(size_t start, size_t end) {
    if (start >= end) return;
    auto at = ranges_.upper_bound(start);
    if (at != ranges_.begin() && std::prev(at)->second >= start) --at;
    while (at != ranges_.end() && at->first <= end) {
        start = std::min(start, at->first);
        end = std::max(end, at->second);
        at = ranges_.erase(at);
    }
    ranges_.emplace(start, end);
}

bool Written::missing(size_t start, size_t end, size_t* first, size_t* last) const {
    auto at = ranges_.upper_bound(start);
    if (at != ranges_.begin() && std::prev(at)->second > start) start = std::prev(at)->second;
    if (start >= end) return false;
    *first = start;
    *last = (at == ranges_.end() ? end : std::min(end, at->first)) - 1;
    return true;
}

void Written::add_from(const Written& other, size_t start, size_t end, size_t to) {
    auto at = other.ranges_.upper_bound(start);
    if (at != other.ranges_.begin()) --at;
    for (; at != other.ranges_.end() && at->first < end; ++at) {
        size_t first = std::max(start, at->first), last = std::min(end, at->second);
        if (first < last) add(to + first - start, to + last - start);
    }
}

void track_new(Block& block) {
    int fill = config().fill;
    block.written = std::make_unique<Written>(fill < 0 ? kUnwritten : static_cast<uint8_t>(fill));
    size_t filled = std::min(block.capacity, kMostFilled);
    if (fill < 0) std::memset(as_pointer(block.start), kUnwritten, filled);
    block.written->add(filled, block.capacity);
}

void track_copy(const Copy& copy, const BlockPtr& dst, const BlockPtr& src) {
    std::string unread;
    {
        Lock lock = lock_machine();
        for (size_t row = 0; row < copy.height; row++) {
            auto* to = static_cast<uint8_t*>(copy.dst) + row * copy.dpitch;
            const auto* from = static_cast<const uint8_t*>(copy.src) + row * copy.spitch;
            bool leaves = src && src->space == Space::Device && (!dst || dst->space != Space::Device);
            if (leaves && unread.empty()) unread = never_written(src, from, copy.width);
            move_knowledge(to, dst, from, src, copy.width);
        }
    }
    if (!unread.empty())
        report("HA217", format("%s = %p: %s, and are copied to the host; write them first", copy.src_name, copy.src, unread.c_str()));
}

void track_fill(const BlockPtr& block, const void* start, size_t size) {
    Lock lock = lock_machine();
    if (block && block->written) block->written->add(offset_in(*block, start), offset_in(*block, start) + size);
}

void track_reads(const Request& request) {
    for (size_t i = 0; i < request.inputs.size(); i++) {
        const Argument& input = request.inputs[i];
        if (input.absent || input.is_const || input.host) continue;
        std::string unread;
        {
            Lock lock = lock_machine();
            unread = never_written(request, i);
        }
        if (!unread.empty())
            report_of(request.function, "HA217", format("inputs[%zu]: %s, and %s reads them%s; write them first", i, unread.c_str(), request.op,
                                                        submitted_at(request.site).c_str()));
    }
}

void track_writes(const Request& request) {
    for (const Argument& output : request.outputs)
        if (!output.absent) track_fill(output.block, output.data, output.bytes);
    for (int64_t place : request.plan->updated) {
        const Argument& input = request.inputs[static_cast<size_t>(place)];
        track_fill(input.block, input.data, input.bytes);
    }
}

void trust(const BlockPtr& block) {
    Lock lock = lock_machine();
    if (block) block->written = nullptr;
}

} // namespace hostacl
