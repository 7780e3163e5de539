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
