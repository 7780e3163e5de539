// Memory as a processor uses it: reads, writes, atomics and copies at GPU addresses, over a DeviceBus.
//
// One object belongs to one queue and is used by whoever runs that queue, one thread at a time, inside a
// GpuMemory::Scope. It keeps a small TLB over scopes, checked against the bus's epoch. Every function answers
// whether it worked; if not, fault() says what could not be reached, and what was done before stays done.
//
// Atomic functions (load, store, modify, fetch_sub, …) work on naturally aligned 2, 4 or 8 bytes; low bits
// of the address that would misalign them are ignored, as memory hardware ignores them. `read`, `write`,
// `copy` and `fill` are plain copies of any length and alignment, and may cross objects.
#pragma once

#include <array>
#include <atomic>
#include <cstring>

#include "plugins/vgpu/cp/device_bus.hpp"

namespace rigel::vgpu {

class GpuMemory {
 public:
  GpuMemory(DeviceBus& bus, uint32_t queue_id) : bus_(bus), queue_id_(queue_id) {}

  class Scope {
   public:
    explicit Scope(GpuMemory& memory) : scope_(memory.bus_) { memory.refresh(); }

   private:
    TranslationScope scope_;
  };

  /// Host address of `bytes` bytes that lie within one page, or null.
  std::byte* find(uint64_t va, uint64_t bytes, Access access) {
    Entry& entry = tlb_[(va >> kPageShift) % tlb_.size()];
    if (entry.page == va >> kPageShift && (entry.access >> static_cast<unsigned>(access) & 1u) != 0) {
      return entry.host + (va & (kPageBytes - 1));
    }
    return find_slow(va, bytes, access);
  }

  bool read(uint64_t va, void* to, uint64_t bytes);
  bool write(uint64_t va, const void* from, uint64_t bytes);

  /// Copies any amount; overlapping ranges give what memmove gives within a run of contiguous memory.
  bool copy(uint64_t to, uint64_t from, uint64_t bytes);

  /// Writes the bytes of `pattern` over and over, beginning with its lowest byte at `va`.
  bool fill(uint64_t va, uint32_t pattern, uint64_t bytes);

  template <class T>
  bool load(uint64_t va, T& value, std::memory_order order = std::memory_order_acquire) {
    std::byte* host = find(aligned<T>(va), sizeof(T), Access::kRead);
    if (host == nullptr) return false;
    value = std::atomic_ref<T>(*reinterpret_cast<T*>(host)).load(order);
    return true;
  }

  template <class T>
  bool store(uint64_t va, T value, std::memory_order order = std::memory_order_release) {
    std::byte* host = find(aligned<T>(va), sizeof(T), Access::kWrite);
    if (host == nullptr) return false;
    std::atomic_ref<T>(*reinterpret_cast<T*>(host)).store(value, order);
    return true;
  }

  /// Replaces the value by `next(old)` in one atomic step and gives the old one.
  template <class T, class Next>
  bool modify(uint64_t va, T& old, Next next) {
    std::byte* host = find(aligned<T>(va), sizeof(T), Access::kWrite);
    if (host == nullptr) return false;
    std::atomic_ref<T> cell(*reinterpret_cast<T*>(host));
    T seen = cell.load(std::memory_order_relaxed);
    while (!cell.compare_exchange_weak(seen, next(seen), std::memory_order_acq_rel)) {
    }
    old = seen;
    return true;
  }

  template <class T>
  bool fetch_sub(uint64_t va, T amount) {
    std::byte* host = find(aligned<T>(va), sizeof(T), Access::kWrite);
    if (host == nullptr) return false;
    std::atomic_ref<T>(*reinterpret_cast<T*>(host)).fetch_sub(amount, std::memory_order_acq_rel);
    return true;
  }

  /// What the last function that failed could not do.
  const VmFault& fault() const { return fault_; }

  DeviceBus& bus() { return bus_; }

 private:
  static constexpr unsigned kPageShift = 12;
  static constexpr uint64_t kPageBytes = uint64_t{1} << kPageShift;

  struct Entry {
    uint64_t page = ~uint64_t{0};
    std::byte* host = nullptr;
    uint8_t access = 0;  // bit per Access
  };

  template <class T>
  static constexpr uint64_t aligned(uint64_t va) {
    return va & ~uint64_t{sizeof(T) - 1};
  }

  void refresh() {
    const uint64_t now = bus_.translation_epoch();
    if (now != epoch_) {
      tlb_.fill(Entry{});
      epoch_ = now;
    }
  }
  std::byte* find_slow(uint64_t va, uint64_t bytes, Access access);
  Translation run(uint64_t va, uint64_t bytes, Access access);

  DeviceBus& bus_;
  const uint32_t queue_id_;
  uint64_t epoch_ = ~uint64_t{0};
  std::array<Entry, 32> tlb_{};
  VmFault fault_;
};

}  // namespace rigel::vgpu
