// Which bytes of a block were ever written: for reads of memory that nobody wrote (HA217).
#pragma once

#include "core/copy.hpp"
#include "core/memory.hpp"

#include <map>
#include <string>

namespace hostacl {

struct Request;

class Written {
  public:
    explicit Written(uint8_t held) : held(held) {}
    const uint8_t held; // by each byte of the block at first
    void add(size_t start, size_t end);
    // The first bytes of [start, end) that were not written; false when all were.
    bool missing(size_t start, size_t end, size_t* first, size_t* last) const;
    // Adds what `other` has of [start, end), shifted so that start comes to `to`.
    void add_from(const Written& other, size_t start, size_t end, size_t to);

  private:
    std::map<size_t, size_t> ranges_; // start to end; apart from each other
};

// A block that was made now holds nothing; its bytes are filled, so that those which differ later were written by the program itself,
// through the pointer. No lock held, as for all below.
void track_new(Block& block);

// Before the bytes move: reports a copy to the host of what was never written, and knows what the target holds afterwards.
// Blocks are null for memory that is not tracked.
void track_copy(const Copy& copy, const BlockPtr& dst, const BlockPtr& src);
void track_fill(const BlockPtr& block, const void* start, size_t size);

void track_reads(const Request& request);  // before an operator runs
void track_writes(const Request& request); // after it ran
HACL_API void trust(const BlockPtr& block);         // the program has a view of it: whatever it reads there counts as written

} // namespace hostacl
