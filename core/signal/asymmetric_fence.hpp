// A pair of fences for two threads, of which each writes one location and then reads the other's. One has
// changed a value and checks whether a thread is asleep; the other is about to sleep and checks the value.
// Both need a full fence between write and read, or each can miss the other's write. The frequent side calls
// `light`, which costs no instruction. The rare side calls `heavy`, which makes the kernel run a full fence
// on every CPU that runs a thread of this process (membarrier(2), private expedited).
//
// *Memory order:* when `heavy` returns true, it has run a full fence in each other thread. A `light` of that
// thread is before or after this fence in program order. If it is before, the thread's writes before `light`
// are visible after `heavy`. If it is after, the writes before `heavy` are visible after `light`. (A thread
// that is not running passed a full fence when it was descheduled.)
// *Threads:* any thread of one process. Devices and other processes are not covered.
#pragma once

#include <atomic>
#include <cstdint>

namespace rigel::asymmetric_fence {

namespace detail {
enum class Kernel : uint8_t { kUnknown, kHelps, kRefuses };
extern std::atomic<Kernel> kernel;
bool probe() noexcept;
}  // namespace detail

/// Whether the kernel supports `heavy`. The first call registers the process. Stays false, once false, until
/// the process forks.
inline bool available() noexcept {
  const auto known = detail::kernel.load(std::memory_order_relaxed);
  return known == detail::Kernel::kUnknown ? detail::probe() : known == detail::Kernel::kHelps;
}

/// The frequent side: a compiler fence.
inline void light() noexcept {
  std::atomic_signal_fence(std::memory_order_seq_cst);
}

/// The rare side, 0.2 to a few microseconds: a full fence of the calling thread. Returns true if it was also
/// one of all other threads. Returns false if the kernel rejected it; `available` is false from then on, the
/// other side must run full fences, and changes may have been missed if it did not.
bool heavy() noexcept;

/// In a forked child: probes the kernel again at the next use.
void reset_after_fork() noexcept;

/// Makes this process behave as on a kernel without membarrier; false restores it.
void refuse_for_tests(bool refuse) noexcept;

}  // namespace rigel::asymmetric_fence
