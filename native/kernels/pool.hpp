// A pool of threads: started by the first large call, kept off the caller's CPU, asleep soon after a call, started again lazily
// after a fork.
#pragma once

#include <cstdint>

namespace hacl {

constexpr std::int64_t kUnlockElements = 1 << 16;    // from here on Python's lock is released
constexpr std::int64_t kParallelElements = 1 << 18;  // from here on the work is split
constexpr int kMaxThreads = 256;

int thread_count();
int use_thread_count(int count);  // the previous one

// Calls body(context, begin, end) over ranges that cover 0..n, each a multiple of grain but the last. The ranges run in any order
// on several threads; a nested call, or one made while another thread uses the pool, runs on its own thread. body must not throw.
using RangeBody = void (*)(void* context, std::int64_t begin, std::int64_t end);
void parallel_ranges(std::int64_t n, std::int64_t grain, RangeBody body, void* context);

template <class Body>
void parallel_for(std::int64_t n, std::int64_t grain, Body& body) {
  parallel_ranges(n, grain, [](void* c, std::int64_t begin, std::int64_t end) { (*static_cast<Body*>(c))(begin, end); }, &body);
}

// The same over n units of about `unit` elements each: in one piece when that is not worth a thread.
template <class Body>
void split_units(std::int64_t n, std::int64_t unit, Body& body) {
  if (n <= 0) return;
  const std::int64_t wide = unit > 0 ? unit : 1;
  if (n * wide < kParallelElements) return body(std::int64_t{0}, n);
  const std::int64_t grain = kUnlockElements / wide;
  parallel_for(n, grain > 0 ? grain : 1, body);
}

}  // namespace hacl
