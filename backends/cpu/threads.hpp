// Threads of the backend: sleeping, polling and starting.
#pragma once

#include <pthread.h>
#include <sched.h>

#include <atomic>
#include <cstdint>

namespace rigel::cpu {

/// Pauses between two polls of a value that another core will change.
inline void relax() noexcept {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield" ::: "memory");
#endif
}

/// Makes stores that bypass the cache visible before later operations; release operations on x86 do not order
/// them.
inline void drain_stores() noexcept {
#if defined(__x86_64__)
  __builtin_ia32_sfence();
#else
  std::atomic_thread_fence(std::memory_order_release);
#endif
}

/// Returns the CPU's counter: cheap, monotonic, of constant rate.
inline uint64_t ticks() noexcept {
#if defined(__x86_64__)
  return __builtin_ia32_rdtsc();
#elif defined(__aarch64__)
  uint64_t value;
  asm volatile("mrs %0, cntvct_el0" : "=r"(value));
  return value;
#endif
}

/// Returns its rate. The first call queries or measures it, which takes 50 microseconds.
double ticks_per_ns() noexcept;

/// Polls a value for a time before sleeping on it, in one thread.
///
/// Polling is useful if the thread that changes the value runs on another core, and harmful if it waits for
/// this core, which cannot be determined. A failed poll therefore makes the next one shorter, and a
/// successful one makes it long again. At intervals a long one is tried, to detect changes.
class Patience {
 public:
  explicit Patience(uint64_t most_ticks) noexcept : most_(most_ticks), now_(most_ticks) {}

  /// Returns true as soon as `ready()` does; false when it is time to sleep.
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
  static constexpr uint64_t kShortest = 16;  // fraction of the maximum
  static constexpr uint32_t kProbeEvery = 32;

  const uint64_t most_;
  uint64_t now_;
  uint32_t vain_ = 0;  // consecutive failed polls
};

/// Returns nanoseconds of CLOCK_BOOTTIME, the HSA system clock.
uint64_t system_time_ns() noexcept;

/// Returns the CPUs of NUMA node `node` on which this process may run; if the node is unknown or has none,
/// all of the process's CPUs.
cpu_set_t processors_of_node(uint32_t node) noexcept;

/// Starts a thread on `processors`, named `prefix` and `number`, with all signals blocked except those that
/// its own instructions raise. Returns false if the system has no more threads. `argument` is passed to
/// `main`.
bool start_thread(pthread_t* thread, const char* prefix, uint64_t number, const cpu_set_t& processors,
                  void* (*main)(void*), void* argument) noexcept;

}  // namespace rigel::cpu
