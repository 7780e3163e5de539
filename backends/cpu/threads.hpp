// Threads of the backend: what they sleep on, how they pass the time, and how they are started.
#pragma once

#include <pthread.h>
#include <sched.h>

#include <atomic>
#include <cstdint>

namespace rigel::cpu {

/// Between two looks at a value that another core is about to change.
inline void relax() noexcept {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield" ::: "memory");
#endif
}

/// Makes stores that bypass the cache, which release operations do not order on x86, visible before anything
/// later.
inline void drain_stores() noexcept {
#if defined(__x86_64__)
  __builtin_ia32_sfence();
#else
  std::atomic_thread_fence(std::memory_order_release);
#endif
}

/// Sleeps while `word` is `expected`; may return early. Wakers change the word first.
void futex_wait(const std::atomic<uint32_t>& word, uint32_t expected) noexcept;
void futex_wake(const std::atomic<uint32_t>& word, uint32_t count) noexcept;

/// The processor's own counter: cheap, monotonic, of a rate that does not change.
inline uint64_t ticks() noexcept {
#if defined(__x86_64__)
  return __builtin_ia32_rdtsc();
#elif defined(__aarch64__)
  uint64_t value;
  asm volatile("mrs %0, cntvct_el0" : "=r"(value));
  return value;
#endif
}

/// Its rate. Measured, or asked for, in the first call, which takes 50 microseconds.
double ticks_per_ns() noexcept;

/// Looking at a value for a while before sleeping on it, in one thread.
///
/// It pays when whoever changes the value runs on another core, and is worse than useless when they wait for
/// this very core. Nobody can tell which; so a look that was in vain makes the next one shorter, and one that
/// was not makes it long again. Now and then a long one is tried, to find out that things have changed.
class Patience {
 public:
  explicit Patience(uint64_t most_ticks) noexcept : most_(most_ticks), now_(most_ticks) {}

  /// True as soon as `ready()` is; false when it is time to sleep.
  template <class Ready>
  bool wait(Ready&& ready) noexcept {
    if (ready()) return true;
    const bool probe = ++vain_ % kProbeEvery == 0;
    const uint64_t patience = probe ? most_ : now_;
    const uint64_t begin = ticks();
    do {
      relax();
      if (ready()) {
        now_ = most_;
        vain_ = 0;
        return true;
      }
    } while (ticks() - begin < patience);
    now_ = now_ / 2 > most_ / kShortest ? now_ / 2 : most_ / kShortest;
    return false;
  }

 private:
  static constexpr uint64_t kShortest = 16;  // one in so many of the longest
  static constexpr uint32_t kProbeEvery = 32;

  const uint64_t most_;
  uint64_t now_;
  uint32_t vain_ = 0;  // looks in a row
};

/// Nanoseconds of CLOCK_BOOTTIME, the HSA system clock.
uint64_t system_time_ns() noexcept;

/// The processors of NUMA node `node` on which this process may run; all on which it may run if that is
/// unknown or none.
cpu_set_t processors_of_node(uint32_t node) noexcept;

/// Starts a thread on `processors`, named `prefix` and `number`, with every signal blocked that is not about
/// the thread's own doing. False if the system has no more threads. `argument` goes to `main`.
bool start_thread(pthread_t* thread, const char* prefix, uint64_t number, const cpu_set_t& processors,
                  void* (*main)(void*), void* argument) noexcept;

}  // namespace rigel::cpu
