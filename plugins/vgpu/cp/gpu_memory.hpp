// Memory as a processor uses it: reads, writes, atomics and copies at GPU addresses, over a DeviceBus.
//
// Each queue has one object. One thread at a time uses it, inside a GpuMemory::Scope. A small TLB is kept
// over scopes and checked against the bus's epoch.
//
// Errors: every function returns whether it succeeded. After a failure, fault() describes the access that
// failed; earlier effects remain. Memory that the program has freed is such a fault (host_fault.hpp).
//
// Atomic functions (load, store, modify, fetch_sub) access naturally aligned 2, 4 or 8 bytes. Low bits of the
// address are ignored, as by memory hardware. `read`, `write`, `copy` and `fill` have any length and
// alignment, may cross objects, and are not atomic.
#pragma once

#include <array>

#include "plugins/vgpu/cp/device_bus.hpp"
#include "plugins/vgpu/cp/host_fault.hpp"

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

  bool read(uint64_t va, void* to, uint64_t bytes);
  bool write(uint64_t va, const void* from, uint64_t bytes);

  /// Copies `bytes` bytes. Overlapping ranges behave as in memmove within memory that is contiguous on the
  /// host.
  bool copy(uint64_t to, uint64_t from, uint64_t bytes);

  /// Repeats the bytes of `pattern`, starting with its lowest byte at `va`.
  bool fill(uint64_t va, uint32_t pattern, uint64_t bytes);

  template <class T>
  bool load(uint64_t va, T& value) {
    std::byte* host = find(aligned<T>(va), sizeof(T), Access::kRead);
    return host != nullptr &&
           (guarded_load(reinterpret_cast<T*>(host), value) || record_host_fault(aligned<T>(va), host));
  }

  template <class T>
  bool store(uint64_t va, T value) {
    std::byte* host = find(aligned<T>(va), sizeof(T), Access::kWrite);
    return host != nullptr &&
           (guarded_store(reinterpret_cast<T*>(host), value) || record_host_fault(aligned<T>(va), host));
  }

  /// Replaces the value by `next(old)` in one atomic step and returns the previous value in `old`.
  template <class T, class Next>
  bool modify(uint64_t va, T& old, Next next) {
    std::byte* host = find(aligned<T>(va), sizeof(T), Access::kWrite);
    if (host == nullptr) return false;
    auto* const cell = reinterpret_cast<T*>(host);
    T seen = 0;
    bool done = false;
    if (!guarded_load(cell, seen)) return record_host_fault(aligned<T>(va), host);
    while (!done) {
      if (!guarded_compare_exchange(cell, seen, next(seen), done))
        return record_host_fault(aligned<T>(va), host);
    }
    old = seen;
    return true;
  }

  template <class T>
  bool fetch_sub(uint64_t va, T amount) {
    std::byte* host = find(aligned<T>(va), sizeof(T), Access::kWrite);
    return host != nullptr &&
           (guarded_subtract(reinterpret_cast<T*>(host), amount) || record_host_fault(aligned<T>(va), host));
  }

  /// Bytes that copy() and fill() were called for in this scope.
  uint64_t moved() const { return moved_; }

  /// The access that failed last.
  const VmFault& fault() const { return fault_; }

  DeviceBus& bus() { return bus_; }

 private:
  static constexpr unsigned kPageShift = 12;
  static constexpr uint64_t kPageBytes = uint64_t{1} << kPageShift;

  struct Entry {
    uint64_t page = ~uint64_t{0};
    std::byte* host = nullptr;
    uint8_t access = 0;  // one bit per Access
  };

  template <class T>
  static constexpr uint64_t aligned(uint64_t va) {
    return va & ~uint64_t{sizeof(T) - 1};
  }

  /// Returns the host address of `bytes` bytes within one page, or null.
  std::byte* find(uint64_t va, uint64_t bytes, Access access) {
    Entry& entry = tlb_[(va >> kPageShift) % tlb_.size()];
    if (entry.page == va >> kPageShift && (entry.access >> static_cast<unsigned>(access) & 1u) != 0) {
      return entry.host + (va & (kPageBytes - 1));
    }
    return find_slow(va, bytes, access);
  }

  void refresh() {
    moved_ = 0;
    const uint64_t now = bus_.translation_epoch();
    if (now != epoch_) {
      tlb_.fill(Entry{});
      epoch_ = now;
    }
  }
  std::byte* find_slow(uint64_t va, uint64_t bytes, Access access);
  /// Turns the host fault of an access to `host`, the memory at `va`, into fault(). Returns false.
  bool record_host_fault(uint64_t va, const std::byte* host);
  Translation run(uint64_t va, uint64_t bytes, Access access);

  DeviceBus& bus_;
  const uint32_t queue_id_;
  uint64_t epoch_ = ~uint64_t{0};
  std::array<Entry, 32> tlb_{};
  // End and total length of the latest runs of adjacent copies, latest first. Runtimes split a copy into
  // packets. There are two runs, because a copy can have two destinations.
  struct Run {
    uint64_t end = 0, bytes = 0;
  };
  std::array<Run, 2> runs_{};
  uint64_t moved_ = 0;
  VmFault fault_;
};

}  // namespace rigel::vgpu
