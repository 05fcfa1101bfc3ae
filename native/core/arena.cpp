#include "core/arena.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <iterator>
#include <utility>

namespace hostacl {
namespace {

constexpr size_t kCommitStep = size_t{64} << 20;
constexpr size_t kLarge = size_t{4} << 20; // blocks from this size on get huge pages, and lose their pages when they are freed
constexpr size_t kRestingBytes = size_t{1} << 20;
constexpr size_t kRestingCount = 256;
size_t page_size() {
    static const size_t size = static_cast<size_t>(::sysconf(_SC_PAGESIZE));
    return size;
}

// The pages that lie wholly within a range.
std::pair<void*, size_t> whole_pages(uintptr_t start, size_t size) {
    uintptr_t first = (start + page_size() - 1) / page_size() * page_size(), last = (start + size) / page_size() * page_size();
    return {reinterpret_cast<void*>(first), last - first};
}

} // namespace

// As much address space as the system lets us have; it costs nothing until it is used.
bool Arena::reserve() {
    for (size_t size = size_t{1} << 44; size >= size_t{1} << 28; size >>= 1) {
        void* base = ::mmap(nullptr, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (base == MAP_FAILED) continue;
        base_ = top_ = committed_ = reinterpret_cast<uintptr_t>(base);
        reserved_ = size;
        return true;
    }
    return false;
}

bool Arena::commit_up_to(uintptr_t end) {
    if (end <= committed_) return true;
    uintptr_t target = std::min(base_ + reserved_, (end + kCommitStep - 1) / kCommitStep * kCommitStep);
    if (end > target) return false;
    void* from = reinterpret_cast<void*>(committed_);
    if (::mprotect(from, target - committed_, PROT_READ | PROT_WRITE) == 0) {
        committed_ = target;
        return true;
    }
    target = (end + page_size() - 1) / page_size() * page_size(); // a machine that counts every page: only what is needed
    if (::mprotect(from, target - committed_, PROT_READ | PROT_WRITE) != 0) return false;
    committed_ = target;
    return true;
}

void Arena::insert_free(uintptr_t start, size_t size) {
    auto next = free_.lower_bound(start);
    if (next != free_.end() && start + size == next->first) {
        size += next->second;
        auto joined = next++;
        erase_free(joined);
    }
    if (next != free_.begin()) {
        auto before = std::prev(next);
        if (before->first + before->second == start) {
            start = before->first;
            size += before->second;
            erase_free(before);
        }
    }
    if (start + size == top_) { // the end of all: not a range but nothing
        top_ = start;
        return;
    }
    free_.emplace(start, size);
    free_by_size_.emplace(size, start);
}

void Arena::erase_free(std::map<uintptr_t, size_t>::iterator range) {
    free_by_size_.erase({range->second, range->first});
    free_.erase(range);
}

uintptr_t Arena::take_free(size_t size) {
    auto best = free_by_size_.lower_bound({size, 0});
    if (best == free_by_size_.end()) return 0;
    auto [found, start] = *best;
    erase_free(free_.find(start));
    if (found > size) {
        free_.emplace(start + size, found - size);
        free_by_size_.emplace(found - size, start + size);
    }
    return start;
}

uintptr_t Arena::take(size_t size) {
    size = rounded(size);
    uintptr_t start = find_room(size);
    if (start && size >= kLarge) {
        auto [first, bytes] = whole_pages(start, size);
        ::madvise(first, bytes, MADV_HUGEPAGE); // large tensors with fewer misses of the address cache, as NumPy's arrays
    }
    return start;
}

uintptr_t Arena::find_room(size_t size) {
    if (!base_ && !reserve()) return 0;
    if (uintptr_t start = take_free(size)) return start;
    uintptr_t start = top_;
    if (size > base_ + reserved_ - start || !commit_up_to(start + size)) {
        if (resting_.empty()) return 0;
        while (!resting_.empty()) wake_oldest();
        return find_room(size);
    }
    top_ += size;
    return start;
}

void Arena::wake_oldest() {
    auto [start, size] = resting_.front();
    resting_.pop_front();
    resting_bytes_ -= size;
    insert_free(start, size);
}

void Arena::give_back(uintptr_t start, size_t size) {
    size = rounded(size);
    if (size >= kLarge) {
        auto [first, bytes] = whole_pages(start, size);
        ::madvise(first, bytes, MADV_DONTNEED);
        insert_free(start, size);
        return;
    }
    rest(start, size);
}

void Arena::rest(uintptr_t start, size_t size) {
    resting_.emplace_back(start, size);
    resting_bytes_ += size;
    while (resting_.size() > kRestingCount || (resting_bytes_ > kRestingBytes && resting_.size() > 1)) wake_oldest();
}

} // namespace hostacl
