#include "core/virtual_memory.hpp"

#include "core/config.hpp"
#include "core/hooks.hpp"
#include "core/machine.hpp"
#include "core/memory.hpp"
#include "core/message.hpp"
#include "core/schedule.hpp"
#include "core/status.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <map>
#include <memory>

namespace hostacl {
namespace {

// Reserved addresses; they go back to the arena when nothing is mapped there and nobody looks at it any more.
struct Range {
    uintptr_t start = 0;
    size_t size = 0;
    uintptr_t taken_from = 0;
    size_t taken = 0;
    std::map<uintptr_t, size_t> busy; // address_mutex
    ~Range() { give_addresses(taken_from, taken); }
};
using RangePtr = std::shared_ptr<Range>;

// The pages of one mapping. An array over them may outlive it.
struct Pages {
    RangePtr range;
    uintptr_t start;
    size_t size;
    ~Pages() {
        std::lock_guard<std::mutex> guard(address_mutex());
        constexpr int kFlags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED;
        ::mmap(as_pointer(start), size, PROT_READ | PROT_WRITE, kFlags, -1, 0);
        range->busy.erase(start);
    }
};

struct Physical { // begins and ends with the lock held
    int file = -1;
    size_t size = 0; // as asked for
    size_t capacity = 0;
    int32_t device = 0;
    ~Physical() {
        ::close(file);
        count_device_bytes(device, 0 - capacity);
    }
};
using PhysicalPtr = std::shared_ptr<Physical>;
using PhysicalTable = HandleTable<PhysicalPtr, Kind::PhysicalMemory>;

struct Mappings {
    std::map<uintptr_t, RangePtr> ranges;
    std::map<uintptr_t, PhysicalPtr> mapped;
    PhysicalTable physical;
};

Mappings& mappings() { // lock held
    static Mappings& the_mappings = *new Mappings;
    return the_mappings;
}

size_t rounded(size_t size) { return (size + kGranularity - 1) / kGranularity * kGranularity; }

Code refuse(const std::string& text) { return fail(ACL_ERROR_RT_PARAM_INVALID, "HA226", text); }

Code find_physical(Handle handle, PhysicalPtr* out) {
    PhysicalPtr* found = mappings().physical.find(handle);
    if (!found)
        return refuse(format("handle = %s; allowed: what aclrtMallocPhysical gave", describe_handle(handle).c_str()));
    *out = *found;
    return 0;
}

RangePtr range_at(uintptr_t start, size_t size) {
    auto next = mappings().ranges.upper_bound(start);
    if (next == mappings().ranges.begin()) return nullptr;
    const RangePtr& range = std::prev(next)->second;
    return start - range->start < range->size && size <= range->start + range->size - start ? range : nullptr;
}

bool overlaps(const std::map<uintptr_t, size_t>& busy, uintptr_t start, size_t size) {
    auto next = busy.lower_bound(start + size);
    return next != busy.begin() && std::prev(next)->first + std::prev(next)->second > start;
}

// The pages at `start`, or null and a code.
std::shared_ptr<void> put(const RangePtr& range, const Physical& physical, uintptr_t start, Code* code) {
    std::lock_guard<std::mutex> guard(address_mutex());
    *code = overlaps(range->busy, start, physical.capacity)
                ? refuse(format("virPtr = 0x%zx: memory is mapped there, or an array still looks at it; unmap it first",
                                static_cast<size_t>(start)))
                : 0;
    if (*code) return nullptr;
    void* at = ::mmap(as_pointer(start), physical.capacity, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, physical.file, 0);
    if (at == MAP_FAILED) throw std::bad_alloc();
    range->busy[start] = physical.capacity;
    return std::shared_ptr<Pages>(new Pages{range, start, physical.capacity});
}

BlockPtr block_over(const Physical& physical, uintptr_t start, std::shared_ptr<void> pages) {
    auto block = std::make_shared<Block>();
    block->start = start;
    block->size = physical.size;
    block->capacity = physical.capacity;
    block->device = physical.device;
    block->pages = std::move(pages);
    return block;
}

} // namespace

Code reserve_addresses(size_t size, uintptr_t* start) {
    auto range = std::make_shared<Range>();
    range->size = rounded(size);
    range->taken = range->size + kGranularity;
    range->taken_from = range->size < size || range->taken < size ? 0 : take_addresses(range->taken);
    if (!range->taken_from)
        return fail(ACL_ERROR_RT_MEMORY_ALLOCATION, "HA202", format("size = %zu: so many addresses are not free", size));
    range->start = (range->taken_from + kGranularity - 1) / kGranularity * kGranularity;
    *start = range->start;
    Lock lock = lock_machine();
    if (checking(kOrigins)) note_made(address_handle(Kind::Addresses, as_pointer(*start)));
    mappings().ranges[range->start] = std::move(range);
    return 0;
}

Code release_addresses(uintptr_t start) {
    RangePtr range; // given back without the lock
    Lock lock = lock_machine();
    auto found = mappings().ranges.find(start);
    if (found == mappings().ranges.end())
        return refuse(format("virPtr = 0x%zx; allowed: what aclrtReserveMemAddress gave", static_cast<size_t>(start)));
    auto first = mappings().mapped.lower_bound(start);
    if (first != mappings().mapped.end() && first->first < start + found->second->size)
        return refuse(format("virPtr = 0x%zx: memory is mapped at 0x%zx; unmap it first", static_cast<size_t>(start),
                             static_cast<size_t>(first->first)));
    range = std::move(found->second);
    mappings().ranges.erase(found);
    if (checking(kOrigins)) note_ended(address_handle(Kind::Addresses, as_pointer(start)));
    lock.unlock();
    return 0;
}

Code make_physical(int32_t device, size_t size, Handle* handle) {
    Lock lock = lock_machine();
    size_t used = device_bytes_used(device), limit = config().device_memory;
    if (used > limit || size > limit - used)
        return fail(ACL_ERROR_RT_MEMORY_ALLOCATION, "HA202",
                    format("size = %zu: device %d has %zu bytes, %zu of them in use; free some, or set HOSTACL_DEVICE_MEMORY", size,
                           device, limit, used));
    int file = ::memfd_create("hostacl device memory", MFD_CLOEXEC);
    if (file < 0) throw std::bad_alloc();
    auto made = std::make_shared<Physical>();
    made->file = file;
    made->size = size;
    made->device = device;
    if (::ftruncate(file, static_cast<off_t>(rounded(size))) != 0) throw std::bad_alloc();
    made->capacity = rounded(size);
    count_device_bytes(device, made->capacity);
    *handle = mappings().physical.add(std::move(made));
    return 0;
}

bool is_physical(Handle handle) { return mappings().physical.find(handle) != nullptr; }

Code free_physical(Handle handle) {
    Lock lock = lock_machine();
    PhysicalPtr physical;
    if (Code code = find_physical(handle, &physical)) return code;
    mappings().physical.remove(handle);
    physical.reset();
    return 0;
}

Code map_memory(uintptr_t start, size_t size, Handle handle) {
    std::string site = call_site();
    Lock lock = lock_machine();
    PhysicalPtr physical;
    if (Code code = find_physical(handle, &physical)) return code;
    if (size != physical->size && size != physical->capacity)
        return refuse(format("size = %zu; allowed: %zu, the size of the physical memory", size, physical->size));
    RangePtr range = range_at(start, physical->capacity);
    if (!range || start % kGranularity != 0)
        return refuse(format("virPtr = 0x%zx, size = %zu; allowed: a place in reserved addresses, at a multiple of %zu",
                             static_cast<size_t>(start), size, kGranularity));
    Code code = 0;
    std::shared_ptr<void> pages = put(range, *physical, start, &code);
    if (code) return code;
    BlockPtr block = block_over(*physical, start, std::move(pages));
    block->site = std::move(site);
    add_block(std::move(block));
    mappings().mapped[start] = std::move(physical);
    return 0;
}

Code unmap_memory(uintptr_t start) {
    std::string site = call_site(), pending;
    BlockPtr block; // goes without the lock
    {
        Lock lock = lock_machine();
        auto found = mappings().mapped.find(start);
        if (found == mappings().mapped.end())
            return refuse(format("virPtr = 0x%zx; allowed: a place to which aclrtMapMem mapped memory", static_cast<size_t>(start)));
        mappings().mapped.erase(found);
        block = end_block(start, site);
        pending = describe_pending(start, start + block->capacity, kReads | kWrites);
    }
    if (!pending.empty())
        report("HA225", format("virPtr = 0x%zx is unmapped while %s is pending; it stays until then. Synchronize first",
                               static_cast<size_t>(start), pending.c_str()));
    return 0;
}

void forget_physical(int32_t device) {
    auto& mapped = mappings().mapped;
    for (auto at = mapped.begin(); at != mapped.end();) at = at->second->device == device ? mapped.erase(at) : std::next(at);
    std::vector<Handle> ending;
    mappings().physical.each([&](Handle handle, const PhysicalPtr& physical) {
        if (physical->device == device) ending.push_back(handle);
    });
    for (Handle handle : ending) mappings().physical.remove(handle);
}

} // namespace hostacl
