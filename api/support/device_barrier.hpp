// Barriers between stores to memory and the store to a device's register that announces them.
#pragma once

#include <atomic>

namespace rigel {

/// Makes the calling thread's earlier stores to write-back memory visible to a device before its later store
/// to a register of that device. Release order of C++ is not sufficient: it orders threads, and a register is
/// not memory.
///
/// x86-64: stores to write-back memory and to registers stay in order (Intel SDM, volume 3, "Memory
/// Ordering"). AArch64: DMB OSHST, whose shareability domain contains devices; Linux orders MMIO by the same
/// (arch/arm64, __iowmb). STLR orders only for the domain of the stored memory.
inline void order_stores_before_register() noexcept {
#if defined(__x86_64__)
  std::atomic_signal_fence(std::memory_order_release);
#elif defined(__aarch64__)
  asm volatile("dmb oshst" ::: "memory");
#else
  std::atomic_thread_fence(std::memory_order_seq_cst);
#endif
}

/// Does the same for stores to write-combined memory, which x86-64 reorders.
inline void order_write_combined_stores_before_register() noexcept {
#if defined(__x86_64__)
  asm volatile("sfence" ::: "memory");
#else
  order_stores_before_register();
#endif
}

}  // namespace rigel
