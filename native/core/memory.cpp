#include "core/memory.hpp"

#include "core/arena.hpp"
#include "core/config.hpp"
#include "core/hooks.hpp"
#include "core/machine.hpp"
#include "core/message.hpp"
#include "core/schedule.hpp"
#include "core/stale.hpp"
#include "core/status.hpp"
#include "core/written.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <cstring>
#include <deque>
#include <map>
#include <mutex>
#include <new>
#include <vector>

namespace hostacl {
namespace {

constexpr size_t kRounding = 32; // the reference rounds sizes up to whole 32-byte blocks
constexpr size_t kRemembered = 1024;
constexpr uint8_t kGuardByte = 0xFD;
constexpr size_t kFarthest = 4096; // how far behind a block an address is still called "behind it"

struct Memory {
    std::map<uintptr_t, BlockPtr> live;
    std::map<uintptr_t, BlockPtr> dead; // what lately freed blocks were; they hold no memory
    std::deque<uintptr_t> dead_order;
    std::map<int32_t, size_t> used; // bytes of each device
    MemoryStats stats;
    uint64_t serial = 0;
};

Memory& memory() {
    static Memory& the_memory = *new Memory;
    return the_memory;
}

std::mutex& arena_mutex() {
    static std::mutex& mutex = *new std::mutex;
    return mutex;
}

Arena& arena() {
    static Arena& the_arena = *new Arena;
    return the_arena;
}

const char* space_name(Space space) {
    switch (space) {
    case Space::Device: return "device memory";
    case Space::PinnedHost: return "pinned host memory";
    case Space::Registered: return "registered host memory";
    }
    return "";
}

const char* free_name(Space space) {
    return space == Space::Device ? "aclrtFree" : space == Space::PinnedHost ? "aclrtFreeHost" : "aclrtHostUnregister";
}

BlockPtr find_in(const std::map<uintptr_t, BlockPtr>& blocks, uintptr_t address, size_t behind) {
    auto next = blocks.upper_bound(address);
    if (next == blocks.begin()) return nullptr;
    const BlockPtr& block = std::prev(next)->second;
    return address - block->start < block->capacity + behind ? block : nullptr;
}

std::string where(const char* what, const std::string& site) {
    return site.empty() ? "" : std::string(" ") + what + " at " + site;
}

std::string range_of(const Block& block) {
    return format("[0x%zx, %zu bytes]", static_cast<size_t>(block.start), block.size) + where("made", block.site);
}

// Room for the new block among the dead: their addresses now mean something else.
void forget_dead(uintptr_t start, size_t size) {
    auto& dead = memory().dead;
    auto at = dead.upper_bound(start);
    if (at != dead.begin() && std::prev(at)->first + std::prev(at)->second->capacity > start) --at;
    while (at != dead.end() && at->first < start + size) at = dead.erase(at);
}

void remember_dead(const Block& block) {
    auto record = std::make_shared<Block>();
    record->start = block.start;
    record->size = block.size;
    record->capacity = block.capacity;
    record->space = block.space;
    record->device = block.device;
    record->freed = true;
    record->site = block.site;
    record->freed_site = block.freed_site;
    record->serial = block.serial;
    memory().dead[block.start] = std::move(record);
    memory().dead_order.push_back(block.start);
    while (memory().dead_order.size() > kRemembered) {
        memory().dead.erase(memory().dead_order.front());
        memory().dead_order.pop_front();
    }
}

void count(const Block& block, bool made) {
    auto kind = static_cast<size_t>(block.space);
    MemoryStats& stats = memory().stats;
    stats.blocks[kind] += made ? 1 : static_cast<size_t>(-1);
    stats.bytes[kind] += made ? block.size : 0 - block.size;
    if (block.space != Space::Device || block.pages) return;
    memory().used[block.device] += made ? block.capacity : 0 - block.capacity;
    stats.peak_bytes = std::max(stats.peak_bytes, stats.bytes[kind]);
}

// What was written behind the block, or "" when the guard bytes are whole.
std::string guard_damage(const Block& block) {
    const auto* guard = reinterpret_cast<const uint8_t*>(block.start + block.capacity);
    size_t first = 0;
    while (first < block.guard && guard[first] == kGuardByte) first++;
    if (first == block.guard) return "";
    size_t last = block.guard - 1;
    while (guard[last] == kGuardByte) last--;
    return format("bytes %zu to %zu behind the start of device memory %s were overwritten; the block has %zu bytes",
                  block.capacity + first, block.capacity + last, range_of(block).c_str(), block.size);
}

// The dead block, out of the tables. Lock held; the caller lets the last reference go after dropping it.
BlockPtr bury(std::map<uintptr_t, BlockPtr>::iterator at, const std::string& site) {
    BlockPtr block = std::move(at->second);
    memory().live.erase(at);
    count(*block, false);
    block->freed = true;
    block->freed_site = site;
    if (block->space != Space::Registered) remember_dead(*block);
    return block;
}

Code no_memory(Space space, size_t size, const std::string& why) {
    return fail(ACL_ERROR_RT_MEMORY_ALLOCATION, "HA202",
                format("size = %zu: no room in %s: %s; free blocks, or set HOSTACL_DEVICE_MEMORY", size,
                       space_name(space), why.c_str()));
}

BlockPtr take_memory(Space space, size_t size) {
    auto block = std::make_shared<Block>();
    block->space = space;
    block->size = size;
    block->capacity = (size + kRounding - 1) / kRounding * kRounding;
    block->guard = config().guard;
    size_t taken = Arena::rounded(block->capacity + block->guard);
    std::lock_guard<std::mutex> guard(arena_mutex());
    block->start = arena().take(taken);
    if (!block->start) return nullptr;
    block->taken = taken;
    return block;
}

void prepare_memory(Block& block) {
    if (block.space == Space::Device && config().fill >= 0)
        std::memset(as_pointer(block.start), config().fill, block.capacity);
    if (block.guard) std::memset(as_pointer(block.start + block.capacity), kGuardByte, block.guard);
}

// Why `address` cannot be freed by a function for `space`. Lock held.
Code refuse_free(Space space, uintptr_t address, const char* name) {
    std::string what = describe_pointer(address);
    BlockPtr block = find_block(address);
    const char* rule = "HA207";
    std::string hint = std::string("; allowed: the start of live ") + space_name(space);
    if (block && block->freed) {
        rule = "HA204";
    } else if (block && block->pages) {
        rule = "HA205";
        hint = "; memory that was mapped ends with aclrtUnmapMem";
    } else if (block && block->space != space) {
        rule = "HA205";
        hint = std::string("; free it with ") + free_name(block->space);
    } else if (block) {
        rule = "HA208";
        hint = format("; allowed: its start 0x%zx", static_cast<size_t>(block->start));
    } else if ((address >> 56) != 0) {
        what = describe_handle(address);
    }
    return fail(ACL_ERROR_RT_PARAM_INVALID, rule,
                format("%s = 0x%zx: %s%s", name, static_cast<size_t>(address), what.c_str(), hint.c_str()));
}

} // namespace

Block::Block() = default;

Block::~Block() {
    if (!taken) return;
    std::lock_guard<std::mutex> guard(arena_mutex());
    arena().give_back(start, taken);
}

BlockPtr find_block(uintptr_t address) {
    if (BlockPtr block = find_in(memory().live, address, 0)) return block;
    return in_arena(address) ? find_in(memory().dead, address, 0) : nullptr;
}

bool in_arena(uintptr_t address) { return arena().holds(address); }

std::string describe_pointer(uintptr_t address) {
    if (BlockPtr block = find_block(address)) {
        if (block->freed)
            return std::string(space_name(block->space)) + " " + range_of(*block) + ", freed" +
                   (block->freed_site.empty() ? "" : " at " + block->freed_site);
        std::string text = std::string(space_name(block->space)) + " " + range_of(*block);
        return address == block->start ? text
                                       : format("byte %zu of ", static_cast<size_t>(address - block->start)) + text;
    }
    if (BlockPtr block = find_in(memory().live, address, kFarthest))
        return format("%zu bytes behind the start of %s %s", static_cast<size_t>(address - block->start),
                      space_name(block->space), range_of(*block).c_str());
    if (in_arena(address)) return "memory of the device that was never allocated or freed long ago";
    return "unknown (host) memory";
}

Code allocate(Space space, int32_t device, size_t size, const char* size_name, void** start) {
    if (size == 0) return fail(ACL_ERROR_INVALID_PARAM, "HA201", format("%s = 0; allowed: at least 1 byte", size_name));
    if (size > (size_t{1} << 46)) return no_memory(space, size, "no machine has that much");
    std::string site = call_site();
    {
        Lock lock = lock_machine();
        size_t used = device_bytes_used(device), limit = config().device_memory;
        if (space == Space::Device && (used > limit || size > limit - used))
            return no_memory(space, size, format("device %d has %zu bytes, %zu of them in use", device, limit, used));
    }
    BlockPtr block = take_memory(space, size);
    if (!block) return no_memory(space, size, "the machine gives no more");
    prepare_memory(*block);
    block->device = device;
    block->site = std::move(site);
    if (space == Space::Device && checking(kWritten)) track_new(*block);
    *start = as_pointer(block->start);
    Lock lock = lock_machine();
    add_block(std::move(block));
    return 0;
}

Code free_block(Space space, uintptr_t start, const char* name) {
    if (!start)
        return fail(ACL_ERROR_INVALID_PARAM, "HA203",
                    format("%s = NULL; allowed: the start of live %s", name, space_name(space)));
    std::string site = call_site(), damage, pending;
    BlockPtr block;
    {
        Lock lock = lock_machine();
        auto at = memory().live.find(start);
        if (at == memory().live.end() || at->second->space != space || at->second->pages)
            return refuse_free(space, start, name);
        pending = describe_pending(start, start + at->second->capacity, kReads | kWrites);
        if (checking(kStale)) forget_touched(start, start + at->second->capacity);
        block = bury(at, site);
    }
    damage = guard_damage(*block);
    if (!damage.empty()) report("HA206", damage);
    if (!pending.empty())
        report("HA225",
               format("%s = 0x%zx is freed while %s is pending; the memory is kept until then. Synchronize first", name,
                      static_cast<size_t>(start), pending.c_str()));
    return 0;
}

Code register_host(uintptr_t start, size_t size) {
    if (!start || !size)
        return fail(ACL_ERROR_INVALID_PARAM, "HA220",
                    format("ptr = 0x%zx, size = %zu; allowed: host memory of at least 1 byte",
                           static_cast<size_t>(start), size));
    std::string site = call_site();
    Lock lock = lock_machine();
    if (BlockPtr known = find_block(start))
        return fail(ACL_ERROR_RT_PARAM_INVALID, "HA220",
                    format("ptr = 0x%zx: %s; allowed: host memory that is not registered yet",
                           static_cast<size_t>(start), describe_pointer(start).c_str()));
    if (!is_mapped(start, size))
        return fail(ACL_ERROR_RT_PARAM_INVALID, "HA218",
                    format("ptr = 0x%zx, size = %zu: not memory of this process", static_cast<size_t>(start), size));
    auto block = std::make_shared<Block>();
    block->start = start;
    block->size = block->capacity = size;
    block->space = Space::Registered;
    block->site = std::move(site);
    block->serial = ++memory().serial;
    count(*block, true);
    memory().live[start] = std::move(block);
    return 0;
}

Code unregister_host(uintptr_t start) {
    Lock lock = lock_machine();
    auto at = memory().live.find(start);
    if (at == memory().live.end() || at->second->space != Space::Registered)
        return fail(ACL_ERROR_RT_PARAM_INVALID, "HA220",
                    format("ptr = 0x%zx: %s; allowed: the start of registered host memory", static_cast<size_t>(start),
                           describe_pointer(start).c_str()));
    bury(at, "");
    return 0;
}

void free_device_memory(int32_t device) {
    for (auto at = memory().live.begin(); at != memory().live.end();) {
        auto here = at++;
        if (here->second->space == Space::Device && here->second->device == device) bury(here, "aclrtResetDevice");
    }
}

void free_host_memory() {
    Lock lock = lock_machine();
    for (auto at = memory().live.begin(); at != memory().live.end();) {
        auto here = at++;
        if (here->second->space != Space::Device) bury(here, "hostacl.reset");
    }
}

size_t check_guards() {
    std::vector<std::string> damages;
    {
        Lock lock = lock_machine();
        for (auto& entry : memory().live) {
            Block& block = *entry.second;
            std::string damage = guard_damage(block);
            if (damage.empty()) continue;
            damages.push_back(std::move(damage));
            std::memset(as_pointer(block.start + block.capacity), kGuardByte, block.guard);
        }
    }
    for (const std::string& damage : damages) report("HA206", damage);
    return damages.size();
}

std::string take_guard_damage(Block& block) {
    Lock lock = lock_machine();
    std::string damage = block.guard ? guard_damage(block) : "";
    if (!damage.empty()) std::memset(as_pointer(block.start + block.capacity), kGuardByte, block.guard);
    return damage;
}

bool is_mapped(uintptr_t address, size_t size) {
    constexpr size_t kPages = 1024; // asked for at once
    static const uintptr_t page = static_cast<uintptr_t>(::sysconf(_SC_PAGESIZE));
    if (!size) return true;
    uintptr_t end = address + size;
    if (address < page || end < address || (end >> 56) != 0) return false;
    if (arena().touches(address, end)) return false; // of it only blocks are there
    unsigned char resident[kPages];
    for (uintptr_t first = address / page * page; first < end; first += kPages * page)
        if (::mincore(as_pointer(first), std::min(end - first, kPages * page), resident) != 0) return false;
    return true;
}

bool is_live(uintptr_t address, size_t size) {
    std::shared_ptr<Block> block = find_block(address);
    if (block) return !block->freed && size <= block->start + block->capacity - address;
    return is_mapped(address, size);
}

Code check_array(const char* name, const void* array, size_t count, size_t bytes_each) {
    constexpr size_t kFew = 64;
    size_t bytes = 0;
    if (count <= kFew) return 0;
    if (!__builtin_mul_overflow(count, bytes_each, &bytes) && is_mapped(reinterpret_cast<uintptr_t>(array), bytes)) return 0;
    return fail(ACL_ERROR_INVALID_PARAM, "HA218",
                format("%s = %p: %zu elements of %zu bytes there are not all memory of this process; allowed: as many as are "
                       "counted",
                       name, array, count, bytes_each));
}

MemoryStats memory_stats() {
    Lock lock = lock_machine();
    return memory().stats;
}

size_t device_bytes_used(int32_t device) {
    auto found = memory().used.find(device);
    return found == memory().used.end() ? 0 : found->second;
}

void each_block(const std::function<void(const Block&)>& visit) {
    std::vector<BlockPtr> blocks;
    {
        Lock lock = lock_machine();
        for (auto& entry : memory().live) blocks.push_back(entry.second);
    }
    for (const BlockPtr& block : blocks) visit(*block);
}

void add_block(BlockPtr block) {
    block->serial = ++memory().serial;
    forget_dead(block->start, block->capacity);
    count(*block, true);
    memory().live[block->start] = std::move(block);
}

BlockPtr end_block(uintptr_t start, const std::string& site) { return bury(memory().live.find(start), site); }

void count_device_bytes(int32_t device, size_t bytes) { memory().used[device] += bytes; }

std::mutex& address_mutex() { return arena_mutex(); }

uintptr_t take_addresses(size_t size) {
    std::lock_guard<std::mutex> guard(arena_mutex());
    return arena().take(size);
}

void give_addresses(uintptr_t start, size_t size) {
    if (!start) return;
    std::lock_guard<std::mutex> guard(arena_mutex());
    arena().give_back(start, size);
}

void lock_arena() { arena_mutex().lock(); }
void unlock_arena() { arena_mutex().unlock(); }
void rebuild_arena_lock() { new (&arena_mutex()) std::mutex; }

} // namespace hostacl
