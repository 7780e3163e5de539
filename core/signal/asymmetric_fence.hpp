// A pair of fences of which one is free. Two threads that each write one place and then read the other's
// ("I changed the value; does anybody sleep?" against "I am about to sleep; has the value changed?") need a
// full fence between write and read, both of them, or each can miss the other's write. Here the frequent side
// has `light`, which costs no instruction, and the rare side has `heavy`, which asks the kernel to run a full
// fence on every CPU on which a thread of this process runs (membarrier(2), private expedited).
//
// The promise: when `heavy` returns true, then for each other thread its `light` stands, in that thread's
// program order, either before the fence that `heavy` ran there, and what the thread wrote before `light` is
// visible to what follows `heavy`; or after it, and what was written before `heavy` is visible to what
// follows `light`. (A thread that is not running passed a full fence when it was descheduled.)
//
// Only threads of one process are covered: devices and other processes are not.
// Any thread may call anything here. Nothing is owned.
#pragma once

#include <atomic>
#include <cstdint>

namespace rigel::asymmetric_fence {

namespace detail {
enum class Kernel : uint8_t { kUnknown, kHelps, kRefuses };
extern std::atomic<Kernel> kernel;
bool probe() noexcept;
}  // namespace detail

/// True if the kernel runs `heavy` for us. The first call registers the process with it. Once false, false
/// until the process forks.
inline bool available() noexcept {
  const auto known = detail::kernel.load(std::memory_order_relaxed);
  return known == detail::Kernel::kUnknown ? detail::probe() : known == detail::Kernel::kHelps;
}

/// The side that is called often: orders for the compiler, and leaves the CPU to `heavy`.
inline void light() noexcept {
  std::atomic_signal_fence(std::memory_order_seq_cst);
}

/// The rare side, about 0.2 to a few microseconds: always a full fence of the calling thread. True if it was
/// one of all other threads too; false if the kernel refused, and from then on `available` is false: the
/// other side then needs a full fence of its own, and where it had none, changes may have been missed.
bool heavy() noexcept;

/// In a forked child: asks the kernel again at next use.
void reset_after_fork() noexcept;

/// Makes this process behave as on a kernel without membarrier, or (false) forgets that.
void refuse_for_tests(bool refuse) noexcept;

}  // namespace rigel::asymmetric_fence
