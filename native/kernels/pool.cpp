#include "kernels/pool.hpp"

#include <pthread.h>
#include <sched.h>
#include <signal.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <new>

namespace hacl {
namespace {

constexpr std::chrono::microseconds kAwake{100};  // a helper looks for the next call so long before it sleeps
constexpr int kSteered = 8;                       // helpers; more than these find CPUs of their own, and steering costs calls

thread_local bool inside = false;  // this thread is working on a range

void relax() {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

// Gives way until done() or the time is over: the threads that hold what it waits for, or others of the machine, go first.
template <class Done>
void watch(Done done) {
  const auto end = std::chrono::steady_clock::now() + kAwake;
  do {
    for (int i = 0; i < 32; ++i) {
      if (done()) return;
      relax();
    }
    sched_yield();
  } while (std::chrono::steady_clock::now() < end);
}

struct Job {
  std::atomic<std::int64_t> next{0};
  std::int64_t n = 0;
  std::int64_t grain = 1;
  RangeBody body = nullptr;
  void* context = nullptr;

  void work() {
    inside = true;
    for (;;) {
      const std::int64_t begin = next.fetch_add(grain, std::memory_order_relaxed);
      if (begin >= n) break;
      body(context, begin, n - begin < grain ? n : begin + grain);
    }
    inside = false;
  }
};

class Pool {
 public:
  // False when another thread has the pool.
  bool run(Job& job, int helpers) {
    std::unique_lock<std::mutex> lock(mutex_);
    if (job_ != nullptr || active_ > 0) return false;
    start(helpers);
    steer();
    job_ = &job;
    wanted_ = helpers;
    calls_.fetch_add(1, std::memory_order_release);
    lock.unlock();
    for (int i = 0; i < helpers; ++i) wake_.notify_one();
    job.work();
    lock.lock();
    job_ = nullptr;  // a helper that wakes from here on finds nothing to do: never waited for
    if (active_ > 0) {
      lock.unlock();
      watch([this] { return active_.load(std::memory_order_acquire) == 0; });
      lock.lock();
    }
    done_.wait(lock, [this] { return active_ == 0; });
    return true;
  }

 private:
  void start(int helpers) {
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);  // signals stay with the program's threads
    for (; started_ < helpers; ++started_) {
      pthread_t thread;
      if (pthread_create(&thread, nullptr, [](void* p) -> void* { static_cast<Pool*>(p)->serve(); return nullptr; }, this) != 0) break;
      pthread_detach(thread);
      if (started_ < kSteered) threads_[started_] = thread;
      away_from_ = -1;
    }
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
  }

  // Keeps the helpers off the caller's CPU, where some kernels like to wake them: the two would take turns on it.
  void steer() {
    const int here = sched_getcpu();
    if (here == away_from_ || here < 0 || started_ > kSteered) return;
    away_from_ = here;
    cpu_set_t others;
    if (sched_getaffinity(0, sizeof others, &others) != 0) return;
    CPU_CLR(here, &others);
    if (CPU_COUNT(&others) == 0) return;
    for (int i = 0; i < started_; ++i) pthread_setaffinity_np(threads_[i], sizeof others, &others);
  }

  [[noreturn]] void serve() {
    std::unique_lock<std::mutex> lock(mutex_);
    for (;;) {
      wake_.wait(lock, [this] { return job_ != nullptr && wanted_ > 0; });
      Job* job = job_;
      --wanted_;
      ++active_;
      const unsigned call = calls_.load(std::memory_order_relaxed);
      lock.unlock();
      job->work();
      lock.lock();
      if (--active_ == 0) done_.notify_all();
      lock.unlock();
      watch([&] { return calls_.load(std::memory_order_acquire) != call; });
      lock.lock();
    }
  }

  std::mutex mutex_;
  std::condition_variable wake_, done_;
  Job* job_ = nullptr;
  int wanted_ = 0;               // helpers this job may still take
  std::atomic<int> active_{0};   // helpers inside the job
  std::atomic<unsigned> calls_{0};
  int started_ = 0;
  int away_from_ = -1;           // the CPU that the helpers keep off
  pthread_t threads_[kSteered];
};

// Never destroyed: helpers sleep in it until the process ends. After a fork the child has none of them and makes a new pool.
std::atomic<Pool*> pool{nullptr};
std::atomic<int> count{0};

Pool* the_pool() {
  Pool* p = pool.load(std::memory_order_acquire);
  if (p != nullptr) return p;
  static const int registered = pthread_atfork(nullptr, nullptr, [] { pool.store(nullptr); inside = false; });
  (void)registered;
  Pool* made = new (std::nothrow) Pool;
  if (made == nullptr) return nullptr;
  if (pool.compare_exchange_strong(p, made)) return made;
  delete made;
  return p;
}

int available_cpus() {
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof set, &set) != 0) return 1;
  const int n = CPU_COUNT(&set);
  return n < 1 ? 1 : n > kMaxThreads ? kMaxThreads : n;
}

}  // namespace

int thread_count() {
  int n = count.load(std::memory_order_relaxed);
  if (n == 0) count.store(n = available_cpus(), std::memory_order_relaxed);
  return n;
}

int use_thread_count(int n) {
  const int before = thread_count();
  count.store(n, std::memory_order_relaxed);
  return before;
}

void parallel_ranges(std::int64_t n, std::int64_t grain, RangeBody body, void* context) {
  if (n <= 0) return;
  const std::int64_t ranges = (n - 1) / grain + 1;
  int threads = thread_count();
  if (threads > ranges) threads = static_cast<int>(ranges);
  if (threads > 1 && !inside) {
    Job job;
    job.n = n;
    job.grain = grain;
    job.body = body;
    job.context = context;
    Pool* p = the_pool();
    if (p != nullptr && p->run(job, threads - 1)) return;
  }
  body(context, 0, n);
}

}  // namespace hacl
