// What has to happen between stores to memory and the store to a device's register that announces them.
#pragma once

#include <atomic>

namespace rigel {

/// The calling thread's earlier stores to write-back memory are visible to a device before its later store to
/// a register of that device. Release order of C++ does not say so: it is about threads, and a register is no
/// memory.
///
/// x86-64: stores to write-back memory and to registers keep their order (Intel SDM, volume 3, "Memory
/// Ordering"). AArch64: DMB OSHST, whose domain has devices in it; Linux orders MMIO by the same (arch/arm64,
/// __iowmb). STLR alone orders for the domain of the memory that is stored to.
inline void order_stores_before_register() noexcept {
#if defined(__x86_64__)
  std::atomic_signal_fence(std::memory_order_release);
#elif defined(__aarch64__)
  asm volatile("dmb oshst" ::: "memory");
#else
  std::atomic_thread_fence(std::memory_order_seq_cst);
#endif
}

/// The same, and for stores to write-combined memory, which x86-64 reorders.
inline void order_write_combined_stores_before_register() noexcept {
#if defined(__x86_64__)
  asm volatile("sfence" ::: "memory");
#else
  order_stores_before_register();
#endif
}

}  // namespace rigel
