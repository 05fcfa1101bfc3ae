// Address space of our own for device and pinned memory: an address in it is never anything else, so that
// freed memory stays recognizable. Every function but `holds` needs the arena's own lock (memory.cpp).
#pragma once

#include "core/types.hpp"

#include <deque>
#include <map>
#include <set>

namespace hostacl {

class Arena {
  public:
    // `size` bytes at an address aligned to kAlignment; 0 when the machine has no more.
    uintptr_t take(size_t size);
    void give_back(uintptr_t start, size_t size);
    bool holds(uintptr_t address) const { return address >= base_ && address < base_ + reserved_; }

    bool touches(uintptr_t start, uintptr_t end) const { return start < base_ + reserved_ && end > base_; }

    static constexpr size_t kAlignment = 512;
    static size_t rounded(size_t size) { return (size + kAlignment - 1) / kAlignment * kAlignment; }

  private:
    bool reserve();
    bool commit_up_to(uintptr_t end);
    void insert_free(uintptr_t start, size_t size);
    void erase_free(std::map<uintptr_t, size_t>::iterator range);
    uintptr_t find_room(size_t size);
    uintptr_t take_free(size_t size);
    void rest(uintptr_t start, size_t size);
    void wake_oldest();

    uintptr_t base_ = 0;
    size_t reserved_ = 0;
    uintptr_t committed_ = 0;          // memory below is readable and writable
    uintptr_t top_ = 0;                // nothing at or above was ever given out
    std::map<uintptr_t, size_t> free_; // by address, neighbours joined
    std::set<std::pair<size_t, uintptr_t>> free_by_size_;
    std::deque<std::pair<uintptr_t, size_t>> resting_; // lately freed: not given out again at once
    size_t resting_bytes_ = 0;
};

} // namespace hostacl
